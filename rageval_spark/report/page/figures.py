"""The figures of a run as a page shows them: verdict, metrics, what was not scored, slices, comparison, how it was made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from markupsafe import Markup

from rageval_spark.engine.sampling import told
from rageval_spark.judges.settings import EmbeddedJudge
from rageval_spark.metrics import CATALOGUE
from rageval_spark.report.catalogue import parts
from rageval_spark.report.findings import counted, elsewhere, evidence, place, value
from rageval_spark.report.page import charts
from rageval_spark.report.page.gather import shown_values
from rageval_spark.score import FAILED, SKIPPED

LAYERS = {"retrieval": "Retrieval: was the right text found?", "generation": "Generation: is the answer good, given that text?",
          "end_to_end": "End to end: is the answer right?", "agent": "Agent: were the right steps taken?"}
MOST_CHARTS = 300
"""Charts of slices in a page; beyond, slices have numbers alone."""
MOST_FINDINGS = 10

Key = tuple[str | None, str | None, str, str]
"""Slice and its value (both None for all rows), field group, metric."""
Histograms = Mapping[Key, Sequence[int]]


def verdict(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What is said first: whether the gates are met, in a sentence, and what to know besides."""
    gates = summary["gates"]
    missed = [gate for gate in gates if gate["met"] is False]
    unsure = [gate for gate in gates if gate["met"] is None]
    scored = sum(stat["score_count"] for _, _, stat in _stats(summary))
    met = len(gates) - len(missed) - len(unsure)
    if missed:
        said = f"{len(missed)} of {len(gates)} gates not met" if len(gates) > 1 else "The gate is not met"
    elif not scored:
        said = "Nothing was scored"
    elif [gate["gate"] for gate in gates] == ["coverage"]:
        bad, total = summary["num_bad"], counted(summary["total"], "sample")
        open_ended = all(stat["threshold"] is None for _, _, stat in _stats(summary))
        if open_ended:
            said = "No metric has a threshold: no sample passes or fails"
        else:
            said = f"{f'{bad:,}' if bad else 'None'} of {total} {'miss' if bad > 1 else 'misses'} a threshold"
    else:
        said = f"{met} of {len(gates)} gates met, {len(unsure)} not decided" if unsure else f"All {met} gates are met"
    judges = {stat["judge"] for _, _, stat in _stats(summary)}
    notes = []
    if EmbeddedJudge.model in judges:
        notes.append("Judged by the embedded judge, which compares words: a heuristic screen, no substitute for a model.")
    if summary.get("sample"):
        notes.append(f"A part of the dataset was evaluated: {told(summary['sample'])}.")
    return {"tone": "bad" if missed else "good" if scored and met > 1 and not unsure else "none", "said": said, "notes": notes,
            "gates": [{**gate, "gate": _named(gate), "said": gate.get("said") or _gate(gate)} for gate in [*missed, *unsure,
                      *(gate for gate in gates if gate["met"])]]}


def _named(gate: Mapping[str, Any]) -> str:
    """The gate's name, with the value of a slice cut."""
    if gate.get("slice") is None:
        return str(gate["gate"])
    return f"{gate['metric']}.{gate['figure']}, {gate['slice']} {value(gate['slice_value'])} ({gate['field_group']})"


def _gate(gate: Mapping[str, Any]) -> str:
    found = "nothing was scored" if gate["found"] is None else f"found {gate['found']:.3f}"
    return f"{found}, wanted {gate['wanted']:.3f}"


def _stats(summary: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for key, group in summary["metrics_score"].items():
        for metric, stat in group["stats"].items():
            yield key, metric, stat


def metrics(summary: Mapping[str, Any], manifest: Mapping[str, Any], bars: Histograms) -> list[dict[str, Any]]:
    """Per field group the layers that have metrics, with a row for each metric."""
    known = {(group["key"], use["name"]): use for group in manifest["field_groups"] for use in group["metrics"]}
    groups: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: {layer: [] for layer in LAYERS})
    for key, metric, stat in _stats(summary):
        use = known.get((key, metric), {})
        kind = CATALOGUE.get(use.get("metric", ""))
        groups[key].setdefault(stat["layer"], []).append({
            **stat, "metric": metric, "what": parts(kind)["what"] if kind else "", "direction": use.get("direction", "higher"),
            "chart": _chart(bars, (None, None, key, metric), stat, summary["scale"])})
    return [{"key": key, "layers": [{"name": LAYERS.get(layer, layer), "rows": rows} for layer, rows in layers.items() if rows]}
            for key, layers in groups.items()]


def _chart(bars: Histograms, key: Key, stat: Mapping[str, Any], scale: float) -> Markup | None:
    if key not in bars:
        return None
    at = [None if stat[name] is None else stat[name] / scale for name in ("score_average", "likely_low", "likely_high")]
    return charts.distribution(bars[key], *at)


def unscored(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What has no score, and why: a row per field group, metric and code, what failed first."""
    return [{"field_group": key, "metric": metric, "status": status, "code": code, "count": count, "total": stat["total"],
             "meaning": meanings.get(code, "")}
            for status, meanings in (("failed", FAILED), ("skipped", SKIPPED)) for key, metric, stat in _stats(summary)
            for code, count in stat[status].items()]


def slices(summary: Mapping[str, Any], bars: Histograms) -> list[dict[str, Any]]:
    """Per field group and slice a table: metrics down, values across, in each cell the distribution and the average."""
    values = shown_values(summary["slices"])
    tables: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    known: dict[str, set[Any]] = defaultdict(set)
    for row in summary["slices"]:
        known[row["slice"]].add(row["slice_value"])
        if row["slice_value"] in values.get(row["slice"], ()):
            tables[row["field_group"], row["slice"]][row["metric"]][row["slice_value"]] = row
    found, drawn = [], 0
    for (group, name), by_metric in tables.items():
        rows = []
        for metric, cells in by_metric.items():
            if not any(cell["score_count"] for cell in cells.values()):
                continue
            drawn += len(cells)
            chart = drawn <= MOST_CHARTS
            rows.append({"metric": metric, "cells": [
                {**cell, "chart": _chart(bars, (name, value, group, metric), cell, summary["scale"]) if chart else None}
                if (cell := cells.get(value)) else None for value in values[name]]})
        if rows:
            found.append({"slice": name, "field_group": group, "columns": values[name], "rows": rows,
                          "hidden": len(known[name]) - len(values[name])})
    return found


def compared(comparison: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A comparison with a chart for each metric, all on one scale."""
    if comparison is None:
        return None
    lines = comparison["metrics"]
    several = len({line["field_group"] for line in lines}) > 1
    changed = sum(line["mended"] + line["worsened"] for line in lines)
    ends = [abs(line[end]) for line in lines for end in ("difference", "low", "high") if line.get(end) is not None]
    most = max(ends, default=0) or 1
    rows = [{**line, "chart": charts.difference(line["difference"], line.get("low"), line.get("high"), most)
             if line.get("difference") is not None else None} for line in lines]
    return {**comparison, "metrics": rows, "several": several, "changes": changed,
            "slices": sorted((line for line in comparison["slices"] if line["listed"]),
                             key=lambda line: (line["verdict"] not in ("better", "worse"), -abs(line["difference"])))}


def noise(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row per metric of which prompts were repeated."""
    found = summary.get("noise") or {}
    return [{"field_group": group, "metric": metric, **shift} for group, by_metric in found.get("metrics", {}).items()
            for metric, shift in by_metric.items()]


def made(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """How the run was made: versions as a line, and config, judges and metrics as YAML."""
    told = {"config": manifest["config"], "judges": manifest["judges"], "metrics": manifest["field_groups"]}
    return {"versions": ", ".join(f"{name} {version}" for name, version in manifest["versions"].items() if version),
            "models": ", ".join(dict.fromkeys(str(judge.get("model")) for judge in manifest["judges"])),
            "yaml": yaml.safe_dump(told, allow_unicode=True, sort_keys=False, width=100)}


def findings(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The first findings of the diagnosis, in words."""
    found = summary["diagnosis"]
    several = len(summary["metrics_score"]) > 1
    return [{**one, "place": place(one, several), "elsewhere": elsewhere(one, found),
             "evidence": [*map(evidence, one["evidence"])]} for one in found[:MOST_FINDINGS]]
