"""Noise sensitivity: do wrong claims come from what was retrieved?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rageval_spark.errors import JudgeFault
from rageval_spark.measures.side_by_side import ask_together
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.items import chunked
from rageval_spark.prompts.steps import chunks_of, claims_of
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score


@dataclass(frozen=True)
class NoiseSensitivity(Metric):
    """Share of the response's claims that are wrong by the reference and come from a retrieved chunk.

    In [0, 1], LOWER is better. A chunk is relevant when it supports a claim of the reference. `mode: relevant` counts only
    wrong claims that a relevant chunk supports, `mode: irrelevant` only those that no relevant chunk supports; `mode: both`,
    the default, counts all of them, and its measures have the two parts, which add up to the score.
    Skipped without a response (NO_ANSWER), contexts (NO_CONTEXT) or a reference (NO_REFERENCE), and where the response
    or the reference claims nothing (NO_CLAIMS, NO_REFERENCE_CLAIMS).
    Prompts: 2 to list the claims of response and reference, 1 per 20 claims of the response to verify them by the
    reference, and for each distinct chunk 1 per 20 claims of both, or of each where one is a short answer; 1 or 2 more
    for a text of which none were listed.
    Source: RAGChecker (arXiv 2408.08067), noise sensitivity in relevant and irrelevant chunks, with claims in place of
    triplets.
    """

    name: ClassVar[str] = "noise_sensitivity"
    default_threshold: ClassVar[float | None] = 0.2
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response", "retrieved_contexts", "reference")
    asks: ClassVar[tuple[str, ...]] = ("list_claims", "verify_claims", "detect_refusal")
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    layer: ClassVar[Layer] = "generation"
    several: ClassVar[tuple[str, ...]] = ("mode",)

    measured: ClassVar[tuple[str, ...]] = ("relevant", "irrelevant", "samples")

    mode: Literal["both", "relevant", "irrelevant"] = "both"

    @property
    def suffix(self) -> str:
        return "" if self.mode == "both" else f"_{self.mode}"

    def score(self, sample: Sample) -> Flow:
        if sample.response is None or blank(sample.response):
            return Score.skipped("NO_ANSWER")
        chunks = chunks_of(sample)
        if blank(sample.reference_text):
            return Score.skipped("NO_REFERENCE")
        claims, expected = yield from ask_together(
            claims_of(sample, sample.response, "NO_CLAIMS"),
            claims_of(sample, sample.reference_text, "NO_REFERENCE_CLAIMS"))
        first = len(claims.claims) + 1
        both = (*claims.claims, *enumerate((text for _, text in expected.claims), first))
        sides = [(both[:first - 1], claims.question), (both[first - 1:], expected.question)]
        if claims.question == expected.question:  # else the claims of one text only are read with the question
            sides = [(both, claims.question)]
        by_reference, *answers = yield [
            VerifyClaims(claims.claims, text=sample.reference_text, question=claims.question),
            *(VerifyClaims(side, (chunk,), question=question) for chunk in chunks.judged for side, question in sides)]
        if fault := next((one for one in (by_reference, *answers) if isinstance(one, JudgeFault)), None):
            return Score.failed(fault.code, fault.reason, flags=claims.flags)
        by_chunk = [{id: one for answer in of_one for id, one in answer.items()} for of_one in chunked(answers, len(sides))]
        details: list[dict[str, Any]] = [
            {"id": id, "text": text, "correct": by_reference[id].value,
             "chunks": [rank for (rank, _), one in zip(chunks.judged, by_chunk, strict=True) if one[id].value]}
            for id, text in claims.claims]
        relevant = {rank for (rank, _), one in zip(chunks.judged, by_chunk, strict=True)
                    if any(one[id].value for id, _ in both[first - 1:])}
        noisy: dict[str, list[str]] = {"relevant": [], "irrelevant": []}
        for claim in details:
            if not claim["correct"] and claim["chunks"]:
                noisy["irrelevant" if relevant.isdisjoint(claim["chunks"]) else "relevant"].append(claim["text"])
        counted = [*noisy["relevant"], *noisy["irrelevant"]] if self.mode == "both" else noisy[self.mode]
        kind = "retrieved" if self.mode == "both" else self.mode
        reason = f"{len(counted)} of {len(details)} claims are wrong and stand in {kind} chunks"
        if counted:
            reason += ": " + "; ".join(counted[:3])
        parts = {name: len(texts) / len(details) for name, texts in noisy.items()}
        return Score.of(len(counted) / len(details), reason, flags=(*claims.flags, *expected.flags, *chunks.flags),
                        measures={**parts, "samples": 1.0}, claims=details, relevant_chunks=sorted(relevant),
                        numerator=len(counted), denominator=len(details), **parts)

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        samples = measures.get("samples", 0.0)
        return {f"{name}_noise": measures[name] / samples for name in ("relevant", "irrelevant")} if samples else {}
