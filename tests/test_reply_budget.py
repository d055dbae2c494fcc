"""Replies that do not fit, over real HTTP: larger budgets, refused budgets, halves. In a run and in batches alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rageval_spark import HttpJudge, Score, score
from rageval_spark.metrics.faithfulness import Faithfulness
from tests import oracle
from tests.judge_server import Answer, JudgeServer, Request

SENTENCES = [f"Claim number {number} is true." for number in range(1, 9)]
SAMPLE = {"question": "What is true?", "answer": " ".join(SENTENCES), "contexts": [" ".join(SENTENCES)]}
REFUSALS = {
    "vLLM": "This model's maximum context length is 8192 tokens. However, you requested 13800 output tokens and your prompt "
    "contains 700. Please reduce the length of the input prompt or the number of requested output tokens.",
    "OpenAI": "max_tokens is too large: 13800. This model supports at most 7000 completion tokens, whereas you provided 13800.",
    "other words": "Invalid budget.",
}


def judge_of(server: JudgeServer, **settings: Any) -> HttpJudge:
    return HttpJudge(model="judge", base_url=server.url, max_attempts=1, deadline_s=20, timeout_s=20, **settings)


def narrow(most_items: int, message: str) -> Any:
    """A judge that cannot write more than `most_items` verdicts, and refuses budgets above 7,000 tokens."""

    def reply(request: Request) -> Answer:
        if (request.body.get("max_tokens") or 0) > 7000:
            return Answer(400, {"error": {"message": message, "type": "invalid_request_error", "code": 400}})
        whole = oracle.answer(request.kind, request.data or {})
        if len(whole["verdicts"]) <= most_items:
            return Answer(content=whole)
        usage = {"prompt_tokens": 700, "completion_tokens": 6900}
        return Answer(content=json.dumps(whole)[:-40], finish_reason="length", usage=usage)

    return reply


def scored(server: JudgeServer, reply: Any, **settings: Any) -> Score:
    server.always("verify_claims", reply)
    return score(Faithfulness(), SAMPLE, judge_of(server, **settings))


@pytest.mark.parametrize("words", REFUSALS)
@pytest.mark.parametrize(("most_items", "asked"), [(6, [8, 8, 4, 4]), (2, [8, 8, 4, 2, 2, 4, 2, 2])])
def test_a_cut_reply_whose_larger_budget_is_refused_is_asked_in_halves(words: str, most_items: int, asked: list[int]) -> None:
    with JudgeServer() as server:
        result = scored(server, narrow(most_items, REFUSALS[words]))
        assert (result.value, result.code) == (1.0, None), result.reason
        chats = server.chats("verify_claims")
        assert [len(request.data["claims"]) for request in chats if request.data] == asked
        assert [request.body.get("max_tokens") for request in chats] == [None, 13800, *[None] * (len(asked) - 2)]


def test_a_reply_that_never_fits_is_truncated_and_names_the_refusal() -> None:
    with JudgeServer() as server:
        result = scored(server, narrow(0, REFUSALS["OpenAI"]))
        assert (result.value, result.code) == (None, "JUDGE_TRUNCATED")
        assert len(server.chats("verify_claims")) == 5  # 8 claims, a larger budget, then 4, 2 and 1


def test_a_first_budget_that_is_refused_is_no_reason_for_halves() -> None:
    with JudgeServer() as server:
        result = scored(server, narrow(8, REFUSALS["other words"]), max_output_tokens=9000)
        assert result.value == 1.0
        chats = server.chats("verify_claims")
        assert {len(request.data["claims"]) for request in chats if request.data} == {8}
        assert len(chats) <= 12, "forms are tried, each once"


def test_a_whole_reply_that_is_said_to_be_cut_is_paid_once() -> None:
    with JudgeServer() as server:
        server.always("*", Answer(finish_reason="length"))
        result = score(Faithfulness(), SAMPLE, judge_of(server))
        assert (result.value, result.usage.prompts, len(server.chats())) == (1.0, 2, 2)


def test_a_model_that_declines_is_asked_once() -> None:
    declined = {"choices": [{"message": {"content": None, "refusal": "I cannot help with that."}, "finish_reason": "stop"}]}
    with JudgeServer() as server:
        server.always("list_claims", Answer(body=json.dumps(declined)))
        result = score(Faithfulness(), SAMPLE, judge_of(server))
        assert (result.code, len(server.chats("list_claims"))) == ("JUDGE_CONTENT_FILTER", 1)
        assert "I cannot help with that." in str(result.reason)


def test_thinking_without_an_answer_is_named_in_the_reason() -> None:
    thinking = {"choices": [{"message": {"content": None, "reasoning_content": "Let me see."}, "finish_reason": "stop"}]}
    with JudgeServer() as server:
        server.always("list_claims", Answer(body=json.dumps(thinking)))
        result = score(Faithfulness(), SAMPLE, judge_of(server))
        assert result.code == "JUDGE_PARSE"
        assert "as 'reasoning_content', and no answer" in str(result.reason)
