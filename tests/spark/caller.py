"""A caller's script: makes a session of a given kind, evaluates in it, and prints what it found as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

from rageval_spark import HttpJudge, as_udf, evaluate


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
    judge = HttpJudge(model="judge", base_url=url, max_concurrency=4)
    run = evaluate(frame, ["faithfulness", "context_relevancy"], judge=judge, output=output)
    faithfulness = as_udf("faithfulness", judge, store=output)
    spark.udf.register("faithfulness", faithfulness)
    frame.createOrReplaceTempView("lakes")
    column = frame.withColumn("f", faithfulness("question", "answer", "contexts")).select("f.score", "f.status")
    in_sql = spark.sql("select f.score, f.status from (select faithfulness(question, answer, contexts) as f from lakes)")
    json.dump({
        "connect": type(spark).__module__.startswith("pyspark.sql.connect"), "unchanged": settings(spark) == before,
        "usable": frame.count(), "scores": [[row.sample_id, row.metric, row.score] for row in run.scores.collect()],
        "stats": {row.metric: row.average for row in run.stats.collect()}, "worst": len(run.worst()),
        "column": [list(row) for row in column.collect()], "in_sql": [list(row) for row in in_sql.collect()],
    }, sys.stdout)


def settings(spark: SparkSession) -> list[str | None]:
    names = ("session.timeZone", "ansi.enabled", "shuffle.partitions", "execution.arrow.maxRecordsPerBatch")
    return [spark.conf.get(f"spark.sql.{name}", None) for name in names]


if __name__ == "__main__":
    main(*sys.argv[1:])
