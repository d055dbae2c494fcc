"""Scoring through batch files on Spark: the scores of a live run, nothing sent twice, whatever becomes of a batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_spark.config import Config, parse
from rageval_spark.errors import Pending
from rageval_spark.run import Run, run
from tests.judge_server import Answer, JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIVE = ["faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision"]
KEY = "sk-batch-5ecr3t"
SAMPLES = 12
ASKED = 8 * SAMPLES
"""Chat prompts of the five metrics over these samples."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Iterator[JudgeServer]:
    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)
    with JudgeServer(require_key=KEY) as judge:
        yield judge


def config(folder: Path, judge: JudgeServer, output: str = "out", metrics: Any = FIVE, **settings: Any) -> Config:
    rows = [{"id": str(i), "question": f"How deep is lake {i}?", "answer": f"Lake {i} is {i} m deep. It is cold.",
             "contexts": [f"Lake {i} is {i} m deep.", f"Nobody swims at pier {i}."], "ground_truth": f"Lake {i} is {i} m deep."}
            for i in range(SAMPLES)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    where = {"base_url": judge.url, "api_key_env": "TEST_JUDGE_KEY"}
    return parse({
        "input": {"path": str(folder / "rows.jsonl")}, "output": {"path": str(folder / output)},
        "judge": {"model": "judge", **where, "price": {"prompt": 1, "completion": 2}, **settings},
        "embeddings": {"model": "vectors", **where}, "evaluate": [{"metrics": metrics}]})


def scores(of: Run) -> dict[tuple[str, str], Any]:
    return {(row.sample_id, row.metric): row.score for row in of.scores.collect()}


def test_batches_give_the_scores_of_a_live_run_and_are_paid_once(server: JudgeServer, tmp_path: Path) -> None:
    live = run(config(tmp_path, server, "live"))
    done = run(config(tmp_path, server, mode="batch"))
    assert scores(done) == scores(live)
    assert len(server.batches.made) == 3  # chat twice, embeddings once
    assert len([request for request in server.batched if request.kind != "embeddings"]) == ASKED
    assert server.batch_stats.repeats_after_ok == 0
    assert done.summary["usage"]["prompts"] == live.summary["usage"]["prompts"] == ASKED
    assert done.summary["usage"]["models"]["judge"] == live.summary["usage"]["models"]["judge"]
    assert sum(row.n_prompts - row.n_reused for row in done.scores.collect()) == ASKED
    assert KEY not in "".join(file.read_text(errors="ignore") for file in (tmp_path / "out").rglob("*") if file.is_file())

    assert {path.name for path in (tmp_path / "out" / "batches").glob("*/*")} == {"round.json"}  # the rest is in the store

    again = run(config(tmp_path, server, mode="batch"))
    assert (len(server.batches.made), again.summary["usage"]["prompts"]) == (3, 0)
    assert scores(again) == scores(live)
    after = run(config(tmp_path, server))  # live, from what batches brought
    assert (after.summary["usage"]["prompts"], scores(after)) == (0, scores(live))


def test_without_waiting_the_same_command_goes_on(server: JudgeServer, tmp_path: Path) -> None:
    server.batches.seconds = 3600.0
    for _ in range(2):  # the second finds the batch at work
        with pytest.raises(Pending, match="run the same command again"):
            run(config(tmp_path, server, metrics=["context_relevancy"], mode="batch"), wait=False)
        assert len(server.batches.made) == 1
    for batch in server.batches.made.values():
        batch["due"] = 0.0
    done = run(config(tmp_path, server, metrics=["context_relevancy"], mode="batch"), wait=False)
    assert (done.summary["coverage"], len(server.batched), len(server.batches.made)) == (1.0, 2 * SAMPLES, 1)


def test_what_a_batch_left_unanswered_is_asked_again(server: JudgeServer, tmp_path: Path) -> None:
    server.batches.ends = ["expired", "partly", "cancelled", "completed"]
    done = run(config(tmp_path, server, metrics=["context_relevancy"], mode="batch"))
    assert (done.summary["coverage"], len(server.batches.made)) == (1.0, 4)


def test_what_no_round_answers_is_a_code_in_the_end(server: JudgeServer, tmp_path: Path) -> None:
    server.batches.ends = ["failed"] * 9
    server.batches.most_enqueued = 0
    server.error_rate = 1.0
    server.script("detect_refusal", Answer())  # the preflight's
    done = run(config(tmp_path, server, metrics=["context_relevancy"], mode="batch"))
    assert done.exit_code == 3
    assert {row.code for row in done.scores.collect()} == {"JUDGE_HTTP"}
    assert len(server.batches.made) <= 2


def test_a_full_queue_is_waited_for(server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rageval_spark.judges.batch.MOST_REQUESTS", 10)
    server.batches.most_enqueued, server.batches.seconds = 15, 1.0
    done = run(config(tmp_path, server, metrics=["context_relevancy"], mode="batch"))
    assert (done.summary["coverage"], len(server.batched)) == (1.0, 2 * SAMPLES)
    assert max(len(batch["lines"]) for batch in server.batches.made.values()) <= 10


def test_a_batch_that_never_ends_is_cancelled(server: JudgeServer, tmp_path: Path) -> None:
    server.batches.ends = ["never"]
    done = run(config(tmp_path, server, metrics=["context_relevancy"], mode="batch", deadline_h=0.0002))
    assert done.summary["coverage"] == 1.0
    assert [batch["status"] for batch in server.batches.made.values()] == ["cancelled", "completed"]


def test_a_batch_that_was_sent_but_not_noted_is_found(server: JudgeServer, tmp_path: Path) -> None:
    server.batches.seconds = 3600.0
    with pytest.raises(Pending):
        run(config(tmp_path, server, metrics=["context_relevancy"], mode="batch"), wait=False)
    [state] = (tmp_path / "out" / "batches").glob("*/round.json")
    noted = json.loads(state.read_text())
    noted["parts"][0]["batch"] = None  # as a kill between sending and noting leaves it
    state.write_text(json.dumps(noted))
    for batch in server.batches.made.values():
        batch["due"] = 0.0
    done = run(config(tmp_path, server, metrics=["context_relevancy"], mode="batch"))
    assert (done.summary["coverage"], len(server.batches.made)) == (1.0, 1)


def test_files_are_left_for_whoever_answers_them(server: JudgeServer, tmp_path: Path) -> None:
    live = run(config(tmp_path, server, "live"))
    server.reset()
    of = config(tmp_path, server, mode="files")
    for _ in range(2):
        with pytest.raises(Pending, match=r"replies-0001\.jsonl"):
            run(of)
        for asked in (tmp_path / "out" / "batches").glob("*/requests-*.jsonl"):
            answers = asked.with_name(asked.name.replace("requests", "replies"))
            lines = []
            for line in map(json.loads, asked.read_text().splitlines()):
                status, body = server.answer_in_batch(line["url"], json.dumps(line["body"]).encode())
                lines.append(json.dumps({"custom_id": line["custom_id"],
                                         "response": {"status_code": status, "body": json.loads(body)}}))
            answers.write_text("".join(line + "\n" for line in lines))
    assert scores(run(of)) == scores(live)
    assert server.requests == []


def test_a_budget_holds_for_rounds_too(server: JudgeServer, tmp_path: Path) -> None:
    values = config(tmp_path, server, metrics=["faithfulness"], mode="batch").model_dump(mode="json", exclude_none=True)
    of = parse({**values, "limits": {"max_prompts": 15}})
    done = run(of, run_id="night")
    assert len([request for request in server.batched if request.kind != "embeddings"]) == 15
    assert run(of, run_id="night").exit_code == 3  # as a scheduler tries again: the run has spent what it may
    assert len([request for request in server.batched if request.kind != "embeddings"]) == 15
    assert (done.exit_code, {row.code for row in done.scores.where("score is null").collect()}) == (3, {"BUDGET"})
    assert run(parse({**values, "limits": {"max_prompts": 15}})).summary["coverage"] == 1.0  # nothing that was paid is lost
