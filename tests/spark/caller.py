"""A caller's script: makes a session of a given kind, evaluates in it, and prints what it found as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

from rageval_spark import HttpJudge, evaluate


def session(kind: str) -> SparkSession:
    builder: Any = SparkSession.builder
    builder = builder.remote("local[2]") if kind == "connect" else builder.master(kind).config("spark.speculation", "true")
    builder = builder.config("spark.sql.session.timeZone", "Asia/Tokyo").config("spark.ui.enabled", "false")
    made: SparkSession = builder.getOrCreate()
    return made


def main(kind: str, url: str, output: str) -> None:
    spark = session(kind)
    before = settings(spark)
    rows = [(str(i), f"How deep is lake {i}?", f"Lake {i} is {i} m deep. It is cold. It is old.", [f"Lake {i} is {i} m deep."])
            for i in range(12)]
    frame = spark.createDataFrame(rows, "id string, question string, answer string, contexts array<string>")
    run = evaluate(frame, ["faithfulness", "context_relevancy"], judge=HttpJudge(model="judge", base_url=url, max_concurrency=4),
                   output=output)
    json.dump({
        "connect": type(spark).__module__.startswith("pyspark.sql.connect"), "unchanged": settings(spark) == before,
        "usable": frame.count(), "scores": [[row.sample_id, row.metric, row.score] for row in run.scores.collect()],
        "stats": {row.metric: row.average for row in run.stats.collect()}, "worst": len(run.worst()),
    }, sys.stdout)


def settings(spark: SparkSession) -> list[str | None]:
    names = ("session.timeZone", "ansi.enabled", "shuffle.partitions", "execution.arrow.maxRecordsPerBatch")
    return [spark.conf.get(f"spark.sql.{name}", None) for name in names]


if __name__ == "__main__":
    main(*sys.argv[1:])
