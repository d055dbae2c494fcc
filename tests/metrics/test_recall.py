"""Recall, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.recall import Recall
from tests.playing import played

ABCDE = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("relevant", "retrieved", "k", "value", "capped"),
    [
        (ABCDE, ["a"], 10, 1 / 5, 1 / 5),
        (ABCDE, ["a"], 5, 1 / 5, 1 / 5),
        (ABCDE, ["a"], 1, 1 / 5, 1.0),
        (ABCDE, ["a"], None, 1 / 5, 1.0),
        (ABCDE, [], 10, 0.0, 0.0),
        (ABCDE, [], None, 0.0, 0.0),
        ({"d1": 3, "d2": 2, "d3": 1}, ["d3", "d1", "x", "d2"], 3, 2 / 3, 2 / 3),
        ({"d1": 3, "d2": 2, "d3": 1}, ["d3", "d1", "x", "d2"], 2, 2 / 3, 1.0),
        ({"d1": 3, "d2": 2, "d3": 1}, ["d3", "d1", "x", "d2"], None, 1.0, 1.0),
        (["a", "b"], ["a", "a", "a"], 3, 1 / 2, 1 / 2),
        (["a", "a"], ["a", "a", "a"], 3, 1.0, 1.0),
        (["a"], ["x", "a", "a"], 3, 1.0, 1.0),
        ({"a": -1, "b": 1}, ["a", "b"], 2, 1.0, 1.0),
        ({"a": -1, "b": 1}, ["a", "b"], 1, 0.0, 0.0),
        (["a"], ["a", "x", "x2"], None, 1.0, 1.0),
        (["c"], ["a", "b", "c"], 2, 0.0, 0.0),
        (["a", "b", "c", "d"], ["c"], 1, 1 / 4, 1.0),
        (["a"], ["x"], None, 0.0, 0.0),
        ([7], ["7"], None, 1.0, 1.0),
        (["a"], ["A", " a"], None, 0.0, 0.0),
    ],
)
def test_recall(relevant: Any, retrieved: list[str], k: int | None, value: float, capped: float) -> None:
    sample = {"retrieved_ids": retrieved, "relevant_ids": relevant}
    found, asked = played(Recall(k=k), sample)
    assert (found.value, asked) == (value, [])
    assert found.details["denominator"] == found.details["relevant"]
    assert played(Recall(k=k, capped=True), sample)[0].value == capped


def test_scores_that_are_0_are_no_grades() -> None:
    sample = {"retrieved_ids": ["a", "b"], "retrieved_scores": [0, 0], "relevant_ids": ["a", "b"]}
    assert played(Recall(), sample)[0].value == 1.0


def test_details_compute_the_score_again() -> None:
    found, _ = played(Recall(k=3), {"retrieved_ids": ["x", "a", "a", "b"], "relevant_ids": {"a": 2, "b": 1, "c": 0}})
    assert (found.value, found.flags, found.reason) == (0.5, ("DUPLICATE_IDS",), "hits: 1 of at most 2 in 3 ranks")
    assert found.details == {"k": 3, "retrieved": 3, "relevant": 2, "hits": 1, "gains": {"2": 2.0},
                             "numerator": 1, "denominator": 2}  # fmt: skip


def test_its_name_in_the_tables() -> None:
    assert [Recall().suffix, Recall(k=5).suffix, Recall(k=5, capped=True).suffix] == ["", "@5", "@5_capped"]
