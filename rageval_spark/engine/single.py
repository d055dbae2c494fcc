"""One metric over one sample, without Spark and without a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rageval_spark.engine.engine import Engine, Place
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.store import RepliesStore
from rageval_spark.engine.window import windows_of
from rageval_spark.errors import ConfigError, JudgeRefused, SampleFault
from rageval_spark.judges import embedded, http
from rageval_spark.judges.dialect import Transport
from rageval_spark.judges.preflight import checked, key_of
from rageval_spark.judges.settings import EmbeddedJudge, Endpoint, HttpEmbeddings, Judge
from rageval_spark.metric import Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score
from rageval_spark.values import plain

UNUSABLE = ("JUDGE_PARSE", "JUDGE_SCHEMA", "JUDGE_TRUNCATED", "JUDGE_AMBIGUOUS", "JUDGE_COUNT_MISMATCH")
"""Failures after which another form of asking may be answered with a reply of use."""


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
    result, forms = http.run_in_own_loop(_score(plan, use, sample))
    learnt = _learn(plan, forms) if _may_be_the_form(result) else {}
    if not learnt:
        return result
    again, _ = http.run_in_own_loop(_score(plan.equipped(plan.keys, learnt), use, sample))
    return replace(again, usage=result.usage + again.usage)


def _may_be_the_form(result: Score) -> bool:
    """Whether a score may have failed because the server takes a form but answers it with nothing of use."""
    return result.code in UNUSABLE or (result.code == "JUDGE_HTTP" and str(result.reason).startswith("HTTP 500"))


def _learn(plan: Plan, forms: Mapping[Endpoint, Transport]) -> Mapping[Endpoint, Transport]:
    """Return what a preflight learns of the endpoints, as before a run; {} if it learns nothing new."""
    try:
        learnt = checked(plan.keys)
    except JudgeRefused:
        return {}
    known = all(replace(form, roots="") == replace(forms[endpoint], roots="") for endpoint, form in learnt.items())
    return {} if known else learnt


def _named_values(sample: Any) -> Mapping[str, Any]:
    """Return a sample's values by their names. Raises ConfigError if they have no names."""
    if not isinstance(sample, Mapping):
        to_dict = getattr(sample, "to_dict", None)  # a row of pandas is a Series, whose plain form is a list without names
        sample = to_dict() if callable(to_dict) and hasattr(sample, "index") else plain(sample)
    if not isinstance(sample, Mapping):
        raise ConfigError(f"a sample is a Sample, or values by the names of fields; found {type(sample).__name__}")
    return sample


async def _score(plan: Plan, use: MetricUse, sample: Sample) -> tuple[Score, Mapping[Endpoint, Transport]]:
    """Return the score, and the forms in which the endpoints were asked in the end."""
    async with http.session(limit=0) as session:
        engine = Engine(plan, RepliesStore(None, run_id=""), session, windows_of(plan))
        return await engine.score(use, sample, Place(0, 0)), engine.forms()

