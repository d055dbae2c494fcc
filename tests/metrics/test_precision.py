"""Precision, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.precision import Precision
from tests.playing import played

ABCDE = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("relevant", "retrieved", "k", "value", "of_retrieved"),
    [
        (ABCDE, ["a"], 10, 1 / 10, 1.0),
        (ABCDE, ["a"], 5, 1 / 5, 1.0),
        (ABCDE, ["a"], None, 1.0, 1.0),
        (ABCDE, [], 10, 0.0, 0.0),
        (ABCDE, [], None, 0.0, 0.0),
        ({"d1": 3, "d2": 2, "d3": 1}, ["d3", "d1", "x", "d2"], 3, 2 / 3, 2 / 3),
        ({"d1": 3, "d2": 2, "d3": 1}, ["d3", "d1", "x", "d2"], 8, 3 / 8, 3 / 4),
        ({"d1": 3, "d2": 2, "d3": 1}, ["d3", "d1", "x", "d2"], None, 3 / 4, 3 / 4),
        (["a", "b"], ["a", "a", "a"], 3, 1 / 3, 1 / 3),
        (["a"], ["x", "a", "a"], 3, 1 / 3, 1 / 3),
        ({"a": -1, "b": 1}, ["a", "b"], 2, 1 / 2, 1 / 2),
        (["a"], ["a", "x", "x2"], None, 1 / 3, 1 / 3),
        (["c"], ["a", "b", "c"], 3, 1 / 3, 1 / 3),
        (["a", "b", "c", "d"], ["c"], 1, 1.0, 1.0),
        (["a"], ["x"], 2, 0.0, 0.0),
    ],
)
def test_precision(relevant: Any, retrieved: list[str], k: int | None, value: float, of_retrieved: float) -> None:
    sample = {"retrieved_ids": retrieved, "relevant_ids": relevant}
    found, asked = played(Precision(k=k), sample)
    assert (found.value, asked) == (value, [])
    assert found.details["denominator"] == (len(retrieved) if k is None else k)
    assert played(Precision(k=k, retrieved=True), sample)[0].value == of_retrieved


def test_equal_scores_are_ordered_by_id() -> None:
    sample = {"retrieved_ids": ["a", "z"], "retrieved_scores": [1, 1], "relevant_ids": ["a"]}
    found, _ = played(Precision(k=1), sample)
    assert (found.value, found.flags) == (0.0, ("SCORE_TIES",))
    assert played(Precision(k=1), {**sample, "retrieved_scores": None})[0].value == 1.0


def test_its_name_in_the_tables() -> None:
    assert [Precision(k=5).suffix, Precision(k=5, retrieved=True).suffix] == ["@5", "@5_retrieved"]
