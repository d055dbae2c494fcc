"""The figures of benchmarks/agreement.py, computed a second time by scipy or by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rageval_spark.statistics.agreement import (
    FIGURES,
    Confusion,
    Point,
    auc,
    balanced_accuracy,
    best_threshold,
    between_people,
    confusion,
    figures,
    kappa,
    largest_difference,
    pearson,
    ranks,
    share_right,
    spearman,
)

RANDOM = np.random.default_rng(3)
LABELS = (RANDOM.random(200) < 0.3).astype(float)
VALUES = np.round(RANDOM.random(200) + 0.2 * LABELS, 1)  # with many ties
PASSED = (VALUES >= 0.5).astype(float)


def test_they_are_those_of_scipy() -> None:
    good, bad = VALUES[LABELS == 1], VALUES[LABELS == 0]
    assert auc(LABELS, VALUES, PASSED) == pytest.approx(stats.mannwhitneyu(good, bad).statistic / (len(good) * len(bad)))
    graded = np.round(VALUES + RANDOM.random(200), 1)
    assert spearman(graded, VALUES, PASSED) == pytest.approx(stats.spearmanr(graded, VALUES).statistic)
    assert pearson(graded, VALUES, PASSED) == pytest.approx(stats.pearsonr(graded, VALUES).statistic)
    assert ranks(VALUES) == pytest.approx(stats.rankdata(VALUES))


def test_decisions_by_hand() -> None:
    """20 yes of both, 10 only of the label, 5 only decided, 15 no of both: agreement 0.7, by chance 0.5."""
    label = np.array([1.0] * 30 + [0.0] * 20)
    passed = np.array([1.0] * 20 + [0.0] * 10 + [1.0] * 5 + [0.0] * 15)
    assert share_right(label, passed, passed) == pytest.approx(0.7)
    assert kappa(label, passed, passed) == pytest.approx((0.7 - 0.5) / 0.5)
    assert balanced_accuracy(label, passed, passed) == pytest.approx((20 / 30 + 15 / 20) / 2)
    assert auc(label, passed, passed) == pytest.approx(balanced_accuracy(label, passed, passed))
    assert largest_difference(label, label - 0.25, passed) == 0.25
    assert confusion(label, passed) == Confusion(20, 10, 5, 15)
    assert confusion(label, passed).by_chance == pytest.approx(0.5)


def test_the_best_threshold_is_that_of_trying_all() -> None:
    tried = np.arange(0, 1.3, 0.001)
    best = max(balanced_accuracy(LABELS, VALUES, (one <= VALUES).astype(float)) for one in tried)
    found = best_threshold(LABELS, VALUES, PASSED, 0.5)
    assert balanced_accuracy(LABELS, VALUES, (found <= VALUES).astype(float)) == pytest.approx(best)


@pytest.mark.parametrize(("current", "best"), [(0.25, 0.25), (0.05, 0.2), (0.95, 0.8), (0.6, 0.8), (0.45, 0.2)])
def test_of_equally_good_thresholds_the_nearest_to_the_current_is_taken(current: float, best: float) -> None:
    """From 0.1 to 0.3 and from 0.7 to 0.9 three of four are decided right, from 0.3 to 0.7 two."""
    label, value = np.array([0.0, 1, 0, 1]), np.array([0.1, 0.3, 0.7, 0.9])
    assert best_threshold(label, value, value, current) == pytest.approx(best)


def test_people_among_themselves_by_hand() -> None:
    """Two labels each: ten times good good, ten times bad bad, ten times one of both: alike 2/3, by chance 1/2."""
    assert between_people([(2, 2)] * 10 + [(0, 2)] * 10 + [(1, 2)] * 10) == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    assert between_people([(3, 3), (0, 3)]) == pytest.approx(1)
    assert math.isnan(between_people([(2, 2), (3, 3)]))


@pytest.mark.parametrize("name", ["AUC", "balanced accuracy", "kappa", "Spearman", "Pearson"])
def test_one_class_has_none(name: str) -> None:
    same = np.ones(5)
    assert math.isnan(FIGURES[name](same, np.arange(5.0), np.array([0.0, 1, 0, 1, 1])))


def test_an_interval_is_over_documents() -> None:
    """Ten copies of each answer tell no more than one does, where all ten come from one document."""
    once = [Point(str(place), label, value) for place, (label, value) in enumerate(zip(LABELS, VALUES, strict=True))]
    alone, copied = figures(once, ["AUC"], 200)["AUC"], figures(once * 10, ["AUC"], 200)["AUC"]
    assert copied == alone
    spread = [Point(f"{copy}-{one.document}", one.label, one.value) for copy in range(10) for one in once]
    narrow = figures(spread, ["AUC"], 200)["AUC"]
    assert narrow.high - narrow.low < (alone.high - alone.low) / 2
    assert alone.low < alone.value < alone.high
