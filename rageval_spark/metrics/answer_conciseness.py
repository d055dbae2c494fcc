"""Answer conciseness: does the response say what was asked for, and no more?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.language import word_tokens
from rageval_spark.prompts.needed import JudgeNeeded
from rageval_spark.prompts.steps import claims_of, share_of
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score


@dataclass(frozen=True)
class AnswerConciseness(Metric):
    """Share of the response's claims that the question asked for.

    In [0, 1], higher is better. A claim is needed when it answers the question or is required to understand the answer;
    what repeats an earlier claim is not. `details.length_ratio` holds the words of the response to those of the
    reference, where there is one.
    Skipped without a response (NO_ANSWER) or a question (NO_QUESTION), and where the response claims nothing or declines
    to answer (NO_CLAIMS).
    Prompts: 1 to list the claims and 1 per 20 claims; 1 or 2 more where none were listed.
    Source: the answer relevancy of DeepEval (share of statements that are to the point), over claims, with ties decided
    against the response.
    """

    name: ClassVar[str] = "answer_conciseness"
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response")
    reads_too: ClassVar[tuple[str, ...]] = ("reference",)
    asks: ClassVar[tuple[str, ...]] = ("list_claims", "judge_needed", "detect_refusal")
    layer: ClassVar[Layer] = "generation"

    def score(self, sample: Sample) -> Flow:
        if sample.response is None or blank(sample.response):
            return Score.skipped("NO_ANSWER")
        if not sample.has_question:
            return Score.skipped("NO_QUESTION")
        claims = yield from claims_of(sample, sample.response, "NO_CLAIMS")
        [answer] = yield [JudgeNeeded(claims.claims, sample.user_input or "", sample.history)]
        expected = len(word_tokens(sample.reference_text))
        ratio = {"length_ratio": len(word_tokens(sample.response)) / expected} if expected else {}
        return share_of(claims, answer, "needed", **ratio)
