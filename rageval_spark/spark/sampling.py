"""A part of a dataset in place of all of it: chosen by ids alone, with weights that keep averages unbiased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.engine.sampling import Sampling, allotted
from rageval_spark.errors import InputError
from rageval_spark.spark.read import rows_told
from rageval_spark.spark.samples import normalised

CELLS = 65_536
"""Cells, all strata together, in which places are counted before those of one cell a stratum are put in order."""
MOST_STRATA = 10_000


def drawn(frame: DataFrame, groups: Sequence[FieldGroup], slices: Sequence[str],
          how: Sampling | None) -> tuple[DataFrame, Mapping[str, Any] | None]:
    """The samples of a dataset (as `normalised` makes them), all or the chosen ones with their `weight`; and what a summary
    tells of the choice: the config's values, `of` how many rows, how many are `chosen` (None where all are wanted).

    Each id has a place in [0, 1), a hash of it and the seed, so that neither order nor partitions matter; a stratum's
    part are its rows with the first places. By share these are all below it, so that a row stays in as data grows; by
    number growth moves the end a little. Rows of a stratum with one id have one place and go together, past the number if
    need be. Each stratum has a row at least. `weight` is rows / chosen rows of the stratum: given how many are chosen, which ones
    is pure chance, so that weighted averages are unbiased.

    Starts one job, and one more unless all rows are chosen; each collects a row per stratum. Raises InputError where a
    column is not there, the data cannot be read, or has more strata than `n` or MOST_STRATA.
    """
    samples = normalised(frame, groups, slices, how.stratify_by if how else ())
    if how is None:
        return samples, None
    word = F.xxhash64(F.lit(how.seed).cast("long"), "sample_id")
    samples = samples.withColumn("place", F.shiftrightunsigned(word, 11) * F.lit(2.0**-53))
    places = samples.select("stratum", "place")
    rows, parts = _divided(places, how)
    told = {**how.model_dump(mode="json"), "of": sum(rows.values())}
    if parts == rows:
        return samples, {**told, "chosen": told["of"]}
    ends = _ends(places, parts)
    weighed = [(stratum, last, rows[stratum] / chosen) for stratum, (last, chosen) in ends.items()]
    beside = F.broadcast(frame.sparkSession.createDataFrame(weighed, "stratum string, last double, weight double"))
    return (samples.drop("weight").join(beside, "stratum").where("place <= last"),
            {**told, "chosen": sum(chosen for _, chosen in ends.values())})


def _divided(places: DataFrame, how: Sampling) -> tuple[dict[str, int], dict[str, int]]:
    """By stratum: how many rows it has, how many of them are wanted."""
    below = F.count_if(F.col("place") < how.share) if how.share is not None else F.lit(0)
    with rows_told():
        counted = places.groupBy("stratum").agg(F.count("*"), below).orderBy("stratum").limit(MOST_STRATA + 1).collect()
    by = ", ".join(how.stratify_by)
    if len(counted) > MOST_STRATA:
        raise InputError(f"sample.stratify_by: {by} has more than {MOST_STRATA:,} different values; name a column with few, "
                         f"such as a language or a department")
    rows = {stratum: count for stratum, count, _ in counted}
    if how.n is None:
        return rows, {stratum: max(1, count) for stratum, _, count in counted}
    if rows and how.n < len(rows):
        raise InputError(f"sample.n is {how.n:,}, but {by} has {len(rows):,} different values, and each is to have a row in "
                         f"the sample; make n at least {len(rows):,}")
    return rows, dict(zip(rows, allotted(list(rows.values()), how.n), strict=True))


def _ends(places: DataFrame, parts: Mapping[str, int]) -> dict[str, tuple[float, int]]:
    """By stratum the last place that is in, and how many rows are up to it. What is put in order are the rows of one cell."""
    wanted = places.sparkSession.createDataFrame(list(parts.items()), "stratum string, part long")
    placed = places.withColumn("cell", F.floor(F.col("place") * max(1, CELLS // len(parts))))
    until = F.sum("count").over(Window.partitionBy("stratum").orderBy("cell")).alias("until")
    counted = placed.groupBy("stratum", "cell").count().select("*", until).withColumn("before", F.col("until") - F.col("count"))
    last_cells = counted.join(F.broadcast(wanted), "stratum").where("before < part and part <= until")
    rank = F.rank().over(Window.partitionBy("stratum", "cell").orderBy("place"))
    ordered = placed.join(last_cells, ["stratum", "cell"]).withColumn("rank", rank).where("before + rank <= part")
    found = ordered.groupBy("stratum").agg(F.max("place"), F.first("before") + F.count("*"))
    return {stratum: (last, chosen) for stratum, last, chosen in found.collect()}
