"""Recall: how much of what is relevant was retrieved?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.ranking import Ranking, RankingMetric
from rageval_spark.score import Score


@dataclass(frozen=True)
class Recall(RankingMetric):
    """Share of the relevant ids that are among the first `k` retrieved ones.

    In [0, 1], higher is better. With more than `k` relevant ids it cannot reach 1, unless `capped`: then it is the share
    of min(relevant, `k`). Without `k` all retrieved ids count.
    Ids stand in the order of their ranks; where there are retrieved_scores, those decide, the highest first.
    With `k` there is no threshold unless you give one or cap it: a perfect ranking may stay below 1.
    Skipped without relevant ids (NO_RELEVANT_IDS) or where the retrieved ids are missing (NO_RETRIEVED_IDS).
    Prompts: none.
    Source: trec_eval (recall, set_recall); `capped` as BEIR (arXiv 2104.08663) has it.
    """

    name: ClassVar[str] = "recall"
    aliases: ClassVar[tuple[str, ...]] = ("id_based_context_recall",)

    capped: bool = False

    @property
    def reaches_1(self) -> bool:
        return self.k is None or self.capped

    @property
    def suffix(self) -> str:
        return super().suffix + ("_capped" if self.capped else "")

    def measure(self, ranking: Ranking) -> Score:
        return ranking.share(min(ranking.relevant, ranking.depth) if self.capped else ranking.relevant)
