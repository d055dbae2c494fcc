"""Replies that are cut, and servers that allow no larger budget: the items are asked in halves, in the form that is known."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.engine.single import score
from rageval_spark.metrics.faithfulness import Faithfulness
from tests.engine.scene import judge_at
from tests.judge_server import Answer, JudgeServer, Request

SAMPLE = {"question": "What is in the box?", "answer": " ".join(f"Thing {i} is red." for i in range(1, 9)),
          "contexts": ["Thing 1 2 3 4 5 6 7 8 is red."]}


@pytest.mark.parametrize("words", [
    "This model's maximum context length is 8192 tokens. However, you requested 13800 output tokens and your prompt contains at "
    "least 1200 input tokens.",
    "max_tokens is too large: 13800. This model supports at most 8192 completion tokens, whereas you provided 13800.",
    "Bad Request",
])
def test_a_larger_budget_that_is_refused_leads_to_halves_and_to_no_other_form(words: str) -> None:
    def choose(request: Request) -> Any:
        if int(request.body.get("max_tokens", 0)) > 7000:
            return Answer(400, {"error": {"message": words}})
        if len((request.data or {}).get("claims", [])) >= 6:
            return Answer(content="{", finish_reason="length", usage={"prompt_tokens": 900, "completion_tokens": 6900})
        return Answer()

    with JudgeServer() as judge:
        judge.always("verify_claims", choose)
        scored = score(Faithfulness(), SAMPLE, judge_at(judge.url))
        assert (scored.value, len(scored.details["claims"])) == (1.0, 8)
        assert len(judge.requests) == 1 + 1 + 1 + 2


def test_a_server_that_knows_the_budget_by_its_new_name_alone_is_asked_by_it() -> None:
    def choose(request: Request) -> Any:
        if "max_tokens" in request.body:
            message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            return Answer(400, {"error": {"message": message, "param": "max_tokens", "code": "unsupported_parameter"}})
        if "max_completion_tokens" not in request.body:
            return Answer(content="{", finish_reason="length", usage={"prompt_tokens": 900, "completion_tokens": 500})
        return Answer()

    with JudgeServer() as judge:
        judge.always("verify_claims", choose)
        assert score(Faithfulness(), SAMPLE, judge_at(judge.url)).value == 1.0
        assert [request.body.get("max_completion_tokens") for request in judge.chats("verify_claims")] == [None, None, 1000]
