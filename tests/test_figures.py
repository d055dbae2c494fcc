"""The figures of benchmarks/agreement.py, computed a second time by scipy or by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rageval_spark.statistics.agreement import (
    FIGURES,
    Point,
    auc,
    balanced_accuracy,
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
