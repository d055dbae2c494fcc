"""Turn efficiency: did the assistant take more turns than the goal needs?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rageval_spark.measures.conversation import calls_in, conversation_of, replies_in
from rageval_spark.measures.goals import GOAL_KINDS, judged_goal
from rageval_spark.measures.tool_calls import distinct, share
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score

MOSTLY = 0.8
"""A share of single-turn conversations above which it is hardly conversations that are evaluated."""


@dataclass(frozen=True)
class TurnEfficiency(Metric):
    """Share of the assistant's turns that the goal would have needed (at most 1); 0 where the goal is not achieved.

    In [0, 1], higher is better: `reference_turns` over the turns taken. Each message of the assistant is a turn, those of
    tools are none; without `messages` the turns are those of history and response. Whether the goal was achieved is
    taken for granted (`goal: assumed`), or asked as goal_achievement asks it, for the same prompts (`goal: judged`).
    Over conversations, those without `reference_turns` included: average_turns, max_turns, min_turns, single_turn_rate,
    mostly_single_turn (1 where that rate is above 0.8), and distinct_call_share, the share of tool calls that repeat no
    earlier one of their conversation.
    Skipped where the assistant says nothing (NO_TURNS) and without the number of turns that would do
    (NO_REFERENCE_TURNS). Failed where that number is below 1 (INVALID_INPUT).
    Prompts: none; where `goal: judged`, 1, or 2 without a reference goal.
    Source: none has it by counting (DeepEval, MLflow and Dingo ask a judge); the ratio of path lengths as in SPL
    (arXiv 1807.06757).
    """

    name: ClassVar[str] = "turn_efficiency"
    reads: ClassVar[tuple[str, ...]] = ("messages", "reference_turns")
    reads_too: ClassVar[tuple[str, ...]] = ("reference_goal", "user_input", "history")
    instead: ClassVar[Mapping[str, str]] = {"messages": "response"}
    layer: ClassVar[Layer] = "agent"
    measured: ClassVar[tuple[str, ...]] = ("conversations", "turns", "single_turn", "calls", "distinct_calls")
    extremes: ClassVar[tuple[str, ...]] = ("turns",)

    goal: Literal["assumed", "judged"] = "assumed"

    def __post_init__(self) -> None:
        if self.goal == "judged":  # the only parameter that decides whether a judge is needed
            object.__setattr__(self, "asks", GOAL_KINDS)

    @property
    def suffix(self) -> str:
        return "@judged" if self.goal == "judged" else ""

    def score(self, sample: Sample) -> Flow:
        conversation = conversation_of(sample)
        turns, calls = len(replies_in(conversation)), calls_in(conversation)
        if turns == 0:
            return Score.skipped("NO_TURNS")
        measures = {"conversations": 1.0, "turns": float(turns), "single_turn": float(turns == 1),
                    "calls": float(len(calls)), "distinct_calls": float(distinct(calls))}
        counted: dict[str, Any] = {"turns": turns, "reference_turns": sample.reference_turns,
                                   "roles": dict(Counter(message.role for message in conversation)),
                                   "distinct_call_share": distinct(calls) / len(calls) if calls else None}
        if sample.reference_turns is None:
            return Score.skipped("NO_REFERENCE_TURNS", measures=measures, **counted)
        if sample.reference_turns < 1:
            return Score.failed("INVALID_INPUT", f"reference_turns: expected 1 or more, found {sample.reference_turns}")
        efficiency = min(1.0, sample.reference_turns / turns)
        taken = f"{turns} turns, {sample.reference_turns} would do"
        if self.goal == "judged":
            judged = yield from judged_goal(sample)
            counted |= judged.details()
            if not judged.check.achieved:
                return Score.of(0.0, f"the goal is not achieved; {taken}", measures=measures, **counted)
        return Score.of(efficiency, taken, measures=measures, **counted)

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        single = share(measures, "single_turn", "conversations")
        found = {
            "average_turns": share(measures, "turns", "conversations"),
            "max_turns": measures.get("greatest turns"),
            "min_turns": measures.get("least turns"),
            "single_turn_rate": single,
            "mostly_single_turn": None if single is None else float(single > MOSTLY),
            "distinct_call_share": share(measures, "distinct_calls", "calls"),
        }
        return {name: value for name, value in found.items() if value is not None}
