"""MRR: how far down does the first relevant id stand?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.ranking import Ranking, RankingMetric
from rageval_spark.score import Score


@dataclass(frozen=True)
class MRR(RankingMetric):
    """Share that the first relevant id makes of the ids down to its rank: the reciprocal of that rank.

    In [0, 1], higher is better: 1 where a relevant id comes first, 0 where none is among the first `k`. Without `k` all
    retrieved ids count. The average over samples is the mean reciprocal rank.
    Ids stand in the order of their ranks; where there are retrieved_scores, those decide, the highest first.
    Skipped without relevant ids (NO_RELEVANT_IDS) or where the retrieved ids are missing (NO_RETRIEVED_IDS).
    Prompts: none.
    Source: trec_eval (recip_rank).
    """

    name: ClassVar[str] = "mrr"
    aliases: ClassVar[tuple[str, ...]] = ("mean_reciprocal_rank", "reciprocal_rank", "rr")

    def measure(self, ranking: Ranking) -> Score:
        if not ranking.hits:
            return ranking.scored(0.0, f"no hit in {ranking.depth} ranks")
        return ranking.scored(1 / ranking.hits[0], f"first hit at rank {ranking.hits[0]}")
