"""rageval_spark: a distributed evaluator of RAG systems and agents on Apache Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rageval_spark.engine.single import score
from rageval_spark.errors import ConfigError, InputError, JudgeRefused, RagevalError
from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, HttpJudge
from rageval_spark.metric import Flow, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score

if TYPE_CHECKING:
    from rageval_spark.columns import as_udf
    from rageval_spark.run import Run, evaluate

__all__ = [
    "ConfigError", "EmbeddedJudge", "Flow", "HttpEmbeddings", "HttpJudge", "InputError", "JudgeRefused", "Metric",
    "RagevalError", "Run", "Sample", "Score", "as_udf", "evaluate", "score",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """`as_udf`, `evaluate` and `Run` import Spark, so they are imported when first used."""
    if name == "as_udf":
        from rageval_spark.columns import as_udf

        return as_udf
    if name in ("Run", "evaluate"):
        from rageval_spark import run

        return getattr(run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
