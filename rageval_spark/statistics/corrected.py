"""The average of a run corrected by the part that people labelled: prediction-powered inference.

Source: Angelopoulos et al. 2023 (Science 382, 669), with the power tuning of PPI++ (arXiv 2311.01453), for a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from rageval_spark.statistics.agreement import Numbers
from rageval_spark.statistics.intervals import CONFIDENCE, interval

FEWEST = 10
"""Labels below which the scores play no part: how far to trust them could not be told."""
UNSEEN = 0.5
"""Of a disagreement that is counted beyond those seen, where labels are 0 or 1: none among thirty is no proof of none."""


@dataclass(frozen=True)
class Sums:
    """Scores known by their number, mean and variance (the population's)."""

    count: int
    mean: float
    variance: float

    def without(self, scores: Numbers) -> Sums:
        """The sums of the other scores, where these are some of them."""
        left = self.count - len(scores)
        if left <= 0:
            return Sums(0, 0.0, 0.0)
        mean = (self.count * self.mean - float(scores.sum())) / left
        squares = self.count * (self.variance + self.mean**2) - float((scores**2).sum())
        return Sums(left, mean, max(0.0, squares / left - mean**2))


@dataclass(frozen=True)
class Corrected:
    """An average with its 95 % interval (None: too few labels), all in [0, 1]. `weight`: how far the scores were trusted, from
    0 (the labels alone) to 1."""

    average: float
    low: float | None
    high: float | None
    weight: float


def corrected(labels: Numbers, scores: Numbers, others: Sums) -> Corrected:
    """The average label that people would give to all, from the labels in [0, 1] of a random part, the scores of that part,
    and the sums of the scores of all others. `labels` is not empty.

    The interval is Wilson's, for as many 0/1 labels as would be as sure, or Student's t where labels are grades; with weight
    0 it is that of the labels alone.
    """
    count, binary = len(labels), bool(np.isin(labels, (0, 1)).all())
    weight = _weight(labels, scores, others)
    if not weight:
        mean = float(labels.mean())
        return Corrected(mean, *interval(mean, float(labels.std()), count, binary), 0.0)
    rest = labels - weight * scores
    average = min(1.0, max(0.0, weight * others.mean + float(rest.mean())))
    variance = weight**2 * others.variance / others.count + float(rest.var(ddof=1)) / count
    if binary:
        variance += UNSEEN * (weight / count) ** 2
        as_sure_as = average * (1 - average) / variance
        return Corrected(average, *interval(average, 0.0, max(as_sure_as, count), binary), weight)
    half = float(t.ppf((1 + CONFIDENCE) / 2, count - 2)) * math.sqrt(variance)
    return Corrected(average, max(0.0, average - half), min(1.0, average + half), weight)


def _weight(labels: Numbers, scores: Numbers, others: Sums) -> float:
    """The weight of the scores for which the variance is least (PPI++, equation for a mean), cut to [0, 1]."""
    count, left = len(labels), others.count
    if count < FEWEST or not left:
        return 0.0
    mean = (float(scores.sum()) + left * others.mean) / (count + left)
    squares = float(((scores - mean) ** 2).sum()) + left * (others.variance + (others.mean - mean) ** 2)
    variance = squares / (count + left - 1)
    together = float(np.cov(labels, scores)[0, 1])
    return min(1.0, max(0.0, together / ((1 + count / left) * variance))) if variance > 1e-12 else 0.0
