"""`rageval history`: the runs of an output folder side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rageval_spark.errors import ConfigError, StoreError
from rageval_spark.report.findings import number

if TYPE_CHECKING:
    from rich.table import Table

    from rageval_spark.report.history import Entry

ABREAST = 6
"""Metrics beside each other in a table."""
MORE = ("95 %", "pass rate", "scored", "skipped", "failed")
LONG = 60
"""Letters of a value that are shown where it changed."""


def history(
    output: Annotated[str, typer.Argument(help="The output folder of runs; they are under runs/.", show_default=False)],
    metric: Annotated[str | None, typer.Option(help="One metric alone, with its interval and counts.")] = None,
    last: Annotated[int | None, typer.Option(help="Only the last runs, this many.", min=1)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the runs to stdout as JSON.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write all complete runs as OUTPUT/history/runs.parquet.")] = False,
) -> None:
    """List the runs of an output folder with their averages, whether gates were met, and what changed between them.

    Arrows tell by how much an average is above or below that of the complete run of the same name before it. Runs that
    did not come to their end are listed with how they ended; nothing is compared with them.
    """
    from rageval_spark.report import history as report

    everything = report.history(output)
    known = dict.fromkeys(name for entry in everything for _, name in entry.figures)
    if metric is not None and metric not in known:
        raise ConfigError(f"no run under {output} has the metric {metric!r}; there are {', '.join(known) or 'none'}")
    entries = everything[-last:] if last else everything
    if as_json:
        told = [entry.to_dict() for entry in entries]
        for one in told:
            one["metrics"] = [figures for figures in one["metrics"] if metric in (None, figures["metric"])]
        print(json.dumps(told, ensure_ascii=False, allow_nan=False, indent=1))
    else:
        _show(entries, metric)
    if write:
        try:
            count = report.write(everything, output)
        except OSError as error:
            raise StoreError(f"{output}/{report.FILE} cannot be written: {error}") from None
        typer.echo(f"{count:,} rows in {output}/{report.FILE}", err=True)


def _show(entries: Sequence[Entry], metric: str | None) -> None:
    from rageval_spark.report.terminal import console

    out = console()
    out.print(_facts(entries))
    for title, table in _averages(entries, metric):
        out.print(title, soft_wrap=True)
        out.print(table)
    out.print("Averages are of all that was scored in a run; `rageval compare` holds two runs against each other over the "
              "samples of both.", soft_wrap=True)
    for entry in entries:
        if entry.before and entry.changes:
            out.print(f"changed from {entry.before.run_id} to {entry.run_id}:")
            for change in entry.changes:
                out.print(f"  {_said(change)}", soft_wrap=True)
        if entry.before and entry.other_metrics:
            both = f"{entry.before.run_id} and {entry.run_id} are both called {entry.manifest.get('name')!r}"
            out.print(f"warning: {both}, and have not the same metrics ({', '.join(entry.other_metrics)}). If their configs are "
                      f"not versions of one, give each a name of its own (name: …)", soft_wrap=True)
    for gate in entries[-1].missed:
        out.print(f"not met in {entries[-1].run_id}: {gate}", soft_wrap=True)


def _facts(entries: Sequence[Entry]) -> Table:
    """When each run began and how it ended."""
    from rich.table import Table

    names = list(dict.fromkeys(entry.manifest.get("name") for entry in entries))
    table = Table("run", *(["name"] if len(names) > 1 else []), "began (UTC)", "judge", "rows", "coverage", "gates")
    for entry in entries:
        began = str(entry.manifest.get("began_at") or "")[:16].replace("T", " ")
        rows = entry.manifest.get("rows")
        gates = f"{len(entry.missed):,} NOT MET" if entry.missed else "met" if entry.summary else entry.status
        table.add_row(entry.run_id, *([str(entry.manifest.get("name") or "")] if len(names) > 1 else []), began,
                      ", ".join(entry.judges), "" if rows is None else f"{rows:,}",
                      number((entry.summary or {}).get("coverage")), gates)
    return table


def _averages(entries: Sequence[Entry], only: str | None) -> Iterator[tuple[str, Table]]:
    """For each field group the complete runs with their averages, in as many tables as the metrics need; of one metric alone
    with more of its figures."""
    from rich.table import Table

    by_group: dict[str, list[str]] = {}
    for group, metric in dict.fromkeys(key for entry in entries for key in entry.figures):
        if only in (None, metric):
            by_group.setdefault(group, []).append(metric)
    for group, metrics in by_group.items():
        for start in range(0, len(metrics), ABREAST):
            mine = metrics[start: start + ABREAST]
            lower = {name for entry in entries for (_, name), figures in entry.figures.items() if figures["direction"] == "lower"}
            heads = [f"{name}\n(lower is better)" if name in lower else name for name in mine]
            table = Table("run", *heads, *(MORE if only else ()))
            for entry in entries:
                if any((group, metric) in entry.figures for metric in mine):
                    more = _more(entry.figures[group, only]) if only else ()
                    table.add_row(entry.run_id, *(_average(entry, (group, metric)) for metric in mine), *more)
            yield f"fields: {group}", table


def _more(figures: Mapping[str, Any]) -> list[str]:
    interval = "–".join(number(figures[end]) for end in ("likely_low", "likely_high") if figures[end] is not None)
    return [interval, number(figures["pass_rate"]), *(str(figures[name]) for name in ("count", "n_skipped", "n_failed"))]


def _average(entry: Entry, key: tuple[str, str]) -> str:
    average, change = entry.figures.get(key, {}).get("average"), entry.change(key)
    arrow = "" if change is None or f"{abs(change):.3f}" == "0.000" else f" {'↑' if change > 0 else '↓'}{abs(change):.3f}"
    return number(average) + arrow


def _said(change: Mapping[str, Any]) -> str:
    if "there" in (change["before"], change["now"]):
        return f"{change['what']}: {'new' if change['before'] is None else 'gone'}"
    return f"{change['what']}: {_short(change['before'])} → {_short(change['now'])}"


def _short(value: Any) -> str:
    said = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return "none" if value is None or not said else said if len(said) <= LONG else f"{said[:LONG]}…"
