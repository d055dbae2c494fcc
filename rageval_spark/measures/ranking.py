"""A ranking of ids held against those that are relevant: what the retrieval metrics without a judge share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import StrictInt

from rageval_spark.errors import ConfigError
from rageval_spark.metric import Layer, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class Ranking:
    """The ids retrieved down to rank `k` (to the end where it is None).

    `gains` has, by rank, the grade of a relevant id where it stands first, otherwise 0; `grades` those of all relevant
    ids, the highest first: at least one.
    """

    gains: tuple[float, ...]
    grades: tuple[float, ...]
    k: int | None = None
    flags: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        """How many ranks count: `k`, also where fewer ids were retrieved."""
        return len(self.gains) if self.k is None else self.k

    @property
    def hits(self) -> list[int]:
        """The ranks at which a relevant id stands first."""
        return [rank for rank, gain in enumerate(self.gains, 1) if gain > 0]

    @property
    def relevant(self) -> int:
        return len(self.grades)

    def scored(self, value: float, reason: str, **details: Any) -> Score:
        """A score of it, with all that is needed to compute it again: `gains` by rank, those that are 0 left out."""
        gains = {str(rank): self.gains[rank - 1] for rank in self.hits}
        return Score.of(value, reason, flags=self.flags, k=self.k, retrieved=len(self.gains), relevant=self.relevant,
                        hits=len(gains), gains=gains, **details)

    def share(self, denominator: int) -> Score:
        """The hits as a share of so many; 0 of none."""
        hits, of = len(self.hits), min(self.relevant, denominator)
        return self.scored(hits / denominator if denominator else 0.0, f"hits: {hits} of at most {of} in {self.depth} ranks",
                           numerator=hits, denominator=denominator)


@dataclass(frozen=True)
class RankingMetric(Metric):
    """A measure of the ids retrieved down to rank `k`; without `k`, of all of them."""

    reads: ClassVar[tuple[str, ...]] = ("retrieved_ids", "relevant_ids")
    reads_too: ClassVar[tuple[str, ...]] = ("retrieved_scores",)
    instead: ClassVar[Mapping[str, str]] = {"relevant_ids": "relevance"}
    layer: ClassVar[Layer] = "retrieval"
    several: ClassVar[tuple[str, ...]] = ("k",)

    k: StrictInt | None = None

    def __post_init__(self) -> None:
        if self.k is not None and (isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1):
            raise ConfigError(f"{self.name}.k is a whole number above 0, or null for all ranks; found {self.k!r} (INVALID_K)")
        if not self.reaches_1:
            object.__setattr__(self, "default_threshold", None)

    @property
    def reaches_1(self) -> bool:
        """Whether a perfect ranking scores 1, however many ids are relevant. If not, no score is bad by default."""
        return True

    @property
    def suffix(self) -> str:
        return "" if self.k is None else f"@{self.k}"

    def score(self, sample: Sample) -> Score:
        ranking = ranking_of(sample, self.k)
        return ranking if isinstance(ranking, Score) else self.measure(ranking)

    def measure(self, ranking: Ranking) -> Score:
        raise NotImplementedError


def ranking_of(sample: Sample, k: int | None = None) -> Ranking | Score:
    """The sample's ranking, or the score that says why there is none.

    Ids are in the order of `retrieved_ids`; with `retrieved_scores`, the highest score first and the greater id (by its
    bytes) first where scores are equal, as trec_eval has it. Where grades are given they alone decide what is relevant.
    """
    relevant = dict.fromkeys(sample.relevant_ids or (), 1.0) if sample.relevance is None else {
        id: grade for id, grade in sample.relevance.items() if grade > 0}
    ids, scores = sample.retrieved_ids, sample.retrieved_scores
    if not relevant:
        return Score.skipped("NO_RELEVANT_IDS")
    if ids is None:
        return Score.skipped("NO_RETRIEVED_IDS")
    flags = ["DUPLICATE_IDS"] if len(set(ids)) < len(ids) else []
    if scores is not None:
        if len(scores) != len(ids):
            return Score.failed("INVALID_INPUT", f"retrieved_scores: there are {len(scores)} for {len(ids)} retrieved_ids")
        if unknown := [id for id, score in zip(ids, scores, strict=True) if math.isnan(score)]:
            return Score.failed("INVALID_SCORE", f"retrieved_scores: the score of {unknown[0]!r} is NaN")
        flags += ["SCORE_TIES"] if len(set(scores)) < len(scores) else []
        ordered = sorted(zip(scores, (id.encode("utf-8", "surrogatepass") for id in ids), ids, strict=True), reverse=True)
        ids = tuple(id for _, _, id in ordered)
    left = dict(relevant)
    gains = tuple(left.pop(id, 0.0) for id in ids[:k])  # a repeat finds nothing left
    return Ranking(gains, tuple(sorted(relevant.values(), reverse=True)), k, tuple(flags))
