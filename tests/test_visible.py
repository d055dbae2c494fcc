"""Texts of users do nothing to a terminal, and do not fill it; damaged files of a run are told of in a sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from rageval_spark.errors import InputError
from rageval_spark.report.recorded import recorded
from rageval_spark.report.terminal import console
from rageval_spark.report.visible import cut

HOSTILE = "\x1b[31mred\x1b]0;owned\x07\u202eback"


def test_what_acts_on_a_terminal_is_shown_by_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("metric", HOSTILE)
    table.add_row("a", HOSTILE)
    console().print(HOSTILE, soft_wrap=True)
    console().print(table)
    said = capsys.readouterr().out
    assert said.count("⟨U+001B⟩[31mred") == 3
    assert not {"\x1b", "\x07", "\u202e"} & set(said)


def test_an_error_is_shown_so_too(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "rageval_spark.cli", "report", f"{tmp_path}/{HOSTILE}"], capture_output=True,
                          text=True)
    assert done.returncode == 2
    assert "⟨U+001B⟩[31mred" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_long_text_is_cut() -> None:
    assert cut("a" * 430) == "a" * 430
    assert cut("a" * 1500) == "a" * 400 + " … [1,100 more characters]"


@pytest.mark.parametrize(("name", "content", "says"), [
    ("manifest.json", "{", "manifest.json cannot be read"), ("manifest.json", "[]", "holds no object"),
    ("summary.json", '{"total": 3', "summary.json cannot be read"), ("summary.json", None, "summary.json is not there")])
def test_a_damaged_run_is_told_of(tmp_path: Path, name: str, content: str | None, says: str) -> None:
    (tmp_path / "manifest.json").write_text('{"status": "complete", "run_id": "a"}')
    (tmp_path / "summary.json").write_text("{}")
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=f"{says}.*Run the run's command again"):
        recorded(str(tmp_path))
