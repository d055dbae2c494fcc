"""How often intervals of a difference hold what they should, and how often a difference is told where there is none.

    python -m benchmarks.coverage [--trials 1000]

Two systems of one distribution are drawn over the same samples, so that the true difference is 0; then the second is a
little better, so that it is known. Prints, by kind of score and number of pairs, the share of 95 % intervals that hold the
true difference, and the share of trials without a difference in which one is told (p < 0.05).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rageval_spark.statistics.paired import RESAMPLED, Sums, difference

Numbers = NDArray[np.float64]
BETTER = 0.05


def claims(kind: Numbers, better: float, random: Generator) -> Numbers:
    """Shares of one to seven claims, as faithfulness has them."""
    of = 1 + (np.arange(len(kind)) * 5) % 7
    return random.binomial(of, kind * (1 - better) + better) / of


def verdicts(kind: Numbers, better: float, random: Generator) -> Numbers:
    return random.binomial(1, kind * (1 - better) + better).astype(float)


def cosines(kind: Numbers, better: float, random: Generator) -> Numbers:
    return kind * (1 - better) + better - random.beta(1, 12, len(kind)) * kind


KINDS: Mapping[str, Callable[[Numbers, float, Generator], Numbers]] = {"claims": claims, "0/1": verdicts, "cosines": cosines}
COUNTS = (30, 100, 400, 2_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    trials = parser.parse_args().trials
    print("| scores | pairs | intervals that hold 0 | differences told of none | intervals that hold a difference of "
          f"{BETTER} × what is missing to 1 |\n| --- | --- | --- | --- | --- |")
    for name, drawn in KINDS.items():
        for count in COUNTS:
            random = np.random.default_rng(count)
            held = told = held_better = 0
            for trial in range(trials):
                kind = random.beta(4, 1.5, count)
                base, same, better = (drawn(kind, by, random) for by in (0.0, 0.0, BETTER))
                true = BETTER * float((1 - kind).mean())
                for new, expected in ((same, 0.0), (better, true)):
                    found = difference(Sums.of(base, new), new - base if count <= RESAMPLED else None, seed=trial)
                    assert found.low is not None
                    assert found.high is not None
                    assert found.p is not None
                    held += expected == 0.0 and found.low <= 0.0 <= found.high
                    told += expected == 0.0 and found.p < 0.05
                    held_better += expected != 0.0 and found.low <= expected <= found.high
            print(f"| {name} | {count:,} | {held / trials:.1%} | {told / trials:.1%} | {held_better / trials:.1%} |", flush=True)


if __name__ == "__main__":
    main()
