"""Was the goal of a conversation reached? One flow, so that metrics that ask it pay once."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from rageval_spark.measures.conversation import conversation_of, replies_in
from rageval_spark.prompts.goals import CheckGoal, GoalCheck, InferGoal
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Skip

GOAL_KINDS = (InferGoal.kind, CheckGoal.kind)


@dataclass(frozen=True)
class JudgedGoal:
    """A goal, where it comes from, and what the judge found of it."""

    goal: str
    end_state: str | None
    inferred: bool
    check: GoalCheck

    @property
    def done(self) -> int:
        return sum(done for _, done in self.check.steps)

    def details(self) -> Mapping[str, Any]:
        steps = [{"id": id, "text": text, "done": int(done)} for id, (text, done) in enumerate(self.check.steps, 1)]
        return {"goal": self.goal, "end_state": self.end_state, "inferred": self.inferred, "steps": steps,
                "achieved": int(self.check.achieved), "partial": self.done / len(steps),
                "missing": [text for text, done in self.check.steps if not done],
                "why": self.check.reason, "notes": self.check.notes}


def judged_goal(sample: Sample) -> Generator[Any, Any, JudgedGoal]:
    """The sample's reference goal, or else the one that the judge infers, checked against the conversation.

    One prompt, two without a reference goal. Raises Skip(NO_TURNS) where the assistant says nothing.
    """
    conversation = conversation_of(sample)
    if not replies_in(conversation):
        raise Skip("NO_TURNS")
    messages = tuple((one.role, one.text, tuple(map(str, one.calls))) for one in conversation)
    if sample.reference_goal is not None and not blank(sample.reference_goal):
        check = yield CheckGoal(messages, sample.reference_goal)
        return JudgedGoal(sample.reference_goal, None, False, check)
    inferred = yield InferGoal(messages)
    check = yield CheckGoal(messages, inferred.goal, inferred.end_state)
    return JudgedGoal(inferred.goal, inferred.end_state, True, check)
