"""Citation F1: recall and precision of citations in one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.citations import CitationMetric, citations_of
from rageval_spark.metric import Flow
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class CitationF1(CitationMetric):
    """Harmonic mean of citation recall and citation precision.

    In [0, 1], higher is better; 0 where one of the two is, and, flagged NO_CITATIONS, where nothing is cited.
    Skipped without a response (NO_ANSWER), where the data has no contexts (NO_CONTEXT), where no sentence states a fact
    (NO_CLAIMS), and where it cites in a style that is not known (UNKNOWN_CITATIONS).
    Prompts: 1 per 20 sentences of the response, 1 per cited context, 1 per sentence that several contexts support only
    together, and 1 per citation of such a sentence where there are more than two.
    Source: ALCE (arXiv 2305.14627), with citations of no context kept in the denominator.
    """

    name: ClassVar[str] = "citation_f1"
    default_threshold: ClassVar[float | None] = 0.8

    def score(self, sample: Sample) -> Flow:
        citations = yield from citations_of(sample, self.first, self.pattern)
        precision = "none" if citations.precision is None else f"{citations.precision:.2f}"
        return Score.of(citations.f1, f"recall {citations.recall:.2f}, precision {precision}", flags=citations.flags,
                        **citations.details())
