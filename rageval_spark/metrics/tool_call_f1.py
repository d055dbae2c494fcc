"""Tool call F1: were the expected calls made, and no others?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from rageval_spark.measures.tool_calls import Matched, ToolCallMetric, f1, share


@dataclass(frozen=True)
class ToolCallF1(ToolCallMetric):
    """Share of agreement between the tool calls made and those expected: the harmonic mean of precision and recall.

    In [0, 1], higher is better; 1 where no call was made and none expected, 0 where only one side has calls. Each call
    is matched once. `match`: exact compares name and arguments (1 equals 1.0, but neither true nor "1"; null is not
    given), name_only the name, arg_credit counts the share of equal arguments. `order`: any, ordered (the longest common
    subsequence), or sequence (all calls in their order, or 0). `lenient` compares values as trimmed texts. With
    `accepted_values` each expected argument lists the values that will do, "" meaning that it may be left out, and a
    call may be written {name: arguments} as BFCL does. Calls are taken from `tool_calls`, else from `messages`.
    Over samples: micro_precision, micro_recall and micro_f1 of all calls together, and extra_calls_per_sample.
    Skipped without expected calls (NO_REFERENCE; an empty list is none expected), and where it is not known which calls
    were made (NO_CALLS). A call made with arguments that cannot be read is wrong (flag UNREADABLE_ARGUMENTS). Failed where
    a call has no name, or an expected one has arguments that cannot be read (INVALID_INPUT).
    Prompts: none.
    Source: F1 over the multiset of calls; ragas ToolCallF1 takes sets and ToolCallAccuracy whole sequences; accepted values
    as in the Berkeley Function Calling Leaderboard (BFCL).
    """

    name: ClassVar[str] = "tool_call_f1"
    default_threshold: ClassVar[float | None] = 0.8

    def value(self, found: Matched) -> Fraction:
        return f1(found)

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        doubled = {**measures, "doubled": 2 * measures.get("true_positives", 0.0)}
        found = {
            "micro_precision": share(measures, "true_positives", "calls_made"),
            "micro_recall": share(measures, "true_positives", "calls_expected"),
            "micro_f1": share(doubled, "doubled", "calls_made", "calls_expected"),
            "extra_calls_per_sample": share(measures, "extra_calls", "samples"),
        }
        return {name: value for name, value in found.items() if value is not None}
