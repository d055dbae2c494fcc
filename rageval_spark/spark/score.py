"""The scoring pass: samples in, scores out, in one mapInPandas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from rageval_spark.engine.files import Folder
from rageval_spark.engine.task import Row, Scored, Task, Work
from rageval_spark.errors import RagevalError
from rageval_spark.spark.tables import SCORES


def scored(samples: DataFrame, work: Work) -> DataFrame:
    """The scores of placed samples, one row per sample × field group × metric (tables.SCORES).

    Lazy. To be written exactly once: every action on it runs the metrics again, from stored replies at best.
    """
    return samples.mapInPandas(scoring(work), SCORES)


def scoring(work: Work) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """The function that a task runs. All that it needs travels in its closure, the key included."""

    def score(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        context = TaskContext.get()
        task = Task(work, context.partitionId() if context else 0)
        for batch in task.run(_rows(frames)):
            yield pd.DataFrame([_record(one, work.run_id) for one in batch], dtype=object)  # keeps whole numbers beside nulls

    return score


def _rows(frames: Iterator[pd.DataFrame]) -> Iterator[Row]:
    for frame in frames:
        for sample_id, bucket, sample, slices, fault in frame.itertuples(index=False, name=None):
            yield Row(sample_id, int(bucket), json.loads(sample), json.loads(slices), fault)


def _record(one: Scored, run_id: str) -> dict[str, Any]:
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
    }


def reachable(spark: SparkSession, folder: Folder, name: str) -> str | None:
    """What keeps an executor from reading a file that the driver wrote, and from writing beside it; None where
    nothing does. Starts one job."""

    def probe(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for _ in frames:
            try:
                folder.read(name)
                folder.write(f"{name}.probe", b"written by an executor")
                folder.delete(f"{name}.probe")
                said = ""
            except (OSError, RagevalError, pa.ArrowException) as error:
                said = f"{type(error).__name__}: {error}"
            yield pd.DataFrame({"said": [said]})

    [row] = spark.range(1).mapInPandas(probe, "said string").collect()
    return row["said"] or None
