"""Faithfulness: is the response grounded in the contexts?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.steps import chunks_of, claims_of, share_of
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score


@dataclass(frozen=True)
class Faithfulness(Metric):
    """Share of the response's claims that the retrieved contexts support.

    In [0, 1], higher is better. A claim that the contexts do not mention counts as one that they contradict: 0.
    Skipped without a response (NO_ANSWER), without contexts (NO_CONTEXT), and where the response claims nothing or
    declines to answer (NO_CLAIMS).
    Prompts: 1 to list the claims and 1 per 20 claims to verify them; 1 or 2 more where none were listed.
    Source: RAGAS (arXiv 2309.15217), section 3, with the claims that were sent as denominator.
    """

    name: ClassVar[str] = "faithfulness"
    default_threshold: ClassVar[float | None] = 0.8
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response", "retrieved_contexts")
    asks: ClassVar[tuple[str, ...]] = ("list_claims", "verify_claims", "detect_refusal")
    aliases: ClassVar[tuple[str, ...]] = ("LLMRAGFaithfulness",)
    layer: ClassVar[Layer] = "generation"

    def score(self, sample: Sample) -> Flow:
        if sample.response is None or blank(sample.response):
            return Score.skipped("NO_ANSWER")
        chunks = chunks_of(sample)
        claims = yield from claims_of(sample, sample.response, "NO_CLAIMS")
        [answer] = yield [VerifyClaims(claims.claims, chunks.judged, question=claims.question)]
        return share_of(claims, answer, "supported by the contexts")
