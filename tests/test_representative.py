"""Whether labelled samples may be a random part of a run."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rageval_spark.statistics.representative import mixed_so, spread_so

WHOLE = [100] * 20


def test_scores_that_are_spread_otherwise_are_seen() -> None:
    assert spread_so([0] * 5 + [2] * 10 + [0] * 5, WHOLE) > 0.001  # twenty from the middle may still be chance
    assert spread_so([20, 10, *[0] * 18], WHOLE) < 0.0005
    assert spread_so([0] * 9 + [20, 20] + [0] * 9, WHOLE) < 0.0005


def test_a_random_part_is_rarely_suspected() -> None:
    random = np.random.default_rng(1)
    spread = [spread_so(np.bincount(random.integers(20, size=40), minlength=20).tolist(), WHOLE) for _ in range(200)]
    mixed = [mixed_so(random.multinomial(40, [0.6, 0.3, 0.05, 0.03, 0.02]).tolist(), [600, 300, 50, 30, 20]) for _ in range(200)]
    for likely in (spread, mixed):
        assert sum(one < 0.05 for one in likely) < 22


def test_the_mix_is_held_against_the_run() -> None:
    assert mixed_so([15, 15], [900, 100]) < 0.0005
    assert mixed_so([30, 20], [500, 500]) == pytest.approx(stats.binomtest(20, 50, 0.5).pvalue, abs=0.02)
    assert mixed_so([0, 20, 1], [500, 450, 50]) < 0.001
    assert mixed_so([1, 0], [1, 999]) < 0.01


@pytest.mark.parametrize(("part", "whole"), [([4, 0], [90, 10]), ([30], [900]), ([0, 0], [5, 5]), ([1] * 600, [2] * 600)])
def test_nothing_is_said_against_what_is_likely(part: list[int], whole: list[int]) -> None:
    assert mixed_so(part, whole) > 0.5
