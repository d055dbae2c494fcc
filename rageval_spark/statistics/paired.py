"""Two scores of each of many samples: how much their averages differ, how sure that is, and what could have been seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr, ndtri, stdtr, stdtrit

from rageval_spark.statistics.intervals import CONFIDENCE, ROUNDING

Numbers = NDArray[np.float64]
FEW = 30
"""Differences other than 0 up to which signed ranks decide; the mean of more is near enough to normal for Student's t."""
RESAMPLED = 500
"""Pairs up to which the interval is resampled. With more, the bootstrap and Student's t say the same."""
DRAWS = 5_000
POWER = 0.8
UPPER = (1 + CONFIDENCE) / 2


@dataclass(frozen=True)
class Sums:
    """What is summed over the pairs of a metric: their number, the sums of both scores and of the differences
    (new − base) and their squares, and how many rose and fell. `binary`: all scores are 0 or 1."""

    count: int
    base: float
    new: float
    difference: float
    squares: float
    rose: int
    fell: int
    binary: bool = False

    @classmethod
    def of(cls, base: Numbers, new: Numbers) -> Sums:
        d = new - base
        return cls(len(d), float(base.sum()), float(new.sum()), float(d.sum()), float((d * d).sum()), int((d > 0).sum()),
                   int((d < 0).sum()), bool(np.isin(base, (0, 1)).all() and np.isin(new, (0, 1)).all()))

    @property
    def mean(self) -> float:
        return self.difference / self.count

    @property
    def std_dev(self) -> float:
        """The sample's standard deviation of the differences; 0 for one pair."""
        if self.count < 2:
            return 0.0
        return math.sqrt(max(0.0, self.squares - self.difference**2 / self.count) / (self.count - 1))


@dataclass(frozen=True)
class Difference:
    """How much the average of NEW is above that of BASE over `count` pairs, both on the scale of the scores.

    `low` and `high` are a 95 % interval, `p` the chance of a difference as large where there is none (two-sided, of
    `test`), `effect` the difference in standard deviations of the pairs' differences (Cohen's d_z), `detectable` the
    smallest difference that as many such pairs show in four of five cases. None below two pairs; `effect` and
    `detectable` also where all pairs differ alike.
    """

    count: int
    base: float
    new: float
    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    test: str | None = None
    effect: float | None = None
    detectable: float | None = None


def difference(sums: Sums, values: Numbers | None = None, seed: int = 7) -> Difference:
    """The difference of at least one pair. `values`, the differences themselves, are read up to RESAMPLED pairs.

    0/1 scores, and where no pair differs: McNemar's mid-p test (Fagerland, Lydersen and Laake 2013) and the interval of
    Bonett and Price (2012).
    Others: Wilcoxon's signed ranks for FEW differences, else the paired t test; an interval by bootstrap with the
    percentiles widened for few pairs (Hesterberg 2015), from RESAMPLED pairs on Student's.
    """
    n, mean = sums.count, _snap_to_zero(sums.mean)
    found = Difference(n, sums.base / n, sums.new / n, mean)
    if n < 2:
        return found
    error = sums.std_dev / math.sqrt(n)
    if sums.binary or not sums.rose + sums.fell:
        p, test = mcnemar(sums.rose, sums.fell), "McNemar, mid-p"
        low, high = _bonett_price(sums)
    else:
        p, test = _tested(sums, values, error)
        if values is not None and n <= RESAMPLED:
            low, high = bootstrap(values, seed)
        else:
            half = float(stdtrit(n - 1, UPPER)) * error
            low, high = mean - half, mean + half
    # sums of equal differences leave some noise
    effect = mean / sums.std_dev if sums.std_dev > 1e-9 else None
    detectable = float(stdtrit(n - 1, UPPER) + stdtrit(n - 1, POWER)) * error if effect is not None else None
    low, high = _snap_to_zero(max(low, -1.0)), _snap_to_zero(min(high, 1.0))
    return Difference(n, found.base, found.new, mean, low, high, p, test, effect, detectable)


def _snap_to_zero(value: float) -> float:
    """Return the value: exactly 0 if it differs from that by rounding alone."""
    return 0.0 if abs(value) < ROUNDING else value


def mcnemar(rose: int, fell: int) -> float:
    """McNemar's mid-p of 0/1 pairs of which so many rose and fell; 1 where none changed."""
    if rose == fell:
        return 1.0
    changed, few = rose + fell, min(rose, fell)
    fewer = bdtr(few - 1, changed, 0.5) if few else 0.0
    return float(bdtr(few, changed, 0.5) + fewer)


def _bonett_price(sums: Sums) -> tuple[float, float]:
    rose, fell = (sums.rose + 1) / (sums.count + 2), (sums.fell + 1) / (sums.count + 2)
    half = float(ndtri(UPPER)) * math.sqrt((rose + fell - (rose - fell) ** 2) / (sums.count + 2))
    return rose - fell - half, rose - fell + half


def _tested(sums: Sums, values: Numbers | None, error: float) -> tuple[float, str]:
    if values is not None and sums.rose + sums.fell <= FEW:
        from scipy.stats import wilcoxon  # which takes a second to import

        # differences of scores such as 1/3 and 2/3 that ought to be equal differ by the noise of floating point
        return float(wilcoxon(np.round(values, 9)).pvalue), "Wilcoxon signed-rank"
    if error <= 1e-12:
        return 0.0, "paired t"
    return float(2 * stdtr(sums.count - 1, -abs(sums.mean / error))), "paired t"


def bootstrap(values: Numbers, seed: int = 7) -> tuple[float, float]:
    """A 95 % interval of the mean of at least two values: percentiles of resampled means, at the widened places that
    give Student's t for normal values."""
    from scipy.stats import bootstrap as resampled

    n = len(values)
    tail = float(ndtr(math.sqrt(n / (n - 1)) * stdtrit(n - 1, 1 - UPPER)))
    low, high = resampled((values,), np.mean, confidence_level=1 - 2 * tail, method="percentile", n_resamples=DRAWS,
                          batch=DRAWS // 10, random_state=np.random.default_rng(seed)).confidence_interval
    return float(low), float(high)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The p values corrected for their number by Holm's step-down method (1979); None stays None."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, place) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        corrected[place] = least
    return corrected
