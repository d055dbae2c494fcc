"""Tool call recall, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.tool_call_recall import ToolCallRecall
from tests.playing import played

A, B, X = {"name": "a"}, {"name": "b"}, {"name": "weather", "args": {"city": "X"}}


@pytest.mark.parametrize(
    ("made", "expected", "value", "code"),
    [
        ([X, X, X], [X], 1.0, None),
        ([X], [X, X, X], 1 / 3, None),
        ([A, B], [A], 1.0, None),
        ([A], [A, B], 0.5, None),
        ([], [A], 0.0, None),
        ([], [], 1.0, None),
        ([A], [], None, "NO_CALLS"),
        ([], None, None, "NO_REFERENCE"),
        (None, [A], None, "NO_CALLS"),
        ([A], [{"args": {}}], None, "INVALID_INPUT"),
    ],
)
def test_recall(made: Any, expected: Any, value: float | None, code: str | None) -> None:
    score, asked = played(ToolCallRecall(), {"tool_calls": made, "reference_tool_calls": expected})
    assert (score.code, asked) == (code, [])
    assert score.value == (None if value is None else pytest.approx(value, abs=1e-12))
    assert not score.measures or value is not None


def test_names_alone() -> None:
    sample = {"tool_calls": [{"name": "weather", "args": {"city": "Y"}}], "reference_tool_calls": [X, A]}
    assert played(ToolCallRecall(), sample)[0].value == 0.0
    assert played(ToolCallRecall(match="name_only"), sample)[0].value == 0.5


def test_over_samples() -> None:
    assert ToolCallRecall().extra({"true_positives": 1.0, "calls_expected": 4.0}) == {"micro_recall": 0.25}
    assert ToolCallRecall().extra({}) == {}
