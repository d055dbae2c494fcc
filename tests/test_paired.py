"""Differences of paired scores against scipy and numpy, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from rageval_spark.statistics.paired import Sums, difference, holm, mcnemar

Numbers = NDArray[np.float64]


def drawn(n: int, seed: int, of: int = 7) -> tuple[Numbers, Numbers]:
    """Shares of a few claims, the second a little higher."""
    random = np.random.default_rng(seed)
    kind, claims = random.beta(4, 2, n), random.integers(1, of, n)
    return random.binomial(claims, kind) / claims, random.binomial(claims, np.clip(kind + 0.05, 0, 1)) / claims


@pytest.mark.parametrize("seed", range(20))
def test_many_pairs_are_tested_as_scipys_paired_t(seed: int) -> None:
    base, new = drawn(400, seed)
    found = difference(Sums.of(base, new), new - base)
    theirs = stats.ttest_rel(new, base)
    assert found.test == "paired t"
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-6)
    assert found.difference == pytest.approx(new.mean() - base.mean(), abs=1e-12)
    assert [found.base, found.new] == pytest.approx([base.mean(), new.mean()])
    assert found.effect == pytest.approx((new - base).mean() / (new - base).std(ddof=1))


@pytest.mark.parametrize("seed", range(20))
def test_few_pairs_are_tested_by_scipys_signed_ranks(seed: int) -> None:
    random = np.random.default_rng(seed)
    base, new = random.random(25), random.random(25)
    found = difference(Sums.of(base, new), new - base)
    assert found.test == "Wilcoxon signed-rank"
    assert found.p == pytest.approx(stats.wilcoxon(new, base).pvalue, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_zeros_and_ones_are_tested_by_mcnemars_mid_p(seed: int) -> None:
    random = np.random.default_rng(seed)
    base, new = random.integers(0, 2, 60).astype(float), random.integers(0, 2, 60).astype(float)
    rose, fell = int(((new == 1) & (base == 0)).sum()), int(((new == 0) & (base == 1)).sum())
    exact = stats.binomtest(min(rose, fell), rose + fell, 0.5).pvalue
    at = stats.binom.pmf(min(rose, fell), rose + fell, 0.5)
    assert difference(Sums.of(base, new)).p == pytest.approx(1.0 if rose == fell else exact - at, rel=1e-9)


def test_mcnemar_by_hand() -> None:
    """Of six changes one fell: 2 × (1 + 6) / 64, less the chance of that very outcome, 6 / 64."""
    assert mcnemar(5, 1) == pytest.approx(8 / 64)
    assert mcnemar(3, 3) == mcnemar(0, 0) == 1.0
    assert mcnemar(0, 4) == pytest.approx(1 / 16)


@pytest.mark.parametrize("n", [40, 200, 450])
def test_the_interval_is_the_bootstraps(n: int) -> None:
    base, new = drawn(n, n, of=40)
    values = new - base
    found = difference(Sums.of(base, new), values)
    random = np.random.default_rng(1)
    means = values[random.integers(n, size=(20_000, n))].mean(axis=1)
    wider = stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975) * math.sqrt(n / (n - 1))
    for end, quantile in ((found.low, 0.025), (found.high, 0.975)):
        theirs = values.mean() + (np.quantile(means, quantile) - values.mean()) * wider
        assert end == pytest.approx(theirs, abs=0.06 * values.std() / math.sqrt(n))


def test_with_many_pairs_the_interval_is_students() -> None:
    base, new = drawn(5_000, 3)
    found, values = difference(Sums.of(base, new)), new - base
    theirs = stats.ttest_1samp(values, 0).confidence_interval()
    assert [found.low, found.high] == pytest.approx([theirs.low, theirs.high])


def test_the_detectable_difference_is_found_in_four_of_five_cases() -> None:
    random = np.random.default_rng(5)
    n, spread = 100, 0.2
    detectable = difference(Sums.of(np.zeros(n), random.normal(0, spread, n)), None).detectable
    assert detectable is not None
    found = [stats.ttest_1samp(random.normal(detectable, spread, n), 0).pvalue < 0.05 for _ in range(2_000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.09)  # the spread itself was drawn


@pytest.mark.parametrize(("base", "new", "expected"), [
    ([0.5], [0.7], {"difference": pytest.approx(0.2), "low": None, "p": None, "test": None, "effect": None}),
    ([0.2, 0.4, 0.9], [0.2, 0.4, 0.9], {"difference": 0.0, "p": 1.0, "effect": None}),
    ([0.1, 0.2, 0.3], [0.3, 0.4, 0.5], {"difference": pytest.approx(0.2), "effect": None, "detectable": None,
                                        "p": pytest.approx(0.25)}),
    ([1.0, 1.0], [0.0, 0.0], {"difference": -1.0, "p": pytest.approx(0.25), "low": pytest.approx(-1.0, abs=0.06)}),
    ([0.0, 1.0, 1.0], [0.0, 1.0, 1.0], {"difference": 0.0, "p": 1.0}),
])
def test_edges(base: list[float], new: list[float], expected: dict[str, object]) -> None:
    first, second = np.array(base), np.array(new)
    found = difference(Sums.of(first, second), second - first)
    assert {name: getattr(found, name) for name in expected} == expected
    assert found.low is None or (found.high is not None and -1 <= found.low <= found.difference <= found.high <= 1)


@pytest.mark.parametrize("score", [1.0, 0.4])
def test_equal_scores_leave_room_for_a_difference(score: float) -> None:
    """Ten pairs that agree do not show that there is none."""
    scores = np.full(10, score)
    found = difference(Sums.of(scores, scores), scores - scores)
    assert found.low is not None
    assert found.high is not None
    assert found.low < -0.1
    assert found.high > 0.1


@pytest.mark.parametrize(("given", "expected"), [
    ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
    ([0.01, None, 0.04], [0.02, None, 0.04]),
    ([0.9, 0.8], [1.0, 1.0]),
    ([], []),
])
def test_holm_by_hand(given: list[float | None], expected: list[float | None]) -> None:
    assert holm(given) == [None if p is None else pytest.approx(p) for p in expected]
