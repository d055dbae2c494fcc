"""Hit rate: was anything relevant retrieved?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.ranking import Ranking, RankingMetric
from rageval_spark.score import Score


@dataclass(frozen=True)
class HitRate(RankingMetric):
    """Share of samples for which at least one relevant id is among the first `k` retrieved ones.

    0 or 1 for a sample, higher is better. Without `k` all retrieved ids count.
    Ids stand in the order of their ranks; where there are retrieved_scores, those decide, the highest first.
    Skipped without relevant ids (NO_RELEVANT_IDS) or where the retrieved ids are missing (NO_RETRIEVED_IDS).
    Prompts: none.
    Source: trec_eval (success).
    """

    name: ClassVar[str] = "hit_rate"
    binary: ClassVar[bool] = True
    aliases: ClassVar[tuple[str, ...]] = ("hit_ratio", "hit", "success")

    def measure(self, ranking: Ranking) -> Score:
        hits = ranking.hits
        return ranking.scored(float(bool(hits)), f"first hit at rank {hits[0]}" if hits else f"no hit in {ranking.depth} ranks")
