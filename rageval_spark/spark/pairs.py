"""Scores of two systems side by side: paired by sample in Spark, of which only summaries are collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from rageval_spark.statistics.paired import RESAMPLED, Numbers, Sums

BASE, NEW = "base", "new"
SIDES = (BASE, NEW)
CELL = ("place", "slice", "slice_value")


@dataclass(frozen=True)
class Match:
    """A metric under its name, and the field group that it was scored through on either side."""

    metric: str
    base: str
    new: str

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


def paired(base: DataFrame, new: DataFrame, matches: Sequence[Match], slices: Sequence[str]) -> DataFrame:
    """One row per match and sample of either side: place of the match, sample_id, base, new (scores, or null), difference,
    their statuses and whether they passed, and a column for each slice, named by its place. Lazy.

    A sample that a run has several times has the average of its scores.
    """
    sides = [_side(scores, side, matches, slices) for side, scores in ((BASE, base), (NEW, new))]
    aggregates = [figure for side in SIDES for figure in (
        F.avg(F.when(F.col("side") == side, F.col("score"))).alias(side),
        F.max(F.when(F.col("side") == side, F.col("status"))).alias(f"{side}_status"),
        F.min(F.when(F.col("side") == side, F.col("passed"))).alias(f"{side}_passed"))]
    together = sides[0].unionByName(sides[1]).groupBy("place", "sample_id").agg(
        *aggregates, *(F.max(f"slice{place}").alias(f"slice{place}") for place in range(len(slices))))
    return together.withColumn("difference", F.col(NEW) - F.col(BASE))


def _side(scores: DataFrame, side: str, matches: Sequence[Match], slices: Sequence[str]) -> DataFrame:
    """The scores of one side that play a part."""
    place: Column = F.lit(None).cast("int")
    for number, match in enumerate(matches):
        group = match.base if side == BASE else match.new
        place = F.when((F.col("field_group") == group) & (F.col("metric") == match.metric), number).otherwise(place)
    values = (F.col("slices")[F.lit(name)].alias(f"slice{number}") for number, name in enumerate(slices))
    return scores.select(place.alias("place"), "sample_id", "score", "status", "passed", F.lit(side).alias("side"),
                         *values).where("place is not null")


def cells(pairs: DataFrame, matches: Sequence[Match], slices: Sequence[str]) -> list[Cell]:
    """What there is of each match, over all samples and by slice, in the order of the matches.

    Starts a job that sums, and where a cell has no more than RESAMPLED pairs, a second that collects their differences.
    """
    null = F.lit(None).cast("string")
    by = [F.struct(null.alias("slice"), null.alias("slice_value")),
          *(F.struct(F.lit(name).alias("slice"), F.col(f"slice{number}").alias("slice_value"))
            for number, name in enumerate(slices))]
    sliced = pairs.withColumn("by", F.explode(F.array(*by))).select("*", "by.slice", "by.slice_value").drop("by")
    rows = sliced.groupBy(*CELL).agg(*_sums()).collect()
    values = _values(sliced, [row for row in rows if 0 < row["pairs"] <= RESAMPLED and not row["binary"]])
    order: dict[str | None, int] = {None: -1, **{name: number for number, name in enumerate(slices)}}
    rows.sort(key=lambda row: (order[row["slice"]], row["slice_value"] or "", row["place"]))
    return [Cell(matches[row["place"]], row["slice"], row["slice_value"],
                 {side: Counts(*(row[f"{side}_{name}"] for name in ("scored", "failed", "skipped", "missing", "alone")))
                  for side in SIDES},
                 Sums(row["pairs"], row["base"], row["new"], row["difference"], row["squares"], row["rose"], row["fell"],
                      row["binary"]) if row["pairs"] else None,
                 row["worsened"], row["mended"], values.get((row["place"], row["slice"], row["slice_value"])))
            for row in rows]


def _values(sliced: DataFrame, small: Sequence[Row]) -> dict[tuple[int, str | None, str | None], Numbers]:
    """The differences of these cells, ascending."""
    if not small:
        return {}
    of = F.broadcast(sliced.sparkSession.createDataFrame([tuple(row[name] for name in CELL) for row in small],
                                                         "at int, of_slice string, of_value string"))
    here = (F.col("place") == F.col("at")) & F.col("slice").eqNullSafe(F.col("of_slice")) \
        & F.col("slice_value").eqNullSafe(F.col("of_value"))
    found = sliced.where("difference is not null").join(of, here).groupBy(*CELL).agg(F.collect_list("difference").alias("values"))
    return {tuple(row[name] for name in CELL): np.sort(np.asarray(row["values"], dtype=float)) for row in found.collect()}


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
                    F.count_if((status == "failed") & F.col(side).isNull()).alias(f"{side}_failed"),
                    F.count_if((status == "skipped") & F.col(side).isNull()).alias(f"{side}_skipped"),
                    F.count_if(status.isNull()).alias(f"{side}_missing"),
                    F.count_if(F.col(side).isNotNull() & F.col(other).isNull()).alias(f"{side}_alone")]
    return figures


NOISE = 1e-9
"""A difference up to this is none: scores such as 0.1 + 0.2 and 0.3 differ by the noise of floating point."""


def changes(pairs: DataFrame, matches: Sequence[Match], most: int) -> list[Change]:
    """Of each match the samples that passed on one side alone, at most so many, those that changed most first. Starts one job."""
    changed = pairs.where("base_passed != new_passed")
    by = Window.partitionBy("place").orderBy(F.abs("difference").desc(), "sample_id")
    rows = changed.withColumn("rank", F.row_number().over(by)).where(F.col("rank") <= most).orderBy("place", "rank")
    return [Change(matches[row["place"]], row["sample_id"], row[BASE], row[NEW]) for row in rows.collect()]
