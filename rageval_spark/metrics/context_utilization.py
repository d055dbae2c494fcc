"""Context utilization: do the chunks that the response uses stand at the top?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.contexts import JudgeUsefulness
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.prompts.steps import chunks_of, ranked
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score


@dataclass(frozen=True)
class ContextUtilization(Metric):
    """Share of chunks of use to the response among the retrieved ones so far, averaged over the ranks of those of use.

    In [0, 1], higher is better. Context precision for data without a reference: a chunk is of use when it helps to
    arrive at the response, right or wrong. `details.flat` is the plain share. A repeat keeps its rank and counts 0.
    Skipped without a response (NO_ANSWER), without contexts (NO_CONTEXT) or a question (NO_QUESTION), and where the
    response declines to answer (NO_CLAIMS).
    Prompts: 1 to see whether the response declines, 1 per 10 distinct chunks; 1 per chunk where `isolated`.
    Source: RAGAS context precision without reference.
    """

    name: ClassVar[str] = "context_utilization"
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response", "retrieved_contexts")
    asks: ClassVar[tuple[str, ...]] = ("detect_refusal", "judge_usefulness")
    aliases: ClassVar[tuple[str, ...]] = ("llm_context_precision_without_reference",)
    layer: ClassVar[Layer] = "retrieval"

    isolated: bool = False

    def score(self, sample: Sample) -> Flow:
        if sample.response is None or blank(sample.response):
            return Score.skipped("NO_ANSWER")
        chunks = chunks_of(sample)
        if not sample.has_question:
            return Score.skipped("NO_QUESTION", flags=chunks.flags)
        asked = sample.user_input or ""
        if (yield DetectRefusal(asked, sample.response, sample.history)):
            return Score.skipped("NO_CLAIMS", flags=("REFUSAL", *chunks.flags))
        [answer] = yield [JudgeUsefulness(contexts=chunks.judged, isolated=self.isolated, history=sample.history,
                                          question=asked, response=sample.response)]
        return ranked(chunks, answer)
