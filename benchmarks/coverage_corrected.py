"""How often the interval of the corrected average covers the truth, and how wide it is beside that of the labels alone.

    python -m benchmarks.coverage_corrected [--trials 1000]

Each trial draws a run of 1,000 or 10,000 samples, of which 30, 100 or 300 have labels. The truth is the mean label of the
population. A row has the least and the greatest figure over both sizes and, for 0/1 labels, 50, 70 and 90 % that are good.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rageval_spark.statistics.agreement import Numbers
from rageval_spark.statistics.corrected import Corrected, Sums, corrected

Draw = Callable[[np.random.Generator, int], tuple[Numbers, Numbers]]
"""Labels and scores of so many samples."""


@dataclass(frozen=True)
class Population:
    truth: float
    draw: Draw


def verdicts(good: float, right: float) -> Draw:
    """0/1 labels, and 0/1 scores of which this share is right."""
    def draw(random: np.random.Generator, count: int) -> tuple[Numbers, Numbers]:
        label = (random.random(count) < good).astype(float)
        return label, np.where(random.random(count) < right, label, 1 - label)
    return draw


def shares(good: float) -> Draw:
    """0/1 labels, and scores from 0 to 1 that are higher for the good (AUC 0.96)."""
    def draw(random: np.random.Generator, count: int) -> tuple[Numbers, Numbers]:
        label = (random.random(count) < good).astype(float)
        return label, np.where(label == 1, random.beta(6, 2, count), random.beta(2, 4, count))
    return draw


def worthless(good: float) -> Draw:
    return lambda random, count: ((random.random(count) < good).astype(float), random.random(count))


def grades(random: np.random.Generator, count: int) -> tuple[Numbers, Numbers]:
    """Grades from 1 to 5 as labels, and scores from 0 to 1 that rank samples much alike (Spearman 0.70)."""
    score = random.beta(4, 2, count)
    return np.clip(np.round(4 * (0.8 * score + random.normal(0.1, 0.12, count))), 0, 4) / 4, score


def mean_grade() -> float:
    return float(grades(np.random.default_rng(0), 4_000_000)[0].mean())


def populations() -> dict[str, list[Population]]:
    """By what scores and labels are like."""
    kinds: dict[str, Callable[[float], Draw]] = {
        "0/1, worthless scores": worthless, **{f"0/1, scores 0/1, {right:.0%} right": partial(verdicts, right=right)
                                        for right in (0.8, 0.9, 0.97)}, "0/1, scores with AUC 0.96": shares}
    return {**{name: [Population(good, kind(good)) for good in (0.5, 0.7, 0.9)] for name, kind in kinds.items()},
            "grades, scores with Spearman 0.70": [Population(mean_grade(), grades)]}


def tried(one: Population, labelled: int, samples: int, trials: int, random: np.random.Generator) -> list[float]:
    """How often the corrected interval covers, how often that of the labels alone, and the ratio of the widths."""
    found = []
    for _ in range(trials):
        labels, scores = one.draw(random, samples)
        rest = scores[labelled:]
        best = corrected(labels[:labelled], scores[:labelled], Sums(len(rest), float(rest.mean()), float(rest.var())))
        alone = corrected(labels[:labelled], scores[:labelled], Sums(0, 0.0, 0.0))
        found.append((*(_covers(each, one.truth) for each in (best, alone)), _width(best), _width(alone)))
    covers, alone_covers, width, alone_width = np.mean(found, axis=0)
    return [float(covers), float(alone_covers), float(width / alone_width)]


def _covers(found: Corrected, truth: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= truth <= found.high


def _width(found: Corrected) -> float:
    return (found.high or 0.0) - (found.low or 0.0)


HEADINGS = ("labels", "labelled", "covers", "labels alone cover", "width ÷ labels alone")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    trials, random = parser.parse_args(arguments).trials, np.random.default_rng(7)
    for cells in (HEADINGS, ["---"] * len(HEADINGS)):
        print("|", " | ".join(cells), "|")
    for name, alike in populations().items():
        for labelled in (30, 100, 300):
            found = np.array([tried(one, labelled, samples, trials, random) for one in alike for samples in (1_000, 10_000)])
            ranges = (f"{low:.2f}–{high:.2f}" if place == 2 else f"{low:.3f}–{high:.3f}"
                      for place, (low, high) in enumerate(zip(found.min(axis=0), found.max(axis=0), strict=True)))
            print("|", " | ".join((name, str(labelled), *ranges)), "|", flush=True)


if __name__ == "__main__":
    main()
