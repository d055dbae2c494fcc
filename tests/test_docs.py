"""The README does what it says: its commands and blocks are run, its tables are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
import yaml

from rageval_spark.config import parse, planned
from rageval_spark.report.catalogue import markdown
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
KEY = "sk-readme"
TABLE = re.compile(r"(<!-- metrics -->\n).*?(<!-- /metrics -->)", re.S)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.S | re.M)


def with_table(text: str) -> str:
    return TABLE.sub(lambda found: f"{found[1]}{markdown()}\n{found[2]}", text)


def test_the_metric_table_is_that_of_the_catalogue() -> None:
    assert with_table(README.read_text()) == README.read_text(), "run `make docs`"


def run(commands: str, folder: Path, **environment: str) -> str:
    """What the commands print in a folder that looks like a clone; their last line must name a finished run there."""
    for name in ("Makefile", "pyproject.toml", "conf", ".venv"):
        (folder / name).symlink_to(ROOT / name)
    commands = commands.replace("make ", "make -o .venv/installed ")  # `make test` has seen to that, and in the real clone
    if not (ROOT / ".venv" / "installed").exists():  # another environment: what it installed stands for `make install`
        commands = commands.replace("make -o .venv/installed quickstart", f"{sys.executable} -m rageval_spark.cli quickstart")
        commands = commands.replace(".venv/bin/rageval", f"{sys.executable} -m rageval_spark.cli")
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}  # as from a shell
    done = subprocess.run(["bash", "-euc", commands], cwd=folder, env={**own, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    finished = folder / done.stdout.strip().splitlines()[-1]
    assert {path.name for path in finished.iterdir()} >= {"manifest.json", "summary.json", "scores", "stats"}
    return done.stdout


def test_the_first_command_shows_what_the_readme_shows(tmp_path: Path) -> None:
    first, second = blocks("bash")[0].splitlines()
    assert second == "make test"  # which is what runs this test
    printed = run(first, tmp_path)
    excerpt = re.search(r"^```\n(fields: .*?)^```", README.read_text(), re.S | re.M)
    assert excerpt is not None
    for line in excerpt[1].splitlines():
        assert line == "…" or line in printed


def test_a_run_with_a_key_works(tmp_path: Path) -> None:
    with JudgeServer(require_key=KEY) as judge:
        printed = run(blocks("bash")[1], tmp_path, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=judge.url)
        assert judge.repeats_after_ok == 0
    for metric in ("faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision"):
        assert metric in printed


def test_the_configs_are_read() -> None:
    for block in blocks("yaml"):
        assert planned(parse(yaml.safe_load(block))).groups


def test_the_python_blocks_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    frame = spark.read.json(str(ROOT / "conf" / "samples.jsonl"))
    with JudgeServer(require_key=KEY) as judge:
        for block in blocks("python"):
            module = ModuleType("readme")
            monkeypatch.setitem(sys.modules, "readme", module)  # where dataclasses look for their annotations
            module.__dict__.update(df=frame, base_url=judge.url, output=str(tmp_path / "out"))
            exec(compile(block, "README.md", "exec"), module.__dict__)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
