"""`rageval pick`: samples of a run for people to judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rageval_spark.errors import ConfigError

SUFFIXES = (".jsonl", ".csv")


def pick(
    run: Annotated[str, typer.Argument(help="The folder of a run: out/runs/<run_id>.", show_default=False)],
    n: Annotated[int, typer.Option("--n", min=1, max=1000, help="How many samples.")] = 30,
    worst: Annotated[bool, typer.Option("--worst", help="Those that miss a threshold by most; the default.")] = False,
    borderline: Annotated[bool, typer.Option("--borderline", help="Those nearest to a threshold.")] = False,
    random: Annotated[bool, typer.Option("--random", help="Any that have a score: the ones to measure the judge by.")] = False,
    stratify_by: Annotated[str | None, typer.Option(help="A slice of the run: the same number of each value.")] = None,
    metric: Annotated[str | None, typer.Option(help="Go by this metric alone, and write only its scores.")] = None,
    seed: Annotated[int, typer.Option(help="For --random, and between equals.")] = 7,
    output: Annotated[Path | None, typer.Option(help="FILE.jsonl or FILE.csv; by default JSON lines to stdout.")] = None,
) -> None:
    """Pick samples of a finished run for people to judge: a row per sample and metric, with the score and the texts.

    Fill in `label` with 1 where the sample is good by this metric and 0 where it is bad, also where a low score is good (or with
    a grade, for which `rageval agree` has --scale); leave empty what you do not know, and `comment` as you like.
    """
    chosen = [name for name, wanted in (("worst", worst), ("borderline", borderline), ("random", random)) if wanted]
    if len(chosen) > 1:
        raise ConfigError(f"--{' and --'.join(chosen)} exclude each other; give one")
    if output is not None:
        _writable(output)

    from rageval_spark.finished.pick import pick as picked_of
    from rageval_spark.report.review import as_csv, as_jsonl, spoilt

    found = picked_of(run, n, chosen[0] if chosen else "worst", metric=metric, stratify_by=stratify_by, seed=seed)  # type: ignore[arg-type]
    notes = list(found.notes)
    if output is None:
        sys.stdout.buffer.write(as_jsonl(found.rows))
    else:
        as_table = output.suffix.lower() == ".csv"
        try:
            output.write_bytes((as_csv if as_table else as_jsonl)(found.rows))
        except OSError as error:
            raise ConfigError(f"{output} cannot be written: {error}") from None
        if as_table and (ids := spoilt(found.rows)):
            notes.append(f"a spreadsheet changes ids such as {ids[0]}: have it take the column sample_id as text, or use .jsonl")
        print(f"{found.samples} samples, {len(found.rows)} rows in {output}. Fill in the column label: 1 is good, 0 is bad")
    for note in notes:
        print(f"rageval: {note}", file=sys.stderr)


def _writable(output: Path) -> None:
    """Raises ConfigError where a file should not be written: a filled-in one is somebody's work."""
    if output.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"--output is a file ending in {' or '.join(SUFFIXES)}, found {output}")
    if output.exists():
        raise ConfigError(f"{output} is there already, and may have been filled in; name another file")
    if not output.parent.is_dir():
        raise ConfigError(f"--output: there is no folder {output.parent}")
