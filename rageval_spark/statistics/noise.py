"""How far a judge agrees with itself, and whether that has changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from rageval_spark.statistics.intervals import CONFIDENCE
from rageval_spark.statistics.paired import Sums, difference

SURE = 0.01
"""A drift is told where chance makes it less often than this: a nightly run asks every night."""


@dataclass(frozen=True)
class Shift:
    """Scores of the same samples, judged twice: `mean` of second − first with its 95 % interval, and `std_dev` of it.

    Of `decisions` that both times could be compared (verdicts, ratings), `agreed` were the same; None and 0 where scores
    come from no decisions.
    """

    count: int
    mean: float
    low: float | None
    high: float | None
    std_dev: float
    decisions: int
    agreed: int

    @property
    def agreement(self) -> float | None:
        return self.agreed / self.decisions if self.decisions else None


def shift(first: Sequence[float], second: Sequence[float], decided_first: Sequence[Sequence[float]],
          decided_second: Sequence[Sequence[float]]) -> Shift:
    """Of at least one sample. Decisions of a sample that are not of the same number count as all different."""
    base, new = np.asarray(first, float), np.asarray(second, float)
    sums = Sums.of(base, new)
    found = difference(sums, new - base)
    pairs = [(a, b) if len(a) == len(b) else (a, [math.nan] * len(a)) for a, b in zip(decided_first, decided_second, strict=True)]
    agreed = sum(x == y for a, b in pairs for x, y in zip(a, b, strict=True))
    return Shift(sums.count, found.difference, found.low, found.high, sums.std_dev, sum(len(a) for a, _ in pairs), agreed)


def floor(told: Mapping[str, Any], count: int) -> float | None:
    """The largest difference between averages of so many samples that the judge alone makes in 19 of 20 cases, from a Shift
    as its fields. None where it was seen on fewer than two samples."""
    if told["count"] < 2 or told["low"] is None:
        return None
    steady = abs(told["mean"]) if told["low"] > 0 or told["high"] < 0 else 0.0
    return steady + float(ndtri((1 + CONFIDENCE) / 2)) * float(told["std_dev"]) / math.sqrt(count)


def drift(now: Shift, then: Shift, same: Sequence[tuple[float, float]]) -> str | None:
    """Why the judge is no longer the one of `then`, in a sentence; None where nothing shows it.

    `same` are scores of the same samples from replies of then and of now. Told are a shift of these (as
    paired.difference tests it) and fewer decisions that agree with the stored ones than then (Fisher's exact test).
    """
    if len(same) > 1:
        base, new = np.array(same, float).T
        found = difference(Sums.of(base, new), new - base)
        if found.p is not None and found.p < SURE:
            return (f"the judge's scores of the same {found.count} samples moved by {found.difference:+.3f} since the last run "
                    f"[{found.low:+.3f}, {found.high:+.3f}]")
    if now.decisions and then.decisions:
        from scipy.stats import fisher_exact

        table = [[now.agreed, now.decisions - now.agreed], [then.agreed, then.decisions - then.agreed]]
        if float(fisher_exact(table, alternative="less").pvalue) < SURE:
            return (f"the judge agrees with its earlier decisions in {now.agreed} of {now.decisions} cases, in the last run in "
                    f"{then.agreed} of {then.decisions}")
    return None
