"""The scoring pass: samples in, scores out, in one mapInPandas."""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rageval_spark.engine.files import Folder
from rageval_spark.engine.task import Task
from rageval_spark.engine.work import Row, Scored, Work
from rageval_spark.errors import ConfigError, RagevalError, ScoringFailed
from rageval_spark.spark import session
from rageval_spark.spark.tables import SCORES


def scored(samples: DataFrame, work: Work) -> DataFrame:
    """The scores of placed samples, one row per sample × field group × metric (tables.SCORES).

    Lazy. To be written exactly once: every action on it runs the metrics again, from stored replies at best.
    """
    return samples.mapInPandas(scoring(work), SCORES)


def write(samples: DataFrame, work: Work, path: str) -> None:
    """Write the scores of placed samples as Parquet. Starts the one job that asks the judge.

    Raises ScoringFailed with what a task raised, in its own words.
    """
    with causes_told():
        scored(samples, work).write.mode("overwrite").parquet(path)


@contextmanager
def causes_told() -> Iterator[None]:
    """Raises ScoringFailed, with what a task raised, for an error of Spark."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise ScoringFailed(_cause(str(error))) from error


def _cause(said: str) -> str:
    """What a task raised: the last Python error that a Spark error quotes, else its first line."""
    lines = [line.strip() for line in said.strip().splitlines()]
    quoted = [line for line in lines if PYTHON_ERROR.match(line)]
    return quoted[-1] if quoted else lines[0]


PYTHON_ERROR = re.compile(r"(?!org\.|java\.|py4j\.|pyspark\.)[\w.]*(Error|Exception|Interrupted|Fault)\b(: |$)")


def scoring(work: Work) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """The function that a task runs. All that it needs travels in its closure, the key included."""

    def score(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        context = TaskContext.get()
        task = Task(work, context.partitionId() if context else 0)
        for batch in task.run(_rows(frames)):
            yield pd.DataFrame([record(one, work.run_id) for one in batch], dtype=object)  # keeps whole numbers beside nulls

    return score


def _rows(frames: Iterator[pd.DataFrame]) -> Iterator[Row]:
    for frame in frames:
        for sample_id, bucket, sample, slices, fault, weight in frame.itertuples(index=False, name=None):
            yield Row(sample_id, int(bucket), json.loads(sample), json.loads(slices), fault, weight)


def record(one: Scored, run_id: str) -> dict[str, Any]:
    score, usage = one.score, one.score.usage
    passed = one.use.passed(score)
    return {
        "run_id": run_id, "sample_id": one.row.sample_id, "field_group": one.group.key, "metric": one.use.name,
        "score": score.value, "status": score.status, "code": score.code, "reason": score.reason, "passed": passed,
        "threshold": one.use.threshold, "label": one.use.label(passed), "flags": list(score.flags),
        "measures": {name: float(value) for name, value in score.measures.items()},
        "details": json.dumps(score.details, ensure_ascii=False, allow_nan=False), "judge": score.judge,
        "n_prompts": usage.prompts, "n_reused": usage.reused, "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens, "cached_tokens": usage.cached_tokens,
        "latency_ms": usage.latency_ms, "slices": dict(one.row.slices),
        "weight": one.row.weight,
    }


def drop_good(spark: SparkSession, folder: Folder) -> None:
    """Leave in the scores of a run only rows below their threshold and those without a score. Starts two jobs: the
    rows to keep are written beside the scores first, so that they are whole somewhere at every moment."""
    scores, kept = folder.for_spark("scores"), folder.for_spark("scores.kept")
    spark.read.schema(SCORES).parquet(scores).where("not coalesce(passed, false)").write.mode("overwrite").parquet(kept)
    spark.read.schema(SCORES).parquet(kept).write.mode("overwrite").parquet(scores)
    (folder / "scores.kept").delete("")


def check_executors(spark: SparkSession, output: Folder | None, live: bool = True) -> None:
    """Raises ConfigError where workers cannot import this package, or `output` cannot be written from here or, for
    what is asked `live`, from executors. Starts a job where these are elsewhere."""
    if stranger := session.foreign_python(spark):
        raise ConfigError(f"Spark's Python workers run {stranger}, which cannot import rageval_spark. Set PYSPARK_PYTHON="
                          f"{sys.executable} before the session is made")
    if output is None:
        return
    try:
        output.write(".writable", b"")
        output.delete(".writable")
    except OSError as error:
        raise ConfigError(f"output {output} cannot be written: {error}") from None
    if live and session.local_slots(spark) is None and (said := unreachable(spark, output)):
        raise ConfigError(f"executors cannot use {output}: {said}. Replies are kept there, so it must be a place "
                          f"that driver and executors share, such as s3://, hdfs:// or /Volumes")


def unreachable(spark: SparkSession, folder: Folder) -> str | None:
    """What keeps an executor from reading in a folder what the driver wrote there, and from writing; None where
    nothing does. Starts one job."""
    name = f".probe-{uuid.uuid4().hex}"

    def probe(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for _ in frames:
            try:
                folder.read(name)
                folder.write(f"{name}-back", b"written by an executor")
                folder.delete(f"{name}-back")
                said = ""
            except (OSError, RagevalError, pa.ArrowException) as error:
                said = f"{type(error).__name__}: {error}"
            yield pd.DataFrame({"said": [said]})

    folder.write(name, b"written by the driver")
    try:
        [row] = spark.range(1).mapInPandas(probe, "said string").collect()
    finally:
        folder.delete(name)
    return row["said"] or None
