"""Figures of agreement between scores and labels, and their 95 % intervals over resampled documents. No I/O.

Figures take three arrays of one length: the labels, the scores, and what each score decides. Labels and scores point the
same way: 1 (or more) is what the metric calls good.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
FigureOf = Callable[[Numbers, Numbers, Numbers], float]
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
    # a third of the time of scipy's rankdata, which counts in resampling
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    means: Numbers = (np.cumsum(count) - (count - 1) / 2)[place]
    return means


def best_threshold(label: Numbers, value: Numbers, passed: Numbers, current: float) -> float:
    """From where on scores should pass for the highest balanced accuracy (Youden's J); NaN with one class.

    Tried are the current threshold and the middles between neighbouring scores; of equally good ones the nearest to the
    current one is taken: without a reason nothing is changed.
    """
    good, bad = np.sort(value[label == 1]), np.sort(value[label != 1])
    if not len(good) or not len(bad):
        return NAN
    distinct = np.unique(value)
    tried = np.append((distinct[1:] + distinct[:-1]) / 2, current)
    right = np.searchsorted(bad, tried) / len(bad) - np.searchsorted(good, tried) / len(good)
    best = tried[right >= right.max() - 1e-12]
    return float(best[np.abs(best - current).argmin()])


@dataclass(frozen=True)
class Confusion:
    """How many were labelled good or bad, and passed or missed the threshold."""

    good_passed: int
    good_missed: int
    bad_passed: int
    bad_missed: int

    @property
    def by_chance(self) -> float:
        """The share that would be decided right if score and label had nothing to do with each other, in [0, 1]."""
        count = self.good_passed + self.good_missed + self.bad_passed + self.bad_missed
        good, passed = (self.good_passed + self.good_missed) / count, (self.good_passed + self.bad_passed) / count
        return good * passed + (1 - good) * (1 - passed)


def confusion(label: Numbers, passed: Numbers) -> Confusion:
    good, through = label == 1, passed == 1
    return Confusion(*(int((a & b).sum()) for a in (good, ~good) for b in (through, ~through)))


def between_people(given: Sequence[tuple[int, int]]) -> float:
    """Kappa among people (Fleiss 1971) from (labels that say good, all labels) of each sample labelled more than once.

    Whose label is whose plays no part; for two labels each it is Scott's pi. NaN where all labels say the same.
    """
    good, count = np.array(given, dtype=float).T
    bad, share = count - good, good.sum() / count.sum()
    alike = float(((good * (good - 1) + bad * (bad - 1)) / (count * (count - 1))).mean())
    by_chance = float(share**2 + (1 - share) ** 2)
    return (alike - by_chance) / (1 - by_chance) if by_chance < 1 else NAN


FIGURES: Mapping[str, FigureOf] = {
    "AUC": auc,
    "balanced accuracy": balanced_accuracy,
    "kappa": kappa,
    "share right": share_right,
    "Spearman": spearman,
    "Pearson": pearson,
    "largest difference": largest_difference,
}
"""By the name they have in the table."""


def figures(points: Sequence[Point], names: Sequence[str], draws: int, seed: int = 7,
            of: Mapping[str, FigureOf] = FIGURES) -> dict[str, Figure]:
    """The named figures of points, each with an interval over resampled documents: what comes of one document hangs together."""
    columns = np.array([(one.label, one.value, one.passed) for one in points], dtype=float).T
    drawn = list(_resampled(points, draws, seed))
    return {name: _figure([of[name](*columns), *(of[name](*columns[:, places]) for places in drawn)]) for name in names}


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
        chosen = random.integers(len(groups), size=len(groups))
        yield chosen if len(groups) == len(points) else np.concatenate([groups[place] for place in chosen])
