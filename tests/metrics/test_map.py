"""MAP, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.map import MAP
from tests.playing import played

ABCDE = ["a", "b", "c", "d", "e"]
GRADES = {"d1": 3, "d2": 2, "d3": 1}


@pytest.mark.parametrize(
    ("relevant", "retrieved", "k", "value", "capped"),
    [
        (ABCDE, ["a"], 10, 1 / 5, 1 / 5),
        (ABCDE, ["a"], None, 1 / 5, 1.0),
        (ABCDE, ["a", "b", "c"], 3, 3 / 5, 1.0),
        (ABCDE, [], 10, 0.0, 0.0),
        (ABCDE, [], None, 0.0, 0.0),
        (GRADES, ["d3", "d1", "x", "d2"], 3, 2 / 3, 2 / 3),
        (GRADES, ["d3", "d1", "x", "d2"], None, 0.916667, 0.916667),
        (["a", "b"], ["a", "a", "a"], 3, 1 / 2, 1 / 2),
        (["a"], ["x", "a", "a"], 3, 1 / 2, 1 / 2),
        ({"a": -1, "b": 1}, ["a", "b"], 2, 1 / 2, 1 / 2),
        (["a"], ["a", "x", "x2"], None, 1.0, 1.0),
        (["c"], ["a", "b", "c"], 3, 1 / 3, 1 / 3),
        (["a", "b", "c", "d"], ["c"], 1, 1 / 4, 1.0),
        (["a", "b"], ["x", "a", "y", "b"], None, (1 / 2 + 2 / 4) / 2, (1 / 2 + 2 / 4) / 2),
        (["a", "b"], ["x", "a", "y", "b"], 3, 1 / 4, 1 / 4),
        (["a"], ["x"], None, 0.0, 0.0),
    ],
)
def test_map(relevant: Any, retrieved: list[str], k: int | None, value: float, capped: float) -> None:
    sample = {"retrieved_ids": retrieved, "relevant_ids": relevant}
    found, asked = played(MAP(k=k), sample)
    assert found.value == pytest.approx(value, abs=1e-6)
    assert (asked, found.details["denominator"]) == ([], found.details["relevant"])
    assert played(MAP(k=k, norm="capped"), sample)[0].value == pytest.approx(capped, abs=1e-6)


@pytest.mark.parametrize("n", range(1, 40))
def test_all_at_the_top_is_exactly_1(n: int) -> None:
    ids = [str(i) for i in range(n)]
    assert played(MAP(), {"retrieved_ids": [*ids, "x"], "relevant_ids": ids})[0].value == 1.0


def test_its_name_in_the_tables() -> None:
    assert [MAP().suffix, MAP(k=5).suffix, MAP(k=5, norm="capped").suffix] == ["", "@5", "@5_capped"]
