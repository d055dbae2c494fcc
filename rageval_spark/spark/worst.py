"""The samples that did worst: a few rows, chosen by Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rageval_spark.spark.shown import of_samples

SHOWN = ("field_group", "metric", "score", "reason", "details")
LISTED = ("sample_id", "field_group", "metric", "score", "passed", "status", "code", "reason")


def failures(scores: DataFrame) -> list[Mapping[str, Any]]:
    """For each code of failed scores: how many there are, and metric, sample_id and reason of one. Starts one job."""
    one = F.min(F.struct("metric", "sample_id", "reason")).alias("one")
    rows = scores.where("status = 'failed'").groupBy("code").agg(F.count("*").alias("count"), one).orderBy("code")
    return [row.asDict() for row in rows.select("code", "count", "one.*").collect()]


def over_budget(scores: DataFrame) -> list[tuple[str, int]]:
    """The budgets that were reached, and how many scores failed for it. Starts one job."""
    limit = F.regexp_extract("reason", r"(limits\.\w+)", 1).alias("limit")
    return [(row["limit"], row["count"]) for row in scores.where("code = 'BUDGET'").groupBy(limit).count().collect()]


def missing_most(scores: DataFrame, count: int) -> list[str]:
    """Ids of the `count` samples that did worst: those that miss most thresholds; of those that miss as many, those that miss
    them by most (the distances, on [0, 1], summed); then by id. Each metric of a field group counts once: of several rows with
    one id the worst. Starts one job; collects `count` rows."""
    distance = F.max(F.abs(F.col("score") - F.col("threshold"))).alias("distance")
    missed = scores.where(~F.col("passed")).groupBy("sample_id", "field_group", "metric").agg(distance)
    by = F.round(F.sum("distance"), 9).alias("by")  # which does not depend on the order of the sum
    ranked = missed.groupBy("sample_id").agg(F.count("*").alias("missed"), by)
    rows = ranked.orderBy(F.desc("missed"), F.desc("by"), "sample_id").limit(count).collect()
    return [row["sample_id"] for row in rows]


def worst(scores: DataFrame, metrics: Sequence[str], count: int) -> Mapping[str, list[Mapping[str, Any]]]:
    """The `count` samples that did worst, in the order of missing_most, each with its scores that miss their threshold (as
    SHOWN, scores in [0, 1]) in the order of `metrics`. Starts two jobs; collects up to count × metrics rows."""
    ids = missing_most(scores, count)
    rows = of_samples(scores, ids) if ids else []
    rows.sort(key=lambda row: (metrics.index(row["metric"]), row["field_group"] or ""))
    return {id: [{name: row[name] for name in SHOWN} for row in rows if row["sample_id"] == id and row["passed"] is False]
            for id in ids}


def missed_first(scores: DataFrame, count: int) -> list[Mapping[str, Any]]:
    """At most `count` scores without their details: those that missed their threshold, then those without a score, then the
    rest. Starts one job."""
    order = F.when(~F.col("passed"), 0).when(F.col("score").isNull(), 1).otherwise(2)
    rows = scores.orderBy(order, "sample_id", "field_group", "metric").limit(count)
    return [row.asDict() for row in rows.select(*LISTED).collect()]
