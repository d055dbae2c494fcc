"""Goal achievement: did the assistant get done what the user wanted?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.goals import GOAL_KINDS, judged_goal
from rageval_spark.measures.tool_calls import share
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class GoalAchievement(Metric):
    """Share of the goal that the conversation reaches: 1 or 0, or with `partial` the steps done of those needed.

    In [0, 1], higher is better. The goal is `reference_goal`, or what the judge infers that the user wants. The judge
    lists the steps that it needs; what the assistant claims counts only where a tool's result or the conversation
    itself shows it. `details` keep both numbers, the missing steps and remarks on the way there. Without `messages` the
    conversation is history, question and response. Over samples: achieved_rate and average_partial.
    Skipped where the assistant says nothing (NO_TURNS). Failed where the conversation is longer than the judge takes
    (CONTEXT_TOO_LONG): it is never cut.
    Prompts: 1; 2 without a reference goal.
    Source: ragas AgentGoalAccuracy, with and without reference; the steps as in DeepEval's task completion, counted here.
    """

    name: ClassVar[str] = "goal_achievement"
    reads: ClassVar[tuple[str, ...]] = ("messages",)
    reads_too: ClassVar[tuple[str, ...]] = ("reference_goal", "user_input", "history")
    instead: ClassVar[Mapping[str, str]] = {"messages": "response"}
    asks: ClassVar[tuple[str, ...]] = GOAL_KINDS
    layer: ClassVar[Layer] = "agent"
    aliases: ClassVar[tuple[str, ...]] = ("agent_goal_accuracy",)
    measured: ClassVar[tuple[str, ...]] = ("achieved", "partial", "samples")

    binary: ClassVar[bool] = True

    partial: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "binary", not self.partial)

    @property
    def suffix(self) -> str:
        return "@partial" if self.partial else ""

    def score(self, sample: Sample) -> Flow:
        judged = yield from judged_goal(sample)
        details = judged.details()
        achieved, partial, missing = details["achieved"], details["partial"], details["missing"]
        reason = (f"{'achieved' if achieved else 'not achieved'}, {judged.done} of {len(judged.check.steps)} steps done"
                  + (f"; missing: {'; '.join(missing[:3])}" if missing else ""))
        measures = {"achieved": float(achieved), "partial": partial, "samples": 1.0}
        return Score.of(partial if self.partial else achieved, reason, measures=measures, **details)

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        found = {"achieved_rate": share(measures, "achieved", "samples"),
                 "average_partial": share(measures, "partial", "samples")}
        return {name: value for name, value in found.items() if value is not None}
