"""The samples that did worst: a few rows, chosen by Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SHOWN = ("metric", "score", "reason", "details")


def worst(scores: DataFrame, count: int) -> Mapping[str, list[Mapping[str, Any]]]:
    """The `count` samples with the lowest average over their scores, each with its scores below their threshold (as
    SHOWN, lowest first); samples that miss none are no part of it. Starts one job."""
    ranked = scores.groupBy("sample_id").agg(
        F.avg("score").alias("average"), F.count_if(~F.col("passed")).alias("missed")).where("missed > 0")
    chosen = ranked.orderBy("average", "sample_id").limit(count)
    rows = chosen.join(scores.where(~F.col("passed")), "sample_id").select("average", "sample_id", *SHOWN).collect()
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["average"], row["sample_id"], row["score"])):
        found[row["sample_id"]].append({name: row[name] for name in SHOWN})
    return found
