"""Context precision: do the useful chunks stand at the top?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.contexts import JudgeUsefulness
from rageval_spark.prompts.steps import chunks_of, ranked
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score


@dataclass(frozen=True)
class ContextPrecision(Metric):
    """Share of useful chunks among the retrieved ones so far, averaged over the ranks of the useful ones.

    In [0, 1], higher is better: 1 where all useful chunks come first, 0 where none is useful. A chunk is useful when
    it helps to arrive at the reference. This is average precision over what was retrieved, so it judges the order;
    `details.flat` is the plain share of useful chunks. A repeat of an earlier chunk keeps its rank and counts 0.
    Skipped without contexts (NO_CONTEXT), a reference (NO_REFERENCE) or a question (NO_QUESTION).
    Prompts: 1 per 10 distinct chunks; 1 per chunk where `isolated`.
    Source: RAGAS context precision with reference; average precision as in trec_eval, normalised by the useful chunks
    that were retrieved.
    """

    name: ClassVar[str] = "context_precision"
    reads: ClassVar[tuple[str, ...]] = ("user_input", "retrieved_contexts", "reference")
    asks: ClassVar[tuple[str, ...]] = ("judge_usefulness",)
    aliases: ClassVar[tuple[str, ...]] = (
        "llm_context_precision_with_reference", "contextual_precision", "LLMRAGContextPrecision")
    layer: ClassVar[Layer] = "retrieval"

    isolated: bool = False

    def score(self, sample: Sample) -> Flow:
        chunks = chunks_of(sample)
        if blank(sample.reference_text):
            return Score.skipped("NO_REFERENCE", flags=chunks.flags)
        if not sample.has_question:
            return Score.skipped("NO_QUESTION", flags=chunks.flags)
        [answer] = yield [JudgeUsefulness(contexts=chunks.judged, isolated=self.isolated, history=sample.history,
                                          question=sample.user_input or "", reference=sample.reference_text)]
        return ranked(chunks, answer)
