"""MRR, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.mrr import MRR
from tests.playing import played

ABCDE = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("relevant", "retrieved", "k", "value"),
    [
        (ABCDE, ["a"], 10, 1.0),
        (ABCDE, [], 10, 0.0),
        (ABCDE, [], None, 0.0),
        ({"d1": 3, "d2": 2, "d3": 1}, ["d3", "d1", "x", "d2"], 3, 1.0),
        (["a", "b"], ["a", "a", "a"], 3, 1.0),
        (["a"], ["x", "a", "a"], 3, 1 / 2),
        (["a"], ["x", "a", "a"], 1, 0.0),
        ({"a": -1, "b": 1}, ["a", "b"], 2, 1 / 2),
        (["a"], ["a", "x", "x2"], None, 1.0),
        (["c"], ["a", "b", "c"], None, 1 / 3),
        (["c"], ["a", "b", "c"], 2, 0.0),
        (["a"], ["x", "x", "x", "a"], None, 1 / 4),
        (["a", "b", "c", "d"], ["c"], 1, 1.0),
        (["a"], ["x"], None, 0.0),
    ],
)
def test_mrr(relevant: Any, retrieved: list[str], k: int | None, value: float) -> None:
    found, asked = played(MRR(k=k), {"retrieved_ids": retrieved, "relevant_ids": relevant})
    assert (found.value, asked) == (value, [])


def test_equal_scores_are_ordered_by_id_as_for_every_other_metric() -> None:
    sample = {"retrieved_ids": ["a", "z"], "retrieved_scores": [1, 1], "relevant_ids": ["a"]}
    found, _ = played(MRR(), sample)
    assert (found.value, found.flags) == (1 / 2, ("SCORE_TIES",))
    assert played(MRR(k=1), sample)[0].value == 0.0
