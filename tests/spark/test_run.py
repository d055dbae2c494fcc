"""The main job on Spark: one run over rows of every kind, looked at from all sides, and a second one after it."""

from __future__ import annotations

import contextlib
import io
import json
import math
import runpy
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from rageval_spark.config import Config, parse
from rageval_spark.engine.files import Folder
from rageval_spark.errors import InputError
from rageval_spark.report.history import history
from rageval_spark.run import _served
from tests.judge_server import JudgeServer
from tests.test_junit import outcomes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rageval_spark.run import Run

FIVE = ["faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision"]
JOB = Path(__file__).parents[2] / "jobs" / "evaluate.py"
KEY = "sk-test-5ecr3t-9876"
TOWER = {"id": "tower", "lang": "en", "q": "How tall is the tower?", "ctx": ["The tower is 330 m tall.", "It is old."],
         "a": "The tower is 330 m tall. It is made of gold.", "b": "The tower is 330 m tall.",
         "ref": ["The tower is 330 m tall."]}
ROWS: list[Any] = [
    TOWER,
    {"id": "zh", "lang": "zh", "q": "塔有多高？", "ctx": ["塔高330米。"], "a": "塔高330米。", "b": "塔很旧。",
     "ref": ["塔高330米。"]},
    {**TOWER, "id": "none", "ctx": []},
    {**TOWER, "id": "blank", "a": "  "},
    {**TOWER, "id": "null", "a": None, "ref": None},
    "{not json",
]
GROUP_A, GROUP_B = "q,a,ctx,ref", "q,b,ctx"


def values(folder: Path, judge: JudgeServer, **changes: Any) -> dict[str, Any]:
    """A config over the rows, as the values of its file."""
    (folder / "rows.jsonl").write_text("".join(
        (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in ROWS))
    where = {"base_url": judge.url, "api_key_env": "TEST_JUDGE_KEY"}
    fields = {"user_input": "q", "retrieved_contexts": "ctx"}
    return {
        "name": "tower", "input": {"path": str(folder / "rows.jsonl")}, "output": {"path": str(folder / "out")},
        "judge": {"model": "judge", **where, "max_concurrency": 8, "price": {"prompt": 1, "completion": 2},
                  "headers": {"x-team": "sk-header-5ecr3t"}},
        "embeddings": {"model": "embedder", **where, "price": 1},
        "evaluate": [{"fields": {**fields, "response": "a", "reference": "ref"}, "metrics": FIVE},
                     {"fields": {**fields, "response": "b"}, "metrics": [{"faithfulness": {"threshold": 0.9}}]}],
        "slices": ["lang"], "gates": {"coverage": 0.5, "faithfulness": 0.1}, **changes,
    }


def config(folder: Path, judge: JudgeServer, **changes: Any) -> Config:
    return parse(values(folder, judge, **changes))


@dataclass(frozen=True)
class Finished:
    run: Run
    judge: JudgeServer
    folder: Path
    scores: dict[tuple[str, str, str], dict[str, Any]]
    stats: list[dict[str, Any]]


@pytest.fixture(scope="module")
def finished(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """The job over the rows, in the suite's session, which stands for the one that spark-submit makes."""
    from rageval_spark.run import Run

    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch, JudgeServer(require_key=KEY) as judge:
        patch.setenv("TEST_JUDGE_KEY", KEY)
        by_language = {"faithfulness": {"average": 0.1, "slices": {"lang": {"average": 0.2, "least": 2}}}}
        (folder / "config.yaml").write_text(json.dumps(values(folder, judge, gates={"coverage": 0.5, **by_language})))
        patch.setattr(sys, "argv", ["evaluate.py", str(folder / "config.yaml"), "--run-id", "first", "--json",
                                    "--junit", str(folder / "junit.xml")])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            runpy.run_path(str(JOB), run_name="__main__")  # which no exit ends where all is well
        done = Run(Folder(str(folder / "out/runs/first")), spark, json.loads(printed.getvalue()))
        rows = pq.read_table(folder / "out/runs/first/scores").to_pylist()
        scores = {(row["sample_id"], row["field_group"], row["metric"]): row for row in rows}
        assert len(scores) == len(rows)
        stats = pq.read_table(folder / "out/runs/first/stats").to_pylist()
        yield Finished(done, judge, folder, scores, stats)


def test_there_is_a_row_for_every_sample_and_metric(finished: Finished) -> None:
    assert len(finished.scores) == len(ROWS) * 6
    for row in finished.scores.values():
        assert (row["score"] is None) == (row["status"] != "scored") == (row["code"] is not None)
        assert row["score"] is None or (math.isfinite(row["score"]) and 0 <= row["score"] <= 1)
        assert row["passed"] is None or row["passed"] == (row["score"] >= row["threshold"])
        assert dict(row["slices"]).keys() == {"lang"}
        json.loads(row["details"])


@pytest.mark.parametrize(("sample", "group", "metric", "score", "code"), [
    ("tower", GROUP_A, "faithfulness", 0.5, None), ("tower", GROUP_B, "faithfulness", 1.0, None),
    ("tower", GROUP_A, "context_recall", 1.0, None), ("tower", GROUP_A, "context_precision", 1.0, None),
    ("zh", GROUP_A, "faithfulness", 1.0, None), ("zh", GROUP_B, "faithfulness", 0.0, None),
    ("none", GROUP_A, "faithfulness", None, "NO_CONTEXT"), ("none", GROUP_A, "context_recall", 0.0, None),
    ("none", GROUP_A, "context_relevancy", None, "NO_CONTEXT"),
    ("blank", GROUP_A, "faithfulness", None, "NO_ANSWER"), ("blank", GROUP_A, "answer_relevancy", 0.0, None),
    ("null", GROUP_A, "answer_relevancy", None, "NO_ANSWER"), ("null", GROUP_A, "context_precision", None, "NO_REFERENCE"),
])  # fmt: skip
def test_scores_are_those_worked_out_by_hand(finished: Finished, sample: str, group: str, metric: str,
                                             score: float | None, code: str | None) -> None:
    row = finished.scores[sample, group, metric]
    assert (row["score"], row["code"]) == (score, code)


def test_a_row_that_cannot_be_read_is_a_row(finished: Finished) -> None:
    known = {row["id"] for row in ROWS if isinstance(row, dict)}
    bad = [row for (sample, _, _), row in finished.scores.items() if sample not in known]
    assert len(bad) == 6
    assert {(row["status"], row["code"]) for row in bad} == {("failed", "INVALID_INPUT")}
    assert all("{not json" in row["reason"] for row in bad)


def test_labels_tell_metric_and_outcome(finished: Finished) -> None:
    labels = {row["score"]: row["label"] for (_, _, metric), row in finished.scores.items() if metric == "faithfulness"}
    assert labels[1.0] == "QUALITY_GOOD.FAITHFULNESS_PASS"
    assert labels[0.5] == "QUALITY_BAD.FAITHFULNESS_FAIL", "half of an answer made up is no good answer"
    assert labels[None] is None
    assert finished.scores["zh", GROUP_B, "faithfulness"]["label"] == "QUALITY_BAD.FAITHFULNESS_FAIL"


def test_stats_are_those_of_the_scores(finished: Finished) -> None:
    for row in finished.stats:
        mine = [one for one in finished.scores.values()
                if (one["field_group"], one["metric"]) == (row["field_group"], row["metric"])
                and (row["slice"] is None or dict(one["slices"])[row["slice"]] == row["slice_value"])]
        values = [one["score"] for one in mine if one["score"] is not None]
        failed = sum(one["status"] == "failed" for one in mine)
        assert (row["total"], row["count"], row["n_failed"]) == (len(mine), len(values), failed)
        assert row["n_skipped"] == len(mine) - len(values) - failed
        if values:
            assert row["average"] == pytest.approx(statistics.fmean(values))
            assert row["std_dev"] == pytest.approx(statistics.pstdev(values))
            assert (row["min"], row["max"]) == (min(values), max(values))
            assert row["average_low"] == pytest.approx(sum(values) / (len(values) + failed))
            assert row["average_high"] == pytest.approx((sum(values) + failed) / (len(values) + failed))


def test_slices_add_up_to_the_whole(finished: Finished) -> None:
    whole = {(row["field_group"], row["metric"]): row for row in finished.stats if row["slice"] is None}
    assert len(whole) == 6
    for key, row in whole.items():
        parts = [one for one in finished.stats if one["slice"] == "lang" and (one["field_group"], one["metric"]) == key]
        assert {one["slice_value"] for one in parts} == {"en", "zh", "null"}
        for name in ("total", "count", "n_skipped", "n_failed"):
            assert sum(one[name] for one in parts) == row[name]


def test_the_summary_says_what_a_person_asks_first(finished: Finished) -> None:
    summary = json.loads((finished.folder / "out/runs/first/summary.json").read_text())
    assert summary == finished.run.summary
    assert summary["total"] == len(ROWS)
    assert sum(summary[f"num_{outcome}"] for outcome in ("good", "bad", "incomplete", "skipped")) == len(ROWS)
    group = summary["metrics_score"][GROUP_A]
    assert set(group["stats"]) == set(FIVE) == set(group["summary"])
    assert group["overall_average"] == pytest.approx(statistics.fmean(group["summary"].values()), abs=1e-4)
    assert group["stats"]["faithfulness"]["failed"] == {"INVALID_INPUT": 1}
    assert summary["coverage"] == pytest.approx(sum(r["score"] is not None for r in finished.scores.values())
                                                / sum(r["status"] != "skipped" for r in finished.scores.values()))
    assert all(gate["met"] for gate in summary["gates"] if gate["slice"] is None)
    assert finished.run.exit_code == 0


def test_usage_is_what_the_server_reported(finished: Finished) -> None:
    usage = finished.run.summary["usage"]
    rows = finished.scores.values()
    assert usage["prompts"] == len(finished.judge.chats()) - 1, "all but the preflight"
    assert usage["prompts"] == sum(row["n_prompts"] - row["n_reused"] for row in rows)
    assert usage["models"]["judge"]["completion_tokens"] == sum(row["completion_tokens"] for row in rows)
    judge, embedder = usage["models"]["judge"], usage["models"]["embedder (embeddings)"]
    cost = (judge["prompt_tokens"] + 2 * judge["completion_tokens"] + embedder["prompt_tokens"]) / 1e6
    assert usage["cost"] == pytest.approx(cost)


def test_the_manifest_tells_how_the_run_was_made(finished: Finished) -> None:
    manifest = Folder(str(finished.folder / "out/runs/first")).read_json("manifest.json")
    assert manifest["status"] == "complete"
    assert manifest["rows"] == len(ROWS)
    assert manifest["field_groups"][0]["fields"] == {
        "sample_id": "id", "user_input": "q", "response": "a", "retrieved_contexts": "ctx", "reference": "ref"}
    assert manifest["config"]["judge"]["headers"] == ["x-team"]
    assert manifest["versions"]["pyspark"]


def test_no_secret_is_in_any_file(finished: Finished) -> None:
    for file in (finished.folder / "out").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert KEY.encode() not in content, file
            assert b"sk-header-5ecr3t" not in content, file


def test_a_second_run_asks_nothing_but_the_preflight(finished: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    from rageval_spark.run import run

    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)
    assert finished.judge.repeats_after_ok == 0
    finished.judge.reset()
    again = run(config(finished.folder, finished.judge, scale=10, slices=[]), run_id="second")
    assert len(finished.judge.chats()) == 1
    assert len(finished.judge.embeddings()) == 1
    rows = pq.read_table(finished.folder / "out/runs/second/scores").to_pylist()
    assert {(row["sample_id"], row["field_group"], row["metric"]): row["score"] for row in rows} == {
        key: row["score"] for key, row in finished.scores.items()}
    assert sum(row["n_prompts"] - row["n_reused"] for row in rows) == 0
    first, second = (one["metrics_score"][GROUP_A]["stats"]["faithfulness"] for one in (finished.run.summary, again.summary))
    assert second["score_average"] == pytest.approx(10 * first["score_average"])
    assert second["threshold"] == 5


def test_a_gate_that_is_not_met_is_told(finished: Finished) -> None:
    from rageval_spark.report.gates import gated
    from rageval_spark.run import Run

    plan = _plan(finished)
    for gates, coverage, code in (({"faithfulness": {"average": 0.99, "pass_rate": None}}, 0.5, 1),
                                  ({}, 0.999, 3), ({"faithfulness": {"average": 0.1, "pass_rate": 0.2}}, 0.5, 0)):
        results = gated(gates, coverage, plan, finished.stats, 1)
        summary = {"gates": [vars(result) for result in results]}
        assert Run(finished.run.folder, finished.run.spark, summary).exit_code == code


def test_the_values_of_a_slice_are_gated_and_reported(finished: Finished) -> None:
    found = {(gate["slice_value"], gate["field_group"]): (gate["found"], gate["met"])
             for gate in finished.run.summary["gates"] if gate["slice"] == "lang"}
    averages = {(row["slice_value"], row["field_group"]): row["average"] for row in finished.stats
                if (row["slice"], row["metric"]) == ("lang", "faithfulness")}
    assert {key: average for key, (average, _) in found.items()} == averages
    assert [key for key, (_, met) in found.items() if met] == [("en", GROUP_B)]
    assert not [key for key, (_, met) in found.items() if met is False]
    reported = outcomes(finished.folder / "junit.xml")
    assert Counter(reported.values()) == {"passed": 4, "skipped": 5}
    assert reported["tower", "coverage"] == "passed"


def test_a_run_is_a_part_of_its_folders_history(finished: Finished) -> None:
    first = history(str(finished.folder / "out"))[0]
    assert (first.run_id, first.status, first.missed, first.judges) == ("first", "complete", [], ["judge"])
    for row in finished.stats:
        if row["slice"] is None:
            figures = first.figures[row["field_group"], row["metric"]]
            both = figures.keys() & row.keys()
            assert {name: figures[name] for name in both} == {name: row[name] for name in both}
            assert both >= {"average", "count", "ci_low", "p50", "average_high", "pass_rate", "coverage"}


def test_a_judge_behind_which_the_model_changed_is_told(caplog: pytest.LogCaptureFixture) -> None:
    told = [{"served": {"gpt": ["gpt-1"], "embedder": ["e-1"]}}, {"served": {"gpt": ["gpt-2"]}}, {}]
    assert _served(told) == {"gpt": {"gpt-1", "gpt-2"}, "embedder": {"e-1"}}
    [warning] = caplog.messages
    assert "replies of gpt come from more than one model: gpt-1, gpt-2" in warning


def _plan(finished: Finished) -> Any:
    from rageval_spark.config import planned

    return planned(config(finished.folder, finished.judge))


@pytest.mark.parametrize(("changes", "says"), [
    ({"input": {"path": "no/such/file.jsonl"}}, ["no/such/file.jsonl"]),
    ({"evaluate": [{"fields": {"response": "antwort"}, "metrics": ["faithfulness"]}]}, ["antwort", "response", "ctx"]),
    ({"evaluate": [{"fields": {"response": "ctx"}, "metrics": ["faithfulness"]}]}, ["'ctx' is array<string>", "text"]),
    ({"evaluate": [{"metrics": ["faithfulness"]}]}, ["faithfulness reads", "response", "answer | content | output"]),
    ({"slices": ["tenant"]}, ["tenant", "lang"]),
])  # fmt: skip
def test_what_is_wrong_with_the_data_costs_nothing(finished: Finished, monkeypatch: pytest.MonkeyPatch,
                                                   changes: dict[str, Any], says: list[str]) -> None:
    from rageval_spark.run import run

    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)
    finished.judge.reset()
    with pytest.raises(InputError) as error:
        run(config(finished.folder, finished.judge, **changes))
    for word in says:
        assert word in str(error.value)
    assert not finished.judge.requests
