"""Citation precision: is each citation of use?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.citations import CitationMetric, citations_of
from rageval_spark.metric import Flow
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class CitationPrecision(CitationMetric):
    """Share of the response's citations that are of use to the statement they stand at.

    In [0, 1], higher is better. A citation is of use when its statement is supported, and the cited context supports it
    alone, or the others it cites do not without it. A number of no context is a citation that is never of use.
    Skipped without a response (NO_ANSWER), where the data has no contexts (NO_CONTEXT), where no sentence states a fact
    (NO_CLAIMS), where nothing is cited (NO_CITATIONS), and where it cites in a style that is not known (UNKNOWN_CITATIONS).
    Prompts: 1 per 20 sentences of the response, 1 per cited context, 1 per sentence that several contexts support only
    together, and 1 per citation of such a sentence where there are more than two.
    Source: ALCE (arXiv 2305.14627), with citations of no context kept in the denominator.
    """

    name: ClassVar[str] = "citation_precision"
    default_threshold: ClassVar[float | None] = 0.8

    def score(self, sample: Sample) -> Flow:
        citations = yield from citations_of(sample, self.first, self.pattern)
        if citations.precision is None:
            return Score.skipped("NO_CITATIONS", **citations.details())
        precise = sum(len(one.precise) for one in citations.statements)
        return Score.of(citations.precision, f"{precise} of {citations.count} citations of use", numerator=precise,
                        denominator=citations.count, **citations.details())
