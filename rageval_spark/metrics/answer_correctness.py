"""Answer correctness: does the response say what the reference says, no more and no less?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.measures.side_by_side import ask, ask_together
from rageval_spark.measures.vectors import similarity
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.items import Decision
from rageval_spark.prompts.language import normalised
from rageval_spark.prompts.steps import ClaimList, claims_of, shown
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score, Skip


@dataclass(frozen=True)
class AnswerCorrectness(Metric):
    """Weighted mean of the claims' F score, response and reference verified by each other, and their similarity.

    In [0, 1], higher is better. P is the share of the response's claims that the reference supports, R the share of the
    reference's claims that the response supports, F = (1 + beta^2) P R / (beta^2 P + R); `weights` are those of F and of
    the cosine of the embeddings (0.75, 0.25), which is not asked for where its weight is 0. 1 without a prompt where the
    texts are equal; 0 where the response is blank, or where one of the two declines to answer and the other does not.
    Several references are alternatives: each is compared by itself, and the best score counts.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE), and where both decline (BOTH_REFUSED).
    Prompts: 2 to list the claims of both, 1 per 20 claims of each to verify them; 1 or 2 more for a text of which
    none were listed; 2 embeddings; for each further reference the same but the claims of the response.
    Source: RAGAS answer correctness with the claim precision and recall of RAGChecker (arXiv 2408.08067).
    """

    name: ClassVar[str] = "answer_correctness"
    default_threshold: ClassVar[float | None] = 0.7
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response", "reference")
    asks: ClassVar[tuple[str, ...]] = ("list_claims", "verify_claims", "detect_refusal", "embed")
    layer: ClassVar[Layer] = "generation"

    beta: float = 1.0
    weights: tuple[float, float] = (0.75, 0.25)

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or not 0 < sum(self.weights) < math.inf:
            raise ConfigError(f"answer_correctness: weights are two numbers from 0 on, one of them above, not {self.weights} "
                              f"(INVALID_WEIGHTS)")
        if not 0 < self.beta < math.inf:
            raise ConfigError(f"answer_correctness: beta lies above 0, not {self.beta}")
        if not self.weights[1]:  # then a config needs no embeddings
            object.__setattr__(self, "asks", tuple(kind for kind in self.asks if kind != "embed"))

    def score(self, sample: Sample) -> Flow:
        if sample.response is None:
            return Score.skipped("NO_ANSWER")
        references = {rank: text for rank, text in enumerate(sample.reference or (), 1) if not blank(text)}
        if not references:
            return Score.skipped("NO_REFERENCE")
        if blank(sample.response):
            return Score.of(0.0, "the response is blank", flags=("EMPTY_ANSWER",))
        equal = [rank for rank, text in references.items() if normalised(text) == normalised(sample.response)]
        if equal:
            return Score.of(1.0, "response and reference are equal", reference=equal[0])
        claims, *expected = yield from ask_together(
            *(_claims_of(sample, text) for text in (sample.response, *references.values())))
        claimed = {rank: listed for rank, listed in zip(references, expected, strict=True) if listed is not None}
        if claims is None:
            if len(claimed) < len(references):
                return Score.skipped("BOTH_REFUSED", flags=("REFUSAL",))
            return Score.of(0.0, "the response declines to answer", flags=("REFUSAL",))
        if not claimed:
            return Score.of(0.0, "the reference declines to answer")
        outcomes = yield from ask_together(
            *(self._compare(sample.response, claims, references[rank], listed) for rank, listed in claimed.items()))
        compared: dict[int, Score] = dict(zip(claimed, outcomes, strict=True))
        if failed := [score for score in compared.values() if score.status == "failed"]:
            return failed[0]  # the best of the others might not be the best of all
        best = max(compared, key=lambda rank: compared[rank].value or 0.0)
        if len(references) > 1:
            return replace(compared[best], details={**compared[best].details, "reference": best})
        return compared[best]

    def _compare(self, response: str, claims: ClaimList, reference: str, expected: ClaimList) -> Flow:
        """The score by one reference. The embeddings are asked for together with the verdicts."""
        flags = (*claims.flags, *expected.flags)
        verify = ask([VerifyClaims(claims.claims, text=reference, question=claims.question),
                      VerifyClaims(expected.claims, text=response, question=expected.question)])
        flows = [verify, similarity(response, [reference])] if self.weights[1] else [verify]
        (by_reference, by_response), *similar = yield from ask_together(*flows)
        for answer in (by_reference, by_response):
            if isinstance(answer, JudgeFault):
                return Score.failed(answer.code, answer.reason, flags=flags)
        precision, recall = _share(by_reference), _share(by_response)
        weighed = self.beta**2 * precision + recall
        f = (1 + self.beta**2) * precision * recall / weighed if weighed else 0.0
        details: dict[str, Any] = {"claims": shown(by_reference, claims.claims, "verdict"),
                                   "reference_claims": shown(by_response, expected.claims, "verdict"),
                                   "precision": precision, "recall": recall, "f": f}
        value = f
        for cosine, clamped in similar:
            value = (self.weights[0] * f + self.weights[1] * cosine) / sum(self.weights)
            details["cosine"], flags = cosine, (*flags, *clamped)
        return Score.of(value, f"claims: precision {precision:.2f}, recall {recall:.2f}", flags=flags, **details)


def _claims_of(sample: Sample, text: str) -> Any:
    """The claims of a text; None where it declines to answer."""
    try:
        return (yield from claims_of(sample, text, "NO_CLAIMS"))
    except Skip:
        return None


def _share(decided: dict[int, Decision]) -> float:
    return sum(one.value for one in decided.values()) / len(decided)
