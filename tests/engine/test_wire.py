"""The protocol as pure functions: what servers answer, and what it means for the next attempt."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest

from rageval_spark.judges.http import Secret
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.judges.wire import (
    ChatWire,
    Transport,
    Unanswered,
    completion,
    embeddings,
    embeddings_body,
)
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
    ({"content": None, "refusal": "I will not"}, "I will not"),
    ({}, ""),
    ({"content": [{"type": "text", "text": "ye"}, {"type": "text", "text": "s"}, "odd"]}, "yes"),
])
def test_the_text_of_a_completion(message: Any, text: str) -> None:
    assert completion(chat(message), 1.0).text == text


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
    b'{"error": {"message": "in a 200"}}', b"\xff",
])
def test_what_is_no_completion_is_asked_again(body: bytes) -> None:
    with pytest.raises(Unanswered, match="no chat completion") as fault:
        completion(body, 1.0)
    assert fault.value.transient


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


@pytest.mark.parametrize("body", [
    vectors([1.0]), vectors([1.0], [1.0], [1.0]), vectors(), vectors([1.0], "no base64!"), vectors([1.0], ["text"]),
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
