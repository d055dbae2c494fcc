"""Runs in tables of a catalog: the command that Airflow runs, night after night, and what keeps it from them."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from rageval_spark.cli import app
from rageval_spark.config import parse
from rageval_spark.config.schema import Output
from rageval_spark.engine.files import Folder
from rageval_spark.errors import ConfigError, PublishingFailed
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[2]
KEY = "sk-nightly"
DAYS = ("2026-01-01", "2026-01-02")
HEIGHTS = [(str(i), f"How tall is tower {i}?", f"Tower {i} is {i} m tall.", [f"Tower {i} is {i} m tall."], DAYS[i % 3 == 0])
           for i in range(6)]


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    """A namespace with a table of answers, four of the first day and two of the second."""
    spark.sql("CREATE SCHEMA shop")
    columns = "id string, question string, answer string, contexts array<string>, day string"
    spark.createDataFrame(HEIGHTS, columns).write.saveAsTable("shop.answers")
    yield "shop"
    spark.sql("DROP SCHEMA shop CASCADE")


def config(tmp_path: Path, judge: JudgeServer, **output: Any) -> dict[str, Any]:
    return {
        "input": {"table": "shop.answers", "where": "day = '${DS:-2026-01-01}'"},
        "output": {"path": str(tmp_path / "out put"), "tables": "shop.nightly_", **output},
        "judge": {"model": "judge", "base_url": judge.url, "api_key_env": "OPENAI_API_KEY"},
        "evaluate": [{"metrics": ["faithfulness"]}], "slices": ["day"],
    }


def task() -> dict[str, Any]:
    """What the DAG hands to its BashOperator."""
    tree = ast.parse((ROOT / "conf" / "airflow" / "nightly_dag.py").read_text())
    [call] = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "BashOperator"]
    return {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: json.dumps(row, sort_keys=True))


def test_what_airflow_runs_every_night(spark: SparkSession, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command, environment = task()["bash_command"], task()["env"]
    seen: dict[str, Any] = {}
    with JudgeServer(require_key=KEY) as judge:
        (tmp_path / "nightly.yaml").write_text(json.dumps(config(tmp_path, judge)))
        for night in (DAYS[0], DAYS[1], DAYS[0]):
            judge.reset()
            for name, value in environment.items():
                monkeypatch.setenv(name, value.replace("{{ ds }}", night).replace("{{ conn.openai.password }}", KEY))
            said = command.replace("{{ ds }}", night).replace("/opt/evaluation/nightly.yaml", str(tmp_path / "nightly.yaml"))
            _, *arguments = shlex.split(said)
            done = CliRunner().invoke(app, arguments, catch_exceptions=False)
            assert done.exit_code == 0, done.output
            tables = {}
            for name in ("scores", "stats"):
                tables[name] = rows(spark.table(f"shop.nightly_{name}").where(f"run_id = '{night}'"))
                assert tables[name] == rows(spark.read.parquet(f"{tmp_path}/out put/runs/{night}/{name}"))
            if night in seen:
                assert len(judge.chats()) == 1, "the preflight"
                assert all(row["n_reused"] == row["n_prompts"] > 0 for row in tables["scores"])
                assert tables["stats"] == seen[night]["stats"]
            seen[night] = tables
    assert [len(seen[night]["scores"]) for night in DAYS] == [4, 2]
    assert spark.table("shop.nightly_scores").count() == 6
    assert {row["average"] for night in DAYS for row in seen[night]["stats"]} == {1.0}


def test_a_table_of_an_older_version_gets_the_columns_that_it_lacks(spark: SparkSession, schema: str,
                                                                    tmp_path: Path) -> None:
    from rageval_spark.run import evaluate
    from rageval_spark.spark.tables import SCORES

    older = SCORES.strip().removesuffix("weight double").rstrip().rstrip(",")
    spark.createDataFrame([], f"`mine too` int, {older}").write.partitionBy("run_id").saveAsTable("shop.scores")
    frame = spark.table("shop.answers").selectExpr("id", "question", "answer", "contexts[0] as reference")
    evaluate(frame, ["exact_match"], output={"path": str(tmp_path / "out"), "tables": "shop."}, run_id="007")
    [*found] = spark.table("shop.scores").select("run_id", "weight", "mine too", "score").distinct().collect()
    assert [tuple(row) for row in found] == [("007", 1.0, None, 1.0)]


def test_scores_that_a_run_does_not_keep_leave_its_table(spark: SparkSession, schema: str, tmp_path: Path) -> None:
    from rageval_spark.run import evaluate

    frame = spark.table("shop.answers").selectExpr("id", "question", "answer", "contexts[0] as reference")
    for good, run_id in ((True, "other"), (True, "again"), (False, "again")):
        evaluate(frame, ["exact_match"], output={"path": str(tmp_path / "out"), "tables": "shop.", "good": good}, run_id=run_id)
    assert {row.run_id for row in spark.table("shop.scores").collect()} == {"other"}
    assert sorted(row.run_id for row in spark.table("shop.stats").collect()) == ["again", "other"]


@pytest.mark.parametrize(("made", "output", "says"), [
    (None, {"tables": "nowhere.rag."}, ["nowhere"]),
    (None, {"tables": "no-catalog.shop."}, ["`no-catalog`.`shop`.`scores`"]),
    (None, {"tables": "shop.", "format": "papyrus"}, ["papyrus"]),
    ("CREATE TABLE shop.scores (run_id string, score double) USING parquet", {"tables": "shop."},
     ["partition", "`shop`.`scores`"]),
    ("CREATE VIEW shop.scores AS SELECT '1' AS run_id", {"tables": "shop."}, ["`shop`.`scores` cannot be written"]),
    ("CREATE TABLE shop.scores (score string, run_id string) USING parquet PARTITIONED BY (run_id)", {"tables": "shop."},
     ["column score", "is string", "double"]),
])
def test_tables_that_cannot_be_written_cost_nothing(spark: SparkSession, schema: str, judge: JudgeServer, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch, made: str | None, output: dict[str, Any],
                                                    says: list[str]) -> None:
    from rageval_spark.run import run

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    if made:
        spark.sql(made)
    with pytest.raises(ConfigError) as error:
        run(parse(config(tmp_path, judge, **output)))
    for word in ("output.tables", *says):
        assert word in str(error.value)
    assert not judge.requests
    assert not (tmp_path / "out put" / "runs").exists()


def test_a_table_that_goes_before_the_end_loses_nothing(spark: SparkSession, schema: str, tmp_path: Path) -> None:
    from rageval_spark import publishing
    from rageval_spark.run import evaluate

    frame = spark.table("shop.answers").selectExpr("id", "question", "answer", "contexts[0] as reference")
    done = evaluate(frame, ["exact_match"], output=str(tmp_path / "out"), run_id="first")
    manifest = Folder(str(tmp_path / "out/runs/first")).read_json("manifest.json")
    said = "the run is complete in .*first, but `shop`.`gone_scores` could not be written"
    with pytest.raises(PublishingFailed, match=said) as failed:
        publishing.publish(Output(tables="shop.gone_"), spark, done.folder, manifest, done.summary, done.scores, done.stats)
    assert failed.value.exit_code == 3
    assert not [table.name for table in spark.catalog.listTables() if table.name.startswith("rageval_")]


@pytest.mark.parametrize(("output", "says"), [
    ({"tables": "main.rag"}, "ends in '.' or '_'"), ({"tables": ""}, "ends in"), ({"tables": "main..rag."}, "ends in"),
    ({"format": "delta"}, "give tables"), ({"mlflow": ""}, "output.mlflow"),
])
def test_what_is_no_beginning_of_a_table(output: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse({"output": output, "evaluate": [{"metrics": ["exact_match"]}]})
