"""A run, step by step: read, check, place, score, summarise, write."""

from __future__ import annotations

import logging
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rageval_spark import noise, publishing
from rageval_spark.config import Config, Diagnosis, Output, field_group, metric_of, output_of, planned, sampling_of, use_of
from rageval_spark.engine import beats, store
from rageval_spark.engine.budget import COST, HOURS, carry_over
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import Plan
from rageval_spark.engine.running import under_way
from rageval_spark.engine.sampling import Sampling
from rageval_spark.engine.stopping import stopping
from rageval_spark.engine.work import Work
from rageval_spark.errors import ConfigError, InputError, Interrupted, Pending, RagevalError, ScoringFailed
from rageval_spark.finished import regression
from rageval_spark.finished.run import Run as Run  # which callers know from here
from rageval_spark.judges.http import Secret
from rageval_spark.judges.preflight import checked, key_of
from rageval_spark.judges.settings import Endpoint, HttpEmbeddings, Judge
from rageval_spark.metric import Metric
from rageval_spark.report.diagnosis import diagnosed
from rageval_spark.report.gates import gated
from rageval_spark.report.manifest import Manifest
from rageval_spark.report.progress import Progress
from rageval_spark.report.recorded import Recorded
from rageval_spark.report.summary import summarised
from rageval_spark.report.usage import used
from rageval_spark.rounds import Rounds, run_that_waits
from rageval_spark.spark import placing, recalled, session
from rageval_spark.spark import score as scoring
from rageval_spark.spark.files import Source
from rageval_spark.spark.read import read, read_scores, resolved, unfed
from rageval_spark.spark.sampling import drawn
from rageval_spark.spark.stats import stats, tally
from rageval_spark.spark.tables import STATS
from rageval_spark.spark.worst import over_budget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


log = logging.getLogger(__name__)


def evaluate(df: DataFrame, metrics: Sequence[Metric | str], *, judge: Judge | None = None,
             embeddings: HttpEmbeddings | None = None, output: str | Path | Mapping[str, Any] = "out",
             fields: Mapping[str, str] | None = None, slices: Sequence[str] = (), sample: Mapping[str, Any] | None = None,
             run_id: str | None = None, name: str = "rageval") -> Run:
    """Score a DataFrame with metrics (objects, or names of the catalogue) and write a run under `output`.

    `fields` maps sample field to column; without it columns are taken by name. `sample` and `output` are as in a config:
    {"n": 100}, {"path": "out", "tables": "main.rag."}.
    The DataFrame is read twice, once to count and once to score, and twice more to choose a sample; one that is not
    repeatable should be written first. Its session stays as it is. Raises RagevalError.
    """
    if not hasattr(df, "sparkSession"):
        raise ConfigError(f"evaluate takes a Spark DataFrame, found {type(df).__module__}.{type(df).__name__}; "
                          f"spark.createDataFrame(…) makes one of pandas")
    given = [metric_of(metric, {}) if isinstance(metric, str) else metric
             for metric in ([metrics] if isinstance(metrics, str) else metrics)]
    group = field_group(fields or {}, [use_of(metric, judge, embeddings) for metric in given], "evaluate")
    wanted = output_of(output)
    settings = _Settings(name=name, output=Folder(wanted.path), slices=slices, run_id=_named(run_id), named=run_id is not None,
                         published=wanted, sample=sampling_of(sample) if sample is not None else None)
    return _run(Plan((group,)), df.sparkSession, df, "the DataFrame", settings)


def run(config: Config, *, run_id: str | None = None, wait: bool = True,
        on_session: Callable[[], None] = lambda: None) -> Run:
    """Do what a config says, in a session of our own or the one that spark-submit made. Raises RagevalError.

    `on_session` is called once the session is there. Without `wait`, batches that are under way raise Pending.
    """
    named, run_id = run_id is not None, _named(run_id)
    plan = planned(config)
    if config.limits.max_cost and (unknown := [endpoint.label for endpoint in plan.endpoints() if endpoint.price is None]):
        raise ConfigError(f"limits.{COST} needs to know the price of {', '.join(unknown)}; give it as price")
    source = Source(**config.required_input().model_dump())
    asked = plan.endpoints() if plan.mode != "files" else []
    keys: dict[Endpoint, Secret] = {endpoint: key_of(endpoint, config.environment) for endpoint in asked}
    exists(source)
    spark = session.own_session(config.spark.master, config.spark.conf)
    on_session()
    gates = {metric: gate.model_dump() for metric, gate in config.metric_gates.items()}
    settings = _Settings(
        name=config.name, output=Folder(config.output.path), slices=config.slices, run_id=run_id, named=named,
        scale=config.scale, gates=gates,
        least_coverage=config.coverage_gate, keys=keys, config=config.public(), published=config.output, wait=wait,
        limits=config.limits.by_name(), sample=config.sample, diagnosis=config.diagnosis)
    return _run(plan, spark, read(spark, source, plan.groups), source, settings)


def _named(run_id: str | None) -> str:
    """The run's id: as given, or made from the time. Raises ConfigError for one that is no folder's name."""
    if run_id is None:
        return f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    if not re.fullmatch(r"[A-Za-z0-9_:-][A-Za-z0-9_.:-]*", run_id):
        raise ConfigError(f"--run-id names a folder: letters, digits, '-', '_', '.' and ':', found {run_id!r}")
    return run_id


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """What a run is told beside its plan and its data; `named` if the user gave its id."""

    name: str
    output: Folder
    slices: Sequence[str]
    run_id: str
    named: bool
    scale: int = 1
    gates: Mapping[str, Mapping[str, Any]] | None = None
    least_coverage: float = 0.95
    keys: Mapping[Endpoint, Secret] | None = None
    config: Mapping[str, Any] | None = None
    published: Output = field(default_factory=Output)
    wait: bool = True
    limits: Mapping[str, float] | None = None
    sample: Sampling | None = None
    diagnosis: Diagnosis = field(default_factory=Diagnosis)


def _run(plan: Plan, spark: SparkSession, frame: DataFrame, source: object, settings: _Settings) -> Run:
    if spark.conf.get("spark.speculation", "false") == "true":
        log.warning("spark.speculation is on in this session: a task that is run twice pays twice for what it asks")
    groups = resolved(plan.groups, frame, source)
    unsupported = (f"{use.name}: {use.unsupported} (JUDGE_UNSUPPORTED)" for group in groups for use in group.uses
                   if use.unsupported)
    for sentence in (*unfed(groups), *unsupported):
        log.warning("skipped for every sample: %s", sentence)
    plan = Plan(groups)
    keys = [group.key for group in groups]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise ConfigError(f"two field groups read the same columns ({twice[0]}); put their metrics into one, naming with as:")
    if plan.mode != "live":
        made = Manifest(settings.output, plan, run_id="", name=settings.name, rows=0, slices=settings.slices,
                        config=settings.config or {})
        settings = replace(settings, run_id=run_that_waits(settings.output, made, settings.run_id, settings.named))
    held_against = regression.baselines(settings.gates or {}, settings.output, settings.name, settings.run_id)
    samples, sample = drawn(frame, groups, settings.slices, settings.sample)
    by_fine = placing.count_by_bucket(samples)
    if not by_fine:
        raise InputError(f"{source} is empty: it holds no rows")
    scoring.check_executors(spark, settings.output, live=plan.mode == "live")
    publishing.prepare(settings.published, spark)
    with under_way(settings.output, settings.run_id):
        if plan.mode != "files":
            plan = _preflight(plan, settings.keys)
        return _judged(plan, spark, samples, by_fine, sample, held_against, settings)


def _judged(plan: Plan, spark: SparkSession, samples: DataFrame, by_fine: Counter[int], sample: Mapping[str, Any] | None,
            held_against: regression.Baselines, settings: _Settings) -> Run:
    """The run of samples that may be judged: from here on it costs money and leaves files."""
    run_id, rows = settings.run_id, sum(by_fine.values())
    folder = settings.output / "runs" / run_id
    manifest = Manifest(folder, plan, run_id=run_id, name=settings.name, rows=rows, sample=sample,
                        slices=settings.slices, config=settings.config or {})
    resumes = manifest.resumes()
    if manifest.replaces_another():
        log.warning("run %s is there already, made with another config: its results are replaced", run_id)
    manifest.begin()
    work = _work(plan, settings, folder, manifest.began)
    spent = carry_over(folder / "beats", resumes, in_rounds=plan.mode != "live")
    tasks = placing.task_count(rows, placing.slots(spark), plan.max_concurrency)
    buckets = store.opened(settings.output / "replies", rows)
    repeated, rounds = None, None
    try:
        if plan.mode == "live":
            _score(placing.placed(samples, by_fine, buckets, tasks), work, tasks, rows, folder)
            repeated = noise.asked_again(work, placing.bucketed(samples, buckets), read_scores(spark, folder),
                                         settings.output, folder, manifest.what)
        else:
            rounds = Rounds(spark, work, settings.output, folder, tasks, settings.wait, spent, resumes)
            rounds.score(placing.bucketed(samples, buckets))
    except RagevalError as error:
        manifest.end({Interrupted: "interrupted", Pending: "waiting"}.get(type(error), "failed"), reason=str(error))
        raise
    except KeyboardInterrupt:
        manifest.end("interrupted", reason="stopped")
        raise Interrupted(f"stopped. What was sent goes on, and is taken up by the same command; it is kept under "
                          f"{settings.output}") from None
    run = _summarise(spark, plan, settings, folder, run_id, manifest, held_against, repeated, samples,
                     rounds.notes() if rounds else ())
    if rounds:
        rounds.close()
    return run


def _preflight(plan: Plan, keys: Mapping[Endpoint, Secret] | None) -> Plan:
    """The plan with keys, and with what a first prompt to each judge and embedding model taught."""
    endpoints = plan.endpoints()
    keys = keys or {endpoint: key_of(endpoint) for endpoint in endpoints}
    return plan.equipped(keys, checked({endpoint: keys[endpoint] for endpoint in endpoints}))


def _work(plan: Plan, settings: _Settings, folder: Folder, began: float) -> Work:
    limits = dict(settings.limits or {})
    hours = limits.pop(HOURS, None)
    since = time.time() if plan.mode == "live" else began  # rounds go on while no process runs
    return Work(plan, settings.run_id, settings.output / "replies", folder / "beats", oldest=plan.reuse_since(time.time()),
                limits=limits, until=since + 3600 * hours if hours else None)


def _score(placed: DataFrame, work: Work, tasks: int, rows: int, folder: Folder) -> None:
    """Write the scores: the one action that asks the judge."""
    assert work.beats is not None
    judgements = rows * sum(len(group.uses) for group in work.plan.groups)
    kept = f"Every reply that had come is kept in {work.store}; run the same command again to go on where it stopped"
    try:
        with stopping.during(work.beats), Progress(work.beats, judgements):
            scoring.write(placed, replace(work, planned_tasks=tasks), folder.for_spark("scores"))
    except KeyboardInterrupt:
        raise Interrupted(f"stopped. {kept}") from None
    except ScoringFailed as failure:
        if stopping.asked:
            raise Interrupted(f"stopped. {kept}") from None
        raise ScoringFailed(f"the scoring pass broke off: {failure}. {kept}") from failure


def _summarise(spark: SparkSession, plan: Plan, settings: _Settings, folder: Folder, run_id: str, manifest: Manifest,
               held_against: regression.Baselines, repeated: Mapping[str, Any] | None, samples: DataFrame,
               notes: Sequence[str] = ()) -> Run:
    """Statistics, summary, page and the final manifest, from the scores as written."""
    scores = read_scores(spark, folder)
    rows = stats(scores, plan.groups, settings.slices, run_id)
    spark.createDataFrame(rows, STATS).coalesce(1).write.mode("overwrite").parquet(folder.for_spark("stats"))
    told = beats.read(folder / "beats")
    served = _served(told)
    usage = used(told, plan)
    gates = [*gated(settings.gates or {}, settings.least_coverage, plan, rows, settings.scale),
             *regression.regressed(spark, settings.gates or {}, held_against, Recorded(folder, manifest.what, {}), rows,
                                   settings.scale)]
    counted = tally(scores)
    summary = summarised(name=settings.name, run_id=run_id, plan=plan, stats=rows, tally=counted, usage=usage,
                         scale=settings.scale, gates=gates, sample=manifest.sample,
                         served_models=sorted(set().union(*served.values())), noise=repeated, notes=notes,
                         diagnosis=diagnosed(plan, rows, settings.diagnosis, settings.diagnosis.complaints))
    reached = over_budget(scores)
    for limit, left in reached:
        log.warning("%s was reached: %s judgements were left. What was paid for is kept. %s", limit, f"{left:,}",
                    "Run again to go on" if limit == f"limits.{HOURS}" else
                    "Raise it and run again to go on; the same run counts what it has spent")
    if summary["total"] < manifest.rows:
        log.warning("%s of %s rows have the id of another row: a sample is counted once, its scores for each row",
                    f"{manifest.rows - summary['total']:,}", f"{manifest.rows:,}")
    if counted.repeats and not any("sample_id" in group.fields for group in plan.groups):
        log.warning("%s rows without an id have the same question, reference and contexts as another row, and are numbered: to "
                    "compare runs, map a column that identifies them, fields: {sample_id: <column>}", f"{counted.repeats:,}")
    folder.write_json("summary.json", summary)
    from rageval_spark.report.page import make  # templates and charts: only now, when all else is there

    make.page(folder, manifest.what, summary, scores, partial(recalled.texts_of, samples, plan.groups))
    if not settings.published.good:
        scoring.drop_good(spark, folder)
    manifest.end("complete", usage=usage, limits_reached=[limit for limit, _ in reached],
                 counts={name: summary[name] for name in summary if name.startswith("num_")})
    done = Run(folder, spark, summary)
    publishing.publish(settings.published, spark, folder, manifest.what, summary, done.scores, done.stats)
    return done


def _served(told: Sequence[Mapping[str, Any]]) -> Mapping[str, set[str]]:
    """The models that replied, by the model that was asked for. Warns where one was answered by several."""
    served: dict[str, set[str]] = {}
    for beat in told:
        for model, names in beat.get("served", {}).items():
            served.setdefault(model, set()).update(names)
    for model, found in served.items():
        if len(found) > 1:
            log.warning("replies of %s come from more than one model: %s. Averages of before and after the change do not "
                        "compare; judge: {reuse: {max_age_days: …}} leaves out old replies", model, ", ".join(sorted(found)))
    return served


def exists(source: Source) -> None:
    """Raises InputError where a local path is not there: told before Spark is started."""
    path = source.path
    if path and "://" not in path and not any(sign in path for sign in "*?[{") and not os.environ.get("HADOOP_CONF_DIR"):
        folder = Folder(path)
        if not folder.exists():
            raise InputError(f"there is no file or folder {path}" + ("" if path.startswith("/") else f" in {os.getcwd()}"))
