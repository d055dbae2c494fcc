"""Tool call precision: were the calls that were made the right ones?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from rageval_spark.measures.tool_calls import Matched, ToolCallMetric, precision, share


@dataclass(frozen=True)
class ToolCallPrecision(ToolCallMetric):
    """Share of the tool calls made that were expected, each expected call counting once.

    In [0, 1], higher is better; 1 where none was made and none expected. Parameters as of tool_call_f1. Over samples,
    `micro_precision` is that of all calls together.
    Skipped where calls were expected but none was made (NO_CALLS), and without expected calls (NO_REFERENCE). A call
    made with arguments that cannot be read is wrong (flag UNREADABLE_ARGUMENTS). Failed where a call has no name, or an
    expected one has arguments that cannot be read (INVALID_INPUT).
    Prompts: none.
    Source: precision over the multiset of calls; ragas ToolCallF1 takes sets instead.
    """

    name: ClassVar[str] = "tool_call_precision"
    default_threshold: ClassVar[float | None] = 0.8

    def value(self, found: Matched) -> Fraction:
        return precision(found)

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        micro = share(measures, "true_positives", "calls_made")
        return {} if micro is None else {"micro_precision": micro}
