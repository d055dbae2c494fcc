"""The command in processes of its own: stopped or killed, then run again to a gate that is not met."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.scene import until
from tests.judge_server import JudgeServer
from tests.test_junit import outcomes

SAMPLES = 120
LIMIT = 4
KEY = "sk-test-5ecr3t-0002"


def command(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "rageval_spark.cli", "run", str(folder / "config.json"), *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                            env={**os.environ, "TEST_JUDGE_KEY": KEY})


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_ended_is_gone_on_with(tmp_path: Path, ended_by: signal.Signals) -> None:
    rows = [{"id": str(i), "question": f"How deep is lake {i}?", "answer": f"Lake {i} is {i} m deep. It is cold.",
             "contexts": [f"Lake {i} is {i} m deep."]} for i in range(SAMPLES)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with JudgeServer(require_key=KEY, latency_ms=200) as judge:
        (tmp_path / "config.json").write_text(json.dumps({
            "input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")},
            "judge": {"model": "judge", "base_url": judge.url, "api_key_env": "TEST_JUDGE_KEY", "max_concurrency": LIMIT},
            "evaluate": [{"metrics": ["faithfulness"]}], "gates": {"faithfulness": {"average": 0.9}},
            "spark": {"master": "local[2]"}}))
        report = ("--junit", str(tmp_path / "junit.xml"))
        first = command(tmp_path, "--run-id", "nightly", *report)
        until(lambda: len(judge.chats()) > 20, "the twentieth prompt")
        first.send_signal(ended_by)
        said = first.communicate(timeout=300)[1]
        status = json.loads((tmp_path / "out/runs/nightly/manifest.json").read_text())["status"]
        assert outcomes(tmp_path / "junit.xml") == {("rageval", "run"): "error"}
        if ended_by is signal.SIGKILL:
            assert (first.returncode, status) == (-signal.SIGKILL, "running")
            repaid = LIMIT + LIMIT * 5 // 2 + 1  # what was on its way, and what half a second brought
            until(lambda: judge.stats.in_flight == 0, "the end of the workers")
        else:
            assert (first.returncode, status) == (130, "interrupted"), said
            assert "Traceback" not in said
            assert "run the same command again" in said.strip().splitlines()[-1]
            repaid = 1  # the preflight's prompt, which no run keeps
        assert len(judge.chats()) < 2 * SAMPLES

        second = command(tmp_path, "--run-id", "nightly", "--json", *report)
        printed, said = second.communicate(timeout=600)
        assert second.returncode == 1, said
        assert judge.repeats_after_ok <= repaid
        assert len(judge.chats()) <= 2 * SAMPLES + 1 + repaid + LIMIT
    assert set(outcomes(tmp_path / "junit.xml").values()) == {"passed", "failure"}
    summary = json.loads(printed)
    assert (summary["total"], summary["num_bad"], summary["coverage"]) == (SAMPLES, SAMPLES, 1.0)
    assert [(gate["gate"], gate["met"]) for gate in summary["gates"]][1] == (
        "faithfulness.average (question,answer,contexts)", False)
    assert summary["metrics_score"]["question,answer,contexts"]["summary"] == {"faithfulness": 0.5}
    assert KEY not in printed + said
