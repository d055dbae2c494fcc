"""A task against the real judge on loopback: every row scored, every reply paid once, every end clean."""

from __future__ import annotations

import pytest

from rageval_spark.metrics import CATALOGUE
from tests.engine.scene import EXPECTED, embeddings_at, engine_threads, judge_at, plan_of, rows_of, run, values, work_of
from tests.judge_server import JudgeServer


def test_all_rows_are_scored_and_nothing_is_asked_twice(tmp_path):
    rows = rows_of(30, bucket=lambda i: i // 10)
    with JudgeServer(latency_ms=5) as judge:
        work = work_of(plan_of(judge_at(judge.url), embeddings_at(judge.url)), tmp_path)
        first = values(run(work, rows))
        asked = len(judge.requests)
        print(judge.stats.dump())
        second = values(run(work, rows))
        assert len(judge.requests) == asked
    assert len(first) == len(rows) * len(CATALOGUE)
    assert first == second
    for row in rows:
        assert {name: first[row.sample_id, name] for name in EXPECTED} == EXPECTED
    assert judge.max_in_flight <= 8
    assert engine_threads() == []
