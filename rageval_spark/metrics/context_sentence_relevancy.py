"""Context sentence relevancy: how much of what was retrieved helps?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.errors import JudgeFault
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.language import sentences
from rageval_spark.prompts.sentences import JudgeSentences
from rageval_spark.prompts.steps import chunks_of, numbered, shown
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class ContextSentenceRelevancy(Metric):
    """Share of the contexts' sentences that help to answer the question.

    In [0, 1], higher is better: what is left of 1 is what the generator reads in vain. A sentence that stands there
    twice helps once.
    No threshold unless you give one: a chunk of some length cannot reach 1.
    Skipped without contexts (NO_CONTEXT) or a question (NO_QUESTION).
    Prompts: 1 per 20 distinct sentences of the contexts.
    Source: RAGAS (arXiv 2309.15217), section 3, context relevance, with all sentences as denominator.
    """

    name: ClassVar[str] = "context_sentence_relevancy"
    default_threshold: ClassVar[float | None] = None
    reads: ClassVar[tuple[str, ...]] = ("user_input", "retrieved_contexts")
    asks: ClassVar[tuple[str, ...]] = ("judge_sentences",)
    layer: ClassVar[Layer] = "retrieval"

    def score(self, sample: Sample) -> Flow:
        chunks = chunks_of(sample)
        if not sample.has_question:
            return Score.skipped("NO_QUESTION", flags=chunks.flags)
        read = [one for text in sample.retrieved_contexts or () for one in sentences(text) or ([text] if text.strip() else [])]
        distinct = numbered(read)
        [answer] = yield [JudgeSentences(distinct, sample.user_input or "", sample.history)]
        decided = answer.partial if isinstance(answer, JudgeFault) else answer
        helpful = sum(one.value for one in decided.values())
        details = {"sentences": shown(decided, distinct, "verdict"), "numerator": helpful, "denominator": len(read)}
        if isinstance(answer, JudgeFault):
            return Score.failed(answer.code, answer.reason, flags=chunks.flags, **details)
        return Score.of(helpful / len(read), f"{helpful} of {len(read)} sentences help", flags=chunks.flags, **details)
