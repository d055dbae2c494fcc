"""Figures of agreement between scores and labels, and their 95 % intervals over resampled documents. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
NAN = float("nan")


@dataclass(frozen=True)
class Point:
    """One thing that people labelled and a metric scored. `passed`: what the score decides, NaN where it decides nothing.

    Label and score point the same way: 1 (or more) is what the metric calls good.
    """

    document: str
    label: float
    value: float
    passed: float = NAN


@dataclass(frozen=True)
class Figure:
    """A figure with the ends of its 95 % interval; NaN where the points do not have it."""

    value: float
    low: float
    high: float


def auc(label: Numbers, value: Numbers, passed: Numbers) -> float:
    """The chance that the one labelled 1 has the higher score of two (Mann and Whitney); NaN with one class."""
    good, bad = value[label == 1], np.sort(value[label != 1])
    if not len(good) or not len(bad):
        return NAN
    below, upto = np.searchsorted(bad, good, "left"), np.searchsorted(bad, good, "right")
    return float((below + upto).sum() / (2 * len(good) * len(bad)))


def share_right(label: Numbers, value: Numbers, passed: Numbers) -> float:
    return float((label == passed).mean())


def balanced_accuracy(label: Numbers, value: Numbers, passed: Numbers) -> float:
    """The mean of the shares decided right of those labelled 1 and of those labelled 0; 0.5 is chance. NaN with one class."""
    right, good = label == passed, label == 1
    return float((right[good].mean() + right[~good].mean()) / 2) if good.any() and not good.all() else NAN


def kappa(label: Numbers, value: Numbers, passed: Numbers) -> float:
    """Cohen's kappa of the label and what the score decides; NaN with one class of labels."""
    if label.min() == label.max():
        return NAN
    by_chance = label.mean() * passed.mean() + (1 - label.mean()) * (1 - passed.mean())
    return float(((label == passed).mean() - by_chance) / (1 - by_chance))


def pearson(label: Numbers, value: Numbers, passed: Numbers) -> float:
    """NaN where one of the two is the same throughout."""
    a, b = label - label.mean(), value - value.mean()
    scale = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum() / scale) if scale else NAN


def spearman(label: Numbers, value: Numbers, passed: Numbers) -> float:
    return pearson(ranks(label), ranks(value), passed)


def largest_difference(label: Numbers, value: Numbers, passed: Numbers) -> float:
    return float(np.abs(label - value).max())


def ranks(values: Numbers) -> Numbers:
    """From 1 on; equal values share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    means: Numbers = (np.cumsum(count) - (count - 1) / 2)[place]
    return means


FIGURES: Mapping[str, Callable[[Numbers, Numbers, Numbers], float]] = {
    "AUC": auc,
    "balanced accuracy": balanced_accuracy,
    "kappa": kappa,
    "share right": share_right,
    "Spearman": spearman,
    "Pearson": pearson,
    "largest difference": largest_difference,
}
"""By the name they have in the table."""


def figures(points: Sequence[Point], names: Sequence[str], draws: int, seed: int = 7) -> dict[str, Figure]:
    """The named figures of points, each with an interval over resampled documents: what comes of one document hangs together."""
    columns = np.array([(one.label, one.value, one.passed) for one in points], dtype=float).T
    drawn = list(_resampled(points, draws, seed))
    return {name: _figure([FIGURES[name](*columns), *(FIGURES[name](*columns[:, places]) for places in drawn)]) for name in names}


def _figure(found: Sequence[float]) -> Figure:
    known = [value for value in found[1:] if not np.isnan(value)]
    low, high = np.quantile(known, [0.025, 0.975]) if known else (NAN, NAN)
    return Figure(found[0], float(low), float(high))


def _resampled(points: Sequence[Point], draws: int, seed: int) -> Iterator[NDArray[np.intp]]:
    documents = defaultdict(list)
    for place, one in enumerate(points):
        documents[one.document].append(place)
    groups, random = [np.array(places) for places in documents.values()], np.random.default_rng(seed)
    for _ in range(draws):
        yield np.concatenate([groups[place] for place in random.integers(len(groups), size=len(groups))])
