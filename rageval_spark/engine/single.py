"""One metric over one sample, without Spark and without a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rageval_spark.engine.engine import Engine, Place
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.store import RepliesStore
from rageval_spark.engine.window import windows_of
from rageval_spark.errors import ConfigError, SampleFault
from rageval_spark.judges import embedded, http
from rageval_spark.judges.preflight import key_of
from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, Judge
from rageval_spark.metric import Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score
from rageval_spark.values import plain


def score(metric: Metric, sample: Sample | Mapping[str, Any] | Any, judge: Judge | None = None,
          embeddings: HttpEmbeddings | None = None, votes: int = 1) -> Score:
    """Score one sample, by an odd number of votes. A mapping is read like a row of a dataset, aliases included; so are a row of
    pandas or Spark, a pydantic model, and a dataclass with fields of these names.

    What the judge does wrong is a failed score, as is a malformed sample (INVALID_INPUT, INVALID_ID). Raises ConfigError where
    the metric asks a judge or embeddings and none is given, the key's variable is not set, or the sample has no names.
    """
    if judge is None and any(kind != "embed" for kind in metric.asks):
        raise ConfigError(f"{metric.name} asks a judge ({', '.join(metric.asks)}); give one with judge=HttpJudge(...), "
                          f"or EmbeddedJudge() for a heuristic screen without any model")
    if embeddings is None and "embed" in metric.asks and not isinstance(judge, EmbeddedJudge):
        raise ConfigError(f"{metric.name} asks for embeddings; give them with embeddings=HttpEmbeddings(...)")
    use = MetricUse(metric, metric.name, judge=judge, embeddings=embeddings, votes=votes)
    if not isinstance(sample, Sample):
        try:
            sample = Sample.parse(_named_values(sample), strict=False)
        except SampleFault as fault:
            return Score.failed(fault.code, str(fault))
    if isinstance(judge, EmbeddedJudge):
        return embedded.score(metric, sample)
    plan = Plan((FieldGroup({}, (use,)),))
    plan = plan.equipped({endpoint: key_of(endpoint) for endpoint in plan.endpoints()}, {})
    return http.run_in_own_loop(_score(plan, use, sample))


def _named_values(sample: Any) -> Mapping[str, Any]:
    """Return a sample's values by their names. Raises ConfigError if they have no names."""
    if not isinstance(sample, Mapping):
        to_dict = getattr(sample, "to_dict", None)  # a row of pandas is a Series, whose plain form is a list without names
        sample = to_dict() if callable(to_dict) and hasattr(sample, "index") else plain(sample)
    if not isinstance(sample, Mapping):
        raise ConfigError(f"a sample is a Sample, or values by the names of fields; found {type(sample).__name__}")
    return sample


async def _score(plan: Plan, use: MetricUse, sample: Sample) -> Score:
    async with http.session(limit=0) as session:
        engine = Engine(plan, RepliesStore(None, run_id=""), session, windows_of(plan))
        return await engine.score(use, sample, Place(0, 0))

