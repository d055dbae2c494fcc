"""How far production is from an offline set: two samples of different rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2_contingency, t

from rageval_spark.statistics.intervals import CONFIDENCE, interval

FEWEST_SCORES = 10
"""Scores on either side below which no difference is told: how they spread is not known well enough."""
FEWEST = 30
"""Questions on either side below which no drift of them is told."""
FAR = 0.1
"""The least distance that is called a drift: that of shares of 50 % and 50 % from 62 % and 38 %."""
RARE = 0.01
"""A drift is told where chance alone makes mixes as different less often than this."""


@dataclass(frozen=True)
class Sums:
    """Scores in [0, 1] of one side: how many (of weighted ones, how many of equal weight tell as much), their mean and their
    standard deviation (the population's)."""

    count: float
    mean: float
    std_dev: float


@dataclass(frozen=True)
class Difference:
    """How much the mean of production is above that of the offline set, with a 95 % interval; None where a side has fewer than
    FEWEST_SCORES, or no score differs from another."""

    difference: float
    low: float | None
    high: float | None

    @property
    def shown(self) -> bool | None:
        """Whether there is a difference: the interval is on one side of 0."""
        return None if self.low is None or self.high is None else not self.low <= 0 <= self.high


def pooled(parts: Sequence[tuple[float, Sums]]) -> Sums:
    """The sums of several parts (at least one), each standing for so many rows. The effective number is Kish's."""
    rows = sum(weight for weight, _ in parts)
    mean = sum(weight * one.mean for weight, one in parts) / rows
    squares = sum(weight * (one.std_dev**2 + one.mean**2) for weight, one in parts) / rows
    count = rows**2 / sum(weight**2 / one.count for weight, one in parts)
    return Sums(count, mean, math.sqrt(max(0.0, squares - mean**2)))


def difference(production: Sums, offline: Sums, binary: bool) -> Difference:
    """Of two independent samples. Scores of 0 and 1: Newcombe's interval from those of Wilson (1998, method 10); others: Welch's
    t, with the degrees of freedom of Satterthwaite."""
    found = production.mean - offline.mean
    if min(production.count, offline.count) < FEWEST_SCORES:
        return Difference(found, None, None)
    if binary:
        (down, up), (down_there, up_there) = (_ends(one) for one in (production, offline))
        return Difference(found, found - math.hypot(down, up_there), found + math.hypot(up, down_there))
    errors = [one.std_dev**2 / (one.count - 1) for one in (production, offline)]
    if not (error := sum(errors)):
        return Difference(found, None, None)
    freedom = error**2 / sum(part**2 / (one.count - 1) for part, one in zip(errors, (production, offline), strict=True))
    half = float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(error)
    return Difference(found, max(-1.0, found - half), min(1.0, found + half))


def _ends(one: Sums) -> tuple[float, float]:
    """How far the ends of Wilson's interval are from the mean."""
    low, high = interval(one.mean, one.std_dev, one.count, binary=True)
    assert low is not None
    assert high is not None
    return one.mean - low, high - one.mean


def distance(production: Mapping[str, int], offline: Mapping[str, int]) -> float | None:
    """Between two mixes, from counts by value: the Jensen-Shannon distance to base 2 (Endres and Schindelin 2003), from
    0 (the same shares) to 1 (no value in common). None where a side is empty."""
    if not sum(production.values()) or not sum(offline.values()):
        return None
    found = float(jensenshannon(*_beside(production, offline), base=2))
    return 0.0 if math.isnan(found) else found  # shares that are equal but for rounding


def drifted(production: Mapping[str, int], offline: Mapping[str, int]) -> bool | None:
    """Whether two mixes are FAR from each other, and not by chance (Pearson's chi-squared test of homogeneity); None where a
    side has fewer than FEWEST."""
    if min(sum(production.values()), sum(offline.values())) < FEWEST:
        return None
    far = distance(production, offline)
    if far is None or far < FAR:
        return False
    return bool(chi2_contingency(_beside(production, offline)).pvalue < RARE)


def _beside(*mixes: Mapping[str, int]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    values = sorted({value for mix in mixes for value, count in mix.items() if count})
    return np.array([[mix.get(value, 0) for value in values] for mix in mixes], dtype=np.float64)
