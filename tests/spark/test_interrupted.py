"""The command in processes of its own: stopped by Ctrl-C, then run again to a gate that is not met."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.engine.scene import until
from tests.judge_server import JudgeServer

SAMPLES = 120
KEY = "sk-test-5ecr3t-0002"


def command(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "rageval_spark.cli", "run", str(folder / "config.json"), *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                            env={**os.environ, "TEST_JUDGE_KEY": KEY})


def test_a_run_that_was_stopped_is_gone_on_with_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    rows = [{"id": str(i), "question": f"How deep is lake {i}?", "answer": f"Lake {i} is {i} m deep. It is cold.",
             "contexts": [f"Lake {i} is {i} m deep."]} for i in range(SAMPLES)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with JudgeServer(require_key=KEY, latency_ms=200) as judge:
        (tmp_path / "config.json").write_text(json.dumps({
            "input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")},
            "judge": {"model": "judge", "base_url": judge.url, "api_key_env": "TEST_JUDGE_KEY", "max_concurrency": 4},
            "evaluate": [{"metrics": ["faithfulness"]}], "gates": {"faithfulness": {"average": 0.9}},
            "spark": {"master": "local[2]"}}))
        first = command(tmp_path, "--run-id", "nightly")
        until(lambda: len(judge.chats()) > 20, "the twentieth prompt")
        first.send_signal(signal.SIGINT)
        printed, said = first.communicate(timeout=300)
        asked = len(judge.chats())
        assert first.returncode == 130, said
        assert "Traceback" not in said
        assert "run the same command again" in said.strip().splitlines()[-1]
        assert json.loads((tmp_path / "out/runs/nightly/manifest.json").read_text())["status"] == "interrupted"
        assert asked < 2 * SAMPLES

        second = command(tmp_path, "--run-id", "nightly", "--json")
        printed, said = second.communicate(timeout=600)
        assert second.returncode == 1, said
        assert judge.repeats_after_ok == 1  # the preflight's prompt, which no run keeps
        assert len(judge.chats()) == 2 * SAMPLES + 2
    summary = json.loads(printed)
    assert (summary["total"], summary["num_bad"], summary["coverage"]) == (SAMPLES, 0, 1.0)
    assert [(gate["gate"], gate["met"]) for gate in summary["gates"]][1] == (
        "faithfulness.average (question,answer,contexts)", False)
    assert summary["metrics_score"]["question,answer,contexts"]["summary"] == {"faithfulness": 0.5}
    assert KEY not in printed + said
