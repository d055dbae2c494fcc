"""How far the judge agrees with itself: prompts of a run asked once more, and the same ones again in later runs."""

from __future__ import annotations

import json
import logging
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rageval_spark.engine import beats
from rageval_spark.engine.budget import PROMPTS, earlier
from rageval_spark.engine.files import Folder
from rageval_spark.engine.stopping import stopping
from rageval_spark.engine.task import Task
from rageval_spark.engine.work import Row, Work
from rageval_spark.errors import Interrupted, RagevalError
from rageval_spark.report.differing import judged_alike
from rageval_spark.report.recorded import Recorded, runs
from rageval_spark.spark.chosen import rows_asking
from rageval_spark.statistics.noise import Shift, drift, shift

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)

FILE = "repeated.json"
DECISIONS = ("verdict", "rating", "ratings", "refused", "noncommittal", "achieved", "level")
"""Under what names the details of a score hold what the judge decided."""
FIRST = 10**12


@dataclass(frozen=True)
class Twice:
    """A metric of a sample scored twice: `before` from stored replies, `now` from replies of this run, and what the judge
    decided either time."""

    sample_id: str
    field_group: str
    metric: str
    before: float
    now: float
    decided_before: Sequence[float]
    decided_now: Sequence[float]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.sample_id, self.field_group, self.metric


@dataclass(frozen=True)
class Repeated:
    """What a run found by asking again: the rows, whose stored replies are those of run `since`, and their scores."""

    since: str
    prompts: int
    rows: Sequence[Row]
    twice: Sequence[Twice]

    @classmethod
    def read(cls, run: Recorded) -> Repeated | None:
        """What an earlier run found; None where it did not ask again."""
        try:
            told = run.folder.read_json(FILE)
        except FileNotFoundError:
            return None
        return cls(told["since"], told["prompts"], [Row(**row) for row in told["rows"]], [Twice(**one) for one in told["twice"]])

    def to_dict(self) -> dict[str, Any]:
        return {"since": self.since, "prompts": self.prompts, "rows": [asdict(row) for row in self.rows],
                "twice": [asdict(one) for one in self.twice]}


def last(runs: Iterable[Recorded], manifest: Mapping[str, Any]) -> Repeated | None:
    """What the last run found that was judged as this one is; None where there is none."""
    alike = [run for run in runs if run.run_id != manifest["run_id"] and judged_alike(run.files, (manifest, run.summary))]
    return next((found for run in reversed(alike) if (found := Repeated.read(run)) and found.twice), None)


def repeated(work: Work, rows: Sequence[Row], since: str) -> Repeated:
    """Score the rows from stored replies, and once more with up to `work.plan.repeats` prompts asked anew. Without Spark.

    The prompts count in the limits of the run; resumed, it pays for none of them again. Raises RagevalError.
    """
    spent = earlier(beats.read(work.beats)) if work.beats else {}
    most = spent.get(PROMPTS, 0.0) + work.plan.repeats
    limits = {**work.limits, PROMPTS: min(work.limits.get(PROMPTS, most), most)}
    number = FIRST * (1 + zlib.crc32(work.run_id.encode()))
    # what is stored is free; where it is not, because it was never accepted or is too old, it counts in the same limit
    work = replace(work, limits=limits, planned_tasks=1)
    with stopping.during(work.beats) if work.beats else nullcontext():
        before, _ = _scored(replace(work, plan=work.plan.repeated(0)), rows)
        now, prompts = _scored(replace(work, plan=work.plan.repeated(number)), rows)
    both = [Twice(*key, value, now[key][0], decided, now[key][1]) for key, (value, decided) in before.items() if key in now]
    return Repeated(since, prompts, rows, both)


def asked_again(work: Work, samples: DataFrame, scores: DataFrame, output: Folder, folder: Folder,
                manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Ask some prompts of a scored run once more: those that the last run like it asked, else some of its own; None where
    the config asks for none of it, or it could not be done. Writes FILE. Raises Interrupted."""
    if not work.plan.repeats:
        return None
    before = last(list(runs(str(output))), manifest)
    try:
        rows = before.rows if before else rows_asking(samples, scores, work.plan.repeats)
        found = repeated(work, rows, before.since if before else work.run_id)
    except (RagevalError, OSError) as error:
        if isinstance(error, Interrupted):
            raise
        log.warning("no prompts were repeated: %s", error)
        return None
    folder.write_json(FILE, found.to_dict())
    if not found.twice:
        log.warning("no prompts could be asked once more: the limits of the run were reached, or nothing was scored")
    said = told(found, before)
    for sentence in said["drift"]:
        log.warning("the judge has drifted: %s", sentence)
    return said


def _scored(work: Work, rows: Sequence[Row]) -> tuple[dict[tuple[str, str, str], tuple[float, list[float]]], int]:
    """Values and decisions of all that could be scored, and how many prompts were paid for."""
    found, prompts = {}, 0
    for batch in Task(work, index=AFTER_ALL).run(sorted(rows, key=lambda row: row.bucket)):
        for one in batch:
            usage = one.score.usage
            prompts += usage.prompts - usage.reused
            if one.score.value is not None and usage.prompts:
                key = (one.row.sample_id, one.group.key, one.use.name)
                found[key] = (one.score.value, list(_decisions(json.loads(json.dumps(one.score.details)))))
    return found, prompts


AFTER_ALL = 10**6
"""The place of this work after the tasks of a run."""


def _decisions(details: Any, named: bool = False) -> Iterator[float]:
    if isinstance(details, Mapping):
        for name, value in details.items():
            yield from _decisions(value, name in DECISIONS)
    elif isinstance(details, list):
        for value in details:
            yield from _decisions(value, named)
    elif named and isinstance(details, (int, float)):
        yield float(details)


def told(found: Repeated, before: Repeated | None) -> dict[str, Any]:
    """What the summary says of it: per field group and metric a Shift (on [0, 1]), and a sentence for each metric by which the
    judge has drifted since the last run that asked the same prompts."""
    by_metric = _by_metric(found.twice)
    shifts = {key: shift(*_arrays(twice)) for key, twice in by_metric.items()}
    metrics: dict[str, dict[str, Any]] = defaultdict(dict)
    for (group, metric), one in shifts.items():
        metrics[group][metric] = asdict(one)
    sentences = list(_drifts(by_metric, shifts, before)) if before else []
    return {"prompts": found.prompts, "since": found.since, "samples": len(found.rows), "metrics": dict(metrics),
            "drift": sentences}


def _by_metric(twice: Sequence[Twice]) -> dict[tuple[str, str], list[Twice]]:
    by_metric: dict[tuple[str, str], list[Twice]] = defaultdict(list)
    for one in twice:
        by_metric[one.field_group, one.metric].append(one)
    return by_metric


def _arrays(twice: Sequence[Twice]) -> tuple[list[float], list[float], list[Sequence[float]], list[Sequence[float]]]:
    return ([one.before for one in twice], [one.now for one in twice], [one.decided_before for one in twice],
            [one.decided_now for one in twice])


def _drifts(by_metric: Mapping[tuple[str, str], Sequence[Twice]], shifts: Mapping[tuple[str, str], Shift],
            before: Repeated) -> Iterator[str]:
    then = {one.key: one for one in before.twice}
    old = {key: shift(*_arrays(twice)) for key, twice in _by_metric(before.twice).items()}
    for key, twice in by_metric.items():
        same = [(then[one.key].now, one.now) for one in twice if one.key in then]
        if key in old and (said := drift(shifts[key], old[key], same)):
            yield f"{key[1]}: {said}"
