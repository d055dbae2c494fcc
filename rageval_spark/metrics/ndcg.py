"""NDCG: do the ids of the highest grades stand at the top?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from rageval_spark.measures.ranking import Ranking, RankingMetric
from rageval_spark.score import Score


@dataclass(frozen=True)
class NDCG(RankingMetric):
    """Share of the discounted gain that the best order of all relevant ids has in its first `k` ranks.

    In [0, 1], higher is better: 1 where the first `k` are the best there are, in their order. An id's gain is its grade,
    or 2^grade - 1 with `gain: exponential`, over log2(rank + 1). The best order does not depend on how many ids were
    retrieved; without `k` it has all relevant ids. A repeat of an id keeps its rank and gains 0.
    Ids stand in the order of their ranks; where there are retrieved_scores, those decide, the highest first.
    Skipped without relevant ids (NO_RELEVANT_IDS) or where the retrieved ids are missing (NO_RETRIEVED_IDS).
    Prompts: none.
    Source: Järvelin and Kekäläinen 2002, discounted at every rank as in trec_eval (ndcg, ndcg_cut); the exponential gain
    of Burges et al. 2005.
    """

    name: ClassVar[str] = "ndcg"
    aliases: ClassVar[tuple[str, ...]] = ("normalized_discounted_cumulative_gain", "ndcg_cut")

    gain: Literal["linear", "exponential"] = "linear"

    @property
    def suffix(self) -> str:
        return super().suffix + ("_exp" if self.gain == "exponential" else "")

    def measure(self, ranking: Ranking) -> Score:
        best = ranking.grades[:ranking.k]
        try:
            dcg, ideal = self._dcg(ranking.gains), self._dcg(best)
        except OverflowError:
            return Score.failed("INVALID_INPUT", f"relevance: the grade {best[0]:g} is too large for a finite gain")
        value = min(1.0, dcg / ideal)  # rounding may carry nearly equal grades past it
        return ranking.scored(value, f"gain {dcg:.4g} of {ideal:.4g}", best=best, numerator=dcg, denominator=ideal)

    def _dcg(self, grades: Iterable[float]) -> float:
        gains = ((math.expm1(grade * math.log(2)) if self.gain == "exponential" else grade) for grade in grades)
        return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
