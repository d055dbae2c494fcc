"""The samples that did worst: a few rows, chosen by Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SHOWN = ("metric", "score", "reason", "details")
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


def worst(scores: DataFrame, metrics: Sequence[str], count: int) -> Mapping[str, list[Mapping[str, Any]]]:
    """The `count` samples that miss a threshold worst, each with its scores below their threshold (as SHOWN).

    Those that miss the first of `metrics` come before those that miss only later ones, those that miss it by most first.
    Starts one job.
    """
    places = (F.when(F.col("metric") == metric, place) for place, metric in enumerate(metrics))
    place = F.coalesce(*places).alias("place")
    by = (-F.abs(F.col("score") - F.col("threshold"))).alias("by")
    missed = scores.where(~F.col("passed")).select("sample_id", place, by, *SHOWN)
    ranked = missed.groupBy("sample_id").agg(F.min(F.struct("place", "by")).alias("rank"), F.avg("by").alias("average"))
    chosen = ranked.orderBy("rank", "average", "sample_id").limit(count)
    rows = chosen.join(missed, "sample_id").collect()
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (tuple(row["rank"]), row["average"], row["sample_id"], row["place"])):
        found[row["sample_id"]].append({name: row[name] for name in SHOWN})
    return found


def missed_first(scores: DataFrame, count: int) -> list[Mapping[str, Any]]:
    """At most `count` scores without their details: those that missed their threshold, then those without a score, then the
    rest. Starts one job."""
    order = F.when(~F.col("passed"), 0).when(F.col("passed").isNull(), 1).otherwise(2)
    rows = scores.orderBy(order, "sample_id", "field_group", "metric").limit(count)
    return [row.asDict() for row in rows.select(*LISTED).collect()]
