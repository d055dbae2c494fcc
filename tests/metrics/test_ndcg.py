"""NDCG, worked out by hand."""

from __future__ import annotations

from math import log2
from typing import Any

import pytest

from rageval_spark.metrics.ndcg import NDCG
from tests.playing import played

ABCDE = ["a", "b", "c", "d", "e"]
GRADES = {"d1": 3, "d2": 2, "d3": 1}
FIVE = 1 + 1 / log2(3) + 1 / 2 + 1 / log2(5) + 1 / log2(6)
"""The discounted gain of five relevant ids at the top."""


@pytest.mark.parametrize(
    ("relevant", "retrieved", "k", "linear", "exponential"),
    [
        (ABCDE, ["a"], 10, 0.339160, 0.339160),
        (ABCDE, ["a"], 5, 0.339160, 0.339160),
        (ABCDE, ["a"], 1, 1.0, 1.0),
        (ABCDE, ["a"], None, 1 / FIVE, 1 / FIVE),  # not cut where the list ends
        (ABCDE, [], 10, 0.0, 0.0),
        (ABCDE, [], None, 0.0, 0.0),
        (GRADES, ["d3", "d1", "x", "d2"], 3, 0.607492, 0.576667),
        (GRADES, ["d3", "d1", "x", "d2"], 4, 0.788377, 0.714222),
        (GRADES, ["d3", "d1", "x", "d2"], None, 0.788377, 0.714222),
        (GRADES, ["d1", "d2", "d3"], None, 1.0, 1.0),
        (GRADES, ["d1", "d2"], 2, 1.0, 1.0),
        (GRADES, ["d2"], 1, 2 / 3, 3 / 7),
        (["a", "b"], ["a", "a", "a"], 3, 0.613147, 0.613147),
        (["a"], ["x", "a", "a"], 3, 0.630930, 0.630930),
        ({"a": -1, "b": 1}, ["a", "b"], 2, 0.630930, 0.630930),
        (["a"], ["a", "x", "x2"], None, 1.0, 1.0),
        (["a"], ["a", "x", "x2"], 3, 1.0, 1.0),
        (["c"], ["a", "b", "c"], 3, 0.5, 0.5),
        (["c"], ["c"], 3, 1.0, 1.0),
        ({"c": 3}, ["c", "a"], 3, 1.0, 1.0),
        (["a", "b", "c", "d"], ["c"], 1, 1.0, 1.0),
        (["a"], ["x"], None, 0.0, 0.0),
    ],
)
def test_ndcg(relevant: Any, retrieved: list[str], k: int | None, linear: float, exponential: float) -> None:
    sample = {"retrieved_ids": retrieved, "relevant_ids": relevant}
    for gain, expected in (("linear", linear), ("exponential", exponential)):
        found, asked = played(NDCG(k=k, gain=gain), sample)  # type: ignore[arg-type]  # a text of a loop is no literal
        assert found.value == pytest.approx(expected, abs=1e-6)
        if expected in (0.0, 1.0):
            assert found.value == expected  # exactly
        assert asked == []


def test_details_compute_the_score_again() -> None:
    found, _ = played(NDCG(k=2), {"retrieved_ids": ["d3", "d1", "d2"], "relevance": GRADES})
    details = found.details
    dcg, ideal = (sum(gain / log2(int(rank) + 1) for rank, gain in gains)
                  for gains in (details["gains"].items(), enumerate(details["best"], 1)))
    assert (details["gains"], details["best"]) == ({"1": 1.0, "2": 3.0}, (3.0, 2.0))
    assert found.value == pytest.approx(dcg / ideal, abs=1e-12)
    assert (details["numerator"], details["denominator"]) == pytest.approx((dcg, ideal))


def test_nearly_equal_grades_make_no_more_than_1() -> None:
    grades = {id: 1 + rank * 2**-52 for rank, id in enumerate("abcdefgh")}
    found, _ = played(NDCG(), {"retrieved_ids": list("hgfedcba"), "relevance": grades})
    assert found.value == 1.0
    found, _ = played(NDCG(), {"retrieved_ids": list("abcdefgh"), "relevance": grades})
    assert found.value == pytest.approx(1.0)


@pytest.mark.parametrize("grade", [5e-324, 1e-30, 0.5, 900.0])
def test_gains_of_any_size(grade: float) -> None:
    for metric in (NDCG(), NDCG(gain="exponential")):
        assert played(metric, {"retrieved_ids": ["a"], "relevance": {"a": grade}})[0].value == 1.0
        assert played(metric, {"retrieved_ids": [], "relevance": {"a": grade}})[0].value == 0.0


def test_a_gain_without_bounds_is_no_number() -> None:
    for metric, grade in ((NDCG(gain="exponential"), 2000.0), (NDCG(), 1.7e308)):
        found, _ = played(metric, {"retrieved_ids": ["a"], "relevance": {"a": grade, "b": grade}})
        assert (found.value, found.code) == (None, "INVALID_INPUT")
        assert "is too large for a finite gain" in str(found.reason)


def test_its_name_in_the_tables() -> None:
    assert [NDCG(k=5).suffix, NDCG(k=5, gain="exponential").suffix] == ["@5", "@5_exp"]
