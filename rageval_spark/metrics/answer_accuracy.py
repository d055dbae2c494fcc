"""Answer accuracy: is the response right by the reference?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.accuracy import JudgeAccuracy
from rageval_spark.prompts.language import normalised
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score

OUTCOMES = ("wrong", "partly", "right")


@dataclass(frozen=True)
class AnswerAccuracy(Metric):
    """Share of the right answer that the response gives, as the judge rates it by the reference: none, a part, all.

    0, 0.5 or 1, higher is better. Of several references, agreeing with one is enough; a response with the very words
    of one is right unasked. A blank response scores 0. `extra` has the shares of responses that are right and partly
    right: an average of 0.5 may be either.
    Skipped without a response (NO_ANSWER), a reference (NO_REFERENCE) or a question (NO_QUESTION).
    Prompts: 1; none where the response has the words of a reference.
    Source: the answer accuracy of NVIDIA's metrics (ragas), with one rating in place of two averaged ones.
    """

    name: ClassVar[str] = "answer_accuracy"
    default_threshold: ClassVar[float | None] = 0.75
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response", "reference")
    asks: ClassVar[tuple[str, ...]] = ("judge_accuracy",)
    layer: ClassVar[Layer] = "end_to_end"
    aliases: ClassVar[tuple[str, ...]] = ("nv_accuracy",)
    measured: ClassVar[tuple[str, ...]] = OUTCOMES

    def score(self, sample: Sample) -> Flow:
        if sample.response is None:
            return Score.skipped("NO_ANSWER")
        references = tuple(text for text in sample.reference or () if not blank(text))
        if not references:
            return Score.skipped("NO_REFERENCE")
        if not sample.has_question:
            return Score.skipped("NO_QUESTION")
        if blank(sample.response):
            return Score.of(0.0, "the response is blank", flags=("EMPTY_ANSWER",), measures={"wrong": 1.0})
        if normalised(sample.response) in map(normalised, references):
            return Score.of(1.0, "the response has the words of a reference", measures={"right": 1.0})
        rated = yield JudgeAccuracy(sample.user_input or "", sample.response, references, sample.history)
        outcome = OUTCOMES[rated.value]
        return Score.of(rated.value / 2, rated.reason or f"{outcome} by the reference", measures={outcome: 1.0},
                        rating=rated.value)

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        total = sum(measures.get(name, 0.0) for name in OUTCOMES)
        return {f"share_{name}": measures.get(name, 0.0) / total for name in ("right", "partly")} if total else {}
