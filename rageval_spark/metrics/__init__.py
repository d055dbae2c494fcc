"""The catalogue: every metric that can be named in a config. A new metric is one file here and one line below."""

from __future__ import annotations

from rageval_spark.metric import Metric
from rageval_spark.metrics.answer_accuracy import AnswerAccuracy
from rageval_spark.metrics.answer_relevancy import AnswerRelevancy
from rageval_spark.metrics.aspect import Aspect
from rageval_spark.metrics.context_precision import ContextPrecision
from rageval_spark.metrics.context_recall import ContextRecall
from rageval_spark.metrics.context_relevancy import ContextRelevancy
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.metrics.refusal_accuracy import RefusalAccuracy
from rageval_spark.metrics.rubric import Rubric

CATALOGUE: dict[str, type[Metric]] = {metric.name: metric for metric in (
    Faithfulness,
    AnswerRelevancy,
    ContextRelevancy,
    ContextRecall,
    ContextPrecision,
    RefusalAccuracy,
    AnswerAccuracy,
    Rubric,
    Aspect,
)}  # fmt: skip
"""Metric class by name."""
NAMED: dict[str, type[Metric]] = {**{alias: metric for metric in CATALOGUE.values() for alias in metric.aliases}, **CATALOGUE}
"""Metric class by name or alias."""
