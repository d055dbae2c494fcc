"""Hit rate, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.hit_rate import HitRate
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
        (["a"], ["x", "a", "a"], 1, 0.0),
        (["a"], ["x", "a", "a"], 2, 1.0),
        ({"a": -1, "b": 1}, ["a", "b"], 1, 0.0),
        ({"a": -1, "b": 1}, ["a", "b"], 2, 1.0),
        (["a"], ["a", "x", "x2"], None, 1.0),
        (["c"], ["a", "b", "c"], 2, 0.0),
        (["a", "b", "c", "d"], ["c"], 1, 1.0),
        (["a"], ["x"], None, 0.0),
    ],
)
def test_hit_rate(relevant: Any, retrieved: list[str], k: int | None, value: float) -> None:
    found, asked = played(HitRate(k=k), {"retrieved_ids": retrieved, "relevant_ids": relevant})
    assert (found.value, asked) == (value, [])


def test_every_score_is_0_or_1() -> None:
    assert HitRate.binary


def test_the_reason_names_the_rank() -> None:
    found, _ = played(HitRate(k=3), {"retrieved_ids": ["x", "a"], "relevant_ids": ["a"]})
    assert (found.reason, found.details["gains"]) == ("first hit at rank 2", {"2": 1.0})
    found, _ = played(HitRate(k=3), {"retrieved_ids": ["x", "y"], "relevant_ids": ["a"]})
    assert (found.reason, found.details["gains"]) == ("no hit in 3 ranks", {})
