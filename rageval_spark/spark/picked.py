"""Samples for people to look at: a few, chosen by Spark among the scored ones of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rageval_spark.engine.files import Folder
from rageval_spark.spark.read import read_scores, rows_told

SHOWN = ("sample_id", "field_group", "metric", "score", "status", "code", "reason", "passed", "threshold", "slices")
BETWEEN = "\x1f"


def together(spark: Any, runs: Sequence[Folder]) -> DataFrame:
    """The scores of several runs, each sample_id led by its run's id and BETWEEN. Raises InputError where they cannot be read."""
    scores = reduce(DataFrame.union, (read_scores(spark, run) for run in runs))
    return scores.withColumn("sample_id", F.concat("run_id", F.lit(BETWEEN), "sample_id"))


def picked(scores: DataFrame, how: str, count: int, seed: int, metric: str | None = None,
           stratify_by: str | None = None) -> list[Mapping[str, Any]]:
    """The scores (as SHOWN), of one metric or all, of `count` samples that have a score, in the order of picking.

    "worst": those that miss a threshold by most, then those that pass by least; "borderline": nearest to a threshold;
    scores without a threshold stand behind all others;
    "random": by a hash of id and seed, which also decides between equals. By `stratify_by`, a slice of the run, each value
    gets the same number as far as it has so many. Of several rows of one id, field group and metric one is taken.
    Starts one job; collects count × metrics rows.
    """
    if metric is not None:
        scores = scores.where(F.col("metric") == metric)
    distance = F.abs(F.col("score") - F.col("threshold"))
    margin = F.when(F.col("passed"), distance).otherwise(-distance)
    margin = F.coalesce(margin, F.col("score") + 1)  # without a threshold: after all others, the lowest score first
    distance = F.coalesce(distance, F.lit(2.0))
    luck = F.xxhash64(F.lit(f"pick {seed}"), "sample_id")  # not the hash by which the run's rows were chosen
    by = {"worst": margin, "borderline": distance, "random": F.lit(0.0)}[how]
    value = F.col("slices")[stratify_by] if stratify_by else F.lit("")
    samples = scores.where("status = 'scored'").groupBy("sample_id").agg(
        F.min(by).alias("by"), F.min(luck).alias("luck"), F.min(value).alias("value"))
    if stratify_by:  # the first of each value, then the second of each, …
        turn = F.row_number().over(Window.partitionBy("value").orderBy("by", "luck", "sample_id"))
        samples = samples.withColumn("turn", turn).where(F.col("turn") <= count)
    else:
        samples = samples.withColumn("turn", F.lit(1))
    chosen = samples.orderBy("turn", "by", "luck", "sample_id").limit(count).drop("value")
    one = F.min_by(F.struct(*SHOWN), F.struct(F.coalesce(margin, F.lit(9.0)), "reason", "details")).alias("one")
    by_metric = scores.join(F.broadcast(chosen), "sample_id").groupBy("sample_id", "field_group", "metric")
    rows = by_metric.agg(one, F.first(F.struct("turn", "by", "luck")).alias("rank"))
    with rows_told():
        found = rows.collect()
    found.sort(key=lambda row: (*row["rank"], row["sample_id"], row["field_group"], row["metric"]))
    return [row["one"].asDict() for row in found]
