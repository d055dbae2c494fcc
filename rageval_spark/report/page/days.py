"""The page of a monitor: each figure over the days that there are, and by slice on the last of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from rageval_spark.engine.signals import DIRECTIONS, LANGUAGE_DRIFT, LENGTH_DRIFT, RATES, ROWS
from rageval_spark.report.alerts import number, told
from rageval_spark.report.page import Page, charts, html

MEANINGS: Mapping[str, str] = {
    ROWS: "rows of the day", **{name: f"share of {meaning}" for name, (_, meaning) in RATES.items()},
    LENGTH_DRIFT: "how far the lengths of questions are from the offline set: 0 alike, 1 nothing in common",
    LANGUAGE_DRIFT: "how far the languages of questions are from the offline set: 0 alike, 1 nothing in common",
}
MOST_VALUES = 12
"""Values of a slice that are shown: those with the most rows."""


def page(summary: Mapping[str, Any], series: Sequence[Mapping[str, Any]], figures: Sequence[Mapping[str, Any]]) -> Page:
    """The page, from a monitor's summary, the figures of all rows on all days that are to be shown, and those of all rows and of
    slices on the days of the summary."""
    days = sorted({row["day"] for row in series})
    by_figure: dict[str, dict[date, Mapping[str, Any]]] = {}
    for row in sorted(series, key=lambda row: row["day"]):
        by_figure.setdefault(row["figure"], {})[row["day"]] = row
    wrong = [*(one["said"] for one in summary["alerts"]),
             *(f"too many judgements of {day} failed" for day in summary["days_below_coverage"])]
    return html("days.html.j2", summary=summary, computed=span(summary["days"][0], summary["days"][-1]),
                span=span(days[0], days[-1]), last=days[-1], days=days, day=summary["days"][-1], wrong=wrong,
                figures=[_figure(name, rows, days, summary) for name, rows in by_figure.items()],
                slices=list(_slices(summary, figures)), drift=[(one["said"], one["differs"]) for one in summary["drift"]],
                picks=[(path, False) for path in summary["picks"]], notes=[(note, False) for note in summary["notes"]])


def span(first: date | str, last: date | str) -> str:
    """Days from one to another in words."""
    return str(first) if str(first) == str(last) else f"{first} to {last}"


def _figure(name: str, rows: Mapping[date, Mapping[str, Any]], days: Sequence[date],
            summary: Mapping[str, Any]) -> dict[str, Any]:
    scale = 1 if name in DIRECTIONS else summary["scale"]
    better = f"{summary['directions'].get(name, 'higher')} is better"
    points = [{"day": day, **{to: None if row[of] is None else row[of] * scale
                              for to, of in (("value", "value"), ("low", "ci_low"), ("high", "ci_high"))}}
              for day, row in rows.items() if row["value"] is not None]
    form = ",.0f" if name == ROWS else ".0%" if name in RATES else ".2f"
    return {"name": name, "meaning": f"{MEANINGS.get(name, 'average of the judged sample')}; {better}", "points": points,
            "last": told(rows[days[-1]], scale) if days[-1] in rows else "–", "wrong": _alerted(summary, name, days[-1], None),
            "chart": charts.days(points, days[0], days[-1], form), "numbers": {point["day"]: point["value"] for point in points},
            "written": {day: number(row, scale) for day, row in rows.items()}}


def _slices(summary: Mapping[str, Any], figures: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """For each slice column its figures on the last day of the summary: a row per figure, a cell per value."""
    of_day = [row for row in figures if str(row["day"]) == summary["days"][-1]]
    for slice in dict.fromkeys(row["slice"] for row in of_day if row["slice"] is not None):
        cells = {(row["figure"], row["slice_value"]): row for row in of_day if row["slice"] == slice}
        counts = {value: row["count"] for (figure, value), row in cells.items() if figure == ROWS}
        values = sorted({value for _, value in cells}, key=lambda value: (-counts.get(value, 0), str(value)))
        shown = values[:MOST_VALUES]
        yield {"slice": slice, "values": shown, "more": len(values) - len(shown),
               "rows": [{"name": figure, "cells": [_cell(cells.get((figure, value)), summary) for value in shown]}
                        for figure in dict.fromkeys(figure for figure, _ in cells)]}


def _cell(row: Mapping[str, Any] | None, summary: Mapping[str, Any]) -> dict[str, Any]:
    if row is None:
        return {"said": "–", "value": None, "wrong": False}
    scale = 1 if row["figure"] in DIRECTIONS else summary["scale"]
    return {"said": told(row, scale), "value": row["value"],
            "wrong": _alerted(summary, row["figure"], row["day"], (row["slice"], row["slice_value"]))}


def _alerted(summary: Mapping[str, Any], figure: str, day: date, of: tuple[str, str] | None) -> bool:
    return any((one["figure"], one["day"]) == (figure, str(day)) and (one["slice"], one["slice_value"]) == (of or (None, None))
               for one in summary["alerts"])
