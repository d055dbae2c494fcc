"""The protocol as pure functions: what servers answer, and what it means for the next attempt."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np
import pytest

from rageval_spark.judges.dialect import Transport
from rageval_spark.judges.endings import ending_of
from rageval_spark.judges.http import Secret
from rageval_spark.judges.server_errors import Unanswered
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.judges.wire import ChatWire, completion, embeddings, embeddings_body
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.prompts.rendering import Rendered, Rendering

JUDGE = HttpJudge(model="judge", base_url="http://localhost/v1")
VECTORS = HttpEmbeddings(model="vectors", base_url="http://localhost/v1")


def rendered() -> Rendered:
    return Rendering(JUDGE.signature()).render(DetectRefusal("Where?", "Here.\n“Now”"), "en")


def test_a_body_is_json_with_what_the_transport_leaves() -> None:
    body = json.loads(ChatWire(JUDGE, Transport()).body(rendered(), budget=500))
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "Here.\\n“Now”" in body["messages"][1]["content"]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("judge", 0, 500)
    assert body["response_format"]["json_schema"]["name"] == "detect_refusal"
    assert "seed" not in body
    other = Transport("text", frozenset({"temperature"}), "max_completion_tokens")
    body = json.loads(ChatWire(JUDGE, other).body(rendered(), note="Once more.", budget=500))
    assert body.keys() == {"model", "messages", "max_completion_tokens"}
    assert "detect_refusal" in body["messages"][1]["content"]
    assert body["messages"][1]["content"].endswith("Once more.")


def chat(message: Any = None, **more: Any) -> bytes:
    message = {"role": "assistant", "content": "{}"} if message is None else message
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "model": "judge-1",
                       **more}).encode()


@pytest.mark.parametrize(("message", "text"), [
    ({"content": "yes"}, "yes"),
    ({"content": None}, ""),
    ({}, ""),
    ({"content": [{"type": "text", "text": "ye"}, {"type": "text", "text": "s"}, "odd"]}, "yes"),
    ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "no"}]}, {"type": "text", "text": "yes"}]}, "yes"),
    ({"content": [{"type": "reasoning", "text": "no"}, {"type": "output_text", "text": "yes"}]}, "yes"),
    ({"content": ["ye", "s"]}, "yes"),
    ({"content": [{"text": "no", "thought": True}, {"text": "yes"}]}, "yes"),
    ({"content": [{"type": "text", "text": {"value": "yes"}}]}, "yes"),
    ({"content": {"type": "text", "text": "yes"}}, "yes"),
    ({"content": {"a": 1}}, '{"a":1}'),
    ({"content": None, "parsed": {"a": 1}}, '{"a":1}'),
    ({"content": "", "tool_calls": [{"function": {"name": "reply", "arguments": '{"a": 1}'}}]}, '{"a": 1}'),
    ({"content": None, "tool_calls": [{"function": {"arguments": {"a": 1}}}]}, '{"a":1}'),
    ({"content": None, "tool_calls": [{"function": {"arguments": "{}"}}, {"function": {"arguments": '{"a": 1}'}}]},
     '{}\n{"a": 1}'),
    ({"content": "I call it.", "tool_calls": [{"function": {"arguments": '{"a": 1}'}}]}, 'I call it.\n{"a": 1}'),
    ({"content": None, "tool_calls": [{"function": {"arguments": " "}}], "reasoning": '{"a": 1}'}, '{"a": 1}'),
    ({"content": None, "tool_calls": None, "function_call": {"arguments": '{"a": 1}'}}, '{"a": 1}'),
    ({"content": None, "reasoning_content": ' {"a": 1} '}, '{"a": 1}'),
    ({"content": "", "reasoning": '```json\n{"a": 1}\n```'}, '```json\n{"a": 1}\n```'),
    ({"content": None, "thinking": '{"a": 1}'}, '{"a": 1}'),
    ({"content": "yes", "reasoning_content": '{"a": 1}'}, "yes"),
    ({"content": None, "reasoning_content": 'So {"a": 0}? No.</think>{"a": 1}'}, '{"a": 1}'),
    ({"content": None, "reasoning_content": '{"a": "</think>"}'}, '{"a": "</think>"}'),
    ({"content": None, "reasoning_content": 'So {"a": 1}'}, ""),
    ({"content": None, "reasoning_content": '{"a": 1} {"a": 2}'}, ""),
    ({"content": None, "reasoning_content": '{"a": 1'}, ""),
])
def test_the_text_of_a_completion(message: Any, text: str) -> None:
    assert completion(chat(message), 1.0).text == text


def test_thinking_without_an_answer_is_named() -> None:
    answer = completion(chat({"content": None, "reasoning_content": "Let me see."}), 1.0)
    assert answer.elsewhere == "the server sent 11 characters of thinking as 'reasoning_content', and no answer"
    assert completion(chat({"content": "yes", "reasoning_content": "Let me see."}), 1.0).elsewhere == ""
    answer = completion(chat({"content": None, "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}), 1.0)
    assert answer.elsewhere == "the server sent something else under 'reasoning_details', and no answer"


@pytest.mark.parametrize("message", [
    {"content": None, "refusal": "I will not"},
    {"content": "", "refusal": "I will not"},
    {"content": [{"type": "refusal", "refusal": "I will not"}]},
])
def test_a_refusal_of_the_model_ends_the_prompt(message: Any) -> None:
    answer = completion(chat(message), 1.0)
    assert (answer.text, ending_of(answer.finish_reason)) == ("I will not", "filtered")


def test_a_completion_of_the_older_form_has_its_text() -> None:
    assert completion(b'{"choices": [{"text": "yes", "finish_reason": "stop"}]}', 1.0).text == "yes"


@pytest.mark.parametrize("reason", ["error", "abort", "ERROR", "cancelled", "network_error", "insufficient_system_resource",
                                    "engine_error", "USER_CANCEL"])
def test_a_reply_that_the_server_broke_off_is_no_answer(reason: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": '{"refused": 1}'}, "finish_reason": reason}]}).encode()
    with pytest.raises(Unanswered, match=reason) as fault:
        completion(body, 1.0)
    assert (fault.value.code, fault.value.transient) == ("JUDGE_HTTP", True)


@pytest.mark.parametrize("usage", [
    {"prompt_tokens": True, "completion_tokens": -1, "prompt_tokens_details": {"cached_tokens": 1.5}},
    {"prompt_tokens": "10", "completion_tokens": float("nan"), "prompt_tokens_details": "none"},
    {"prompt_tokens": float("inf"), "completion_tokens": [], "prompt_tokens_details": [1]},
    [], "many", 7,
])
def test_what_is_no_count_of_tokens_is_unknown(usage: Any) -> None:
    counted = completion(chat(usage=usage), 1.0).usage
    assert (counted.prompt_tokens, counted.completion_tokens, counted.cached_tokens) == (None, None, None)


@pytest.mark.parametrize("usage", [
    {"prompt_tokens": 10, "completion_tokens": 4.0, "prompt_tokens_details": {"cached_tokens": 8}},
    {"input_tokens": 10, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 8}},
    {"prompt_tokens": 10, "completion_tokens": 4, "prompt_cache_hit_tokens": 8},
])
def test_tokens_are_counted_under_the_names_of_other_servers(usage: Any) -> None:
    counted = completion(chat(usage=usage), 1.0).usage
    assert (counted.prompt_tokens, counted.completion_tokens, counted.cached_tokens) == (10, 4, 8)


def test_what_a_completion_took_is_what_the_server_says() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}}
    said = completion(chat(usage=usage, system_fingerprint="fp"), 12.5)
    assert (said.usage.prompt_tokens, said.usage.completion_tokens, said.usage.cached_tokens) == (10, 4, 8)
    assert (said.usage.latency_ms, said.model, said.fingerprint) == (12.5, "judge-1", "fp")


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens_details": None}])
def test_tokens_that_are_not_told_are_unknown(usage: Any) -> None:
    assert completion(chat(usage=usage), 1.0).usage.prompt_tokens is None


@pytest.mark.parametrize("body", [
    b"", b"no JSON", b"null", b"[]", b"{}", b'{"choices": []}', b'{"choices": null}', b'{"choices": [null]}',
    b'{"choices": [{}]}', b'{"choices": [{"message": null}]}', b'{"choices": [{"message": "text"}]}',
    b"\xff",
])
def test_what_is_no_completion_is_asked_again(body: bytes) -> None:
    with pytest.raises(Unanswered, match="no chat completion") as fault:
        completion(body, 1.0)
    assert fault.value.transient


@pytest.mark.parametrize(("body", "transient"), [
    ({"error": {"message": "in a 200"}}, True),
    ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None}, False),
    ({"success": False, "code": "InvalidApiKey", "message": "Invalid API-key provided."}, False),
    ({"code": 404, "msg": "The model does not exist"}, False),
    ({"choices": [{"error": {"code": 502, "message": "Provider failed"}, "finish_reason": "stop", "message": {"content": ""}}]},
     True),
    ({"choices": [{"error": {"code": 403, "message": "moderated"}, "message": {"content": '{"refused": 1}'}}]}, False),
])
def test_an_error_in_place_of_an_answer_is_named_and_stops_if_it_concerns_all(body: Any, transient: bool) -> None:
    with pytest.raises(Unanswered) as fault:
        completion(json.dumps(body).encode(), 1.0)
    assert fault.value.transient is transient
    assert fault.value.reason.startswith("HTTP 200 with an error: ")


@pytest.mark.parametrize("choice", [{"finish_reason": "SAFETY"}, {"finish_reason": "content_filter", "message": None}])
def test_a_reply_that_was_filtered_before_its_first_word_needs_no_message(choice: Any) -> None:
    answer = completion(json.dumps({"choices": [choice]}).encode(), 1.0)
    assert (answer.text, ending_of(answer.finish_reason)) == ("", "filtered")


def vectors(*rows: Any, **more: Any) -> bytes:
    data = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
    return json.dumps({"data": data, "model": "vectors-1", "usage": {"prompt_tokens": 6}, **more}).encode()


def packed(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def test_embeddings_are_read_as_numbers_and_as_base64() -> None:
    for body in (vectors([1.0, 0.5], [0, 2]), vectors(packed(1, 0.5), packed(0, 2))):
        read, usage, model = embeddings(body, 2, 3.0)
        assert [vector.tolist() for vector in read] == [[1.0, 0.5], [0.0, 2.0]]
        assert {str(vector.dtype) for vector in read} == {"float32"}
        assert (usage.prompt_tokens, usage.completion_tokens, model) == (6, 0, "vectors-1")


def test_embeddings_come_back_in_the_order_of_their_texts() -> None:
    shuffled = json.dumps({"data": [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]}).encode()
    assert [vector.tolist() for vector in embeddings(shuffled, 2, 0.0)[0]] == [[1.0], [2.0]]


def test_embeddings_without_numbers_are_in_the_order_of_their_texts() -> None:
    body = b'{"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]}'
    assert [vector.tolist() for vector in embeddings(body, 2, 0.0)[0]] == [[1.0], [2.0]]


def test_an_embedding_that_is_missing_costs_the_others_nothing() -> None:
    missing, good = embeddings(vectors(None, [2.0]), 2, 0.0)[0]
    assert np.isnan(missing).all()
    assert good.tolist() == [2.0]


@pytest.mark.parametrize("body", [
    vectors([1.0]), vectors([1.0], [1.0], [1.0]), vectors(), vectors([1.0], "no base64!"), vectors([1.0], ["text"]),
    vectors(1.0, 2.0), vectors([[1.0]], [[2.0]]), vectors([True], [False]), vectors(["1"], ["2"]), vectors([], []),
    vectors("", ""), vectors({"a": 1}, {"a": 2}), vectors([1.0], [None]), vectors([1.0], packed(1) + "\n!"),
    vectors([1.0], [10**400]),
    b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}',
    b'{"data": [{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [2]}]}',
    b'{"data": [{"index": "0", "embedding": [1]}, {"index": "1", "embedding": [2]}]}',
    b'{"data": [{"index": false, "embedding": [1]}, {"index": true, "embedding": [2]}]}',
    vectors([1.0], packed(1)[:-3]), b"{}", b"[]", b"null", b"no JSON", b'{"data": null}', b'{"data": [null, null]}',
])
def test_embeddings_that_are_not_all_there_are_asked_again(body: bytes) -> None:
    with pytest.raises(Unanswered) as fault:
        embeddings(body, 2, 0.0)
    assert fault.value.transient


def test_the_body_for_embeddings_holds_what_the_transport_leaves() -> None:
    body = json.loads(embeddings_body(VECTORS, Transport(), ["a", "中"]))
    assert body == {"model": "vectors", "input": ["a", "中"], "encoding_format": "base64"}
    body = json.loads(embeddings_body(VECTORS, Transport(encoding=None), ["a"]))
    assert body == {"model": "vectors", "input": ["a"]}


def test_no_repr_shows_the_key_and_no_text_keeps_it() -> None:
    key = Secret("sk-123")
    assert "sk-123" not in repr(key)
    assert key.hidden_in("Incorrect API key provided: sk-123.") == "Incorrect API key provided: …."
    assert Secret().hidden_in("text") == "text"
