"""Gates against an earlier run: by how much a metric may be worse than it was."""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rageval_spark.config.schema import LATEST
from rageval_spark.engine.files import Folder
from rageval_spark.errors import ConfigError, InputError
from rageval_spark.finished import comparison
from rageval_spark.report.comparison import Compared
from rageval_spark.report.gates import GateResult, Stats, reaches, slice_value
from rageval_spark.report.recorded import Recorded, recorded, runs
from rageval_spark.spark import pairs
from rageval_spark.spark.pairs import Match
from rageval_spark.spark.read import read_scores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Baselines = Mapping[str, Recorded | None]
"""The run that a metric is held against; None where there is none yet."""
Place = tuple[str, str, str | None, str | None]
"""Field group of the new run, metric, slice and its value."""
Held = tuple[Match, Compared | None]
"""A metric in both runs, and what their scores of the same samples tell."""


def baselines(gates: Mapping[str, Mapping[str, Any]], output: Folder, name: str, run_id: str) -> Baselines:
    """The earlier run of each metric that has a `max_drop`, for a run of that name and id: the last that missed no gate, or the
    one that is named. Raises ConfigError for one that is named and not there."""
    wanted = {metric: gate["against"] for metric, gate in gates.items() if _limits(gate)}
    mine = [run for run in runs(str(output)) if run.manifest["name"] == name and run.run_id != run_id
            and not any(gate["met"] is False for gate in run.summary["gates"])] if LATEST in wanted.values() else []
    latest = mine[-1] if mine else None
    return {metric: latest if against == LATEST else _named(output, metric, against) for metric, against in wanted.items()}


def _limits(gate: Mapping[str, Any]) -> dict[str | None, Mapping[str, Any]]:
    """The parts of a gate that have a `max_drop`, by slice; None stands for all rows."""
    parts: dict[str | None, Mapping[str, Any]] = {None: gate, **(gate.get("slices") or {})}
    return {column: part for column, part in parts.items() if part.get("max_drop") is not None}


def _named(output: Folder, metric: str, name: str) -> Recorded:
    folder = output / "runs" / name
    try:
        return recorded(str(folder) if folder.exists("manifest.json") else name)
    except InputError as error:
        there = ", ".join((output / "runs").folders()) or "none"
        raise ConfigError(f"gates.{metric}.against: {error}. It is {LATEST}, the id of a run under {output} (there are {there}), "
                          f"or a run's folder") from None


def regressed(spark: SparkSession, gates: Mapping[str, Mapping[str, Any]], held_against: Baselines, new: Recorded, stats: Stats,
              scale: int) -> list[GateResult]:
    """A result for each `max_drop` of a metric, in each field group, and for one of a slice in each of its values: the difference
    over the samples that both runs scored, or of their averages if these are few or the earlier run's scores are gone. Not
    decided if there is no earlier run, or it lacks the metric or the value. Starts two jobs at most for each earlier run."""
    columns = {column for metric in held_against for column in _limits(gates[metric]) if column is not None}
    compared: dict[str, Mapping[Place, Held]] = {}
    results = []
    for metric, base in held_against.items():
        if base and str(base.folder) not in compared:
            compared[str(base.folder)] = _compared(spark, base, new, columns)
        limits = _limits(gates[metric])
        for row in stats:
            if row["slice"] in limits and row["metric"] == metric:
                place = (row["field_group"], metric, row["slice"], row["slice_value"])
                held = compared[str(base.folder)].get(place) if base else None
                results.append(_result(row, limits[row["slice"]], base, held, scale))
    return results


def _compared(spark: SparkSession, base: Recorded, new: Recorded, columns: Set[str]) -> Mapping[Place, Held]:
    """What is compared of two runs, over all samples and in the values of these slices, as far as both runs have them."""
    matches, _ = comparison.of_runs(base, new)
    slices = sorted(columns & set(base.manifest["slices"]) & set(new.manifest["slices"]))
    by_place: dict[Place, Held] = {(match.new, match.metric, None, None): (match, None) for match in matches}
    if matches and base.manifest["config"].get("output", {}).get("good", True):
        with suppress(InputError):  # kept without its scores, as between builds
            old, other = read_scores(spark, base.folder), read_scores(spark, new.folder)
            if comparison.ids_are_made(base) and comparison.ids_are_made(new):
                old, other = pairs.pool_repeats(old), pairs.pool_repeats(other)
            paired = pairs.paired(old, other, matches, slices)
            cells = pairs.cells(paired, matches, slices, pairs.slice_values(old, other, slices))
            for cell, line in zip(cells, comparison.ranked(cells, new, 0.0), strict=True):
                by_place[cell.match.new, cell.match.metric, cell.slice, cell.slice_value] = (cell.match, line)
    return by_place


def _result(row: Mapping[str, Any], gate: Mapping[str, Any], base: Recorded | None, held: Held | None, scale: int) -> GateResult:
    group, metric, limit = row["field_group"], row["metric"], gate["max_drop"]
    drop, said = None, "there is no earlier run of this name that met its gates, to compare with"
    if base:
        drop, said = (_drop(row, base, *held, scale) if held else None) or (None, f"the run {base.run_id} has no score of it")
    met = None if drop is None else reaches(drop, limit, ceiling=True)
    said = said if drop is None else f"{said}; it may be worse by at most {limit:.3f}"
    where = "" if row["slice"] is None else f", {row['slice']} {slice_value(row)}"
    pairs_of_part = held[1].found.count if held and held[1] and held[1].found else 0
    if row["slice"] is not None and drop is not None and pairs_of_part < gate["least"]:
        met, said = None, f"too few samples to say: {pairs_of_part} scored in both runs, {gate['least']} needed"
    return GateResult(f"{metric}.max_drop{where} ({group})", limit, drop, met, said, "max_drop", metric, group, row["slice"],
                      row["slice_value"])


def _drop(row: Mapping[str, Any], base: Recorded, match: Match, line: Compared | None, scale: int) -> tuple[float, str] | None:
    """By how much the average is worse, and that in words; None where one of the runs has none."""
    worse = 1 if match.lower else -1
    if line and line.found and not line.few:
        low, high = line.found.low, line.found.high
        ends = [] if low is None or high is None else sorted((worse * low * scale, worse * high * scale))
        drop = worse * line.found.difference * scale
        interval = f" (between {_by(ends[0])} and {_by(ends[1])} in 19 of 20 cases)" if ends else ""
        return drop, f"{_by(drop)} than in {base.run_id}{interval} over the {line.found.count:,} samples of both"
    if row["slice"] is not None:  # the averages below are those of all rows
        return None
    stats = base.summary["metrics_score"].get(match.base, {}).get("stats", {})
    before = stats.get(match.metric, {}).get("score_average")
    if before is None or row["average"] is None:
        return None
    drop = worse * (row["average"] - before / base.summary.get("scale", 1)) * scale
    return drop, f"{_by(drop)} than in {base.run_id} by the averages of both, of which no scores of the same samples are there"


def _by(drop: float) -> str:
    return f"{'worse' if drop >= 0 else 'better'} by {abs(drop):.3f}"
