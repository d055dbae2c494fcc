"""`rageval compare`: which of two runs, or of two field groups of one, is better."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def compare(
    base: Annotated[str, typer.Argument(help="Directory of the run that was there before.", show_default=False)],
    new: Annotated[str | None, typer.Argument(help="Directory of the run to hold against it.", show_default=False)] = None,
    groups: Annotated[tuple[str, str] | None, typer.Option(
        help="Two field groups of one run: their keys, or a column that only one has.", metavar="BASE NEW", show_default=False,
    )] = None,
    fail_on: Annotated[list[str] | None, typer.Option(
        help="End with 1 where this holds: 'faithfulness drops > 0.02', 'any worsens'.", metavar="CONDITION")] = None,
    force: Annotated[bool, typer.Option("--force", help="Rank also where too many judgements failed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Say on which metrics NEW is better than BASE, by how much, and how sure that is.

    Samples are paired by id; those scored in both count. Ends with 0, with 1 where a condition holds, with 3 where a metric is
    not ranked, because too many judgements failed or too few samples are in both.
    """
    from rageval_spark.finished.comparison import compare as compared
    from rageval_spark.report.comparison import show
    from rageval_spark.report.conditions import condition, held

    conditions = [condition(text) for text in fail_on or ()]
    found = compared(base, new, groups=groups, force=force)
    broken = held(conditions, found.lines, found.scale)
    if as_json:
        said = {**found.to_dict(), "failed_on": [{"condition": wanted.text, "metric": line.metric} for wanted, line in broken]}
        print(json.dumps(said, ensure_ascii=False, allow_nan=False))
    else:
        show(found.base, found.new, found.lines, found.by_slice, found.changes, found.warnings, found.scale)
        for wanted, line in broken:
            change = line.found.difference * found.scale if line.found else 0.0
            print(f"FAILED: {wanted.text} ({line.metric} {change:+.3f})")
    raise typer.Exit(1 if broken else 0 if found.ranked else 3)
