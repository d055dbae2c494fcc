"""The page of a monitor: one HTML file that loads nothing, with each figure over the days that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from html import escape
from typing import Any

from rageval_spark.engine.signals import RATES
from rageval_spark.report.alerts import number, told
from rageval_spark.report.watched import LANGUAGE_DRIFT, LENGTH_DRIFT, ROWS

WIDTH, HEIGHT, MARGIN = 480, 56, 6
MEANINGS: Mapping[str, str] = {
    ROWS: "rows of the day", **{name: f"share of {meaning}" for name, (_, meaning) in RATES.items()},
    LENGTH_DRIFT: "how far the lengths of questions are from the offline set: 0 alike, 1 nothing in common",
    LANGUAGE_DRIFT: "how far the languages of questions are from the offline set: 0 alike, 1 nothing in common",
}
STYLE = """
:root { color-scheme: light dark; --line: #8884; --mark: #2563eb; --band: #2563eb33; --bad: #c2410c; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .6rem; border-top: 1px solid var(--line); }
td small { display: block; opacity: .7; } .bad { color: var(--bad); font-weight: 600; } svg { display: block; max-width: 100%; }
""".strip()


def page(summary: Mapping[str, Any], series: Sequence[Mapping[str, Any]]) -> str:
    """The HTML, from a monitor's summary and its figures of all rows on all days that are to be shown."""
    by_figure: dict[str, dict[date, Mapping[str, Any]]] = {}
    for row in sorted(series, key=lambda row: row["day"]):
        by_figure.setdefault(row["figure"], {})[row["day"]] = row
    days = sorted({row["day"] for row in series})
    title = escape(f"{summary['name']}: {summary['days'][0]} to {summary['days'][-1]}")
    wrong = [*summary["alerts"], *summary["days_below_coverage"]]
    state = f"Alerts: {len(wrong)}" if wrong else "No alert"
    return "\n".join([
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>',
        f'<h1>{title}</h1>\n<p{_bad(wrong)}>{state}</p>',
        *_listed("Alerts", [*((one["said"], True) for one in summary["alerts"]),
                            *((f"too many judgements of {day} failed", True) for day in summary["days_below_coverage"])]),
        *_listed("Against the offline set", [(one["said"], bool(one["differs"])) for one in summary["drift"]]),
        f"<h2>By day</h2>\n<table><tr><th>figure<th>{escape(str(days[-1]))}<th>{escape(f'{days[0]} to {days[-1]}')}",
        *(_row(name, rows, days, summary) for name, rows in by_figure.items()), "</table>",
        *_listed("Picked for people to judge", [(path, False) for path in summary["picks"]]),
        *_listed("Notes", [(note, False) for note in summary["notes"]]), "</html>\n",
    ])


def _bad(wrong: Any) -> str:
    return ' class="bad"' if wrong else ""


def _listed(title: str, lines: Sequence[tuple[str, bool]]) -> Iterator[str]:
    if lines:
        yield f"<h2>{title}</h2>\n<ul>" + "".join(f"<li{_bad(wrong)}>{escape(said)}" for said, wrong in lines) + "</ul>"


def _row(name: str, rows: Mapping[date, Mapping[str, Any]], days: Sequence[date], summary: Mapping[str, Any]) -> str:
    scale = 1 if name in MEANINGS else summary["scale"]
    last = told(rows[days[-1]], scale) if days[-1] in rows else "–"
    wrong = any(one["figure"] == name and one["day"] == str(days[-1]) for one in summary["alerts"])
    better = f"{summary['directions'].get(name, 'higher')} is better"
    meaning = f"{MEANINGS[name]}; {better}" if name in MEANINGS else f"average of the judged sample; {better}"
    return (f"<tr><td>{escape(name)}<small>{escape(meaning)}</small><td{_bad(wrong)}>{escape(last)}"
            f"<td>{_line(rows, days, summary['scale'])}")


def _line(rows: Mapping[date, Mapping[str, Any]], days: Sequence[date], scale: int) -> str:
    """A point a day, joined where days follow each other, over bars of the 95 % intervals. From 0 to the greatest value."""
    known = [row for row in rows.values() if row["value"] is not None]
    most = max((max(row["value"], row["ci_high"] or 0.0) for row in known), default=0.0) or 1.0
    span = max(1, (days[-1] - days[0]).days)

    def x(day: date) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (day - days[0]).days / span

    def y(value: float) -> float:
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * value / most

    parts = [f'<line x1="0" x2="{WIDTH}" y1="{y(0):.1f}" y2="{y(0):.1f}" stroke="var(--line)"/>']
    before: Mapping[str, Any] | None = None
    for row in known:
        at, value = x(row["day"]), y(row["value"])
        if row["ci_low"] is not None:
            parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y(row["ci_low"]):.1f}" y2="{y(row["ci_high"]):.1f}" '
                         f'stroke="var(--band)" stroke-width="5"/>')
        if before and (row["day"] - before["day"]).days == 1:
            parts.append(f'<line x1="{x(before["day"]):.1f}" x2="{at:.1f}" y1="{y(before["value"]):.1f}" y2="{value:.1f}" '
                         f'stroke="var(--mark)" stroke-width="1.5"/>')
        parts.append(f'<circle cx="{at:.1f}" cy="{value:.1f}" r="2.5" fill="var(--mark)"><title>{row["day"]}: '
                     f'{escape(number(row, scale))}</title></circle>')
        before = row
    return f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'
