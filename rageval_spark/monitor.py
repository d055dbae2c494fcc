"""Logs of production, watched day by day: what they tell without a judge, a judged part, drift, alerts, samples for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from rageval_spark.config import MonitorConfig, mapping, planned
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, MetricUse
from rageval_spark.engine.signals import DIRECTIONS, LANGUAGE, LANGUAGE_DRIFT, LENGTH_DRIFT, RATES, ROWS, WORDS, Watch
from rageval_spark.errors import ConfigError, InputError, StoreError
from rageval_spark.finished.comparison import of_runs
from rageval_spark.finished.pick import mixed
from rageval_spark.report import alerts, watched
from rageval_spark.report.differing import doubts
from rageval_spark.report.gates import exit_code
from rageval_spark.report.page import days as days_page
from rageval_spark.report.recorded import Recorded, recorded
from rageval_spark.report.review import as_csv, as_jsonl
from rageval_spark.report.watched import Counts, Figure
from rageval_spark.run import Run, exists, run
from rageval_spark.spark import monitored, recalled, session
from rageval_spark.spark.files import Source
from rageval_spark.spark.read import read
from rageval_spark.statistics.drift import Sums, pooled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOWN_DAYS = 92
"""Days that the page shows."""
Mixes = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Monitored:
    """Some days as they were watched: the folder of figures, page and picks, and the summary."""

    folder: Folder
    summary: Mapping[str, Any] = field(repr=False)

    @property
    def exit_code(self) -> int:
        """3 where too many judgements of a day failed, 1 where there is an alert, else 0."""
        return 3 if self.summary["days_below_coverage"] else 1 if self.summary["alerts"] else 0


@dataclass(frozen=True)
class Logs:
    """The rows of production in Spark, and how they are read. `moment`: their time as SQL."""

    spark: SparkSession
    frame: DataFrame
    source: Source
    moment: str
    watch: Watch
    feedback: str | None


def monitor(config: MonitorConfig, day: date | None = None, on_session: Callable[[], None] = lambda: None) -> Monitored:
    """Compute the days that a config says, up to the last whole one, or one `day`; again where they were computed before.

    Under OUTPUT/monitor/NAME: figures/ (Parquet, a file a day, or the config's `table`), picks/, summary.json, report.html. The
    figures of a day are written once all are known; its judged part is the run NAME-DAY, made again only where config or number
    of rows has changed, or a judgement failed. Starts a job, those of each run, and a few more. Raises RagevalError.
    """
    judges = any(group.metrics for group in config.evaluate)
    uses = {use.name: use for group in planned(config.of_day("true")).groups for use in group.uses} if judges else {}
    _check(config, uses)
    against = recorded(config.against) if config.against else None
    logs = _opened(config, on_session)
    _check_told(config, logs.watch)
    last = day or monitored.today(logs.spark) - timedelta(days=1)
    days = [str(last - timedelta(days=back)) for back in reversed(range(1 if day else config.days))]
    counts = _counted(config, logs, days)
    offline, notes = _offline(logs.spark, against)
    folder = Folder(config.output.path) / "monitor" / config.name
    figures: list[Figure] = []
    runs: dict[str, Run] = {}
    asked: list[Mapping[str, Any]] = []
    for current in days:
        of_day = list(watched.figures(counts, current, offline))
        if uses and counts.readable(current):
            runs[current], new = _judged(config, logs, current, counts.rows(current))
            asked += [runs[current].summary["usage"]] if new else []
            of_day += watched.judged(runs[current].summary, current)
        _write(config, logs.spark, folder, current, of_day)
        figures += of_day
    drifts = list(watched.question_drifts({mix: counts.mix(mix, days) for mix in (WORDS, LANGUAGE)}, offline))
    if against and runs:
        found, more = _metric_drifts(against, runs, counts, uses)
        drifts, notes = [*found, *drifts], [*notes, *more]
    picks, more = _picked(config, folder, days)
    return _told(config, logs, folder, figures, {
        "name": config.name, "days": days, "against": config.against, "rows": {current: counts.rows(current) for current in days},
        "undated": counts.rows(monitored.NO_DAY), "figures": [row for row in figures if row["slice"] is None], "drift": drifts,
        "runs": {current: str(done.folder) for current, done in runs.items()}, "picks": picks,
        "usage": _usage(asked), "days_below_coverage": [current for current, done in runs.items() if done.exit_code == 3],
        "notes": [*watched.notes(logs.watch, counts, days, counts.rows(monitored.NO_DAY), config.time), *notes, *more],
    }, uses)


def _check(config: MonitorConfig, uses: Mapping[str, MetricUse]) -> None:
    """Raises ConfigError for metrics that cannot be told apart, alerts of nothing that is watched, and limits
    that no figure can be beyond."""
    names = [use.name for group in (planned(config.of_day("true")).groups if uses else ()) for use in group.uses]
    if twice := [name for name in names if names.count(name) > 1 or name in DIRECTIONS]:
        raise ConfigError(f"evaluate: a monitor has each figure once, but {twice[0]} is there twice; name one with as:")
    for name, alert in config.alerts.items():
        if name not in uses and name not in DIRECTIONS:
            raise ConfigError(f"alerts.{name}: nothing is called so here; there are {', '.join([*DIRECTIONS, *uses])}")
        if alert.drop is not None and name not in uses:
            raise ConfigError(f"alerts.{name}.drop is of metrics, which are held against an offline run; give above or below")
        if name in (LENGTH_DRIFT, LANGUAGE_DRIFT) and config.against is None:
            raise ConfigError(f"alerts.{name}: give against, the folder of an offline run")
        most, of = (config.scale, "the scale of the scores") if name in uses else (1, "which is all: 0.3 is 30 %")
        if over := [(side, limit) for side, limit in alert.limits() if limit > most and name != ROWS]:
            raise ConfigError(f"alerts.{name}.{over[0][0]} is at most {most}, {of}; found {over[0][1]:g}")


def _opened(config: MonitorConfig, on_session: Callable[[], None]) -> Logs:
    source = Source(**config.required_input().model_dump())
    exists(source)
    maps = [mapping(group.fields, f"evaluate.{place}") for place, group in enumerate(config.evaluate)]
    spark = session.own_session(config.spark.master, config.spark.conf)
    on_session()
    frame = read(spark, source, [FieldGroup(one, ()) for one in maps])
    feedback = config.feedback.column if config.feedback else "feedback" if "feedback" in frame.columns else None
    columns = monitored.columns_of(frame, next((one for one in maps if one), {}), config.slices, feedback, config.sample, source)
    given = {"negative": config.feedback.negative, "positive": config.feedback.positive} if config.feedback else {}
    watch = Watch(columns, feedback is not None, first=config.first_citation, pattern=config.citation_pattern, **given)
    if config.table:
        monitored.check_table(spark, config.table)
    return Logs(spark, frame, source, monitored.moment(frame, config.time, source), watch, feedback)


def _check_told(config: MonitorConfig, watch: Watch) -> None:
    """Raises InputError for an alert of a figure that the data has no column for."""
    for name in config.alerts:
        if name in RATES and name not in watch.rates():
            raise InputError(f"alerts.{name}: the data has no column that tells it. Read are "
                             f"{', '.join(f'{field} from {column}' for field, column in watch.group.fields.items())}"
                             f"{'' if watch.feedback else '; feedback: <column> names that of people'}")


def _counted(config: MonitorConfig, logs: Logs, days: Sequence[str]) -> Counts:
    """Raises InputError where no row is of these days."""
    first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    rows = logs.frame.where(f"{monitored.within(logs.moment, first, last)} or {logs.moment} is null")
    counts = Counts(monitored.counted(rows, logs.watch, config.slices, logs.moment, logs.feedback))
    if not any(counts.rows(day) for day in days):
        undated = counts.rows(monitored.NO_DAY)
        raise InputError(f"{logs.source} has no row of {days_page.span(days[0], days[-1])} by the column {config.time!r}"
                         + (f"; {undated:,} rows have no time there that can be read" if undated else "")
                         + ". --day YYYY-MM-DD computes another day")
    return counts


def _offline(spark: SparkSession, against: Recorded | None) -> tuple[Mixes, list[str]]:
    """The lengths and languages of the questions of an offline run, and why there are none."""
    if against is None:
        return {}, []
    groups = [FieldGroup(group["fields"], ()) for group in against.manifest["field_groups"]]
    try:
        counts = Counts(monitored.questions(spark, recalled.source_of(against.manifest), groups))
    except InputError as error:
        return {}, [f"questions are not held against those of {against.run_id}: {error}"]
    return {mix: counts.mix(mix, [monitored.NO_DAY]) for mix in (WORDS, LANGUAGE)}, []


def _usage(asked: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the runs that were made now took; the cost is None if that of one is not known."""
    costs = [usage["cost"] for usage in asked]
    return {**{name: sum(usage[name] for usage in asked) for name in ("prompts", "reused")},
            "cost": None if None in costs else sum(costs),
            "unpriced": sorted({model for usage in asked for model in usage["unpriced"]})}


def _judged(config: MonitorConfig, logs: Logs, day: str, rows: int) -> tuple[Run, bool]:
    """The run of a day, and whether it was made now: the one that is there if it is complete without a failure, of this config
    and of as many rows."""
    folder = Folder(config.output.path) / "runs" / f"{config.name}-{day}"
    of_day = config.of_day(monitored.within(logs.moment, date.fromisoformat(day), date.fromisoformat(day)))
    with suppress(InputError):
        there = recorded(str(folder))
        same = there.manifest["config"] == json.loads(json.dumps(of_day.public(), default=str))
        failed = sum(stat["n_failed"] for group in there.summary["metrics_score"].values() for stat in group["stats"].values())
        if same and not failed and there.manifest["sample"]["of"] == rows:
            return Run(folder, logs.spark, there.summary), False
    return run(of_day, run_id=f"{config.name}-{day}"), True


def _write(config: MonitorConfig, spark: SparkSession, folder: Folder, day: str, figures: Sequence[Figure]) -> None:
    if config.table:
        monitored.replace(spark, config.table, figures)
        return
    with _storing(folder):
        watched.write(folder, day, figures)


def _metric_drifts(against: Recorded, runs: Mapping[str, Run], counts: Counts,
                   uses: Mapping[str, MetricUse]) -> tuple[list[dict[str, Any]], list[str]]:
    """How the averages over all days differ from those of the offline run, each day with the weight of its rows; and what speaks
    against holding them against each other."""
    last = recorded(str(list(runs.values())[-1].folder))
    matches, unmatched = of_runs(against, last)
    found = []
    for match in matches:
        parts = [(float(counts.readable(day)), sums) for day, done in runs.items()
                 if (sums := _sums(done.summary, match.new, match.metric))]
        use = uses[match.metric]
        found.append(watched.metric_drift(match.metric, pooled(parts) if parts else None,
                                          _sums(against.summary, match.base, match.metric), use.metric.binary,
                                          use.metric.direction == "lower", last.summary["scale"]))
    said = [one for one in doubts(against.files, last.files) if not one.startswith("rows:") and "there before" not in one
            and "there now" not in one]
    only_there = [one for one in unmatched if f"only in {last.run_id}" in one]
    return found, [f"production against {against.run_id}: {one}" for one in (*said, *only_there)]


def _sums(summary: Mapping[str, Any], group: str, metric: str) -> Sums | None:
    stat = summary["metrics_score"].get(group, {}).get("stats", {}).get(metric)
    if not stat or not stat["score_count"]:
        return None
    scale = summary.get("scale", 1)
    return Sums(stat["score_count"], stat["score_average"] / scale, stat["score_std_dev"] / scale)


def _picked(config: MonitorConfig, folder: Folder, days: Sequence[str]) -> tuple[list[str], list[str]]:
    """Write samples of each week that ends on one of the days, unless that was done before or a day of it is not judged yet:
    the files, and what to know."""
    written: list[str] = []
    notes: list[str] = []
    for sunday in (date.fromisoformat(day) for day in days if date.fromisoformat(day).isoweekday() == 7):
        week = f"{sunday:%G-W%V}"
        if not config.picks.n or any((folder / "picks").exists(f"{week}.{kind}") for kind in ("jsonl", "csv")):
            continue
        of_week = [sunday - timedelta(days=back) for back in reversed(range(7))]
        judged = {str(day): path for day in of_week if Folder(path := f"{config.output.path}/runs/{config.name}-{day}").exists()}
        if failed := [day for day, path in judged.items() if not _well_judged(path)]:
            notes.append(f"samples of {week} wait to be picked: too many judgements of {', '.join(failed)} failed. Compute again "
                         f"what failed, and {sunday} last")
        if failed or not judged:
            continue
        found = mixed(list(judged.values()), config.picks.n)
        notes += found.notes
        if not found.rows:
            notes.append(f"no samples of {week} are picked: none has a score")
            continue
        name = f"{week}.{config.picks.format}"
        with _storing(folder):
            (folder / "picks").write(name, (as_csv if config.picks.format == "csv" else as_jsonl)(found.rows))
        written.append(str(folder / "picks" / name))
    return written, notes


def _well_judged(path: str) -> bool:
    """Whether a run is complete and not below its coverage."""
    try:
        return exit_code(recorded(path).summary["gates"]) != 3
    except InputError:
        return False


def _told(config: MonitorConfig, logs: Logs, folder: Folder, figures: Sequence[Figure], summary: dict[str, Any],
          uses: Mapping[str, MetricUse]) -> Monitored:
    """Alerts, the summary and the page, from all that is known."""
    directions = {**DIRECTIONS, **{name: use.metric.direction for name, use in uses.items()}}
    recent = summary["days"][-(config.alert_days or len(summary["days"])):]
    raised = alerts.raised({name: alert.model_dump() for name, alert in config.alerts.items()},
                           [row for row in figures if str(row["day"]) in recent], summary["drift"], directions, config.scale)
    summary = {**summary, "scale": config.scale, "directions": directions,
               "figures": [{**row, "day": str(row["day"])} for row in summary["figures"]],
               "alerts": [one.to_dict() for one in raised if one.raised],
               "notes": [*summary["notes"], *(one.said for one in raised if one.raised is None)]}
    since = date.fromisoformat(summary["days"][-1]) - timedelta(days=SHOWN_DAYS)
    with _storing(folder):
        folder.write_json("summary.json", summary)
        series = monitored.series(logs.spark, config.table, since) if config.table else watched.series(folder, since)
        folder.write("report.html", days_page.page(summary, series, figures).encode())
    return Monitored(folder, summary)


@contextmanager
def _storing(folder: Folder) -> Iterator[None]:
    """Raises StoreError for a folder that cannot be written."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder} cannot be written or read: {error}") from None
