"""What a run says of data, sessions and budgets that are not as they should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_spark import EmbeddedJudge, evaluate
from rageval_spark.config import parse
from rageval_spark.errors import ConfigError, InputError
from rageval_spark.run import run as run_config
from rageval_spark.spark import session
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TYPES = "id string, question string, answer string, contexts array<string>"


def frame(spark: SparkSession, *ids: str, types: str = TYPES) -> DataFrame:
    return spark.createDataFrame([(id, "How deep is the lake?", "The lake is 30 m deep.", ["The lake is 30 m deep."])
                                  for id in ids], types)


def run(df: Any, folder: Path, metrics: Any = "faithfulness", **settings: Any) -> Any:
    return evaluate(df, [metrics], judge=EmbeddedJudge(), output=str(folder / "out"), **settings)


def test_ids_that_repeat_are_told(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    done = run(frame(spark, "a", "a", "b"), tmp_path)
    assert (done.summary["total"], done.scores.count()) == (2, 3)
    assert [message for message in caplog.messages if "have the id of another row" in message] == [
        "1 of 3 rows have the id of another row: a sample is counted once, its scores for each row"]


def test_a_run_that_takes_the_place_of_another_says_so(spark: SparkSession, tmp_path: Path,
                                                       caplog: pytest.LogCaptureFixture) -> None:
    for metrics, warnings in (("faithfulness", 0), ("faithfulness", 0), ("context_relevancy", 1)):
        run(frame(spark, "a"), tmp_path, metrics, run_id="nightly")
        assert len([message for message in caplog.messages if "results are replaced" in message]) == warnings


def test_an_example_of_each_failure_is_given(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("a", "q?", "An answer.", '[{"x": 1}]'), ("b", "q?", "An answer.", '[{"x": 2}]')]
    df = spark.createDataFrame(rows, TYPES.replace("array<string>", "string"))
    [failure] = run(df, tmp_path).failures()
    assert (failure["code"], failure["count"], failure["sample_id"]) == ("INVALID_INPUT", 2, "a")


def test_columns_under_other_names_are_a_mistake_where_nothing_could_be_scored(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column provides retrieved_contexts"):
        run(frame(spark, "a", types=TYPES.replace("contexts", "ctxs")), tmp_path)


def test_what_is_no_dataframe_of_spark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"takes a Spark DataFrame, found builtins\.list"):
        run([{"question": "q"}], tmp_path)


def test_a_python_without_the_package_is_named_before_anything_runs(spark: SparkSession, tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    assert session.foreign_python(spark) is None
    stranger = tmp_path / "python"
    stranger.write_text("#!/bin/sh\nexit 1\n")
    stranger.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(stranger))
    with pytest.raises(ConfigError, match="cannot import rageval_spark"):
        run(frame(spark, "a"), tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_budget_stops_the_run_and_the_next_goes_on(spark: SparkSession, tmp_path: Path, judge: JudgeServer,
                                                     caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"question": f"How deep is lake {i}?", "answer": f"Lake {i} is {i} m deep.", "contexts": [f"Lake {i} is {i} m deep."]}
            for i in range(40)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = {"input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")},
              "judge": {"model": "judge", "base_url": judge.url, "max_concurrency": 4},
              "evaluate": [{"metrics": ["faithfulness"]}], "limits": {"max_prompts": 30}}
    done = run_config(parse(values), run_id="night")
    asked = len(judge.chats())
    assert 28 <= asked - 1 <= 30
    assert done.exit_code == 3
    again = run_config(parse(values), run_id="night")  # as a scheduler tries again: the run has spent what it may
    assert again.exit_code == 3
    assert len(judge.chats()) - asked - 1 <= 30 - (asked - 1)
    assert again.summary["usage"]["earlier"]["prompts"] == asked - 1
    assert {(row.status, row.code) for row in done.scores.collect()} == {("scored", None), ("failed", "BUDGET")}
    assert any("limits.max_prompts was reached" in message for message in caplog.messages)
    assert run_config(parse({**values, "limits": {"max_prompts": 60}})).summary["coverage"] == 1.0
    assert len(judge.chats()) == 80 + 3
    assert judge.repeats_after_ok == 2  # the preflight's prompt


def test_money_needs_a_price(judge: JudgeServer, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "q?", "answer": "a", "contexts": ["c"]}\n')
    with pytest.raises(ConfigError, match="max_cost needs to know the price of judge"):
        run_config(parse({"input": {"path": str(tmp_path / "rows.jsonl")}, "judge": {"model": "judge", "base_url": judge.url},
                          "evaluate": [{"metrics": ["faithfulness"]}], "limits": {"max_cost": 3}}))
