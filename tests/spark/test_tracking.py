"""Runs noted in MLflow: in a store of files, and where there is none."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_spark.errors import ConfigError
from rageval_spark.tracking import figures, prepare, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTED = "/Shared/räg 1"
ROWS = [("ü'1", "Berlin", "Berlin"), ("2", "Bonn", "Berlin"), ("3", "Paris", "Paris"), ("4", None, "Rome")]


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of MLflow over a store of files, which is where the environment says it is."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    from mlflow import MlflowClient

    return MlflowClient()


def runs(client: Any) -> list[Any]:
    found: list[Any] = client.search_runs([client.get_experiment_by_name(NOTED).experiment_id])
    return found


def test_a_run_is_noted_once_however_often_it_is_done(spark: SparkSession, client: Any, tmp_path: Path) -> None:
    from rageval_spark.run import evaluate

    frame = spark.createDataFrame(ROWS, "id string, answer string, reference string")
    output = {"path": str(tmp_path / "out"), "mlflow": NOTED}
    for run_id in ("2026-01-01", "2026-01-02", "2026-01-01"):
        done = evaluate(frame, ["exact_match", "token_f1"], output=output, run_id=run_id)
    assert sorted(one.info.run_name for one in runs(client)) == ["2026-01-01", "2026-01-02"]
    [noted] = [one for one in runs(client) if one.info.run_name == "2026-01-01"]
    assert noted.info.status == "FINISHED"
    assert noted.data.tags.items() >= {"rageval.run_id": "2026-01-01", "rageval.name": "rageval", "rageval.gates": "met"}.items()
    stat = done.summary["metrics_score"]["answer,reference"]["stats"]["exact_match"]
    assert noted.data.metrics["exact_match/average"] == stat["score_average"] == pytest.approx(2 / 3)
    assert noted.data.metrics["exact_match/ci_low"] == stat["ci_low"]
    assert (noted.data.metrics["exact_match/scored"], noted.data.metrics["exact_match/skipped"]) == (3, 1)
    assert noted.data.params["field_groups.0.fields.response"] == "answer"
    folder = Path(noted.info.artifact_uri.removeprefix("file://"))
    assert json.loads((folder / "summary.json").read_text()) == done.summary
    table = json.loads((folder / "scores.json").read_text())
    first = dict(zip(table["columns"], table["data"][0], strict=True))
    assert (len(table["data"]), first["sample_id"], first["metric"], first["passed"]) == (8, "2", "exact_match", False)


def test_a_server_that_goes_before_the_end_loses_nothing(spark: SparkSession, client: Any, tmp_path: Path,
                                                         caplog: pytest.LogCaptureFixture,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    from rageval_spark import publishing
    from rageval_spark.config.schema import Output
    from rageval_spark.run import evaluate

    frame = spark.createDataFrame(ROWS, "id string, answer string, reference string")
    done = evaluate(frame, ["exact_match"], output=str(tmp_path / "out"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    manifest = done.folder.read_json("manifest.json")
    publishing.publish(Output(mlflow=NOTED), spark, done.folder, manifest, done.summary, done.scores, done.stats)
    assert "the run is complete, but could not be noted in MLflow" in caplog.text
    with pytest.raises(ConfigError, match=r"output.mlflow: the experiment .* cannot be used: .*127.0.0.1"):
        evaluate(frame, ["exact_match"], output={"path": str(tmp_path / "other"), "mlflow": NOTED})
    assert not (tmp_path / "other" / "runs").exists()


def test_without_the_package_nothing_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)  # as Python has it for a package that is not there
    with pytest.raises(ConfigError, match=r"pip install 'rageval-spark\[mlflow\]'"):
        prepare(NOTED)


def test_names_are_those_that_mlflow_takes(client: Any) -> None:
    from mlflow.entities import Metric, Param

    stat = {"score_average": 0.5, "ci_low": None, "ci_high": None, "pass_rate": 1.0, "coverage": None, "score_count": 2,
            "n_skipped": 0, "n_failed": 0}
    names = ["recall@5", "recall_at_5", "density: mine (new)", "../x", "名"]
    groups = {key: {"stats": dict.fromkeys(names, stat)} for key in ("q,a", "q_a", "c" * 900, "..")}
    summary = {"metrics_score": groups, "coverage": None, "score": 50.0, "total": 2, "usage": {"cost": None, "prompts": 0}}
    found = figures(summary)
    assert len(found) == 3 + len(groups) * len(names) * 5
    assert found["q_a/recall_at_5/average"] == found["q_a/recall_at_5/average_2"] == 0.5
    made = {"config": {"judge": {"model": "m", "seed": None}, "evaluate": [{"metrics": ["x" * 900]}], "k" * 300: 1,
                       **{f"key {place}": place for place in range(300)}}}
    params = settings(made)
    assert len(params) == 200
    assert params["evaluate.0.metrics.0"] == "x" * 500
    run = client.create_run(client.create_experiment(NOTED)).info.run_id
    client.log_batch(run, metrics=[Metric(name, value, 0, 0) for name, value in found.items()],
                     params=[Param(name, value) for name, value in list(params.items())[:100]])
    assert client.get_run(run).data.metrics == found
