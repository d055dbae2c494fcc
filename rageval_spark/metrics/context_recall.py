"""Context recall: did the retriever find what the reference needs?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.steps import chunks_of, claims_of, share_of, unfound
from rageval_spark.sample import Sample


@dataclass(frozen=True)
class ContextRecall(Metric):
    """Share of the reference's claims that the retrieved contexts support.

    In [0, 1], higher is better; 0 where contexts were retrieved but all are blank or there are none. The response
    plays no part.
    Skipped without a reference (NO_REFERENCE), where it claims nothing (NO_REFERENCE_CLAIMS), and where the data has
    no contexts (NO_CONTEXT).
    Prompts: 1 to list the claims and 1 per 20 claims to verify them; 1 or 2 more where none were listed.
    Source: RAGAS (arXiv 2309.15217) by claims, as the claim recall of RAGChecker (arXiv 2408.08067).
    """

    name: ClassVar[str] = "context_recall"
    default_threshold: ClassVar[float | None] = 0.8
    reads: ClassVar[tuple[str, ...]] = ("user_input", "retrieved_contexts", "reference")
    asks: ClassVar[tuple[str, ...]] = ("list_claims", "verify_claims", "detect_refusal")
    aliases: ClassVar[tuple[str, ...]] = ("llm_context_recall", "contextual_recall", "LLMRAGContextRecall")
    layer: ClassVar[Layer] = "retrieval"

    def score(self, sample: Sample) -> Flow:
        if (known := unfound(sample)) is not None:
            return known
        claims = yield from claims_of(sample, sample.reference_text, "NO_REFERENCE_CLAIMS")
        [answer] = yield [VerifyClaims(claims.claims, chunks_of(sample).judged, question=claims.question)]
        return share_of(claims, answer, "of the reference found in the contexts")
