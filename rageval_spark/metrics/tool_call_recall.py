"""Tool call recall: were the expected calls made?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from rageval_spark.measures.tool_calls import Matched, ToolCallMetric, recall, share


@dataclass(frozen=True)
class ToolCallRecall(ToolCallMetric):
    """Share of the expected tool calls that were made, each made call counting once.

    In [0, 1], higher is better; 1 where none was expected and none made. Parameters as of tool_call_f1. Over samples,
    `micro_recall` is that of all calls together.
    Skipped where calls were made but none was expected (NO_CALLS), and without expected calls (NO_REFERENCE). A call
    made with arguments that cannot be read is wrong (flag UNREADABLE_ARGUMENTS). Failed where a call has no name, or an
    expected one has arguments that cannot be read (INVALID_INPUT).
    Prompts: none.
    Source: recall over the multiset of calls; DeepEval's tool correctness is near to it with match: name_only.
    """

    name: ClassVar[str] = "tool_call_recall"
    default_threshold: ClassVar[float | None] = 0.8

    def value(self, found: Matched) -> Fraction:
        return recall(found)

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        micro = share(measures, "true_positives", "calls_expected")
        return {} if micro is None else {"micro_recall": micro}
