"""The commands of `rageval store`: to look after the replies that were paid for."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.table import Table

from rageval_spark.errors import ConfigError

store = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look after the replies store of an output folder.")
LABELS = {"kinds": "rows of kind", "served_models": "rows by model"}
Output = Annotated[str, typer.Argument(help="The output folder of runs; its replies are under replies/.", show_default=False)]


@store.command("stats")
def store_stats(
    output: Output,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Print what the store holds: files, replies by kind and served model, the tokens they took, their age."""
    from rageval_spark.engine import upkeep
    from rageval_spark.engine.files import Folder
    from rageval_spark.report.terminal import console

    stats = upkeep.stats(Folder(output))
    if as_json:
        print(json.dumps(stats, ensure_ascii=False, indent=1))
        return
    table = Table("what", "how many")
    for name, value in stats.items():
        if isinstance(value, Mapping):
            for item, count in value.items():
                table.add_row(f"{LABELS[name]} {item}", f"{count:,}")
        else:
            table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else value or "none")
    console().print(table)


@store.command("verify")
def store_verify(output: Output) -> None:
    """Read every file of the store. Ends with 1 where something in it cannot be used; runs skip that and ask again."""
    from rageval_spark.engine import upkeep
    from rageval_spark.engine.files import Folder

    faults = 0
    for sentence in upkeep.verify(Folder(output)):
        faults += 1
        print(sentence)
    print(f"{faults or 'no'} fault{'' if faults == 1 else 's'} found")
    raise typer.Exit(1 if faults else 0)


@store.command("compact")
def store_compact(output: Output) -> None:
    """Leave one file per bucket, with the newest reply to every prompt. Runs may go on meanwhile."""
    from rageval_spark.engine import upkeep
    from rageval_spark.engine.files import Folder

    files, left, _ = upkeep.compact(Folder(output))
    print(f"{files:,} files became {left:,}")


@store.command("prune")
def store_prune(
    output: Output,
    older_than: Annotated[str, typer.Option(help="Age of the replies to delete: 90d, 12h or 6w.", show_default=False)],
) -> None:
    """Delete replies that are older, and compact. What a later run needs of them is asked and paid for again."""
    from rageval_spark.engine import upkeep
    from rageval_spark.engine.files import Folder

    age = re.fullmatch(r"(\d+(?:\.\d+)?)([hdw])", older_than.strip())
    if age is None:
        raise ConfigError(f"--older-than takes a number of hours, days or weeks such as 12h, 90d or 6w, found {older_than!r}")
    seconds = float(age[1]) * {"h": 3600, "d": 86_400, "w": 604_800}[age[2]]
    files, left, deleted = upkeep.prune(Folder(output), time.time() - seconds)
    print(f"{deleted:,} replies deleted; {files:,} files became {left:,}")
