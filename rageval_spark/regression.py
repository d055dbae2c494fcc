"""Gates against an earlier run: by how much a metric may be worse than it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rageval_spark import comparison
from rageval_spark.config.schema import LATEST
from rageval_spark.engine.files import Folder
from rageval_spark.errors import ConfigError, InputError
from rageval_spark.report.comparison import Compared
from rageval_spark.report.gates import GateResult, Stats, reaches
from rageval_spark.report.recorded import Recorded, recorded, runs
from rageval_spark.spark import pairs
from rageval_spark.spark.read import read_scores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Baselines = Mapping[str, Recorded | None]
"""The run that a metric is held against; None where there is none yet."""
Held = tuple[str, Compared]
"""The field group of the earlier run, and what is compared."""


def baselines(gates: Mapping[str, Mapping[str, Any]], output: Folder, name: str, run_id: str) -> Baselines:
    """The earlier run of each metric that has a `max_drop`, for a run of that name and id. Raises ConfigError for one that
    is named and not there."""
    wanted = {metric: gate["against"] for metric, gate in gates.items() if gate.get("max_drop") is not None}
    mine = [run for run in runs(str(output)) if run.manifest["name"] == name and run.run_id != run_id] \
        if LATEST in wanted.values() else []
    latest = mine[-1] if mine else None
    return {metric: latest if against == LATEST else _named(output, metric, against) for metric, against in wanted.items()}


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
    """A result for each metric and field group that has a `max_drop`: the difference over the samples that both runs scored,
    else that of their averages. Not decided where there is no earlier run, or it lacks the metric. Starts two jobs at most
    for each earlier run."""
    compared: dict[str, Mapping[tuple[str, str], Held]] = {}
    results = []
    for metric, base in held_against.items():
        if base and str(base.folder) not in compared:
            compared[str(base.folder)] = _compared(spark, base, new)
        for row in stats:
            if row["slice"] is None and row["metric"] == metric:
                held = compared[str(base.folder)].get((row["field_group"], metric)) if base else None
                results.append(_result(row, gates[metric]["max_drop"], base, held, scale))
    return results


def _compared(spark: SparkSession, base: Recorded, new: Recorded) -> Mapping[tuple[str, str], Held]:
    """What is compared of two runs by the field group and metric of the new one."""
    matches, _ = comparison.of_runs(base, new)
    paired = pairs.paired(read_scores(spark, base.folder), read_scores(spark, new.folder), matches, ())
    cells = pairs.cells(paired, matches, (), {}) if matches else []
    lines = comparison.ranked(cells, new, 0.0)
    return {(cell.match.new, cell.match.metric): (cell.match.base, line) for cell, line in zip(cells, lines, strict=True)}


def _result(row: Mapping[str, Any], limit: float, base: Recorded | None, held: Held | None, scale: int) -> GateResult:
    group, metric = row["field_group"], row["metric"]
    drop, said = None, "there is no earlier run of this name to compare with"
    if base:
        drop, said = next(_drops(row, base, held, scale), (None, f"the run {base.run_id} has no score of it"))
    met = None if drop is None else reaches(drop, limit, ceiling=True)
    said = said if drop is None else f"{said}; it may be worse by at most {limit:.3f}"
    return GateResult(f"{metric}.max_drop ({group})", limit, drop, met, said, "max_drop", metric, group)


def _drops(row: Mapping[str, Any], base: Recorded, held: Held | None, scale: int) -> Iterator[tuple[float, str]]:
    """By how much the average is worse, and that in words."""
    if held is None:
        return
    key, line = held
    worse = -1 if line.direction == "higher" else 1
    if line.found and base.manifest["config"].get("output", {}).get("good", True):
        drop = worse * line.found.difference * scale
        ends = [] if line.found.low is None or line.found.high is None else sorted(
            worse * end * scale for end in (line.found.low, line.found.high))
        interval = " [{:+.3f}, {:+.3f}]".format(*ends) if ends else ""
        yield drop, f"worse by {drop:+.3f}{interval} than in {base.run_id} over the {line.found.count:,} samples of both"
        return
    before = base.summary["metrics_score"].get(key, {}).get("stats", {}).get(row["metric"], {}).get("score_average")
    if before is not None and row["average"] is not None:
        drop = worse * (row["average"] - before / base.summary.get("scale", 1)) * scale
        yield drop, f"worse by {drop:+.3f} than in {base.run_id}, whose samples are others"
