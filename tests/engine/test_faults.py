"""A task against a judge that errs, refuses, throttles and hangs up: no wrong number, no prompt lost, no call too many."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from rageval_spark.judges.http import Secret
from tests.engine.scene import (
    AsksTwice,
    Refuses,
    embeddings_at,
    judge_at,
    plan_of,
    refusals,
    rows_of,
    run,
    values,
    work_of,
)
from tests.judge_server import Answer, JudgeServer, Request


def test_faults_that_pass_change_no_score(tmp_path: Path) -> None:
    rows = rows_of(12)
    with JudgeServer(latency_ms=2) as judge:
        plan = plan_of(judge_at(judge.url, max_concurrency=32, max_attempts=12), embeddings_at(judge.url))
        expected = values(run(work_of(plan), rows))
        judge.update({"error_rate": 0.1, "malformed_rate": 0.1, "reset_rate": 0.1})
        judge.reset()
        assert values(run(work_of(plan, tmp_path), rows)) == expected
        assert judge.stats.statuses[500] > 0
        assert judge.repeats_after_ok == 0
        judge.reset()
        assert values(run(work_of(plan, tmp_path), rows)) == expected
        assert judge.requests == []


def test_a_server_that_takes_less_is_given_less_and_few_are_refused() -> None:
    with JudgeServer(latency_ms=50, max_in_flight_allowed=10, retry_after=0.2) as judge:
        assert len(values(run(refusals(judge, max_concurrency=40), rows_of(300)))) == 300
        assert judge.stats.statuses[200] == 300
        assert judge.stats.statuses[429] < 200


def test_under_a_permanent_429_all_ends_by_the_deadline_and_later_prompts_get_one_attempt() -> None:
    with JudgeServer(latency_ms=5) as judge:
        judge.always("*", Answer(429, headers={"retry-after": "0.3"}))
        began = time.monotonic()
        scores = values(run(refusals(judge, max_concurrency=4, deadline_s=2), rows_of(600)))
        assert time.monotonic() - began < 60
        assert set(scores.values()) == {"JUDGE_RATE_LIMIT"}
        tries = [judge.stats.seen[request.digest] for request in judge.requests]
        first = judge.requests[0].digest  # its last attempt is when another wait would have gone beyond the deadline
        given_up = max(request.at for request in judge.requests if request.digest == first) + 0.1
        late = {request.digest for request in judge.requests} - {request.digest for request in judge.requests
                                                                 if request.at <= given_up}
    assert max(tries) > 1
    assert late
    assert all(judge.stats.seen[digest] == 1 for digest in late)


def test_it_recovers_when_the_server_does() -> None:
    with JudgeServer() as judge:
        judge.script("*", *[Answer(503, headers={"retry-after-ms": "100"})] * 30)
        assert set(values(run(refusals(judge), rows_of(40))).values()) == {0.0}


def test_when_the_key_is_refused_in_the_middle_the_rest_fails_without_a_call() -> None:
    with JudgeServer(latency_ms=2) as judge:
        def choose(request: Request) -> Answer:
            return Answer() if len(judge.requests) <= 20 else Answer(401, {"error": {"message": "bad key sk-top-secret"}})

        judge.always("*", choose)
        plan = plan_of(judge_at(judge.url, max_concurrency=4), metrics=[Refuses()])
        plan = plan.equipped({endpoint: Secret("sk-top-secret") for endpoint in plan.endpoints()}, {})
        scored = run(work_of(plan), rows_of(400))
        assert judge.requests[0].headers["authorization"] == "Bearer sk-top-secret"
        # five samples in a row, what was in flight beside them, and one harmless prompt
        assert len(judge.requests) <= 20 + 5 + 4 + 1
    assert sum(one.score.status == "scored" for one in scored) == 20
    failed = [one.score for one in scored if one.score.status != "scored"]
    assert {score.code for score in failed} == {"JUDGE_HTTP"}
    assert len(failed) == 380
    assert not any("secret" in str(one) for one in scored)


@pytest.mark.parametrize("settings", [{"reject_parameters": {"temperature"}}, {"reject_formats": {"json_schema"}},
                                      {"reject_formats": {"json_schema", "json_object"}}])
def test_what_the_server_calls_unsupported_is_left_out_by_all_at_once(settings: dict[str, Any]) -> None:
    with JudgeServer(latency_ms=20, **settings) as judge:
        scores = values(run(refusals(judge, None, AsksTwice()), rows_of(30)))
        assert set(scores.values()) == {0.0}
        assert judge.stats.statuses[400] <= 8 * 2


def test_a_prompt_that_waits_long_in_our_own_queue_still_has_its_attempts() -> None:
    with JudgeServer(latency_ms=100) as judge:
        def choose(request: Request) -> Answer:
            first = judge.stats.seen[request.digest] == 1
            return Answer(500) if first and "river 9 " in request.prompt else Answer()

        judge.always("*", choose)
        scores = values(run(refusals(judge, max_concurrency=1, deadline_s=3, max_attempts=4), rows_of(10)))
    assert set(scores.values()) == {0.0}
