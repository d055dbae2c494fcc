"""The commands as a user starts them: processes, exit codes, what is printed where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rageval_spark.engine.files import Folder
from rageval_spark.engine.store import RepliesStore, create
from tests.judge_server import Answer, JudgeServer

ROOT = Path(__file__).parents[1]
KEY = "sk-test-5ecr3t-0001"
NOTHING: Mapping[str, str] = {}
SAMPLE = {"user_input": "How tall is the tower?", "response": "The tower is 330 m tall. It is made of gold.",
          "retrieved_contexts": ["Facts: the tower is 330 m tall."]}


def rageval(*arguments: str, cwd: Path = ROOT, environment: Mapping[str, str] = NOTHING) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rageval_spark.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, stdin=subprocess.DEVNULL,
                          env={**os.environ, "TEST_JUDGE_KEY": KEY, **environment})


def score(judge: JudgeServer) -> subprocess.CompletedProcess[str]:
    return rageval("score", "--metric", "faithfulness", "--sample", json.dumps(SAMPLE), "--base-url", judge.url,
                   "--model", "judge", "--api-key-env", "TEST_JUDGE_KEY")


def test_one_metric_is_told_whole() -> None:
    said = rageval("metrics", "contextual_recall").stdout
    assert said.startswith("context_recall\n\nShare of the reference's claims")
    assert "Parameters: none. All metrics: threshold" in said
    assert "Also called llm_context_recall, contextual_recall" in said
    unknown = rageval("metrics", "faithfulnes")
    assert unknown.returncode == 2
    assert "did you mean faithfulness?" in unknown.stderr


def test_a_job_that_ends_well_leaves_with_no_exit() -> None:
    program = "import sys; from rageval_spark.cli import job; sys.argv[1:] = {}; job({!r}); print('went on')"
    well = subprocess.run([sys.executable, "-c", program.format(["recall"], "metrics")], capture_output=True, text=True)
    assert well.stdout.endswith("went on\n"), well.stderr
    badly = subprocess.run([sys.executable, "-c", program.format(["no.yaml"], "monitor")], capture_output=True, text=True)
    assert (badly.returncode, badly.stderr) == (2, "rageval: there is no config file no.yaml\n")


def test_one_sample_is_scored_as_json(judge: JudgeServer) -> None:
    judge.require_key = KEY
    done = score(judge)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["score"], found["status"], found["n_prompts"]) == (0.5, "scored", 2)
    assert [claim["verdict"] for claim in found["details"]["claims"]] == [1, 0]


def test_a_failed_score_is_printed_with_its_code(judge: JudgeServer) -> None:
    judge.always("list_claims", Answer(content="I would rather not."))
    done = score(judge)
    found = json.loads(done.stdout)
    assert (done.returncode, found["score"], found["status"], found["code"]) == (3, None, "failed", "JUDGE_PARSE")
    assert "I would rather not." in found["reason"]


def test_without_a_judge_over_http_words_are_compared() -> None:
    found = json.loads(rageval("score", "--metric", "faithfulness", "--sample", json.dumps(SAMPLE)).stdout)
    assert (found["score"], found["judge"], found["flags"]) == (0.5, "embedded", ["HEURISTIC"])


@pytest.mark.parametrize(("arguments", "says"), [
    (["score", "--metric", "faithfullness", "--sample", "{}"], ["faithfullness", "did you mean faithfulness"]),
    (["score", "--metric", "faithfulness", "--sample", "{}", "--model", "m"], ["--base-url", "--model", "embedded"]),
    (["score", "--metric", "faithfulness", "--sample", "{oops"], ["--sample is not JSON"]),
    (["score", "--metric", "faithfulness", "--sample", "[1]"], ["--sample takes a JSON object"]),
    (["score", "--metric", "answer_relevancy", "--sample", "{}", "--params", '{"strictness": 0}'], ["strictness"]),
    (["run", "no/such.yaml"], ["no/such.yaml"]),
    (["run", "conf/openai.yaml", "--set", "judge.modle=x"], ["judge.modle", "model"]),
    (["run", "conf/openai.yaml"], ["OPENAI_API_KEY"]),
    (["run", "conf/openai.yaml", "--run-id", "../x"], ["--run-id"]),
    (["store", "stats", "conf"], ["no replies store", "conf"]),
    (["store", "prune", "out", "--older-than", "soon"], ["--older-than", "90d", "soon"]),
    (["score", "--metric", "faithfulness", "--sample", "{}", "--base-url", "localhost:1", "--model", "m"], ["--base-url", "http://"]),
])  # fmt: skip
def test_a_mistake_is_a_sentence_and_exit_code_2(arguments: list[str], says: list[str]) -> None:
    done = rageval(*arguments, environment={"OPENAI_API_KEY": ""})
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in says:
        assert word in done.stderr


def test_the_key_is_never_printed(judge: JudgeServer) -> None:
    judge.require_key = "sk-another-key"
    done = score(judge)
    found = json.loads(done.stdout)
    assert found["code"] == "JUDGE_HTTP"
    assert "401" in found["reason"]
    assert KEY not in done.stdout + done.stderr


def test_a_metric_of_ones_own_needs_no_registration(judge: JudgeServer, tmp_path: Path) -> None:
    (tmp_path / "my_metrics.py").write_text('''
from dataclasses import dataclass
from typing import ClassVar
from rageval_spark import Metric, Score

@dataclass(frozen=True)
class Brevity(Metric):
    """Share of the allowed words that the response leaves unused."""
    name: ClassVar = "brevity"
    reads: ClassVar = ("response",)
    words: int = 10

    def score(self, sample):
        if sample.response is None:
            return Score.skipped("NO_ANSWER")
        return Score.of(max(0, 1 - len(sample.response.split()) / self.words))
        yield
''')
    done = rageval("score", "--metric", "my_metrics:Brevity", "--params", '{"words": 4}',
                   "--sample", '{"answer": "three words here"}', cwd=tmp_path)
    assert json.loads(done.stdout)["score"] == 0.25, done.stderr


def test_the_help_starts_no_spark() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "rageval_spark.cli", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert "rageval" in done.stdout or "Usage" in done.stdout
    assert "pyspark" not in done.stderr


def test_dir_lists_what_is_imported_when_first_used() -> None:
    import rageval_spark

    assert {"evaluate", "compare", "Run", "as_udf", "score"} <= set(dir(rageval_spark))
    assert all(hasattr(rageval_spark, name) for name in dir(rageval_spark))


def test_a_store_is_looked_after(tmp_path: Path) -> None:
    replies = Folder(str(tmp_path / "replies"))
    create(replies, 64)
    for key in "ab":
        one = RepliesStore(replies, run_id="r")
        one.put(1, {"key": key, "kind": "list_claims", "model": "m", "reply": '{"claims": []}'})
        one.flush()
    assert json.loads(rageval("store", "stats", str(tmp_path), "--json").stdout)["replies"] == 2
    table = rageval("store", "stats", str(tmp_path)).stdout
    cells = [[cell.strip() for cell in line.split("│")[1:3]] for line in table.splitlines()]
    assert ["replies", "2"] in cells
    assert ["rows of kind list_claims", "2"] in cells
    assert rageval("store", "compact", str(tmp_path)).stdout == "2 files became 1\n"
    assert rageval("store", "verify", str(tmp_path)).stdout == "no faults found\n"
    (tmp_path / "replies/bucket=001/part-torn.parquet").write_bytes(b"PAR1")
    done = rageval("store", "verify", str(tmp_path))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "1 fault found")
    assert rageval("store", "prune", str(tmp_path), "--older-than", "0h").stdout == (
        "2 replies deleted; 2 files became 1\n")
    assert json.loads(rageval("store", "stats", str(tmp_path), "--json").stdout)["replies"] == 0
