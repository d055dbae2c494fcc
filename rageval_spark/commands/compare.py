"""`rageval compare`: which of two runs, or of two field groups of one, is better."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rageval_spark.report.findings import value

if TYPE_CHECKING:
    from rageval_spark.report.comparison import Compared
    from rageval_spark.report.conditions import Condition


def compare(
    base: Annotated[str, typer.Argument(help="Directory of the run that was there before.", show_default=False)],
    new: Annotated[str | None, typer.Argument(help="Directory of the run to hold against it.", show_default=False)] = None,
    groups: Annotated[tuple[str, str] | None, typer.Option(
        help="Two field groups of one run: their keys, or a column that only one has.", metavar="BASE NEW", show_default=False,
    )] = None,
    fail_on: Annotated[list[str] | None, typer.Option(
        help="End with 1 if this holds: 'faithfulness drops > 0.02', 'any worsens', 'any worsens in tenant=acme', 'recall drops "
             "> 0.1 in tenant' (some value of it), 'any worsens in any slice'. Without a number the difference must be shown.",
        metavar="CONDITION", show_default=False)] = None,
    min_effect: Annotated[float | None, typer.Option(
        help="The least difference that matters: smaller ones are called negligible, and no slice is listed for them.",
        show_default="0.0005 of the scale")] = None,
    force: Annotated[bool, typer.Option("--force", help="Rank also if judgements failed or samples repeat.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Say on which metrics NEW is better than BASE, by how much, and how sure that is.

    Samples are paired by id; those scored in both count. Ends with 0, with 1 if a condition holds, with 3 if a metric is not
    ranked, or a condition on a slice cannot be decided, because too many judgements failed or too few samples are in both.
    """
    from rageval_spark.finished.comparison import compare as compared
    from rageval_spark.report.comparison import show
    from rageval_spark.report.conditions import condition, held, undecided

    conditions = [condition(text) for text in fail_on or ()]
    result = compared(base, new, groups=groups, force=force, min_effect=min_effect)
    lines = [*result.lines, *result.by_slice]
    broken, unclear = held(conditions, lines, result.scale), undecided(conditions, lines)
    if as_json:
        failed = [_failed_on(wanted, line) for wanted, line in broken]
        undecided_on = [_failed_on(wanted, line) for wanted, line in unclear]
        print(json.dumps({**result.to_dict(), "failed_on": failed, "undecided_on": undecided_on}, ensure_ascii=False,
                         allow_nan=False))
    else:
        show(result.base, result.new, result.lines, result.by_slice, result.changes, result.warnings, result.scale,
             result.min_effect)
        for wanted, line in broken:
            change = line.found.difference * result.scale if line.found else 0.0
            print(f"FAILED: {wanted.text} ({line.metric} {change:+.3f}{_place(line)})")
        for wanted, line in unclear:
            print(f"NOT DECIDED: {wanted.text} ({line.metric}{_place(line)}: too many judgements failed)")
    raise typer.Exit(1 if broken else 0 if result.ranked and not unclear else 3)


def _place(line: Compared) -> str:
    return "" if line.slice is None else f" where {line.slice} is {value(line.slice_value)}"


def _failed_on(wanted: Condition, line: Compared) -> dict[str, Any]:
    part = {} if line.slice is None else {"slice": line.slice, "slice_value": line.slice_value}
    return {"condition": wanted.text, "metric": line.metric, **part}
