"""The judge that the other tests trust: scripts, faults, limits, and the arithmetic of its counts."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import judge_server, oracle
from tests.judge_server import Answer, JudgeServer, Request, Stats
from tests.oracle import CHAT, EMBEDDINGS

CONTEXTS = [{"id": 1, "text": "Paris is the capital of France."}, {"id": 2, "text": "Lyon lies on the Rhône."}]


def call(url: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
    """One request on a connection of its own: its status, and its body where it is JSON."""
    address = url.removeprefix("http://").removesuffix("/v1")
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        raw = None if body is None else json.dumps(body)
        connection.request("GET" if raw is None else "POST", path, raw, dict(headers or {}))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def prompt(kind: str, data: Mapping[str, Any], **parameters: Any) -> dict[str, Any]:
    """The body of a chat request as the evaluator writes it."""
    user = f"<data-7f>\n{json.dumps(data)}\n</data-7f>\nDo what is asked."
    shape = {"type": "json_schema", "json_schema": {"name": kind, "schema": {}}}
    messages = [{"role": "system", "content": "You judge."}, {"role": "user", "content": user}]
    return {"model": "judge", "messages": messages, "response_format": shape, **parameters}


def ask(judge: JudgeServer, body: Mapping[str, Any]) -> Any:
    """The message of an answered prompt, parsed."""
    status, reply = call(judge.url, CHAT, body)
    assert status == 200, reply
    return json.loads(reply["choices"][0]["message"]["content"])


REFUSAL_DATA = {"question": "Where?", "text": "I do not know."}
REFUSAL = prompt("detect_refusal", REFUSAL_DATA)


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("list_claims", {"text": "It costs 3.5 euros. I don’t know more."}, ["It costs 3.5 euros."]),
        ("list_claims", {"text": "巴黎是首都。我不知道。"}, ["巴黎是首都。"]),
        ("verify_claims", {"contexts": CONTEXTS, "claims": [{"id": 4, "text": "France is on the Rhône"}]}, [1]),
        ("verify_claims", {"text": "Paris", "claims": [{"id": 4, "text": "Paris"}, {"id": 5, "text": "Lyon"}]}, [1, 0]),
        ("rate_contexts_2", {"contexts": CONTEXTS, "question": "What is the capital of France?"}, [2, 0]),
        ("rate_contexts_1", {"contexts": CONTEXTS, "question": "Is Lyon the capital?"}, [1, 1]),
        ("judge_usefulness", {"contexts": CONTEXTS, "reference": "It is big. Lyon lies on the Rhône."}, [0, 1]),
        (
            "generate_questions",
            {"text": "A fair text", "n": 2},
            ["Question 1: A fair text?", "Question 2: A fair text?"],
        ),
    ],
)
def test_the_oracle_decides_by_words(kind: str, data: dict[str, Any], expected: list[Any]) -> None:
    items = next(value for value in oracle.answer(kind, data).values() if isinstance(value, list))
    assert [list(item.values())[-1] for item in items] == expected


def test_a_script_comes_before_what_is_always_said_and_that_before_the_oracle() -> None:
    with JudgeServer(served_model="judge-0613", cached_share=0.5) as judge:
        assert ask(judge, REFUSAL) == {"refused": 1}
        judge.script("detect_refusal", {"refused": 0}, "[7]", lambda request: request.data)
        judge.script("*", Answer(finish_reason="length", usage=None))
        judge.always("detect_refusal", {"refused": 2})
        assert [ask(judge, REFUSAL) for _ in range(3)] == [{"refused": 0}, [7], REFUSAL_DATA]
        status, cut = call(judge.url, CHAT, REFUSAL)
        assert (status, cut["choices"][0]["finish_reason"], "usage" in cut) == (200, "length", False)
        assert ask(judge, REFUSAL) == {"refused": 2}
        assert ask(judge, prompt("verify_claims", {"text": "a", "claims": []})) == {"verdicts": []}
        assert judge.repeats_after_ok == 5
        assert [request.kind for request in judge.chats()] == ["detect_refusal"] * 6 + ["verify_claims"]
        last = judge.chats("verify_claims")[0]
        assert (last.data, last.headers["accept-encoding"]) == ({"text": "a", "claims": []}, "identity")
        _, reply = call(judge.url, CHAT, REFUSAL)
        assert (reply["model"], reply["usage"]["prompt_tokens_details"]) == (
            "judge-0613",
            {"cached_tokens": reply["usage"]["prompt_tokens"] // 2},
        )
        judge.reset()
        assert (judge.requests, judge.repeats_after_ok) == ([], 0)


def test_the_kind_is_found_in_the_text_but_not_in_the_data() -> None:
    body = prompt("", {"text": "verify_claims says: </data-7f> I do not know."})
    body["messages"][1]["content"] += " Reply to detect_refusal."
    with JudgeServer() as judge:
        assert ask(judge, body | {"response_format": {"type": "json_object"}}) == {"refused": 1}


def test_what_is_refused() -> None:
    settings: dict[str, Any] = {"require_key": "k", "models": {"judge"}, "reject_formats": {"json_schema"}}
    with JudgeServer(**settings, reject_parameters={"temperature"}) as judge:
        key = {"Authorization": "Bearer k"}
        plain = REFUSAL | {"response_format": {"type": "text"}}
        assert call(judge.url, "/v1/models")[0] == 401
        assert call(judge.url, "/v1/models", headers=key)[1]["data"][0]["id"] == "judge"
        assert call(judge.url, "/v2/chat", {}, key)[0] == 404
        assert call(judge.url, CHAT, plain | {"model": "x"}, key)[0] == 404
        status, reply = call(judge.url, CHAT, REFUSAL, key)
        assert (status, reply["error"]["param"]) == (400, "response_format")
        status, reply = call(judge.url, CHAT, plain | {"temperature": 0}, {"api-key": "k"})
        assert (status, reply["error"]["code"]) == (400, "unsupported_parameter")
        assert call(judge.url, CHAT, [], key)[0] == 400
        assert call(judge.url, CHAT, {}, {"Transfer-Encoding": "chunked"})[0] == 411
        with socket.create_connection(("127.0.0.1", judge.socket.getsockname()[1])) as raw:
            raw.sendall(b"GET /v1/models HTTP/1.1\r\napi-key: k\r\n\r\nnonsense\r\n\r\n")
            answers = b"".join(iter(lambda: raw.recv(4096), b""))
            assert [answers.count(line) for line in (b"HTTP/1.1 200", b"keep-alive", b"HTTP/1.1 400")] == [1, 1, 1]


def outcome(judge: JudgeServer, body: Any) -> str:
    try:
        status, reply = call(judge.url, CHAT, body)
        return "well" if status == 200 and json.loads(reply["choices"][0]["message"]["content"]) else str(status)
    except ConnectionError:
        return "dropped"
    except ValueError:
        return "malformed"


def test_faults_strike_their_share_and_spare_a_retry() -> None:
    bodies = [prompt("detect_refusal", {"text": f"Text {i}"}) for i in range(40)]
    with JudgeServer(error_rate=0.2, malformed_rate=0.2, reset_rate=0.2) as judge:
        first = [outcome(judge, body) for body in bodies]
        assert all(3 <= first.count(fault) <= 14 for fault in ("500", "malformed", "dropped"))
        failed = [body for body, how in zip(bodies, first, strict=True) if how != "well"]
        again = [outcome(judge, body) for body in failed]
        assert "well" in again
        assert judge.repeats_after_ok == 0
        judge.reset()
        assert [outcome(judge, body) for body in bodies] == first


def test_limits_are_429_with_retry_after() -> None:
    def wait_until_in_flight(n: int) -> None:
        until = time.monotonic() + 5
        while judge.stats.in_flight != n and time.monotonic() < until:
            time.sleep(0.002)
        assert judge.stats.in_flight == n

    with JudgeServer(hang_rate=1.0, max_in_flight_allowed=1, retry_after=0.5) as judge:
        with socket.create_connection(("127.0.0.1", judge.socket.getsockname()[1])) as waiting:
            waiting.sendall(b"POST /v1/embeddings HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
            wait_until_in_flight(1)
            assert call(judge.url, CHAT, REFUSAL)[0] == 429
        wait_until_in_flight(0)
        judge.hang_rate = 0.0
        assert outcome(judge, REFUSAL) == "well"
        judge.max_rps = 0.01
        assert [outcome(judge, REFUSAL) for _ in range(2)] == ["well", "429"]
        judge.max_rps = 0.0
        judge.script("detect_refusal", Answer(drop=True), Answer(503, "busy", headers={"retry-after": "2"}))
        assert outcome(judge, REFUSAL) == "dropped"
        assert call(judge.url, CHAT, REFUSAL) == (503, {"error": {"message": "busy"}})
        assert judge.max_in_flight == 1


def test_embeddings_are_unit_vectors_of_their_texts() -> None:
    body = {"model": "e", "input": ["one", "two", "one"]}
    with JudgeServer() as judge:
        vectors = [row["embedding"] for row in call(judge.url, EMBEDDINGS, body)[1]["data"]]
        coded = call(judge.url, EMBEDDINGS, body | {"input": "two", "encoding_format": "base64"})[1]["data"]
        assert list(struct.unpack("<256f", base64.b64decode(coded[0]["embedding"]))) == vectors[1]
        assert vectors[0] == vectors[2]
        cosines = [sum(a * b for a, b in zip(vectors[0], other, strict=True)) for other in vectors]
        assert cosines == pytest.approx([1, 0.8, 1], abs=0.07)
        judge.script("embeddings", [[1.0, 0.0], None])
        rows = call(judge.url, EMBEDDINGS, body)[1]["data"]
        assert [row["embedding"] for row in rows] == [[1.0, 0.0], None]
        assert [len(request.texts) for request in judge.embeddings()] == [3, 1, 3]


def test_a_script_that_raises_fails_its_test() -> None:
    def broken(request: Request) -> Any:
        raise ValueError("a mistake in the script")

    def run() -> None:
        with JudgeServer() as judge:
            judge.script("*", broken)
            assert outcome(judge, REFUSAL) == "500"

    with pytest.raises(ValueError, match="a mistake"):
        run()


def test_stats_of_a_run_worked_out_by_hand() -> None:
    stats = Stats()
    for i in range(20):  # one every 0.1 s; each stays 0.2 s, so two are in flight but in the first and last 0.1 s
        at = 100 + i / 10
        request = Request(CHAT, {}, {}, {"contexts": [1]}, "k", b"%d" % (i % 19), at, ["four"], f"same{i}")
        stats.arrive(request)
        if i > 1:
            stats.move(-1, at)
        stats.move(+1, at)
        stats.answer(request, Answer(content={}), at + 0.05)
    stats.move(-1, 102.0)
    stats.move(-1, 102.1)
    dump = stats.dump()
    assert dump["mean_in_flight"] == pytest.approx(20 * 0.2 / 2.1, abs=0.001)
    assert (dump["steady_in_flight"], dump["steady_rps"]) == pytest.approx((2.0, 10.0), abs=0.01)
    assert (dump["max_in_flight"], dump["repeats_after_ok"], dump["chats"], dump["embeddings"]) == (2, 1, 20, 0)
    assert dump["peak_second"] in (10, 11)  # 0.1 is no binary fraction
    assert (dump["prompt_chars"], dump["by_kind"], dump["statuses"]) == (80, {"k": 20}, {200: 20})
    assert dump["shared_prefix"] == pytest.approx((10 * 4 + 9 * 5) / (9 * 5 + 10 * 6), abs=0.001)


def test_as_a_process() -> None:
    command = [sys.executable, str(Path(judge_server.__file__)), "--models", "judge,other", "--max-seconds", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            told = json.loads(process.stdout.readline())
            assert told["pid"] == process.pid
            assert call(told["url"], CHAT, REFUSAL)[0] == 200
            assert call(told["url"], "/config", {"models": ["other"]})[0] == 200
            assert call(told["url"], "/config", {"latency": 1})[0] == 400
            assert call(told["url"], CHAT, REFUSAL)[0] == 404
            stats = call(told["url"], "/stats")[1]
            assert (stats["chats"], stats["statuses"], stats["repeats_after_ok"]) == (2, {"200": 1, "404": 1}, 1)
            assert call(told["url"], "/reset", {})[1]["chats"] == 0
        finally:
            process.terminate()
