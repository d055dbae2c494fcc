"""Before any work: one prompt tells whether the judge can be used, and how it wants to be asked."""

from __future__ import annotations

import math
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from rageval_spark.errors import ConfigError, JudgeRefused
from rageval_spark.judges.dialect import Transport
from rageval_spark.judges.http import Secret
from rageval_spark.judges.preflight import check_embeddings, check_judge, key_of
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from tests.judge_server import Answer, JudgeServer

KEY = Secret("sk-very-secret")


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as judge:
        yield judge


def judge_at(server: JudgeServer, **settings: Any) -> HttpJudge:
    return HttpJudge(**{"model": "judge", "base_url": server.url, "max_attempts": 2, "timeout_s": 10, **settings})


def embedder_at(server: JudgeServer, **settings: Any) -> HttpEmbeddings:
    return HttpEmbeddings(**{"model": "embedder", "base_url": server.url, "max_attempts": 2, "timeout_s": 10, **settings})


def refusal(server: JudgeServer, key: Secret = KEY, **settings: Any) -> str:
    with pytest.raises(JudgeRefused) as refused:
        check_judge(judge_at(server, **settings), key)
    assert "very-secret" not in str(refused.value)
    assert server.url in str(refused.value) or settings.get("base_url", "?") in str(refused.value)
    return str(refused.value)


def test_one_prompt_where_all_is_well(server: JudgeServer) -> None:
    assert check_judge(judge_at(server), KEY) == Transport()
    [request] = server.requests
    assert request.kind == "detect_refusal"
    assert request.headers["authorization"] == "Bearer sk-very-secret"
    assert request.body["response_format"]["json_schema"]["strict"] is True
    assert request.body["temperature"] == 0
    assert "max_tokens" not in request.body


def test_one_request_for_the_embeddings(server: JudgeServer) -> None:
    assert check_embeddings(embedder_at(server), Secret()) == Transport()
    [request] = server.requests
    assert "authorization" not in request.headers
    assert (len(request.texts), request.body["encoding_format"]) == (1, "base64")


@pytest.mark.parametrize(
    ("rejected", "taken", "requests"),
    [
        ({"json_schema"}, "json_object", 2),
        ({"json_schema", "json_object"}, "text", 3),
    ],
)
def test_the_reply_format_falls_back_to_what_the_server_takes(
    rejected: set[str], taken: str, requests: int, server: JudgeServer
) -> None:
    server.reject_formats = rejected
    assert check_judge(judge_at(server), KEY) == Transport(reply_format=taken)  # type: ignore[arg-type]
    assert len(server.requests) == requests
    last = server.requests[-1]
    assert last.body.get("response_format", {"type": "text"})["type"] == taken
    assert last.kind == "detect_refusal"  # the instruction names the kind and shows the schema
    assert '"additionalProperties": false' in last.prompt


def test_the_reply_format_falls_back_where_the_replies_are_of_no_use(server: JudgeServer) -> None:
    server.script("detect_refusal", *["prose, as some servers ignore the schema"] * 3)
    assert check_judge(judge_at(server), KEY).reply_format == "json_object"
    assert len(server.requests) == 4


def test_a_format_that_the_user_chose_is_kept(server: JudgeServer) -> None:
    assert check_judge(judge_at(server, reply_format="json_object"), KEY).reply_format == "json_object"
    assert len(server.requests) == 1
    server.always("detect_refusal", "prose")
    assert "prose" in refusal(server, reply_format="json_object")


@pytest.mark.parametrize(
    ("rejected", "settings", "learnt"),
    [
        ({"temperature"}, {}, Transport(dropped=frozenset({"temperature"}))),
        ({"temperature", "seed"}, {"seed": 1}, Transport(dropped=frozenset({"temperature", "seed"}))),
        ({"top_p"}, {"extra_body": {"top_p": 0.5}}, Transport(dropped=frozenset({"top_p"}))),
    ],
)
def test_a_parameter_that_is_unsupported_is_dropped_once(
    rejected: set[str], settings: Any, learnt: Transport, server: JudgeServer
) -> None:
    server.reject_parameters = rejected
    assert check_judge(judge_at(server, **settings), KEY) == learnt
    assert len(server.requests) == 1 + len(rejected)
    assert not rejected & server.requests[-1].body.keys()


def test_the_budget_is_sent_under_the_name_that_the_server_wants(server: JudgeServer) -> None:
    def picky(request: Any) -> Any:
        if "max_tokens" not in request.body:
            return ...
        message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        return Answer(400, {"error": {"message": message, "param": "max_tokens", "code": "unsupported_parameter"}})

    server.always("detect_refusal", lambda request: Answer() if picky(request) is ... else picky(request))
    assert check_judge(judge_at(server, max_output_tokens=500), KEY) == Transport(budget_name="max_completion_tokens")
    assert server.requests[-1].body["max_completion_tokens"] == 500


def test_embeddings_learn_too(server: JudgeServer) -> None:
    server.reject_parameters = {"encoding_format", "dimensions"}
    learnt = check_embeddings(embedder_at(server, dimensions=8), KEY)
    assert learnt == Transport(encoding=None, dropped=frozenset({"dimensions"}))
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("key", "settings", "said"),
    [
        (Secret("sk-wrong"), {"api_key_env": "MY_KEY"}, "The key was read from MY_KEY"),
        (Secret(), {}, "No key was sent: name its environment variable with api_key_env"),
    ],
)
def test_a_wrong_key_is_refused_in_one_request(key: Secret, settings: Any, said: str, server: JudgeServer) -> None:
    server.require_key = "sk-right"
    text = refusal(server, key, **settings)
    assert "401: Incorrect API key provided." in text
    assert said in text
    assert len(server.requests) == 1


def test_the_key_is_never_repeated_from_what_a_server_says(server: JudgeServer) -> None:
    server.always("*", Answer(401, {"error": {"message": f"Incorrect key {KEY.value}"}}))
    assert "Incorrect key …" in refusal(server)
    assert repr(KEY) == "Secret(…)"


def test_an_unknown_model_is_refused_in_one_request(server: JudgeServer) -> None:
    server.models = {"other"}
    text = refusal(server)
    assert "404: The model 'judge' does not exist." in text
    assert "Is 'judge' a model of this server" in text
    assert len(server.requests) == 1
    with pytest.raises(JudgeRefused, match="Is 'embedder' a model"):
        check_embeddings(embedder_at(server), KEY)


def test_a_wrong_path_is_told(server: JudgeServer) -> None:
    assert "does base_url end where /chat/completions begins?" in refusal(server, base_url=server.url + "/v2")


def test_a_dead_server_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    for check in (
        lambda: check_judge(HttpJudge(model="judge", base_url=url, max_attempts=2), KEY),
        lambda: check_embeddings(HttpEmbeddings(model="judge", base_url=url, max_attempts=1), KEY),
    ):
        with pytest.raises(JudgeRefused) as refused:
            check()  # type: ignore[no-untyped-call]
        assert f"judge at {url} cannot be used: no connection" in str(refused.value)
        assert "refused" in str(refused.value)


def test_a_silent_server_is_told(server: JudgeServer) -> None:
    server.always("*", Answer(delay_s=math.inf))
    assert "no answer within 0.2 s" in refusal(server, timeout_s=0.2, max_attempts=1)


def test_trouble_that_passes_is_waited_for_within_the_deadline(server: JudgeServer) -> None:
    server.script("*", Answer(503, headers={"retry-after": "0.01"}))
    assert check_judge(judge_at(server), KEY) == Transport()
    server.always("*", Answer(503))
    server.reset()
    assert "HTTP 503" in refusal(server, max_attempts=9, deadline_s=0.1)
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [Answer(body="<html>"), Answer(body="{}"), Answer(body="[]")])
def test_what_is_no_judge_at_all_is_told(answer: Answer, server: JudgeServer) -> None:
    server.always("*", answer)
    assert "no chat completion" in refusal(server, max_attempts=1)
    with pytest.raises(JudgeRefused, match="holds no embeddings"):
        check_embeddings(embedder_at(server, max_attempts=1), KEY)


def test_the_key_comes_from_the_variable_that_is_named(server: JudgeServer) -> None:
    named = judge_at(server, api_key_env="MY_KEY")
    assert key_of(named, {"MY_KEY": " sk-1 \n"}) == Secret("sk-1")
    assert key_of(judge_at(server), {"MY_KEY": "sk-1"}) == Secret()
    for environment in ({}, {"MY_KEY": ""}, {"MY_KEY": " "}):
        with pytest.raises(ConfigError, match=r"MY_KEY, which api_key_env names .* is not set"):
            key_of(named, environment)


@pytest.mark.parametrize("value", ["sk-1\nsk-2", "sk-…", "sk\x00"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(value: str, server: JudgeServer) -> None:
    with pytest.raises(ConfigError) as refused:
        key_of(judge_at(server, api_key_env="MY_KEY"), {"MY_KEY": value})
    assert "MY_KEY" in str(refused.value)
    assert "sk" not in str(refused.value)
