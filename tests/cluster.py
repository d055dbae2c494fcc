"""spark-submit to a standalone cluster that loses an executor and a worker on the way. Run by `make test-cluster`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.engine.scene import until
from tests.judge_server import JudgeServer

ROOT = Path(__file__).parents[1]
KEY = "sk-cluster-5ecr3t"
SAMPLES, LIMIT = 150, 8


@pytest.fixture
def judge() -> Iterator[JudgeServer]:
    with JudgeServer(require_key=KEY, latency_ms=200) as server:
        yield server


def processes(group: int, name: str) -> list[int]:
    """Processes of a group whose command names a class, oldest first."""
    listed = subprocess.run(["pgrep", "-g", str(group), "-f", name], capture_output=True, text=True).stdout
    return [int(line) for line in listed.split()]


def test_what_a_cluster_loses_is_made_up_for_and_not_paid_twice(judge: JudgeServer, tmp_path: Path) -> None:
    rows = [{"id": str(i), "question": f"How deep is lake {i}?", "answer": f"Lake {i} is {i} m deep. It is cold.",
             "contexts": [f"Lake {i} is {i} m deep."]} for i in range(SAMPLES)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "config.json").write_text(json.dumps({
        "input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")},
        "judge": {"model": "judge", "base_url": judge.url, "api_key_env": "CLUSTER_KEY", "max_concurrency": LIMIT},
        "evaluate": [{"metrics": ["faithfulness"]}]}))
    log = (tmp_path / "log").open("w+")
    job = subprocess.Popen([str(ROOT / "jobs" / "standalone.sh"), str(tmp_path / "config.json")], stdout=subprocess.PIPE,
                           stderr=log, stdin=subprocess.DEVNULL, text=True, start_new_session=True,
                           env={**os.environ, "CLUSTER_KEY": KEY, "KEY_VARIABLE": "CLUSTER_KEY", "SPARK_MASTER_PORT": "17077"})
    try:
        until(lambda: len(judge.chats()) > 40 or job.poll() is not None, "the fortieth prompt", 600)
        os.kill(processes(job.pid, "CoarseGrainedExecutorBackend")[0], signal.SIGKILL)
        until(lambda: len(judge.chats()) > 120 or job.poll() is not None, "the next prompts", 300)
        os.kill(processes(job.pid, "deploy.worker.Worker")[0], signal.SIGKILL)
        printed = job.communicate(timeout=600)[0]
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGTERM)
    log.seek(0)
    said = log.read()
    assert job.returncode == 0, said
    run = Path(printed.strip().splitlines()[-1])
    scores = pq.read_table(run / "scores").to_pylist()
    assert [(row["status"], row["score"]) for row in scores] == [("scored", 0.5)] * SAMPLES
    assert judge.max_in_flight <= LIMIT
    assert judge.repeats_after_ok <= 2 * (LIMIT + LIMIT * 5 // 2) + 1  # twice: the window, and what half a second brought
    assert KEY not in printed + said
