"""Metrics replayed over replies: what is missing is asked once, what came is used, what failed is a code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rageval_spark.engine.plan import Plan
from rageval_spark.engine.replay import UNANSWERED, Replay, as_json
from rageval_spark.engine.work import sample_of
from rageval_spark.sample import Sample
from rageval_spark.score import Score
from tests import oracle
from tests.engine.scene import EXPECTED, embeddings_at, judge_at, plan_of, row_of
from tests.judge_server import Answer, JudgeServer, Request


def plan(**settings: Any) -> Plan:
    url = "http://127.0.0.1:1/v1"  # nothing is sent there
    return plan_of(judge_at(url, **settings), embeddings_at(url))


def replayed(replay: Replay, of: Plan, count: int = 2) -> dict[tuple[int, str], Score | None]:
    [group] = of.groups
    found = {}
    for i in range(count):
        sample = sample_of(row_of(i), group)
        assert isinstance(sample, Sample)
        found.update({(i, use.name): replay.score(use, sample) for use in group.uses})
    return found


def answered(judge: JudgeServer, replay: Replay) -> list[str]:
    """Lines of batch output for all that a replay asks."""
    lines = []
    for one in replay.requests:
        status, body = judge.answer_in_batch(f"/v1/{one.path}", one.body.encode())
        lines.append(json.dumps({"custom_id": one.id, "response": {"status_code": status, "body": json.loads(body)}}))
    return lines


def rounds(judge: JudgeServer, of: Plan, most: int = 6) -> tuple[dict[tuple[int, str], Score | None], int, list[Any]]:
    """Rounds until nothing is missing: the scores, how many rounds asked something, and the rows for the store."""
    lines: list[str] = []
    for number in range(most + 1):
        replay = Replay(of, "run", {}, unanswered=UNANSWERED if number == most else None)
        for line in lines:
            replay.learn(line)
        scores = replayed(replay, of)
        if not replay.requests:
            return scores, number, replay.accepted
        lines += answered(judge, replay)
    raise AssertionError("it never ends")


def test_five_metrics_take_two_rounds_and_ask_nothing_twice() -> None:
    judge, of = JudgeServer(), plan()
    scores, count, accepted = rounds(judge, of)
    assert count == 2
    assert {metric: score.value for (i, metric), score in scores.items() if score and i == 0 and metric in EXPECTED} == EXPECTED
    assert all(score and score.status == "scored" for score in scores.values())
    assert max(judge.batch_stats.seen.values()) == 1
    assert judge.batch_stats.repeats_after_ok == 0

    again = Replay(of, "later", {})
    for row in accepted:
        again.know(json.loads(as_json(row)))
    same = replayed(again, of)
    assert again.requests == []
    assert [score and score.value for score in same.values()] == [score and score.value for score in scores.values()]
    assert all(score and score.usage.reused == score.usage.prompts for score in same.values())


def test_what_took_tokens_is_counted_once() -> None:
    judge, of = JudgeServer(), plan()
    scores, _, accepted = rounds(judge, of)
    paid = sum(score.usage.prompts - score.usage.reused for score in scores.values() if score)
    assert paid == len([row for row in accepted if row["kind"] != "embed"])
    assert sum(score.usage.prompt_tokens or 0 for score in scores.values() if score) == sum(
        row["prompt_tokens"] for row in accepted)


def test_a_bad_reply_is_repaired_in_a_further_round() -> None:
    judge, of = JudgeServer(), plan()
    judge.script("judge_usefulness", Answer(content="I would rather not."))
    scores, count, _ = rounds(judge, of)
    assert count == 2
    repaired = [score for (_, metric), score in scores.items() if metric == "context_precision" and score and score.flags]
    assert [score.flags for score in repaired] == [("REPAIRED",)]
    assert {score.value for (_, metric), score in scores.items() if metric == "context_precision" and score} == {1.0}


def test_a_larger_budget_that_a_batch_refuses_leads_to_halves() -> None:
    def narrow(request: Request) -> Answer:
        if request.body.get("max_tokens"):
            return Answer(400, body='{"error": {"message": "max_tokens is too large"}}')
        whole = oracle.answer(request.kind, request.data or {})
        return Answer(content=whole) if len(whole["verdicts"]) == 1 else Answer(content='{"verdicts": [', finish_reason="length")

    judge, of = JudgeServer(), plan()
    judge.always("judge_usefulness", narrow)
    scores, count, _ = rounds(judge, of)
    assert count >= 3
    assert {score.value for (_, metric), score in scores.items() if metric == "context_precision" and score} == {1.0}
    assert all(score and score.status == "scored" for score in scores.values())


def test_a_server_error_is_asked_again_and_a_refusal_is_not() -> None:
    judge, of = JudgeServer(), plan()
    judge.script("list_claims", Answer(500, body='{"error": {"message": "The server had an error."}}'))
    judge.script("judge_usefulness", Answer(400, body='{"error": {"message": "No.", "code": "content_filter"}}'))
    scores, count, _ = rounds(judge, of)
    assert count == 3
    assert sorted(score.code for score in scores.values() if score and score.code) == ["JUDGE_CONTENT_FILTER"]


@pytest.mark.parametrize("said", ["batch_expired", "nothing"])
def test_what_no_batch_answers_fails_in_the_end(said: str) -> None:
    of = plan()
    replay = Replay(of, "run", {}, unanswered=UNANSWERED)
    if said == "batch_expired":
        first = Replay(of, "run", {})
        replayed(first, of)
        for one in first.requests:
            replay.learn(json.dumps({"custom_id": one.id, "response": None, "error": {"code": "batch_expired", "message": None}}))
    scores = replayed(replay, of)
    assert {score and score.code for score in scores.values()} == {"JUDGE_HTTP" if said == "batch_expired" else "JUDGE_TIMEOUT"}


def test_an_answer_counts_before_a_failure_whichever_came_first() -> None:
    judge, of = JudgeServer(), plan()
    first = Replay(of, "run", {})
    replayed(first, of)
    good = answered(judge, first)
    bad = [json.dumps({"custom_id": one.id, "response": {"status_code": 500, "body": {}}}) for one in first.requests]
    for lines in (good + bad, bad + good):
        replay = Replay(of, "run", {})
        for line in lines:
            replay.learn(line)
        replayed(replay, of)
        assert not {one.id for one in replay.requests} & {one.id for one in first.requests}


def test_old_replies_are_asked_again() -> None:
    judge, of = JudgeServer(), plan()
    _, _, accepted = rounds(judge, of)
    replay = Replay(of, "later", {"judge": accepted[0]["created_at"] + 3600})
    for row in accepted:
        replay.know(json.loads(as_json(row)))
    replayed(replay, of)
    assert {one.path for one in replay.requests} == {"chat/completions"}  # embeddings are not a judge's


def test_a_new_bucket_knows_nothing_of_the_last() -> None:
    judge, of = JudgeServer(), plan()
    replay = Replay(of, "run", {})
    replayed(replay, of)
    asked = [one.id for one in replay.requests]
    replay.requests.clear()
    replayed(replay, of)
    assert replay.requests == []
    replay.begin()
    replayed(replay, of)
    assert [one.id for one in replay.requests] == asked
    assert judge.batched == []
