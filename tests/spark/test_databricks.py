"""What is there for Databricks: the notebook, run in Spark Connect as it runs there, and the bundle."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
import typer
import yaml

from rageval_spark.cli import app
from rageval_spark.config import load
from rageval_spark.spark.session import find_java
from tests.judge_server import JudgeServer

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "jobs" / "databricks_notebook.py"
BUNDLE = ROOT / "conf" / "databricks" / "databricks.yml"
KEY = "sk-databricks"


@pytest.mark.skipif(pyspark.__version__ < "4", reason="the wheel of PySpark 3.5 has no server of Spark Connect")
def test_the_cells_of_the_notebook_run(tmp_path: Path) -> None:
    find_java()
    with JudgeServer(require_key=KEY) as judge:
        environment = {"RAGEVAL_OUTPUT": str(tmp_path / "out"), "RAGEVAL_TABLES": "rageval_", "JUDGE_URL": judge.url,
                       "JUDGE_TOKEN": KEY, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, str(Path(__file__).with_name("notebook.py")), str(NOTEBOOK)], cwd=tmp_path,
                              env={**os.environ, **environment}, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        assert judge.repeats_after_ok <= 3  # the preflights' prompt, which no run keeps
        assert len(judge.batches.made) >= 1
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["connect"]
    assert (found["screened"], found["judged"], found["batched"]) == (3, 1.0, 1.0)
    assert found["in_sql"] == sorted(found["in_sql"], key=lambda row: row[1])
    assert {row[0] for row in found["in_sql"]} == {"1", "2", "3"}
    assert found["runs"] == ["batched", "judged"]
    assert found["history"] == [["batched", "context_precision"], ["judged", "context_recall"], ["judged", "faithfulness"]]
    assert all("<html" in text for text in found["shown"])
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file
    assert KEY not in done.stdout + done.stderr


def test_the_notebook_is_one() -> None:
    lines = NOTEBOOK.read_text().splitlines()
    assert lines[0] == "# Databricks notebook source"
    cells = NOTEBOOK.read_text().split("\n# COMMAND ----------\n")
    for cell in cells[1:]:
        written = [line for line in cell.splitlines() if line]
        magic = [line.startswith("# MAGIC") for line in written]
        assert all(magic) or not any(magic), "a cell is text or code"


def bundle() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(BUNDLE.read_text())
    assert found["bundle"]["name"]
    assert [target for target in found["targets"].values() if target.get("default")]
    return found


def filled(value: Any, variables: dict[str, Any]) -> Any:
    """The value with the bundle's variables at their defaults."""
    if isinstance(value, dict):
        return {key: filled(one, variables) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, variables) for one in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\$\{var\.(\w+)\}", lambda place: str(variables[place[1]]["default"]), value)


def test_the_bundle_holds_a_job_that_can_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    found = bundle()
    [job] = filled(found["resources"]["jobs"], found["variables"]).values()
    assert "${var." not in str(job)
    assert len(job["schedule"]["quartz_cron_expression"].split()) in (6, 7)
    assert job["max_concurrent_runs"] == 1
    [task] = job["tasks"]
    script = task["spark_python_task"]
    assert (BUNDLE.parent / script["python_file"]).resolve() == ROOT / "jobs" / "evaluate.py"
    root = [(BUNDLE.parent / path).resolve() for path in found["sync"]["paths"]]
    assert any((ROOT / "jobs").is_relative_to(path) for path in root)

    parameters = [one.replace("{{job.start_time.iso_date}}", "2026-01-01") for one in script["parameters"]]
    command = typer.main.get_command(app)
    given = command.commands["run"].make_context("run", parameters).params  # type: ignore[attr-defined]
    assert given["run_id"] == "2026-01-01"
    [cluster] = job["job_clusters"]
    assert cluster["job_cluster_key"] == task["job_cluster_key"]
    environment = cluster["new_cluster"]["spark_env_vars"]
    assert all(re.fullmatch(r"\{\{secrets/[\w-]+/[\w-]+\}\}", value) for name, value in environment.items() if "KEY" in name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    config = load(BUNDLE.parent / Path(given["config"]).name, given["set"] or [])
    assert config.required_input().where == "day = DATE '2026-01-01'"
    assert config.output.tables
    assert getattr(config.judge, "api_key_env", None) in environment
    [library] = task["libraries"]
    assert library["whl"].endswith(".whl")
