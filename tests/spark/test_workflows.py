"""The workflows to copy: what they run is run here, against a judge on loopback."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from typer.testing import CliRunner

from rageval_spark.cli import app
from tests.judge_server import JudgeServer
from tests.test_junit import outcomes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "conf" / "workflows").glob("*.yaml"))
KEY = "sk-workflow"
KNOWN = {"github.run_id": "11", "github.run_attempt": "1", "github.event.number": "7", "secrets.OPENAI_API_KEY": KEY}


def steps(file: Path) -> list[Mapping[str, Any]]:
    workflow = yaml.safe_load(file.read_text())
    assert set(workflow) >= {"name", True, "permissions", "jobs"}  # YAML 1.1 takes `on` for true
    [job] = workflow["jobs"].values()
    found: list[Mapping[str, Any]] = job["steps"]
    return found


def filled(text: str) -> str:
    return re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda place: KNOWN[place[1]], text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_workflow_runs_works(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    monkeypatch.chdir(tmp_path)
    with JudgeServer(require_key=KEY) as judge:
        monkeypatch.setenv("OPENAI_BASE_URL", judge.url)
        for step in steps(file):
            if step.get("run", "").startswith("rageval "):
                for name, value in step.get("env", {}).items():
                    monkeypatch.setenv(name, filled(value))
                _, *arguments = shlex.split(filled(step["run"]))
                done = CliRunner().invoke(app, arguments, catch_exceptions=False)
                assert done.exit_code in ((0, 1) if arguments[0] == "run" else (0,)), done.output
        assert judge.chats()
    assert set(outcomes(tmp_path / "out" / "junit.xml").values()) <= {"passed", "failure", "skipped"}
    for path in uploaded(file):
        assert list(tmp_path.glob(path)), path


def uploaded(file: Path) -> list[str]:
    [step] = [step for step in steps(file) if step.get("uses", "").startswith("actions/upload-artifact@")]
    return str(step["with"]["path"]).split()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_replies_are_kept_whatever_the_gates_say(file: Path) -> None:
    kept = [step for step in steps(file) if step.get("uses", "").startswith("actions/cache/")]
    assert [step["uses"].partition("@")[0] for step in kept] == ["actions/cache/restore", "actions/cache/save"]
    restored, saved = (step["with"] for step in kept)
    assert "out/replies" in saved["path"].split()
    assert {name: restored[name] for name in saved} == saved
    assert saved["key"].startswith(restored["restore-keys"])
    assert all(step.get("if") == "always()" for step in steps(file)[steps(file).index(kept[1]):])


def test_there_are_workflows() -> None:
    assert [file.name for file in FILES] == ["nightly.yaml", "pull_request.yaml"]
