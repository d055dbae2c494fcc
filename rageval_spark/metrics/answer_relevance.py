"""Answer relevance, judged: how far does the response answer the question?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.answers import RateAnswer
from rageval_spark.prompts.steps import unasked
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class AnswerRelevance(Metric):
    """Rating from 1 (beside the question) to 5 (all that was asked, nothing else), as (rating - 1) / 4.

    In [0, 1], higher is better; 0 where the response is blank or declines to answer. Whether it is right plays no part.
    Skipped without a response (NO_ANSWER) or a question (NO_QUESTION).
    Prompts: 1.
    Source: the relevance graders of mlflow and TruLens, on five described steps.
    """

    name: ClassVar[str] = "answer_relevance"
    default_threshold: ClassVar[float | None] = 0.75
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response")
    asks: ClassVar[tuple[str, ...]] = ("rate_answer",)
    layer: ClassVar[Layer] = "generation"

    def score(self, sample: Sample) -> Flow:
        if (known := unasked(sample)) is not None:
            return known
        graded = yield RateAnswer(sample.user_input or "", sample.response or "", sample.history)
        if graded.refused:
            return Score.of(0.0, graded.reason or "the response declines to answer", flags=("REFUSAL",), rating=graded.rating,
                            refused=1)
        return Score.of((graded.rating - 1) / 4, graded.reason or f"rated {graded.rating} of 5", rating=graded.rating, refused=0)
