"""Scores of two systems side by side: paired by sample in Spark, of which only summaries are collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from rageval_spark.spark.samples import NUMBERED
from rageval_spark.statistics.paired import RESAMPLED, Numbers, Sums

BASE, NEW = "base", "new"
SIDES = (BASE, NEW)
STATUSES = ("failed", "skipped", "scored")
CELL = ("place", "slice", "slice_value")


@dataclass(frozen=True)
class Match:
    """A metric under its name, the field group that it was scored through on either side, and the threshold (in [0, 1]) by
    which its scores pass on both: at least it, or at most where `lower` is better. Without a threshold none passes or fails."""

    metric: str
    base: str
    new: str
    threshold: float | None = 0.5
    lower: bool = False

    @property
    def field_group(self) -> str:
        return self.base if self.base == self.new else f"{self.base} → {self.new}"


@dataclass(frozen=True)
class Counts:
    """How many samples one side has: scored, failed, skipped, not in this side, and scored without a score on the other."""

    scored: int
    failed: int
    skipped: int
    missing: int
    alone: int

    @property
    def coverage(self) -> float | None:
        return self.scored / (self.scored + self.failed) if self.scored + self.failed else None


@dataclass(frozen=True)
class Cell:
    """What was found of one match over all samples (`slice` None) or those of one value of a slice.

    `sums` is None where no sample is scored on both sides; `worsened` and `mended` count pairs that fell below the
    threshold and that rose to it.
    """

    match: Match
    slice: str | None
    slice_value: str | None
    counts: Mapping[str, Counts]
    sums: Sums | None
    worsened: int
    mended: int
    values: Numbers | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Change:
    """A sample that passed on one side alone, with both scores."""

    match: Match
    sample_id: str
    base: float
    new: float


def pool_repeats(scores: DataFrame) -> DataFrame:
    """The scores with one id for all rows that have no id of their own and repeat each other in all that identifies them: which
    of them belongs to which of another run cannot be known, so that their averages are paired."""
    return scores.withColumn("sample_id", F.regexp_replace("sample_id", NUMBERED, "$1"))


def count_repeats(scores: DataFrame) -> tuple[int, int]:
    """How many samples there are, and how many of them share all that identifies them with another. Starts one job."""
    ids = scores.select("sample_id").distinct()
    common = F.when(F.col("sample_id").rlike(NUMBERED), F.regexp_replace("sample_id", NUMBERED, "$1"))
    [row] = ids.agg(F.count("*"), F.count(common) + F.count_distinct(common)).collect()
    return row[0], row[1]


def paired(base: DataFrame, new: DataFrame, matches: Sequence[Match], slices: Sequence[str]) -> DataFrame:
    """One row per match and sample of either side: place of the match, sample_id, base, new (scores, or null), difference,
    their statuses (by the place in STATUSES) and whether they passed, and for each slice, by its place, a hash of its value.
    Lazy.

    A sample that a run has several times has the average of its scores. Only numbers are aggregated, which Spark does
    without sorting.
    """
    sides = [_side(scores, side, matches, slices) for side, scores in ((BASE, base), (NEW, new))]
    aggregates = [figure for side in SIDES for figure in (
        F.avg(F.when(F.col("side") == (side == NEW), F.col("score"))).alias(side),
        F.max(F.when(F.col("side") == (side == NEW), F.col("status"))).alias(f"{side}_status"))]
    together = sides[0].unionByName(sides[1]).groupBy("place", "sample_id").agg(
        *aggregates, *(F.max(f"slice{place}").alias(f"slice{place}") for place in range(len(slices))))
    passed = (_passed(F.col(side), matches).alias(f"{side}_passed") for side in SIDES)
    return together.select("*", (F.col(NEW) - F.col(BASE)).alias("difference"), *passed)


def _passed(score: Column, matches: Sequence[Match]) -> Column:
    """Whether the average of a sample's scores meets the threshold; null without a score or a threshold."""
    passed: Column = F.lit(None).cast("boolean")
    for number, match in enumerate(matches):
        if match.threshold is None:
            continue
        meets = score <= match.threshold if match.lower else score >= match.threshold
        passed = F.when(F.col("place") == number, meets).otherwise(passed)
    return passed


def _side(scores: DataFrame, side: str, matches: Sequence[Match], slices: Sequence[str]) -> DataFrame:
    """The scores of one side that play a part."""
    place: Column = F.lit(None).cast("int")
    for number, match in enumerate(matches):
        group = match.base if side == BASE else match.new
        place = F.when((F.col("field_group") == group) & (F.col("metric") == match.metric), number).otherwise(place)
    values = (F.xxhash64(F.col("slices")[F.lit(name)]).alias(f"slice{number}") for number, name in enumerate(slices))
    status = F.array_position(F.array(*map(F.lit, STATUSES)), F.col("status")).cast("int")
    return scores.select(place.alias("place"), "sample_id", "score", status.alias("status"),
                         F.lit(side == NEW).alias("side"), *values).where("place is not null")


def slice_values(base: DataFrame, new: DataFrame, slices: Sequence[str]) -> dict[int, str]:
    """The values that slices have on either side, by their hash. Starts a job where there are slices."""
    if not slices:
        return {}
    both = base.select("slices").unionByName(new.select("slices"))
    value = F.explode(F.array(*(F.col("slices")[F.lit(name)] for name in slices))).alias("value")
    found = both.select(value).distinct().withColumn("hash", F.xxhash64("value"))
    return {row["hash"]: row["value"] for row in found.collect()}


def cells(pairs: DataFrame, matches: Sequence[Match], slices: Sequence[str], values_of: Mapping[int, str]) -> list[Cell]:
    """What there is of each match, over all samples and by slice, in the order of the matches. `values_of` are slice_values.

    Starts a job that sums, and where a cell has no more than RESAMPLED pairs, a second that collects their differences; of
    MOST_CELLS at most, those of all samples first.
    """
    by = [F.struct(F.lit(place).alias("slice"), (F.col(f"slice{place}") if place >= 0 else F.lit(0)).cast("long")
                   .alias("slice_value")) for place in range(-1, len(slices))]
    sliced = pairs.withColumn("by", F.explode(F.array(*by))).select("*", "by.slice", "by.slice_value").drop("by")
    rows = sliced.groupBy(*CELL).agg(*_sums()).collect()

    def value(row: Row) -> str | None:
        return values_of.get(row["slice_value"]) if row["slice"] >= 0 else None

    rows.sort(key=lambda row: (row["slice"], value(row) or "", row["place"]))
    small = [row for row in rows if 0 < row["pairs"] <= RESAMPLED and not row["binary"]]
    values = _values(sliced, small[:MOST_CELLS])
    return [Cell(matches[row["place"]], slices[row["slice"]] if row["slice"] >= 0 else None, value(row),
                 {side: Counts(*(row[f"{side}_{name}"] for name in ("scored", "failed", "skipped", "missing", "alone")))
                  for side in SIDES},
                 Sums(row["pairs"], row["base"], row["new"], row["difference"], row["squares"], row["rose"], row["fell"],
                      row["binary"]) if row["pairs"] else None,
                 row["worsened"], row["mended"], values.get(_key(row)))
            for row in rows]


def _key(row: Row) -> tuple[int, int, int]:
    return row["place"], row["slice"], row["slice_value"]


def _values(sliced: DataFrame, small: Sequence[Row]) -> dict[tuple[int, int, int], Numbers]:
    """The differences of these cells, ascending."""
    if not small:
        return {}
    of = F.broadcast(sliced.sparkSession.createDataFrame([*map(_key, small)], "place int, slice int, slice_value long"))
    found = sliced.where("difference is not null").join(of, [*CELL]).groupBy(*CELL).agg(F.collect_list("difference").alias("all"))
    return {_key(row): np.sort(np.asarray(row["all"], dtype=float)) for row in found.collect()}


def _sums() -> list[Column]:
    d, base, new = F.col("difference"), F.col(BASE), F.col(NEW)
    pair = d.isNotNull()
    figures = [
        F.count(d).alias("pairs"), F.sum(F.when(pair, base)).alias("base"), F.sum(F.when(pair, new)).alias("new"),
        F.sum(d).alias("difference"), F.sum(d * d).alias("squares"),
        F.count_if(d > NOISE).alias("rose"), F.count_if(d < -NOISE).alias("fell"),
        F.coalesce(F.min(F.when(pair, base.isin(0.0, 1.0) & new.isin(0.0, 1.0))), F.lit(False)).alias("binary"),
        F.count_if(F.col("base_passed") & ~F.col("new_passed")).alias("worsened"),
        F.count_if(~F.col("base_passed") & F.col("new_passed")).alias("mended"),
    ]
    for side, other in ((BASE, NEW), (NEW, BASE)):
        status = F.col(f"{side}_status")
        figures += [F.count(side).alias(f"{side}_scored"),
                    *(F.count_if((status == STATUSES.index(name) + 1) & F.col(side).isNull()).alias(f"{side}_{name}")
                      for name in ("failed", "skipped")),
                    F.count_if(status.isNull()).alias(f"{side}_missing"),
                    F.count_if(F.col(side).isNotNull() & F.col(other).isNull()).alias(f"{side}_alone")]
    return figures


MOST_CELLS = 200
"""So many cells' differences are looked at one by one; of the rest, values of slices that nobody reads, their sums."""
NOISE = 1e-9
"""A difference up to this is none: scores such as 0.1 + 0.2 and 0.3 differ by the noise of floating point."""


def changes(pairs: DataFrame, matches: Sequence[Match], most: int) -> list[Change]:
    """Of each match the samples that passed on one side alone, at most so many, those that changed most first. Starts one job."""
    changed = pairs.where("base_passed != new_passed")
    by = Window.partitionBy("place").orderBy(F.abs("difference").desc(), "sample_id")
    rows = changed.withColumn("rank", F.row_number().over(by)).where(F.col("rank") <= most).orderBy("place", "rank")
    return [Change(matches[row["place"]], row["sample_id"], row[BASE], row[NEW]) for row in rows.collect()]
