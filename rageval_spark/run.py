"""A run, step by step: read, check, place, score, summarise, write."""

from __future__ import annotations

import logging
import os
import platform
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rageval_spark.config import Config, metric_of, planned, use_of
from rageval_spark.engine import beats, store
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, Plan
from rageval_spark.engine.task import Work
from rageval_spark.errors import ConfigError, InputError, Interrupted, RagevalError
from rageval_spark.judges.http import Secret
from rageval_spark.judges.preflight import check_embeddings, check_judge, key_of
from rageval_spark.judges.settings import Endpoint, HttpEmbeddings, HttpJudge, Price, Reuse
from rageval_spark.judges.wire import Transport
from rageval_spark.metric import Metric
from rageval_spark.prompts.kinds import wording_version
from rageval_spark.report.progress import Progress, totals
from rageval_spark.report.summary import gated, summarised
from rageval_spark.spark import placing, session
from rageval_spark.spark import score as scoring
from rageval_spark.spark.read import Source, first_line, read, resolved, unfed
from rageval_spark.spark.samples import normalised
from rageval_spark.spark.stats import stats, tally
from rageval_spark.spark.tables import SCORES, STATS

log = logging.getLogger(__name__)


class ScoringFailed(RagevalError):
    """The scoring pass broke off; every reply that had come is stored."""

    exit_code = 3


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, its tables as DataFrames, its summary."""

    folder: Folder
    spark: SparkSession
    summary: Mapping[str, Any]

    @property
    def scores(self) -> DataFrame:
        return self.spark.read.schema(SCORES).parquet(self.folder.for_spark("scores"))

    @property
    def stats(self) -> DataFrame:
        return self.spark.read.schema(STATS).parquet(self.folder.for_spark("stats"))

    @property
    def exit_code(self) -> int:
        """0 where all gates are met, 3 where too many judgements failed, 1 where another gate is not met."""
        missed = [gate["gate"] for gate in self.summary["gates"] if not gate["met"]]
        return 3 if "coverage" in missed else 1 if missed else 0


def evaluate(df: DataFrame, metrics: Sequence[Metric | str], *, judge: HttpJudge | None = None,
             embeddings: HttpEmbeddings | None = None, output: str = "out", fields: Mapping[str, str] | None = None,
             slices: Sequence[str] = (), run_id: str | None = None, name: str = "rageval") -> Run:
    """Score a DataFrame with metrics (objects, or names of the catalogue) and write a run under `output`.

    `fields` maps sample field to column; without it columns are taken by name. The DataFrame is read twice. Its
    session stays as it is. Raises RagevalError.
    """
    given = [metric_of(metric, {}) if isinstance(metric, str) else metric for metric in metrics]
    group = FieldGroup(dict(fields or {}), tuple(use_of(metric, judge, embeddings) for metric in given))
    return _run(Plan((group,)), df.sparkSession, df, "the DataFrame", _Settings(name, Folder(output), slices, run_id))


def run(config: Config, *, run_id: str | None = None, on_session: Callable[[], None] = lambda: None) -> Run:
    """Do what a config says, in a session of our own or the one that spark-submit made. Raises RagevalError.

    `on_session` is called once the session is there.
    """
    plan = planned(config)
    if config.input is None:
        raise ConfigError("the config names no input; add input: {path: …} or {table: …}")
    source = Source(**config.input.model_dump())
    keys: dict[Endpoint, Secret] = {endpoint: key_of(endpoint) for endpoint in plan.endpoints()}
    _exists(source)
    spark = session.own_session(config.spark.master, config.spark.conf)
    on_session()
    gates = {metric: gate.model_dump() for metric, gate in config.metric_gates.items()}
    settings = _Settings(config.name, Folder(config.output.path), config.slices, run_id, config.scale, gates,
                         config.coverage_gate, keys, _public(config), config.spark.master.startswith("local["))
    return _run(plan, spark, read(spark, source), source, settings)


@dataclass(frozen=True)
class _Settings:
    name: str
    output: Folder
    slices: Sequence[str]
    run_id: str | None
    scale: int = 1
    gates: Mapping[str, Mapping[str, float | None]] | None = None
    least_coverage: float = 0.95
    keys: Mapping[Endpoint, Secret] | None = None
    config: Mapping[str, Any] | None = None
    one_machine: bool = False


def _run(plan: Plan, spark: SparkSession, frame: DataFrame, source: object, settings: _Settings) -> Run:
    run_id = settings.run_id or f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    folder = settings.output / "runs" / run_id
    groups = resolved(plan.groups, frame, source)
    for sentence in unfed(groups):
        log.warning("skipped for every sample: %s", sentence)
    plan = Plan(groups)
    samples = normalised(frame, groups, settings.slices)
    plan = _preflight(plan, settings.keys)
    try:
        by_fine = placing.count_by_bucket(samples)
    except PySparkException as error:
        raise InputError(f"{source} cannot be read: {first_line(error)}") from None
    rows = sum(by_fine.values())
    if not rows:
        raise InputError(f"{source} holds no rows")
    manifest = _Manifest(folder, plan, settings, run_id, rows)
    manifest.write("running")
    if not settings.one_machine and (said := scoring.reachable(spark, folder, "manifest.json")):
        raise ConfigError(f"executors cannot use {settings.output}: {said}. Replies are kept there, so it must be a place "
                          f"that driver and executors share, such as s3://, hdfs:// or /Volumes")
    work = _work(plan, settings.output, folder, run_id)
    tasks = placing.task_count(rows, placing.slots(spark), plan.max_concurrency)
    buckets = _buckets(settings.output / "replies", rows)
    _score(placing.placed(samples, by_fine, buckets, tasks), work, tasks, rows, folder)
    return _summarise(spark, plan, settings, folder, run_id, manifest)


def _preflight(plan: Plan, keys: Mapping[Endpoint, Secret] | None) -> Plan:
    """The plan with keys, and with what a first prompt to each judge and embedding model taught."""
    endpoints = plan.endpoints()
    keys = keys or {endpoint: key_of(endpoint) for endpoint in endpoints}
    transports: dict[Endpoint, Transport] = {}
    for endpoint in endpoints:
        if isinstance(endpoint, HttpJudge):
            transports[endpoint] = check_judge(endpoint, keys[endpoint])
        elif isinstance(endpoint, HttpEmbeddings):
            transports[endpoint] = check_embeddings(endpoint, keys[endpoint])
    return plan.equipped(keys, transports)


def _work(plan: Plan, output: Folder, folder: Folder, run_id: str) -> Work:
    reuse = next((judge.reuse for judge in plan.judges()), True)
    days = reuse.max_age_days if isinstance(reuse, Reuse) else None
    return Work(plan, run_id, output / "replies", folder / "beats", reuse=reuse is not False,
                max_age_s=days * 86_400 if days else None)


def _buckets(replies: Folder, rows: int) -> int:
    known = store.layout(replies)
    if known is None:
        known = store.buckets_for(rows)
        store.create(replies, known)
    return known


def _score(placed: DataFrame, work: Work, tasks: int, rows: int, folder: Folder) -> None:
    """Write the scores, the one action that asks the judge."""
    assert work.beats is not None
    work.beats.delete("")
    judgements = rows * sum(len(group.uses) for group in work.plan.groups)
    stopping.begin(work.beats)
    try:
        with Progress(work.beats, judgements):
            scoring.scored(placed, replace(work, planned_tasks=tasks)).write.mode("overwrite").parquet(folder.for_spark("scores"))
    except BaseException as error:
        beats.ask_to_stop(work.beats)
        _await_end(work.beats)
        if stopping.asked or isinstance(error, KeyboardInterrupt):
            raise Interrupted(f"stopped; every reply is kept in {work.store}. Run the same command again to go on "
                              f"where it stopped") from None
        if isinstance(error, PySparkException) or "Py4J" in type(error).__name__:
            raise ScoringFailed(f"the scoring pass broke off: {_cause(error)}. Every reply that had come is kept in "
                                f"{work.store}; run the same command again to go on") from error
        raise
    finally:
        stopping.end()


class _Stopping:
    """Whether a stop was asked for, and the folder by which tasks learn of it."""

    def __init__(self) -> None:
        self.asked = False
        self._beats: Folder | None = None

    def begin(self, folder: Folder) -> None:
        self._beats = folder

    def end(self) -> None:
        self._beats = None

    def ask(self) -> None:
        """Let running tasks flush and end. A second call, or one while none run, raises KeyboardInterrupt."""
        if self._beats is None or self.asked:
            raise KeyboardInterrupt
        self.asked = True
        beats.ask_to_stop(self._beats)


stopping = _Stopping()


def _await_end(folder: Folder, most_s: float = 4.0) -> None:
    """Wait until every task that still beats has made its replies durable."""
    end = time.monotonic() + most_s
    while time.monotonic() < end and any(
            not beat.get("done") and time.time() - beat["at"] < beats.STALE_AFTER for beat in beats.read(folder)):
        time.sleep(0.1)


def _cause(error: BaseException) -> str:
    """What a task raised, found at the end of the Python traceback within a Spark error."""
    lines = [line.strip() for line in str(error).splitlines()]
    named = [line for line in lines if ": " in line and line.split(": ")[0].split(".")[-1].endswith(("Error", "Exception"))
             and "org.apache" not in line.split(": ")[0]]
    return named[-1] if named else first_line(error)  # type: ignore[arg-type]  # a Spark or Py4J error


def _summarise(spark: SparkSession, plan: Plan, settings: _Settings, folder: Folder, run_id: str, manifest: _Manifest) -> Run:
    """Statistics, summary and the final manifest, from the scores as written."""
    scores = spark.read.schema(SCORES).parquet(folder.for_spark("scores"))
    rows = stats(scores, plan.groups, settings.slices, run_id)
    spark.createDataFrame(rows, STATS).coalesce(1).write.mode("overwrite").parquet(folder.for_spark("stats"))
    told = beats.read(folder / "beats")
    usage = _usage(told, plan)
    gates = gated(settings.gates or {}, settings.least_coverage, plan, rows, settings.scale)
    summary = summarised(name=settings.name, run_id=run_id, plan=plan, stats=rows, tally=tally(scores), usage=usage,
                         scale=settings.scale, gates=gates)
    folder.write_json("summary.json", summary)
    manifest.write("complete", usage=usage, counts={name: summary[name] for name in summary if name.startswith("num_")})
    return Run(folder, spark, summary)


TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")


def _usage(told: Sequence[Mapping[str, Any]], plan: Plan) -> dict[str, Any]:
    """What the judge was asked and what its servers reported, by model; money where the price is known."""
    sums = totals(told)
    models: dict[str, dict[str, Any]] = {}
    for beat in told:
        for model, spent in beat.get("usage", {}).items():
            mine = models.setdefault(model, {})
            for name in TOKENS:
                before, now = mine.get(name, 0), spent[name]
                mine[name] = None if before is None or now is None else before + now
    costs = [_cost(models[endpoint.model], endpoint) for endpoint in plan.endpoints() if endpoint.model in models]
    return {
        "prompts": sums["prompts"], "reused": sums["reused"], "embedding_requests": sums["embedding_requests"],
        **{name: _total([spent[name] for spent in models.values()]) for name in TOKENS},
        "cost": _total(costs) if models else 0.0, "models": models,
        "retries": {name.removeprefix("retry_"): count for name, count in sorted(sums.items()) if name.startswith("retry_")},
    }


def _total(values: Sequence[Any]) -> Any:
    return None if None in values else sum(values)


def _cost(spent: Mapping[str, Any], endpoint: Endpoint) -> float | None:
    price = getattr(endpoint, "price", None)
    if price is None or spent["prompt_tokens"] is None or spent["completion_tokens"] is None:
        return None
    if not isinstance(price, Price):
        return float(price * spent["prompt_tokens"] / 1e6)
    cached = spent["cached_tokens"] or 0 if price.cached is not None else 0
    return float(price.prompt * (spent["prompt_tokens"] - cached) + (price.cached or 0) * cached
                 + price.completion * spent["completion_tokens"]) / 1e6


class _Manifest:
    """manifest.json: how a run was made, and how far it is. "complete" is written last."""

    def __init__(self, folder: Folder, plan: Plan, settings: _Settings, run_id: str, rows: int):
        self._folder = folder
        self._began = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._what = {
            "run_id": run_id, "name": settings.name, "config": settings.config or {}, "rows": rows,
            "field_groups": [{"key": group.key, "fields": dict(group.fields), "metrics": [
                {"name": use.name, "metric": type(use.metric).name, "parameters": vars(use.metric),
                 "threshold": use.threshold, "judge": use.judge.model if use.judge else None} for use in group.uses]}
                for group in plan.groups],
            "judges": [endpoint.public() for endpoint in plan.endpoints()],
            "wording": wording_version(), "slices": list(settings.slices),
            "versions": {"rageval_spark": _version("rageval-spark"), "pyspark": _version("pyspark"),
                         "pyarrow": _version("pyarrow"), "python": platform.python_version()},
        }

    def write(self, status: str, **more: Any) -> None:
        ended = {"ended_at": datetime.now(timezone.utc).isoformat(timespec="seconds")} if status == "complete" else {}
        self._folder.write_json("manifest.json", {**self._what, "status": status, "began_at": self._began, **ended, **more})


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _public(config: Config) -> dict[str, Any]:
    """The config as it may be written down: of headers and query parameters only the names."""
    values = config.model_dump(mode="json")
    for name in ("judge", "embeddings"):
        if values[name]:
            values[name] |= {"headers": sorted(values[name]["headers"]), "query": sorted(values[name]["query"])}
    return values


def _exists(source: Source) -> None:
    """Whether a local path is there, told before Spark is started."""
    path = source.path
    if path and "://" not in path and not any(sign in path for sign in "*?[{") and not os.environ.get("HADOOP_CONF_DIR"):
        folder = Folder(path)
        if not folder.exists():
            raise InputError(f"there is no file or folder {path}")
