"""Citation recall: is what is stated cited, and do the citations bear it out?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.citations import CitationMetric, citations_of
from rageval_spark.metric import Flow
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class CitationRecall(CitationMetric):
    """Share of the response's statements that the contexts they cite support.

    In [0, 1], higher is better; 0, flagged NO_CITATIONS, where nothing is cited. A sentence that states no fact needs no
    citation.
    Skipped without a response (NO_ANSWER), where the data has no contexts (NO_CONTEXT), where no sentence states a fact
    (NO_CLAIMS), and where it cites in a style that is not known (UNKNOWN_CITATIONS).
    Prompts: 1 per 20 sentences of the response, 1 per cited context, 1 per sentence that several contexts support only
    together, and 1 per citation of such a sentence where there are more than two.
    Source: ALCE (arXiv 2305.14627), with citations of no context kept in the denominator.
    """

    name: ClassVar[str] = "citation_recall"
    default_threshold: ClassVar[float | None] = 0.8

    def score(self, sample: Sample) -> Flow:
        citations = yield from citations_of(sample, self.first, self.pattern)
        supported = sum(one.supported for one in citations.statements)
        total = len(citations.statements)
        return Score.of(citations.recall, f"{supported} of {total} statements supported by what they cite",
                        flags=citations.flags, numerator=supported, denominator=total, **citations.details())
