"""Matching is exact: what is found is worth as much as the best of all matchings, tried one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_spark.measures.matching import Credits, Order, matched

shares = st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(1)])
matrices = st.integers(1, 5).flatmap(
    lambda columns: st.lists(st.lists(shares, min_size=columns, max_size=columns), min_size=1, max_size=5))


def worth(credits: Credits, pairs: list[tuple[int, int]]) -> Fraction:
    return sum((credits[row][column] for row, column in pairs), Fraction(0))


@settings(max_examples=200, deadline=None)
@given(matrices)
def test_an_assignment_is_the_best_of_all(credits: Credits) -> None:
    rows, columns = len(credits), len(credits[0])
    size = min(rows, columns)
    best = max(worth(credits, list(zip(some, others, strict=True)))
               for some in combinations(range(rows), size) for others in permutations(range(columns), size))
    pairs = matched(credits, "any", columns)
    assert worth(credits, pairs) == best
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)


@settings(max_examples=200, deadline=None)
@given(matrices)
def test_an_alignment_is_the_best_of_all(credits: Credits) -> None:
    rows, columns = len(credits), len(credits[0])
    best = max(worth(credits, list(zip(some, others, strict=True))) for size in range(min(rows, columns) + 1)
               for some in combinations(range(rows), size) for others in combinations(range(columns), size))
    pairs = matched(credits, "ordered", columns)
    assert worth(credits, pairs) == best
    assert pairs == sorted(pairs)
    assert [column for _, column in pairs] == sorted({column for _, column in pairs})


@pytest.mark.parametrize("order", ["any", "ordered", "sequence"])
def test_nothing_matches_nothing(order: Order) -> None:
    assert matched([], order, 0) == matched([], order, 2) == matched([[], []], order, 0) == []
