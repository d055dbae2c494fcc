"""A stream of answers, each of its batches a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rageval_spark import HttpJudge, evaluate
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def test_each_batch_of_a_stream_is_a_run_that_is_paid_once(spark: SparkSession, judge: JudgeServer, tmp_path: Path) -> None:
    def write(name: str, *numbers: int) -> None:
        rows = [{"id": str(number), "question": f"How tall is tower {number}?", "answer": f"Tower {number} is {number} m tall.",
                 "contexts": [f"Tower {number} is {number} m tall."]} for number in numbers]
        (tmp_path / "answers").mkdir(exist_ok=True)
        (tmp_path / "answers" / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    output, fails = str(tmp_path / "out"), {1}
    http = HttpJudge(model="judge", base_url=judge.url)
    seen: list[tuple[int, int]] = []

    def judged(batch: DataFrame, number: int) -> None:
        if not batch.isEmpty():
            run = evaluate(batch, ["faithfulness"], judge=http, output={"path": output, "tables": "judged_"},
                           run_id=f"batch-{number}")
            seen.append((number, run.summary["total"]))
            if number in fails:
                fails.remove(number)
                raise RuntimeError("the cluster goes after the batch was judged, and before its checkpoint was written")

    def drain() -> None:
        stream = (spark.readStream.schema("id string, question string, answer string, contexts array<string>")
                  .option("maxFilesPerTrigger", "1").json(str(tmp_path / "answers")).where("id <> '7'"))
        query = (stream.writeStream.foreachBatch(judged).option("checkpointLocation", str(tmp_path / "checkpoint"))
                 .trigger(availableNow=True).start())
        query.awaitTermination()

    write("1.json", 1, 2, 3)
    drain()
    write("2.json", 4, 5)
    with pytest.raises(Exception, match="the cluster goes"):
        drain()
    asked = len(judge.chats("verify_claims"))
    write("3.json", 7)  # of which the stream leaves no row
    drain()
    assert seen == [(0, 3), (1, 2), (1, 2)]
    assert len(judge.chats("verify_claims")) == asked == 5
    counts = {row.run_id: row["count"] for row in spark.table("judged_scores").groupBy("run_id").count().collect()}
    assert counts == {"batch-0": 3, "batch-1": 2}
    for table in ("judged_scores", "judged_stats"):
        spark.sql(f"DROP TABLE {table}")
