"""Findings of a diagnosis in words, for the terminal and the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

MOST_VALUES = 12
"""Values of slices that are named; more are in the summary."""
LONGEST_VALUE = 60
Said = Mapping[str, Any]
"""A finding as the summary has it (Finding.to_dict)."""


def place(finding: Said, several: bool) -> str:
    """Where it holds: the value of a slice, the field group where there are several; empty for all samples."""
    where = f"where {finding['slice']} is {value(finding['slice_value'])}" if finding["slice"] is not None else ""
    return ", ".join(filter(None, (where, f"fields {finding['field_group']}" if several else "")))


def elsewhere(finding: Said, findings: Sequence[Said]) -> str:
    """Where it is worse than overall, and where it seems the same, as sentences with a blank before them."""
    worse = next((one for one in findings if finding["slice"] is None and one["slice"] is not None
                  and (one["code"], one["field_group"]) == (finding["code"], finding["field_group"])), None)
    values: dict[str, list[str]] = defaultdict(list)
    for one in finding["also_in"][:MOST_VALUES]:
        values[one["slice"]].append(value(one["slice_value"]))
    also = "; ".join(f"{column} {', '.join(those)}" for column, those in values.items())
    end = " …" if len(finding["also_in"]) > MOST_VALUES else "."
    worst = f"{worse['slice']} is {value(worse['slice_value'])} ({number(worse['evidence'][0]['average'])})" if worse else ""
    return (f" Worst where {worst}." if worst else "") + (f" Also in {also}{end}" if also else "")


def evidence(one: Mapping[str, Any]) -> str:
    """A metric that shows it, with what it is held against and what it may be: its 95 % interval, widened by what failed."""
    what = {"unanswered": "share of responses that are blank or decline, by ", "complaints": "share of complaints, "}
    count = "" if one["count"] is None else f"likely {number(one['low'])}–{number(one['high'])}, of {one['count']:,}; "
    lower = one["direction"] == "lower"
    limit = (f"{'over' if lower else 'under'} {number(one['threshold'])} is bad" if one["level"] == "low" else
             f"{'at most' if lower else 'at least'} {number(one['threshold'])} is good")
    return f"{what.get(one['axis'], '')}{one['metric']} {number(one['average'])} ({count}{limit})"


def labelled(metric: str, field_group: str, several: bool) -> str:
    """A metric by its name, with its field group where there are several."""
    return f"{metric} (fields {field_group})" if several else metric


def value(of_slice: str | None) -> str:
    """A value of a slice as it is shown: on one line, cut where it is longer than LONGEST_VALUE, and never nothing."""
    if of_slice is None:
        return "null"
    words = " ".join(of_slice[:10 * LONGEST_VALUE].split())
    if not words:
        return "(blank)" if of_slice else "(empty)"
    return words if len(of_slice) <= LONGEST_VALUE else f"{words[:LONGEST_VALUE]}…"


def counted(count: int, noun: str) -> str:
    """1 sample, 2 samples."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def likely(stat: Mapping[str, Any]) -> str:
    """The range in which an average likely lies; empty if nothing is known of it."""
    return "" if stat["likely_low"] is None else f"{number(stat['likely_low'])}–{number(stat['likely_high'])}"


def outcomes(summary: Mapping[str, Any]) -> str:
    """How many samples are good, bad, incomplete and skipped, in a sentence without its end."""
    counts = ", ".join(f"{summary[f'num_{name}']:,} {name}" for name in ("good", "bad", "incomplete", "skipped"))
    undecided = summary.get("num_undecided", 0)
    why = f" ({undecided:,} of them scored, but by no metric that has a threshold)" if undecided else ""
    return f"{counted(summary['total'], 'sample')}: {counts}{why}"


def number(value: float | None) -> str:
    """To three places; empty for none."""
    return "" if value is None else f"{value:.3f}"
