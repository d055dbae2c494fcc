"""A monitor for a person at a terminal: figures by day, drift, notes, alerts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from rageval_spark.report.alerts import number
from rageval_spark.report.terminal import console, spent

MOST_DAYS = 7
"""The last days that are shown beside each other; all are in the figures."""


def show(summary: Mapping[str, Any]) -> None:
    """Print a monitor's summary, its alerts last."""
    out = console()
    days = summary["days"][-MOST_DAYS:]
    all_days = len(summary["days"])
    shown = f", the last {len(days)} of {all_days} days; report.html has all" if len(days) < all_days else ""
    out.print(f"{summary['name']}: values by day (of how many rows or scores){shown}", soft_wrap=True)
    table = Table("figure", *days)
    rows = {(row["figure"], row["day"]): row for row in summary["figures"]}
    for figure in dict.fromkeys(row["figure"] for row in summary["figures"]):
        table.add_row(figure, *(_cell(rows.get((figure, day)), summary["scale"]) for day in days))
    out.print(table)
    for drift in summary["drift"]:
        out.print(f"{'DRIFT: ' if drift['differs'] else ''}{drift['said']}", soft_wrap=True)
    if summary["usage"]["prompts"] or summary["usage"]["reused"]:
        out.print(spent(summary["usage"]))
    for path in summary["picks"]:
        out.print(f"picked for people to judge: {path}", soft_wrap=True)
    for note in summary["notes"]:
        out.print(f"note: {note}", soft_wrap=True)
    for day in summary["days_below_coverage"]:
        out.print(f"FAILED: too many judgements of {day} failed, see {summary['runs'][day]}/summary.json; the same command asks "
                  f"for them again", soft_wrap=True)
    for alert in summary["alerts"]:
        out.print(f"ALERT: {alert['said']}", soft_wrap=True)


def _cell(row: Mapping[str, Any] | None, scale: int) -> str:
    if row is None:
        return ""
    return number(row, scale) + ("" if row["figure"] == "rows" else f" ({row['count']:,})")
