"""The summary of a run: the JSON that a person reads first and a release is gated by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rageval_spark.engine.plan import Plan
from rageval_spark.report.diagnosis import Finding
from rageval_spark.report.gates import GateResult, Stats, coverage, reaches
from rageval_spark.spark.stats import Tally
from rageval_spark.statistics.intervals import likely_range

SCALED = ("average", "min", "max", "std_dev", "p10", "p50", "p90", "ci_low", "ci_high", "average_low", "average_high")


def summarised(*, name: str, run_id: str, plan: Plan, stats: Stats, tally: Tally, usage: Mapping[str, Any], scale: int,
               gates: Sequence[GateResult], served_models: Sequence[str], noise: Mapping[str, Any] | None = None,
               sample: Mapping[str, Any] | None = None, diagnosis: Sequence[Finding] = (),
               notes: Sequence[str] = ()) -> dict[str, Any]:
    """The summary as JSON-ready values. Scores are on the config's scale, shares and coverage in [0, 1]. `sample`
    tells which part of the dataset was chosen (None: all); averages are then weighted, while counts and `score` are of
    what was judged. `notes` are sentences on what could not be used of what the run was given.

    `task_name` to `metrics_score` have the layout of Dingo's summaries. `likely_low` and `likely_high` are the range of an
    average that is shown everywhere: its 95 % interval, widened by what failed. The bare interval of the scores (`ci_low`,
    `ci_high`) is null if the coverage of a metric is below its gate: the scored samples are no random part then.
    """
    whole = [row for row in stats if row["slice"] is None]
    least = next((gate.wanted for gate in gates if gate.metric is None and gate.figure == "coverage"), 0.0)
    total, good = tally.samples, tally.outcomes["good"]
    return {
        "task_name": name, "run_id": run_id, "status": "complete", "sample": sample, "total": total,
        "num_good": good, "num_bad": tally.outcomes["bad"], "num_incomplete": tally.outcomes["incomplete"],
        "num_skipped": tally.outcomes["skipped"], "num_undecided": tally.undecided,
        "score": round(100 * good / total, 2) if total > tally.outcomes["skipped"] else None,
        "type_ratio": _type_ratio(tally, whole),
        "metrics_score": {group.key: _group(group.key, plan, whole, tally, scale, least) for group in plan.groups},
        "coverage": coverage(whole), "scale": scale,
        "slices": [_slice(row, scale, least) for row in stats if row["slice"] is not None],
        "usage": dict(usage), "served_models": list(served_models),
        "diagnosis": [finding.to_dict(scale) for finding in diagnosis], "noise": noise,
        "gates": [asdict(gate) for gate in gates], "notes": list(notes),
    }


def _group(key: str, plan: Plan, whole: Stats, tally: Tally, scale: int, least: float) -> dict[str, Any]:
    """The figures of a field group. `overall_average` is over the metrics whose higher scores are better, null without any: mixed
    with the others it would mean nothing."""
    uses = {use.name: use for group in plan.groups if group.key == key for use in group.uses}
    codes: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: {"skipped": {}, "failed": {}})
    for (group, metric, status, code), count in sorted(tally.codes.items()):
        if group == key:
            codes[metric][status][code] = count
    rows = [row for row in whole if row["field_group"] == key]
    stats = {row["metric"]: {
        **_dingo(row, scale), **_figures(row, scale, least), "threshold": _scaled(uses[row["metric"]].threshold, scale),
        "n_skipped": row["n_skipped"], "skipped": codes[row["metric"]]["skipped"],
        "n_failed": row["n_failed"], "failed": codes[row["metric"]]["failed"], "extra": row["extra"],
        "layer": row["layer"], "direction": uses[row["metric"]].metric.direction,
        "judge": judge.model if (judge := uses[row["metric"]].judge) else None,
    } for row in rows}
    averages = {metric: stat["score_average"] for metric, stat in stats.items()}
    known = [average for metric, average in averages.items() if average is not None and stats[metric]["direction"] == "higher"]
    return {"stats": stats, "summary": averages, "overall_average": round(sum(known) / len(known), 4) if known else None}


def _dingo(row: Mapping[str, Any], scale: int) -> dict[str, Any]:
    return {"score_average": _scaled(row["average"], scale), "score_count": row["count"],
            "score_min": _scaled(row["min"], scale), "score_max": _scaled(row["max"], scale),
            "score_std_dev": _scaled(row["std_dev"], scale)}


def _figures(row: Mapping[str, Any], scale: int, least: float) -> dict[str, Any]:
    figures = {name: _scaled(row[name], scale) for name in SCALED if name not in ("average", "min", "max", "std_dev")}
    ends = ("ci_low", "ci_high", "average_low", "average_high", "n_failed")
    likely = (None, None) if row["average"] is None else likely_range(*(row[name] for name in ends))
    if row["coverage"] is not None and not reaches(row["coverage"], least):
        figures |= {"ci_low": None, "ci_high": None}
    figures |= {"likely_low": _scaled(likely[0], scale), "likely_high": _scaled(likely[1], scale)}
    return {"total": row["total"], **figures, "pass_rate": row["pass_rate"], "coverage": row["coverage"]}


def _slice(row: Mapping[str, Any], scale: int, least: float) -> dict[str, Any]:
    return {"slice": row["slice"], "slice_value": row["slice_value"], "field_group": row["field_group"],
            "metric": row["metric"], **_dingo(row, scale), **_figures(row, scale, least),
            "n_skipped": row["n_skipped"], "n_failed": row["n_failed"]}


def _type_ratio(tally: Tally, whole: Stats) -> dict[str, dict[str, float]]:
    totals = {row["field_group"]: row["total"] for row in whole}
    ratios: dict[str, dict[str, float]] = defaultdict(dict)
    for (group, label), count in sorted(tally.labels.items()):
        ratios[group][label] = round(count / totals[group], 6)
    return ratios


def _scaled(value: float | None, scale: int) -> float | None:
    return None if value is None else value * scale
