"""How far production is from an offline set: figures with known values, and sentences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind

from rageval_spark.config.monitor import Alert
from rageval_spark.report import alerts
from rageval_spark.report.watched import median, metric_drift, question_drifts
from rageval_spark.statistics.drift import Sums, difference, distance, drifted, pooled


def test_newcombes_interval_is_that_of_his_paper() -> None:
    """Newcombe 1998, table II, example (a), method 10: 56/70 and 48/80."""
    found = difference(Sums(70, 56 / 70, 0.4), Sums(80, 48 / 80, 0.49), binary=True)
    assert (found.difference, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert found.shown is True


def test_welchs_interval_is_that_of_scipy() -> None:
    values = np.random.default_rng(1)
    here, there = values.beta(2, 3, 25), values.beta(4, 2, 90)
    mine, other = (Sums(len(one), float(one.mean()), float(one.std())) for one in (here, there))
    found = difference(mine, other, binary=False)
    expected = ttest_ind(here, there, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(tuple(expected))


def test_too_little_shows_nothing() -> None:
    assert difference(Sums(9, 1.0, 0.0), Sums(90, 0.0, 0.0), binary=True).shown is None
    assert difference(Sums(20, 1.0, 0.0), Sums(90, 0.5, 0.0), binary=False).shown is None, "no score differs from another"


def test_parts_are_pooled_by_the_rows_they_stand_for() -> None:
    found = pooled([(100, Sums(10, 1.0, 0.0)), (300, Sums(10, 0.0, 0.0))])
    assert (found.mean, found.std_dev) == pytest.approx((0.25, math.sqrt(0.25 * 0.75)))
    assert found.count == pytest.approx(400**2 / (100**2 / 10 + 300**2 / 10))


def test_the_distance_of_mixes() -> None:
    assert distance({"a": 5, "b": 5}, {"a": 50, "b": 50}) == pytest.approx(0.0, abs=1e-7)
    assert distance({"a": 5}, {"b": 5}) == pytest.approx(1.0)
    assert distance({"a": 1, "b": 1}, {"a": 1}) == pytest.approx(math.sqrt(0.5 * (0.5 * math.log2(2 / 3) + 0.5)
                                                                           + 0.5 * math.log2(4 / 3)), abs=1e-9)
    assert distance({}, {"a": 1}) is None
    assert drifted({"a": 29}, {"b": 500}) is None
    assert drifted({"a": 30, "b": 30}, {"a": 35, "b": 25}) is False
    assert drifted({"a": 300, "b": 700}, {"a": 700, "b": 300}) is True
    assert drifted({"a": 100_000, "b": 101_000}, {"a": 101_000, "b": 99_000}) is False, "sure, and too small to matter"


def test_drift_of_questions_in_words() -> None:
    here = {"words": {"31": 40, "12": 10}, "language": {"English": 30, "Chinese": 20}}
    there = {"words": {"12": 50, "31": 2}, "language": {"English": 49, "Chinese": 1}}
    assert [(one["differs"], one["said"]) for one in question_drifts(here, there)] == [
        (True, "questions are longer than in the offline set: median 31 words, 12 there"),
        (True, "questions are in other languages than in the offline set: Chinese 40 % of them, 2 % there")]
    assert [(one["differs"], one["said"]) for one in question_drifts(there, there)] == [
        (False, "questions are as long as in the offline set: median 12 words, 12 there"),
        (False, "questions are in the languages of the offline set: Chinese 2 % of them, 2 % there")]
    assert [one["differs"] for one in question_drifts(here, {"words": {"3": 5}, "language": {"English": 5}})] == [None, None]
    assert list(question_drifts({"words": {}, "language": {}}, there)) == []
    assert (median({"3": 1, "10": 1}), median({"3": 1, "20": 3, "100": 3})) == (3, 20)


@pytest.mark.parametrize(("lower", "verdict"), [(False, "worse by 2.000"), (True, "better by 2.000")])
def test_drift_of_a_metric_in_words(lower: bool, verdict: str) -> None:
    found = metric_drift("m", Sums(100, 0.5, 0.1), Sums(100, 0.7, 0.1), False, lower, 10)
    assert found["said"].startswith(f"m is 5.000 in production, 7.000 offline: {verdict} [-2.")
    assert (found["differs"], found["worse"]) == (True, not lower)
    alike = metric_drift("m", Sums(100, 0.5, 0.1), Sums(100, 0.51, 0.1), False, lower, 1)
    assert (alike["differs"], alike["worse"]) == (False, False)
    assert "no difference shown" in alike["said"]
    assert metric_drift("m", None, Sums(9, 1.0, 0.0), False, lower, 1)["said"] == "m: production has no score of it"


@pytest.mark.parametrize(("alert", "raised"), [
    ({"drop": 0.15}, True), ({"drop": 0.25}, None), ({"drop": 0.15, "sure": True}, True), ({"drop": 0.19, "sure": True}, None),
    ({"drop": 0.15, "least": 101}, False), ({"above": 1.0}, None),
])  # fmt: skip
def test_an_alert_of_a_drop(alert: dict[str, object], raised: bool | None) -> None:
    """`raised`: False where it is told that there are too few scores, None where nothing is told."""
    drifts = [metric_drift("m", Sums(100, 0.5, 0.1), Sums(100, 0.7, 0.1), False, False, 1)]
    found = alerts.raised({"m": Alert.model_validate(alert).model_dump()}, [], drifts, {"m": "higher"}, 1)
    assert [bool(one.raised) for one in found] == ([] if raised is None else [raised])
