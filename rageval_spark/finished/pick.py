"""Samples of a finished run for people to look at and judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from rageval_spark.errors import ConfigError, InputError
from rageval_spark.report.recorded import Recorded, recorded
from rageval_spark.sample import FIELDS
from rageval_spark.spark import picked as choosing
from rageval_spark.spark import recalled, session
from rageval_spark.spark.read import read_scores

How = Literal["worst", "borderline", "random"]
MIX: Sequence[How] = ("random", "worst", "borderline")
TO_FILL = ("label", "comment")


@dataclass(frozen=True)
class Picked:
    """Rows of picked sample × metric, all with the same keys, and what whoever reads them should know."""

    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str]

    @property
    def samples(self) -> int:
        return len({row["sample_id"] for row in self.rows})


def pick(path: str, count: int = 30, how: How = "worst", *, metric: str | None = None, stratify_by: str | None = None,
         seed: int = 7) -> Picked:
    """Choose samples of the run in a folder (as picked.picked says), and put their texts beside their scores.

    Scores and thresholds are in [0, 1]. Texts are read from the run's dataset; where it is gone or has changed, they are
    null and a note says so. Raises InputError for a folder without a run or without scores, ConfigError for a metric or slice
    that the run does not have.
    """
    run = recorded(path)
    _known("--metric", metric, [use["name"] for group in run.manifest["field_groups"] for use in group["metrics"]])
    _known("--stratify-by", stratify_by, run.manifest["slices"])
    spark = session.own_session("local[*]", {})
    scores = choosing.picked(read_scores(spark, run.folder), how, count, seed, metric, stratify_by)
    if not scores:
        raise InputError(f"no sample of {path} has a score{f' of {metric}' if metric else ''}: there is nothing to review")
    ids = list(dict.fromkeys(score["sample_id"] for score in scores))
    order = [(group["key"], use["name"]) for group in run.manifest["field_groups"] for use in group["metrics"]]
    scores.sort(key=lambda score: (ids.index(score["sample_id"]), order.index((score["field_group"], score["metric"]))))
    texts, lost = recalled.recalled(partial(recalled.texts, spark, run.manifest), ids)
    notes = [*_scarce(run, len(ids), count), *([lost] if lost else [])]
    return Picked([_row(score, how, run, texts) for score in scores], notes)


def mixed(paths: Sequence[str], count: int, seed: int = 7) -> Picked:
    """Samples of several runs together, rows as `pick` makes them with a `run_id` before: a third at random, which is a random
    part of all, a third of the worst of the others, and of what is left those nearest to a threshold. Starts three jobs, and
    one for the texts of each run. Raises InputError for a folder without a run.
    """
    runs = {run.run_id: run for run in map(recorded, paths)}
    spark = session.own_session("local[*]", {})
    scores = choosing.together(spark, [run.folder for run in runs.values()])
    found: list[Mapping[str, Any]] = []
    chosen: dict[tuple[str, str], How] = {}
    for place, how in enumerate(MIX):
        left = count - len(chosen)
        more = choosing.picked(scores, how, count, seed)
        fresh = dict.fromkeys(key for row in more if (key := _key(row)) not in chosen)
        mine = list(fresh)[: -(-left // (len(MIX) - place))]
        chosen.update(dict.fromkeys(mine, how))
        found += [row for row in more if _key(row) in mine]
    rows: list[dict[str, Any]] = []
    notes = list(dict.fromkeys(note for run in runs.values() for note in _without_good(run)))
    for run_id, run in runs.items():
        ids = [id for of, id in chosen if of == run_id]
        texts, lost = recalled.recalled(partial(recalled.texts, spark, run.manifest), ids)
        if lost:
            notes.append(f"picked of {run_id}: {lost}")
        rows += [{"run_id": run_id, **_row({**row, "sample_id": _key(row)[1]}, chosen[_key(row)], run, texts)}
                 for row in found if _key(row)[0] == run_id]
    names = dict.fromkeys(name for row in rows for name in row if name not in TO_FILL)
    return Picked([{name: row.get(name) for name in (*names, *TO_FILL)} for row in rows], notes)


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    run_id, _, sample_id = row["sample_id"].partition(choosing.BETWEEN)
    return run_id, sample_id


def _known(option: str, name: str | None, names: Sequence[str]) -> None:
    if name is not None and name not in names:
        there = f"it has {', '.join(dict.fromkeys(names))}" if names else "it has none"
        raise ConfigError(f"{option}: the run has no {'metric' if option == '--metric' else 'slice'} {name!r}; {there}")


def _scarce(run: Recorded, found: int, count: int) -> list[str]:
    return [*([f"only {found} samples have a score"] if found < count else []), *_without_good(run)]


def _without_good(run: Recorded) -> list[str]:
    notes = []
    if not run.manifest["config"].get("output", {}).get("good", True):
        notes.append("the run kept only scores below their threshold (output.good: false), so that good ones are not among these")
    return notes


def _row(score: Mapping[str, Any], how: How, run: Recorded, texts: recalled.Texts) -> dict[str, Any]:
    """A row of the file: the score, the slices, the texts, and what is to be filled in."""
    mapped = {field for group in run.manifest["field_groups"] for field in group["fields"]} - {"sample_id"}
    mine = texts.get((score["sample_id"], score["field_group"]), {})
    slices = score["slices"] or {}
    return {
        **{name: score[name] for name in ("sample_id", "field_group", "metric", "score", "status", "code", "passed", "threshold",
                                          "reason")},
        "picked": how, **{f"slice_{name}": slices.get(name) for name in run.manifest["slices"]},
        **{field: mine.get(field) for field in FIELDS if field in mapped}, **dict.fromkeys(TO_FILL),
    }
