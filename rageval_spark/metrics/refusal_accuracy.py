"""Refusal accuracy: does the response decline exactly where it should?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_spark.errors import JudgeFault
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.refusal import DetectRefusal, JudgeAnswerable
from rageval_spark.prompts.steps import chunks_of
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score


@dataclass(frozen=True)
class RefusalAccuracy(Metric):
    """Share of responses that decline where the question should be refused, and answer where it should not.

    0 or 1, higher is better. `should_refuse` is the label; with `derive`, where a sample has none, the judge tells
    whether the contexts hold an answer (where nothing was retrieved, there is none). A blank response scores 0: it
    neither answers nor declines, and is in none of the rates of `extra`: over-refusal, missed refusals, and precision,
    recall and F1 of refusing.
    Skipped without a response (NO_ANSWER) or a label (NO_LABEL); with `derive`, where without a label the question or the
    field of contexts is missing too (NO_QUESTION, NO_CONTEXT).
    Prompts: 1; with `derive`, 1 more where there are contexts and no label.
    Source: abstention counted apart from groundedness, with the over-refusal and missed-refusal rates of safety tests;
    what is a refusal as in Phoenix: an attempt with a caveat is an answer.
    """

    name: ClassVar[str] = "refusal_accuracy"
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response", "should_refuse")
    asks: ClassVar[tuple[str, ...]] = ("detect_refusal", "judge_answerable")
    layer: ClassVar[Layer] = "end_to_end"
    binary: ClassVar[bool] = True
    measured: ClassVar[tuple[str, ...]] = (
        "refused_unanswerable", "refused_answerable", "answered_unanswerable", "answered_answerable")

    derive: bool = False

    def __post_init__(self) -> None:
        if self.derive:
            object.__setattr__(self, "reads", ("user_input", "response", "retrieved_contexts"))
            object.__setattr__(self, "reads_too", ("should_refuse",))
        else:
            object.__setattr__(self, "asks", ("detect_refusal",))

    def score(self, sample: Sample) -> Flow:
        if sample.response is None:
            return Score.skipped("NO_ANSWER")
        label = sample.should_refuse
        if label is None and not self.derive:
            return Score.skipped("NO_LABEL")
        if label is None and not sample.has_question:
            return Score.skipped("NO_QUESTION")
        if label is None and sample.retrieved_contexts is None:
            return Score.skipped("NO_CONTEXT", "neither the label nor the contexts to derive it from are there")
        if blank(sample.response):
            return Score.of(0.0, "the response is blank", flags=("EMPTY_ANSWER",))
        question = sample.user_input or ""
        prompts: list[Any] = [DetectRefusal(question, sample.response, sample.history)]
        if label is None and sample.has_context:
            prompts.append(JudgeAnswerable(question, chunks_of(sample).judged, sample.history))
        refused, *derived = yield prompts
        if fault := next((answer for answer in (refused, *derived) if isinstance(answer, JudgeFault)), None):
            return Score.failed(fault.code, fault.reason)
        should = label if label is not None else not (derived and derived[0].value)
        outcome = f"{'refused' if refused else 'answered'}_{'unanswerable' if should else 'answerable'}"
        return Score.of(refused == should, f"{outcome.replace('_', ' an ')} question",
                        flags=("REFUSAL",) if refused else (), measures={outcome: 1.0}, refused=int(refused),
                        should_refuse=int(should), derived=int(label is None), why=derived[0].reason if derived else None)

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        right, over, missed, answered = (measures.get(name, 0.0) for name in self.measured)
        shares = {
            "over_refusal_rate": (over, over + answered), "missed_refusal_rate": (missed, missed + right),
            "refusal_precision": (right, right + over), "refusal_recall": (right, right + missed),
            "refusal_f1": (2 * right, 2 * right + over + missed),
        }  # fmt: skip
        return {name: part / whole for name, (part, whole) in shares.items() if whole}
