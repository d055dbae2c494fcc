"""Answer correctness: does the response say what the reference says, no more and no less?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.measures.vectors import similarity
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.items import Decision
from rageval_spark.prompts.language import normalised
from rageval_spark.prompts.steps import claims_of, shown
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score, Skip


@dataclass(frozen=True)
class AnswerCorrectness(Metric):
    """Weighted mean of the claims' F score, response and reference verified by each other, and their similarity.

    In [0, 1], higher is better. P is the share of the response's claims that the reference supports, R the share of the
    reference's claims that the response supports, F = (1 + beta^2) P R / (beta^2 P + R); `weights` are those of F and of
    the cosine of the embeddings (0.75, 0.25), which is not asked for where its weight is 0. 1 without a prompt where the
    texts are equal; 0 where the response is blank, or where one of the two declines to answer and the other does not.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE), and where both decline (BOTH_REFUSED).
    Prompts: 2 to list the claims of both, 1 per 20 claims of each to verify them; 1 or 2 more for a text of which
    none were listed; 2 embeddings.
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
        reference = sample.reference_text
        if blank(reference):
            return Score.skipped("NO_REFERENCE")
        if blank(sample.response):
            return Score.of(0.0, "the response is blank", flags=("EMPTY_ANSWER",))
        if normalised(sample.response) == normalised(reference):
            return Score.of(1.0, "response and reference are equal")
        claims, expected = (yield from _claims_of(sample, sample.response)), (yield from _claims_of(sample, reference))
        if claims is None or expected is None:
            if claims is expected:
                return Score.skipped("BOTH_REFUSED", flags=("REFUSAL",))
            who = "response" if claims is None else "reference"
            return Score.of(0.0, f"the {who} declines to answer", flags=("REFUSAL",) if claims is None else ())
        flags = (*claims.flags, *expected.flags)
        by_reference, by_response = yield [
            VerifyClaims(claims.claims, text=reference, question=claims.question),
            VerifyClaims(expected.claims, text=sample.response, question=expected.question)]
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
        if self.weights[1]:
            cosine, clamped = yield from similarity(sample.response, [reference])
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
