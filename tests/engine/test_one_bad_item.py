"""One prompt, text or line that a server refuses costs nobody else anything; a server that answers nobody is left soon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rageval_spark.engine.budget import PROMPTS
from tests.engine.scene import AsksTwice, Embeds, Refuses, embeddings_at, judge_at, plan_of, rows_of, run, values, work_of
from tests.judge_server import Answer, JudgeServer, Request

FIREWALL = Answer(403, body="<html><head><title>Request blocked</title></head></html>")


def asks_about(request: Request, *numbers: int) -> bool:
    return any(f"iver {number} " in text for number in numbers for text in request.texts)


def codes(scores: dict[tuple[str, str], Any]) -> dict[str, str]:
    return {sample: score for (sample, _), score in scores.items() if isinstance(score, str)}


@pytest.mark.parametrize("answer", [
    FIREWALL,
    Answer(401, {"error": {"message": "who?"}}),
    Answer(404, {"error": {"message": "not for this one"}}),
    Answer(400, {"error": {"message": "this one is odd"}}),
    Answer(402, {"error": {"message": "this one is dear"}}),
    Answer(307, headers={"location": "https://elsewhere.example/login"}),
    Answer(body='{"error": {"message": "denied", "code": 403}}'),
])
def test_a_prompt_that_is_refused_fails_alone(answer: Answer) -> None:
    with JudgeServer() as judge:
        judge.always("*", lambda request: answer if asks_about(request, 7) else Answer())
        scores = values(run(work_of(plan_of(judge_at(judge.url, max_concurrency=4), metrics=[Refuses()])), rows_of(100)))
        # a 400 to the first prompts of a kind may be about the form: it is tried in others
        assert len(judge.requests) == 100 or answer.status == 400
        assert judge.repeats_after_ok == 0
    assert codes(scores) == {"s7": "JUDGE_HTTP"}
    assert len(scores) == 100


def test_many_refused_prompts_in_a_row_cost_a_few_harmless_ones_and_nothing_else() -> None:
    bad = range(100, 160)
    with JudgeServer() as judge:
        judge.always("*", lambda request: FIREWALL if asks_about(request, *bad) else Answer())
        scores = values(run(work_of(plan_of(judge_at(judge.url, max_concurrency=1), metrics=[AsksTwice()])), rows_of(200)))
        harmless = [request for request in judge.requests if "Monday" in request.prompt]
    assert set(codes(scores)) == {f"s{i}" for i in bad}
    assert len(harmless) == 3  # after 5, 10 and 20 samples in a row; 40 more are not refused


@pytest.mark.parametrize("answer", [
    Answer(401, {"error": {"message": "the token is expired"}}),
    Answer(403, {"error": {"message": "the account is closed"}}),
    Answer(404, {"error": {"message": "the model is gone"}}),
    Answer(429, {"error": {"message": "pay", "code": "insufficient_quota"}}),
    Answer(400, {"error": {"message": "the billing limit is reached", "code": "billing_hard_limit_reached"}}),
])
def test_a_server_that_answers_nobody_any_more_is_left_soon(answer: Answer) -> None:
    with JudgeServer(latency_ms=2) as judge:
        judge.always("*", lambda request: Answer() if len(judge.requests) <= 20 else answer)
        scored = run(work_of(plan_of(judge_at(judge.url, max_concurrency=4), metrics=[Refuses()])), rows_of(400))
        assert len(judge.requests) <= 20 + 5 + 4 + 1
    reasons = {str(one.score.reason) for one in scored if one.score.status == "failed"}
    assert sum(one.score.status == "scored" for one in scored) == 20
    assert any("in answer to a harmless prompt too" in reason for reason in reasons)


def test_trouble_that_comes_while_a_server_is_looked_at_again_is_no_reason_to_leave_it() -> None:
    with JudgeServer() as judge:
        def choose(request: Request) -> Answer:
            if "Monday" in request.prompt:
                return Answer(503)
            return FIREWALL if asks_about(request, *range(20, 40)) else Answer()

        judge.always("*", choose)
        scores = values(run(work_of(plan_of(judge_at(judge.url, max_concurrency=1), metrics=[Refuses()])), rows_of(60)))
    assert len(codes(scores)) == 20


def test_a_harmless_prompt_is_within_the_budget(tmp_path: Path) -> None:
    with JudgeServer() as judge:
        judge.always("*", lambda request: FIREWALL if asks_about(request, *range(10, 30)) else Answer())
        plan = plan_of(judge_at(judge.url, max_concurrency=1), metrics=[Refuses()])
        scores = values(run(work_of(plan, tmp_path, limits={PROMPTS: 16.0}), rows_of(60)))
        assert len(judge.requests) <= 16 + 20  # a refused request was no prompt: it is given back
        assert judge.stats.statuses[200] <= 16
    assert set(codes(scores).values()) == {"JUDGE_HTTP", "BUDGET"}


def embed(judge: JudgeServer, count: int, **settings: Any) -> dict[tuple[str, str], Any]:
    asked = judge_at(judge.url, max_concurrency=8)
    plan = plan_of(asked, embeddings_at(judge.url, **settings), metrics=[Embeds()])
    return values(run(work_of(plan), rows_of(count)))


@pytest.mark.parametrize("answer", [FIREWALL, Answer(400, {"error": {"message": "odd"}}), Answer(413), Answer(422),
                                    Answer(500, {"error": {"message": "it crashed"}})])
def test_one_text_that_is_refused_is_found_among_its_batch_and_fails_alone(answer: Answer) -> None:
    with JudgeServer() as judge:
        judge.always("embeddings", lambda request: answer if asks_about(request, 5) else Answer())
        scores = embed(judge, 16, batch_size=16, max_attempts=2)
        good = [request for request in judge.embeddings() if not asks_about(request, 5)]
        texts = [text for request in good for text in request.texts if "Tuesday" not in text]
    assert set(codes(scores)) == {"s5"}
    assert len(scores) == 16
    assert len(texts) == len(set(texts)) == 15  # the good ones are paid for once
    assert len(good) <= 4 + 1  # the halves without it, and a harmless text


@pytest.mark.parametrize("status", [401, 403, 404, 400])
def test_an_embedding_server_that_takes_nothing_is_not_sent_every_text_alone(status: int) -> None:
    with JudgeServer() as judge:
        judge.always("embeddings", Answer(status, {"error": {"message": "no"}}))
        scores = embed(judge, 64, batch_size=16)
        assert len(judge.embeddings()) <= 16
    assert set(scores.values()) == {"JUDGE_HTTP"}
    assert len(scores) == 64


def test_a_batch_that_is_larger_than_the_server_takes_teaches_the_size_of_the_next() -> None:
    with JudgeServer() as judge:
        words = Answer(422, {"error": "batch size 32 > maximum allowed batch size 8", "error_type": "Validation"})
        judge.always("embeddings", lambda request: words if len(request.texts) > 8 else Answer())
        scores = embed(judge, 1000, batch_size=32)
        sizes = [len(request.texts) for request in judge.embeddings()]
    assert set(scores.values()) == {1.0}
    assert 1000 < sum(size for size in sizes if size <= 8) <= 1000 + 4  # each text once, and a few harmless ones
    assert sizes.count(32) <= 16
    assert max(sizes[-20:]) <= 8
