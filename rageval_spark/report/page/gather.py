"""What a page shows beside the summary: distributions, and a few samples with their texts. Kept as `report.json`."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rageval_spark.measures.markers import cited
from rageval_spark.report.findings import labelled
from rageval_spark.report.page.marks import absent
from rageval_spark.report.terminal import MOST_SLICES
from rageval_spark.spark import shown
from rageval_spark.spark.recalled import Texts, recalled
from rageval_spark.spark.worst import missing_most

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TEXTS, DETAILS = 12_000, 8_000
"""Bytes that the texts of a sample and the details of its scores may take in a page, as JSON."""
LISTED = 5
"""Samples that miss most thresholds, which are listed before all others."""
LENGTHS = (4000, 2000, 1000, 500, 200, 100, 50, 20)
FOUND = ("field_group", "metric", "status", "code", "reason", "passed", "threshold", "score", "flags")


def gathered(scores: DataFrame, summary: Mapping[str, Any], texts: Callable[[Sequence[str]], Texts]) -> dict[str, Any]:
    """Distributions and samples of a run as JSON-ready values, with scores in [0, 1]; `notes` says what is not there.

    `texts` finds the texts of sample ids; an InputError of it is a note. Bounded whatever the run holds: MOST_SLICES values
    of a slice, LISTED and MOST samples, TEXTS and DETAILS bytes for each. Starts four jobs and what `texts` does.
    """
    metrics = [(key, metric) for key, group in summary["metrics_score"].items() for metric in group["stats"]]
    bars = shown.histograms(scores, shown_values(summary["slices"]))
    first, chosen = missing_most(scores, LISTED), shown.chosen(scores, metrics)
    ids = list(dict.fromkeys([*first, *chosen]))
    known, lost = recalled(texts, ids)
    of_sample: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in shown.of_samples(scores, ids) if ids else ():
        of_sample[row["sample_id"]].append(row)
    samples, several = [], len(summary["metrics_score"]) > 1
    for id in ids:
        rows = sorted(of_sample[id], key=lambda row: metrics.index((row["field_group"], row["metric"])))
        samples.append({
            "sample_id": id, "how": _how(rows if id in first else (), chosen.get(id, {}), several),
            "slices": _cut(rows[0]["slices"] or {}, 200),
            "texts": fitted(mine := {group: values for (found, group), values in known.items() if found == id}, TEXTS),
            "absent": {group: _absent(values) for group, values in mine.items()},
            "scores": [_cut({name: row[name] for name in FOUND}, 1000) for row in rows],
            "details": fitted([json.loads(row["details"] or "{}") for row in rows], DETAILS),
        })
    return {"histograms": bars, "samples": plain(samples), "notes": [lost] if lost else []}


def _how(listed: Sequence[Mapping[str, Any]], chosen: Mapping[str, Sequence[tuple[str, str]]],
         several: bool) -> dict[str, list[str]]:
    """Why a sample is shown, with the metrics it is shown for: first "most", of which `listed` are the scores, then of HOW."""
    missed = [(row["field_group"], row["metric"]) for row in listed if row["passed"] is False]
    why = {**({"most": missed} if missed else {}), **chosen}
    return {name: [labelled(metric, group, several) for group, metric in those] for name, those in why.items()}


def _absent(texts: Mapping[str, Any]) -> list[str]:
    """The words of an answer that no context has, found before texts are cut."""
    contexts = texts.get("retrieved_contexts")
    response = " ".join(one.text for one in cited(texts.get("response") or ""))  # a citation marker is no word of it
    return absent(response, contexts) if contexts else []


def shown_values(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """By slice the values that are shown: the MOST_SLICES with the most scores, in the order of the rows."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        if row["slice_value"] is not None:
            counts[row["slice"]][row["slice_value"]] += row["score_count"]
    most = {name: sorted(found, key=lambda value: -found[value])[:MOST_SLICES] for name, found in counts.items()}
    return {name: [value for value in counts[name] if value in values] for name, values in most.items()}


def fitted(value: Any, most: int) -> Any:
    """The value with its texts and lists cut, and saying so, as far as it takes to need no more than `most` bytes as JSON;
    where no cutting is enough, a sentence."""
    value = plain(value)
    for length in LENGTHS:
        found = _cut(value, length)
        if len(json.dumps(found, ensure_ascii=False).encode()) <= most:
            return found
    return f"too long to be shown: {len(json.dumps(value)):,} characters"


def _cut(value: Any, length: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= length + 40 else f"{value[:length]} … [{len(value) - length:,} more characters]"
    if isinstance(value, Mapping):
        return {key: _cut(one, length) for key, one in value.items()}
    if isinstance(value, list):
        most = max(3, length // 40)
        rest = [f"… [{len(value) - most:,} more]"] if len(value) > most else []
        return [*(_cut(one, length) for one in value[:most]), *rest]
    return value


def plain(value: Any) -> Any:
    """The value as JSON can hold it in a file: numbers that are none as texts, no half of a character."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(plain(str(key))): plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value
