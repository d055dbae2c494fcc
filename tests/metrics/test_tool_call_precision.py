"""Tool call precision, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.tool_call_precision import ToolCallPrecision
from tests.playing import played

A, B, X = {"name": "a"}, {"name": "b"}, {"name": "weather", "args": {"city": "X"}}


@pytest.mark.parametrize(
    ("made", "expected", "value", "code"),
    [
        ([X, X, X], [X], 1 / 3, None),
        ([A, B], [A], 0.5, None),
        ([A], [A, B], 1.0, None),
        ([A], [], 0.0, None),
        ([], [], 1.0, None),
        ([], [A], None, "NO_CALLS"),
        ([A], None, None, "NO_REFERENCE"),
        (None, [A], None, "NO_CALLS"),
        ([{"name": "a", "args": "no JSON"}], [A], 0.0, None),
        ([{"args": {}}], [A], None, "INVALID_INPUT"),
    ],
)
def test_precision(made: Any, expected: Any, value: float | None, code: str | None) -> None:
    score, asked = played(ToolCallPrecision(), {"tool_calls": made, "reference_tool_calls": expected})
    assert (score.code, asked) == (code, [])
    assert score.value == (None if value is None else pytest.approx(value, abs=1e-12))
    assert not score.measures or value is not None  # what is undefined adds nothing to the sums


def test_credit_for_arguments() -> None:
    made = [{"name": "t", "args": {"x": 1, "y": 2}}, {"name": "t", "args": {"x": 9}}]
    sample = {"tool_calls": made, "reference_tool_calls": [{"name": "t", "args": {"x": 1, "y": 3}}]}
    assert played(ToolCallPrecision(match="arg_credit"), sample)[0].value == 0.25


def test_over_samples() -> None:
    assert ToolCallPrecision().extra({"true_positives": 1.0, "calls_made": 4.0}) == {"micro_precision": 0.25}
    assert ToolCallPrecision().extra({"calls_made": 0.0}) == {}
