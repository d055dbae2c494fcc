"""Context relevancy: is what was retrieved about the question?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.contexts import RateContexts1, RateContexts2
from rageval_spark.prompts.items import Decision
from rageval_spark.prompts.language import normalised
from rageval_spark.prompts.steps import chunks_of
from rageval_spark.sample import Sample
from rageval_spark.score import Score

FULL = 2


@dataclass(frozen=True)
class ContextRelevancy(Metric):
    """Share of the retrieved chunks that two independently worded ratings find relevant to the question.

    In [0, 1], higher is better. Each chunk is rated 0 to 2 twice; it is relevant when the mean is at least
    `relevant_from`. `details.graded` is the mean rating over chunks, scaled to [0, 1]. A repeated chunk is rated once
    and counts as often as it occurs; a blank one, and one that only repeats the question, counts 0 unrated.
    No threshold unless you give one: a system that always retrieves as many chunks cannot reach 1.
    Skipped without contexts (NO_CONTEXT) or a question (NO_QUESTION). Failed where a chunk has no rating at all; where
    it has one, that stands alone (flag SINGLE_JUDGE).
    Prompts: 2 per 10 distinct chunks; 2 per chunk where `isolated`.
    Source: the dual-judge context relevance of NVIDIA's metrics (ragas), per chunk as ARES (arXiv 2311.09476) has it.
    """

    name: ClassVar[str] = "context_relevancy"
    default_threshold: ClassVar[float | None] = None
    reads: ClassVar[tuple[str, ...]] = ("user_input", "retrieved_contexts")
    asks: ClassVar[tuple[str, ...]] = ("rate_contexts_1", "rate_contexts_2")
    aliases: ClassVar[tuple[str, ...]] = ("LLMRAGContextRelevancy",)
    layer: ClassVar[Layer] = "retrieval"

    relevant_from: float = 1.0
    isolated: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.relevant_from <= FULL:
            raise ConfigError("context_relevancy: relevant_from must be above 0 and at most 2, "
                              f"not {self.relevant_from}")

    def score(self, sample: Sample) -> Flow:
        chunks = chunks_of(sample)
        if not sample.has_question:
            return Score.skipped("NO_QUESTION", flags=chunks.flags)
        question = sample.user_input or ""
        told = tuple((id, text) for id, text in chunks.judged if normalised(text) != normalised(question))
        rubrics = [rubric(contexts=told, isolated=self.isolated, question=question, history=sample.history)
                   for rubric in (RateContexts1, RateContexts2)]
        answers = (yield rubrics) if told else []
        ratings = [answer.partial if isinstance(answer, JudgeFault) else answer for answer in answers]
        rows = [_rated(id, text, ratings) for id, text in told]
        means = {row["id"]: row["mean"] for row in rows}
        unrated = [id for id, mean in means.items() if mean is None]
        faults = [answer for answer in answers if isinstance(answer, JudgeFault)]
        if unrated:
            return Score.failed(faults[0].code, faults[0].reason, flags=chunks.flags, chunks=rows)
        by_rank = [means.get(chunks.same_as.get(rank, rank), 0.0) for rank in range(1, chunks.count + 1)]
        relevant = sum(mean >= self.relevant_from for mean in by_rank)
        flags = (*chunks.flags, *(["SINGLE_JUDGE"] if faults else []))
        return Score.of(
            relevant / chunks.count, f"{relevant} of {chunks.count} chunks relevant", flags=flags, chunks=rows,
            graded=sum(by_rank) / (FULL * chunks.count), best=max(by_rank) / FULL,
            disagreement=_mean([abs(a - b) for a, b in (row["ratings"] for row in rows) if None not in (a, b)]),
            numerator=relevant, denominator=chunks.count,
        )


def _rated(id: int, text: str, ratings: Sequence[Mapping[int, Decision]]) -> dict[str, Any]:
    both = [rating.get(id) for rating in ratings]
    values = [one.value for one in both if one]
    return {"id": id, "text": text, "ratings": [one.value if one else None for one in both], "mean": _mean(values),
            "reasons": [one.reason if one else None for one in both]}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
