"""The catalogue: every metric that can be named in a config. A new metric is one file here and one line below."""

from __future__ import annotations

from rageval_spark.metric import Metric
from rageval_spark.metrics.answer_accuracy import AnswerAccuracy
from rageval_spark.metrics.answer_conciseness import AnswerConciseness
from rageval_spark.metrics.answer_correctness import AnswerCorrectness
from rageval_spark.metrics.answer_relevance import AnswerRelevance
from rageval_spark.metrics.answer_relevancy import AnswerRelevancy
from rageval_spark.metrics.answer_similarity import AnswerSimilarity
from rageval_spark.metrics.aspect import Aspect
from rageval_spark.metrics.bleu import Bleu
from rageval_spark.metrics.chrf import Chrf
from rageval_spark.metrics.citation_f1 import CitationF1
from rageval_spark.metrics.citation_precision import CitationPrecision
from rageval_spark.metrics.citation_recall import CitationRecall
from rageval_spark.metrics.context_entity_recall import ContextEntityRecall
from rageval_spark.metrics.context_precision import ContextPrecision
from rageval_spark.metrics.context_recall import ContextRecall
from rageval_spark.metrics.context_relevancy import ContextRelevancy
from rageval_spark.metrics.context_sentence_relevancy import ContextSentenceRelevancy
from rageval_spark.metrics.context_utilization import ContextUtilization
from rageval_spark.metrics.exact_match import ExactMatch
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.metrics.goal_achievement import GoalAchievement
from rageval_spark.metrics.hit_rate import HitRate
from rageval_spark.metrics.intent_coverage import IntentCoverage
from rageval_spark.metrics.map import MAP
from rageval_spark.metrics.mrr import MRR
from rageval_spark.metrics.ndcg import NDCG
from rageval_spark.metrics.noise_sensitivity import NoiseSensitivity
from rageval_spark.metrics.precision import Precision
from rageval_spark.metrics.recall import Recall
from rageval_spark.metrics.refusal_accuracy import RefusalAccuracy
from rageval_spark.metrics.rouge import Rouge
from rageval_spark.metrics.rubric import Rubric
from rageval_spark.metrics.token_f1 import TokenF1
from rageval_spark.metrics.tool_call_f1 import ToolCallF1
from rageval_spark.metrics.tool_call_precision import ToolCallPrecision
from rageval_spark.metrics.tool_call_recall import ToolCallRecall
from rageval_spark.metrics.turn_efficiency import TurnEfficiency

CATALOGUE: dict[str, type[Metric]] = {metric.name: metric for metric in (
    Faithfulness,
    AnswerRelevancy,
    ContextRelevancy,
    ContextRecall,
    ContextPrecision,
    ContextUtilization,
    ContextSentenceRelevancy,
    ContextEntityRecall,
    NoiseSensitivity,
    AnswerConciseness,
    AnswerRelevance,
    IntentCoverage,
    AnswerCorrectness,
    AnswerSimilarity,
    CitationRecall,
    CitationPrecision,
    CitationF1,
    Recall,
    Precision,
    HitRate,
    MRR,
    NDCG,
    MAP,
    ExactMatch,
    TokenF1,
    Rouge,
    Bleu,
    Chrf,
    ToolCallPrecision,
    ToolCallRecall,
    ToolCallF1,
    GoalAchievement,
    TurnEfficiency,
    RefusalAccuracy,
    AnswerAccuracy,
    Rubric,
    Aspect,
)}  # fmt: skip
"""Metric class by name."""
NAMED: dict[str, type[Metric]] = {**{alias: metric for metric in CATALOGUE.values() for alias in metric.aliases}, **CATALOGUE}
"""Metric class by name or alias."""
