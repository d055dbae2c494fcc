"""rageval_spark: a distributed evaluator of RAG systems and agents on Apache Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rageval_spark.engine.single import score
from rageval_spark.errors import ConfigError, InputError, JudgeRefused, RagevalError
from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, HttpJudge
from rageval_spark.metric import Flow, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score

if TYPE_CHECKING:
    from rageval_spark.columns import as_udf
    from rageval_spark.finished.comparison import Comparison, compare
    from rageval_spark.run import Run, evaluate

__all__ = [
    "Comparison", "ConfigError", "EmbeddedJudge", "Flow", "HttpEmbeddings", "HttpJudge", "InputError", "JudgeRefused", "Metric",
    "RagevalError", "Run", "Sample", "Score", "as_udf", "compare", "evaluate", "score",
]  # fmt: skip


WITH_SPARK = {"Comparison": "finished.comparison", "compare": "finished.comparison", "Run": "run", "evaluate": "run",
              "as_udf": "columns"}
"""What imports Spark, with its module: it is imported when first used."""


def __dir__() -> list[str]:
    return sorted({*globals(), *WITH_SPARK})


def __getattr__(name: str) -> Any:
    if name in WITH_SPARK:
        return getattr(import_module(f"{__name__}.{WITH_SPARK[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
