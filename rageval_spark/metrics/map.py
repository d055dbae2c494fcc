"""MAP: do the relevant ids stand at the top, and are all of them there?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from rageval_spark.measures.ranking import Ranking, RankingMetric
from rageval_spark.score import Score


@dataclass(frozen=True)
class MAP(RankingMetric):
    """Share of relevant ids among the retrieved ones so far, averaged over all relevant ids (0 for those not found).

    In [0, 1], higher is better: 1 where all relevant ids come first. Only the first `k` retrieved ids count; with
    `norm: capped` the average is over min(relevant, `k`), so that 1 can be reached. The average over samples is the mean
    average precision. A repeat of an id keeps its rank and counts 0.
    Ids stand in the order of their ranks; where there are retrieved_scores, those decide, the highest first.
    With `k` there is no threshold unless you give one or cap it: a perfect ranking may stay below 1.
    Skipped without relevant ids (NO_RELEVANT_IDS) or where the retrieved ids are missing (NO_RETRIEVED_IDS).
    Prompts: none.
    Source: trec_eval (map, map_cut); `norm: capped` as Kaggle and Dingo have it.
    """

    name: ClassVar[str] = "map"
    aliases: ClassVar[tuple[str, ...]] = ("mean_average_precision", "average_precision", "map_cut")

    norm: Literal["relevant", "capped"] = "relevant"

    @property
    def reaches_1(self) -> bool:
        return self.k is None or self.norm == "capped"

    @property
    def suffix(self) -> str:
        return super().suffix + ("_capped" if self.norm == "capped" else "")

    def measure(self, ranking: Ranking) -> Score:
        most = min(ranking.relevant, ranking.depth) if self.norm == "capped" else ranking.relevant
        precisions = sum(found / rank for found, rank in enumerate(ranking.hits, 1))
        reason = f"relevant ids at ranks {ranking.hits[:10]}" if ranking.hits else f"no hit in {ranking.depth} ranks"
        return ranking.scored(precisions / most if most else 0.0, reason, numerator=precisions, denominator=most)
