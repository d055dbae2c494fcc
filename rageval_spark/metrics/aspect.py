"""Aspect: a user's own question, answered by yes or no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.criteria import NEEDED, CheckAspect, Shown, checked
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score


@dataclass(frozen=True)
class Aspect(Metric):
    """Share of samples for which the judge answers your own yes-or-no question with yes.

    0 or 1, higher is better; lower where `yes_is_good` is false, as for "Is the response rude?": the score stays 1
    for yes, and a sample passes at or below the threshold. `question` is yours, `fields` are the fields of the sample
    that the judge is shown: user_input and response unless set, or retrieved_contexts, reference, history. Several
    in one config are told apart with `as:`. A blank response, if it is shown, is a no that does not
    pass: 0 with the flag EMPTY_ANSWER, but skipped (NO_ANSWER) if no is good.
    Skipped where a field that is shown is missing: NO_QUESTION, NO_ANSWER, NO_CONTEXT or NO_REFERENCE; history may be.
    Prompts: 1, never divided.
    Source: the aspect critic of ragas, with one verdict in place of a majority.
    """

    name: ClassVar[str] = "aspect"
    reads: ClassVar[tuple[str, ...]] = tuple(NEEDED)
    asks: ClassVar[tuple[str, ...]] = ("check_aspect",)
    layer: ClassVar[Layer] = "generation"
    binary: ClassVar[bool] = True
    aliases: ClassVar[tuple[str, ...]] = ("aspect_critic",)

    question: str = ""
    fields: tuple[str, ...] = ("user_input", "response")
    yes_is_good: bool = True

    def __post_init__(self) -> None:
        fields = checked("aspect", self.question, self.fields)
        object.__setattr__(self, "fields", fields)
        object.__setattr__(self, "reads", tuple(name for name in fields if name != "history"))
        object.__setattr__(self, "reads_too", tuple(name for name in fields if name == "history"))
        if not self.yes_is_good:
            object.__setattr__(self, "direction", "lower")

    def score(self, sample: Sample) -> Flow:
        shown = Shown.of(sample, self.fields)
        if shown.response is not None and blank(shown.response):
            if not self.yes_is_good:  # a system that says nothing must not pass for saying nothing bad
                return Score.skipped("NO_ANSWER")
            return Score.of(0.0, "the response is blank", flags=("EMPTY_ANSWER",), verdict=0)
        answered = yield CheckAspect(self.question, shown, self.yes_is_good)
        return Score.of(answered.value, answered.reason or ("yes" if answered.value else "no"), verdict=answered.value)
