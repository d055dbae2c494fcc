"""Precision: how much of what was retrieved is relevant?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.ranking import Ranking, RankingMetric
from rageval_spark.score import Score


@dataclass(frozen=True)
class Precision(RankingMetric):
    """Share of the first `k` ranks at which a relevant id stands; ranks that nothing was retrieved for count 0.

    In [0, 1], higher is better. With `retrieved`, only ranks that something was retrieved for are counted. Without `k`
    all retrieved ids count. A repeat of an id keeps its rank and counts 0.
    Ids stand in the order of their ranks; where there are retrieved_scores, those decide, the highest first.
    No threshold unless you give one: with fewer relevant ids than ranks it cannot reach 1.
    Skipped without relevant ids (NO_RELEVANT_IDS) or where the retrieved ids are missing (NO_RETRIEVED_IDS).
    Prompts: none.
    Source: trec_eval (P, set_P); with `retrieved`, the precision of MLflow.
    """

    name: ClassVar[str] = "precision"
    default_threshold: ClassVar[float | None] = None
    aliases: ClassVar[tuple[str, ...]] = ("id_based_context_precision",)

    retrieved: bool = False

    @property
    def suffix(self) -> str:
        return super().suffix + ("_retrieved" if self.retrieved else "")

    def measure(self, ranking: Ranking) -> Score:
        return ranking.share(len(ranking.gains) if self.retrieved else ranking.depth)
