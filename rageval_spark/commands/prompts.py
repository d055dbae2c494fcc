"""The commands of `rageval prompts`: to look at the wording of prompts, and to start one of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rageval_spark.errors import ConfigError

prompts = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look at the wording of prompts, or start your own.")


@prompts.command("show")
def show(
    kind: Annotated[str | None, typer.Argument(help="A kind of prompt, such as verify_claims; by default all.")] = None,
    language: Annotated[str | None, typer.Option(help="en or zh; by default both.")] = None,
    judge_config: Annotated[Path | None, typer.Option(help="A config file, for the wording that its judge is sent.")] = None,
) -> None:
    """Print the wording of prompts, with its {places} as they are. A single one is printed without a heading."""
    from rageval_spark.config import load
    from rageval_spark.judges.settings import HttpJudge
    from rageval_spark.prompts.kinds import KINDS
    from rageval_spark.prompts.own import builtin
    from rageval_spark.prompts.rendering import SYSTEM

    if kind is not None and kind not in KINDS:
        raise ConfigError(f"no kind of prompt is called {kind!r}; the kinds are {', '.join(KINDS)}")
    if language is not None and language not in SYSTEM:
        raise ConfigError(f"--language is one of {', '.join(SYSTEM)}, found {language!r}")
    judge = load(judge_config).judge if judge_config else None
    shown = []
    for name, worded_in, text in builtin():
        if kind in (None, name) and language in (None, worded_in):
            own = judge.for_kind(name).wording.get(name, {}) if isinstance(judge, HttpJudge) else {}
            shown.append((f"--- {name}.{worded_in} ---", own.get(worded_in, text)))
    print(shown[0][1] if len(shown) == 1 else "\n\n".join(f"{heading}\n{text}" for heading, text in shown))


@prompts.command("export")
def export(folder: Annotated[Path, typer.Argument(help="A folder for the files.", show_default=False)]) -> None:
    """Write all wording as files <kind>.<language>.txt, which `judge: {prompts: FOLDER}` reads. Overwrites nothing."""
    from rageval_spark.prompts.own import builtin, file_name

    files = {folder / file_name(kind, language): text for kind, language, text in builtin()}
    if there := [str(file) for file in files if file.exists()]:
        raise ConfigError(f"{there[0]} is there already, and nothing is overwritten; name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error}") from None
    print(f"{len(files)} files in {folder}. Edit them, delete those that you leave as they are, and name the folder in the "
          f"config: judge: {{prompts: {folder}}}")
