"""The same evaluation in sessions of every kind that callers make, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from rageval_spark.spark.session import find_java
from tests.judge_server import JudgeServer

CALLER = Path(__file__).with_name("caller.py")
KINDS = [
    "local[2]",
    "local-cluster[2,1,1024]",
    pytest.param("connect", marks=pytest.mark.skipif(
        pyspark.__version__ < "4", reason="the wheel of PySpark 3.5 has no server of Spark Connect")),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_that_the_caller_made(kind: str, judge: JudgeServer, tmp_path: Path) -> None:
    find_java()  # for a session that the caller makes, it is for the caller to have one
    done = subprocess.run([sys.executable, str(CALLER), kind, judge.url, str(tmp_path / "out")], cwd=tmp_path,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["connect"] == (kind == "connect")
    assert found["unchanged"]
    assert ("spark.speculation is on" in done.stderr) == (kind != "connect")
    assert found["usable"] == 12
    assert sorted(found["scores"]) == sorted(
        [str(i), metric, score] for i in range(12) for metric, score in (("faithfulness", 1 / 3), ("context_relevancy", 1.0)))
    assert found["stats"] == {"faithfulness": pytest.approx(1 / 3), "context_relevancy": 1.0}
    assert found["worst"] == 3
    assert found["column"] == found["in_sql"] == [[pytest.approx(1 / 3), "scored"]] * 12
    assert judge.repeats_after_ok <= 2  # the preflights' prompt, which no run keeps
    assert judge.max_in_flight <= 4
