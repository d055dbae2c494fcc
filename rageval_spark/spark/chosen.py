"""A few rows of a run, chosen by Spark."""

from __future__ import annotations

import json
from itertools import accumulate

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rageval_spark.engine.work import Row


def rows_asking(samples: DataFrame, scores: DataFrame, prompts: int) -> list[Row]:
    """Rows of bucketed samples that took twice so many prompts together, about half of which decide something; the same ones
    at every time. Starts two jobs."""
    asked = scores.groupBy("sample_id").agg(F.sum("n_prompts").alias("prompts")).where("prompts > 0")
    first = asked.orderBy(F.xxhash64("sample_id"), "sample_id").limit(prompts).collect()
    reached = [*accumulate((row["prompts"] for row in first), initial=0)]
    ids = [row["sample_id"] for row, before in zip(first, reached, strict=False) if before < 2 * prompts]
    rows = samples.where(F.col("sample_id").isin(ids) & F.col("fault").isNull()).dropDuplicates(["sample_id"])
    return [Row(row["sample_id"], row["bucket"], json.loads(row["sample"]), json.loads(row["slices"]))
            for row in rows.select("sample_id", "bucket", "sample", "slices").collect()]
