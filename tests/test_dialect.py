"""Servers that take requests in a form of their own: each is asked otherwise until it answers, and no longer than it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rageval_spark.engine.single import score
from rageval_spark.errors import JudgeRefused
from rageval_spark.judges.dialect import Transport
from rageval_spark.judges.http import Secret
from rageval_spark.judges.preflight import check_embeddings, check_judge
from rageval_spark.metrics.faithfulness import Faithfulness
from tests.engine.scene import AsksTwice, embeddings_at, judge_at, plan_of, rows_of, run, values, work_of
from tests.judge_server import Answer, JudgeServer, Request

KEY = Secret()
SAMPLE = {"question": "Where does the Rhine flow?", "answer": "The Rhine flows north. It is deep.",
          "contexts": ["The Rhine flows north."]}
Complaint = Callable[[dict[str, Any]], Any]
"""From the body of a request, what a server has against it (a message, or a whole error body); None if nothing."""


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as judge:
        yield judge


def refuse(server: JudgeServer, complaint: Complaint, status: int = 400) -> None:
    def answer(request: Request) -> Answer:
        words = complaint(request.body)
        if words is None:
            return Answer()
        return Answer(status, {"error": {"message": words}} if isinstance(words, str) else words)

    server.always("*", answer)


def format_of(body: dict[str, Any]) -> str:
    return str(body.get("response_format", {"type": "text"})["type"])


def has_integer_enum(body: dict[str, Any]) -> bool:
    def is_in(node: Any) -> bool:
        if isinstance(node, list):
            return any(map(is_in, node))
        return isinstance(node, dict) and ((node.get("type") == "integer" and "enum" in node) or is_in(list(node.values())))

    return is_in(body.get("response_format"))


def takes_only(*formats: str, words: str) -> Complaint:
    return lambda body: None if format_of(body) in formats else words


def gemini(body: dict[str, Any]) -> Any:
    message = (
        "* GenerateContentRequest.generation_config.response_schema.properties[refused].enum: only allowed for STRING type")
    return [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}] if has_integer_enum(body) else None


def no_system(words: str) -> Complaint:
    return lambda body: words if body["messages"][0]["role"] == "system" else None


def without(name: str, words: str) -> Complaint:
    return lambda body: words if name in body else None


def all_of(*complaints: Complaint) -> Complaint:
    return lambda body: next((words for complaint in complaints if (words := complaint(body)) is not None), None)


DEEPSEEK = takes_only("json_object", "text", words="This response_format type is unavailable now")
OBSCURE = "Bad Request"
SERVERS: dict[str, tuple[Complaint, Transport, int]] = {
    "deepseek": (DEEPSEEK, Transport("json_object"), 2),
    "deepseek, later words": (
        takes_only("json_object", "text", words="json_schema response format is not supported"), Transport("json_object"), 2),
    "gemini": (gemini, Transport(schema="string_enums"), 2),
    "no additionalProperties": (
        lambda body: "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'generation_config'"
        if "additionalProperties" in json.dumps(body.get("response_format", {})) else None,
        Transport(schema="loose"), 2),
    "no strict": (
        lambda body: "strict: Extra inputs are not permitted" if '"strict"' in json.dumps(body.get("response_format")) else None,
        Transport(schema="loose"), 2),
    "no schema without words": (takes_only("json_object", "text", words=OBSCURE), Transport("json_object"), 2 + 1),
    "no format without words": (takes_only("text", words=OBSCURE), Transport("text"), 5),
    "no system role": (no_system("System role not supported"), Transport(system=False), 2),
    "o1": (no_system("Unsupported value: 'messages[0].role' does not support 'system' with this model."),
           Transport(system=False), 2),
    "roles alternate": (no_system("Conversation roles must alternate user/assistant/..."), Transport(system=False), 2),
    "gemma at google": (no_system("Developer instruction is not enabled for models/gemma-3"), Transport(system=False), 2),
    "no system role without words": (no_system(OBSCURE), Transport(system=False), 6),
    "temperature": (without("temperature", "Unsupported value: 'temperature' does not support 0 with this model."),
                    Transport(dropped=frozenset({"temperature"})), 2),
    "temperature above 0": (without("temperature", "`temperature` must be strictly positive"),
                            Transport(dropped=frozenset({"temperature"})), 2),
    "temperature without words": (without("temperature", OBSCURE), Transport(dropped=frozenset({"temperature"})), 7),
    "several at once": (
        all_of(DEEPSEEK, no_system("System role not supported"), without("temperature", "temperature is not permitted")),
        Transport("json_object", frozenset({"temperature"}), system=False), 4),
    "several at once without words": (
        all_of(takes_only("text", words=OBSCURE), no_system(OBSCURE), without("temperature", OBSCURE)),
        Transport("text", frozenset({"temperature"}), schema="string_enums", system=False), 9),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_is_asked_otherwise_until_it_answers(name: str, server: JudgeServer) -> None:
    complaint, form, most = SERVERS[name]
    refuse(server, complaint)
    learnt = check_judge(judge_at(server.url), KEY)
    assert learnt.reply_format == form.reply_format
    assert learnt == form
    assert len(server.requests) <= most
    assert len({request.raw for request in server.requests}) == len(server.requests)  # none is sent twice


@pytest.mark.parametrize("name", SERVERS)
def test_one_sample_is_scored_by_every_server_without_a_preflight(name: str, server: JudgeServer) -> None:
    complaint, _, most = SERVERS[name]
    refuse(server, complaint)
    assert score(Faithfulness(), SAMPLE, judge_at(server.url)).value == 0.5
    assert len(server.requests) <= most + 1


def test_one_sample_pays_for_no_probe_if_its_prompts_are_taken(server: JudgeServer) -> None:
    assert score(Faithfulness(), SAMPLE, judge_at(server.url)).value == 0.5
    assert [request.kind for request in server.requests] == ["list_claims", "verify_claims"]


@pytest.mark.parametrize("chosen", ["json_object", "text"])
def test_a_reply_format_that_the_user_set_is_where_one_sample_starts(chosen: Any, server: JudgeServer) -> None:
    assert score(Faithfulness(), SAMPLE, judge_at(server.url, reply_format=chosen)).value == 0.5
    assert {format_of(request.body) for request in server.requests} == {chosen}


def test_a_system_text_that_the_server_takes_in_no_message_of_its_own_is_in_the_user_s(server: JudgeServer) -> None:
    refuse(server, no_system("System role not supported"))
    with JudgeServer() as usual:
        check_judge(judge_at(usual.url), KEY)
    check_judge(judge_at(server.url), KEY)
    system, user = (message["content"] for message in usual.requests[0].body["messages"])
    [message] = server.requests[-1].body["messages"]
    assert message == {"role": "user", "content": f"{system}\n\n{user}"}


@pytest.mark.parametrize("status", [403, 404, 500, 501])
def test_other_statuses_count_as_the_form_if_their_words_are_about_it(status: int, server: JudgeServer) -> None:
    refuse(server, takes_only("json_object", "text", words="'response_format' of type json_schema is not supported"), status)
    assert check_judge(judge_at(server.url), KEY) == Transport("json_object")
    assert len(server.requests) == 2


@pytest.mark.parametrize(("status", "words"), [
    (403, "Access denied: response_format json_schema is not enabled for your account"),
    (400, "Permission denied: structured output needs another tier"),
    (200, "json_schema response format not supported"),
])
def test_a_form_that_is_not_permitted_is_no_wrong_key(status: int, words: str, server: JudgeServer) -> None:
    refuse(server, takes_only("json_object", "text", words=words), status)
    body = json.dumps({"error": {"message": words}})
    if status == 200:
        server.always("*", lambda request: Answer(body=body) if format_of(request.body) == "json_schema" else Answer())
    assert check_judge(judge_at(server.url), KEY) == Transport("json_object")
    assert len(server.requests) == 2


def test_a_server_that_fails_at_a_system_message_without_words_is_asked_without(server: JudgeServer) -> None:
    refuse(server, no_system("Internal Server Error"), 500)
    assert check_judge(judge_at(server.url, max_attempts=2), KEY) == Transport(system=False)


@pytest.mark.parametrize("useless", [
    Answer(content=""),
    Answer(content="\n\n\n", finish_reason="length"),
    Answer(content='{"answer": "yes"}'),
    Answer(500, {"error": {"message": "Internal Server Error"}}),
])
def test_one_sample_is_scored_though_the_server_takes_a_format_and_answers_nothing_of_use(
        useless: Answer, server: JudgeServer) -> None:
    server.always("*", lambda request: useless if format_of(request.body) == "json_schema" else Answer())
    assert score(Faithfulness(), SAMPLE, judge_at(server.url, max_attempts=1)).value == 0.5


def test_one_sample_whose_prompts_alone_fail_is_not_scored_twice(server: JudgeServer) -> None:
    server.always("list_claims", Answer(content="I give up."))
    assert score(Faithfulness(), SAMPLE, judge_at(server.url)).code == "JUDGE_PARSE"
    assert [request.kind for request in server.requests] == ["list_claims"] * 3 + ["detect_refusal"]


def test_a_server_that_fails_at_a_schema_without_words_is_asked_for_json(server: JudgeServer) -> None:
    refuse(server, takes_only("json_object", "text", words="Internal Server Error"), 500)
    assert check_judge(judge_at(server.url, max_attempts=2), KEY) == Transport("json_object")
    assert len(server.requests) == 3


@pytest.mark.parametrize("words", [OBSCURE, "Request 4711 of session 17 is invalid", "response_format is not supported"])
def test_a_server_that_refuses_everything_is_asked_a_dozen_times_at_most(words: str, server: JudgeServer) -> None:
    refuse(server, lambda body: words)
    with pytest.raises(JudgeRefused, match=words):
        check_judge(judge_at(server.url, seed=1, max_output_tokens=500, extra_body={"top_p": 0.5}), KEY)
    assert len(server.requests) <= 12


def test_a_server_that_complains_of_something_else_each_time_is_left_in_the_end(server: JudgeServer) -> None:
    refuse(server, lambda body: f"Nonsense {'abcdefghijklmnopqrstuvwxyz'[len(server.requests)]} is unsupported")
    with pytest.raises(JudgeRefused, match="Nonsense"):
        check_judge(judge_at(server.url), KEY)
    assert len(server.requests) <= 12


@pytest.mark.parametrize(("status", "words"), [
    (401, "Incorrect API key provided."),
    (400, "API key not valid. Please pass a valid API key."),
    (403, "You do not have permission to use this model"),
    (404, "The model 'judge' does not exist."),
    (404, "The model seed-oss does not exist."),
    (400, "Model Not Exist"),
    (400, "The requested model 'judge' was not found"),
    (402, "Insufficient Balance"),
    (400, "Your credit balance is too low to access the API"),
    (429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}),
])
def test_a_wrong_key_a_missing_model_and_an_empty_account_stop_at_once(status: int, words: Any, server: JudgeServer) -> None:
    refuse(server, lambda body: words, status)
    with pytest.raises(JudgeRefused, match=f"HTTP {status}"):
        check_judge(judge_at(server.url), KEY)
    assert len(server.requests) == 1


def test_a_budget_that_is_too_large_is_named_not_dropped(server: JudgeServer) -> None:
    words = "max_tokens is too large: 99999. This model supports at most 16384 completion tokens, whereas you provided 99999."
    refuse(server, without("max_tokens", words))
    with pytest.raises(JudgeRefused, match="Lower max_output_tokens"):
        check_judge(judge_at(server.url, max_output_tokens=99999), KEY)
    assert len(server.requests) == 1


def test_a_temperature_that_the_user_chose_is_not_dropped_without_a_word(server: JudgeServer) -> None:
    refuse(server, without("temperature", "temperature must be between 0 and 1"))
    with pytest.raises(JudgeRefused, match="between 0 and 1"):
        check_judge(judge_at(server.url, temperature=1.5), KEY)
    refuse(server, without("temperature", "temperature is not supported by this model"))
    assert check_judge(judge_at(server.url, temperature=1.5), KEY).dropped == {"temperature"}


def test_what_the_user_set_and_the_server_does_not_take_is_reported(
        server: JudgeServer, caplog: pytest.LogCaptureFixture) -> None:
    refuse(server, without("seed", "Unknown parameter: 'seed'."))
    assert check_judge(judge_at(server.url, seed=7), KEY).dropped == {"seed"}
    assert "does not take seed" in caplog.text


def test_what_one_sample_is_asked_without_is_reported_too(server: JudgeServer, caplog: pytest.LogCaptureFixture) -> None:
    refuse(server, without("temperature", "temperature is not supported by this model"))
    assert score(Faithfulness(), SAMPLE, judge_at(server.url, temperature=0.7)).value == 0.5
    assert "does not take temperature" in caplog.text


EMBEDDERS: dict[str, tuple[Complaint, Transport]] = {
    "no base64": (without("encoding_format", "encoding_format must be float"), Transport(encoding=None)),
    "no base64, without words": (without("encoding_format", OBSCURE), Transport(encoding=None)),
    "no dimensions": (
        without("dimensions", 'Model "m" does not support matryoshka representation, changing output dimensions will fail'),
        Transport(dropped=frozenset({"dimensions"}))),
    "neither": (all_of(without("dimensions", OBSCURE), without("encoding_format", OBSCURE)),
                Transport(encoding=None, dropped=frozenset({"dimensions"}))),
}


@pytest.mark.parametrize("name", EMBEDDERS)
def test_embeddings_are_asked_otherwise_too(name: str, server: JudgeServer) -> None:
    complaint, form = EMBEDDERS[name]
    server.always("embeddings", lambda request: Answer() if (words := complaint(request.body)) is None
                  else Answer(422, {"detail": words}))
    assert check_embeddings(embeddings_at(server.url, dimensions=8), KEY) == form
    assert len(server.requests) <= 4


def test_a_form_that_only_one_kind_of_prompt_needs_is_learnt_in_the_middle_once_for_all(server: JudgeServer) -> None:
    def complaint(body: dict[str, Any]) -> str | None:
        schema = body.get("response_format", {}).get("json_schema", {})
        return OBSCURE if schema.get("name") == "verify_claims" else None

    server.latency_ms = 20
    refuse(server, complaint)
    plan = plan_of(judge_at(server.url), metrics=[Faithfulness()])
    plan = plan.equipped({}, {endpoint: Transport() for endpoint in plan.endpoints()})
    assert set(values(run(work_of(plan), rows_of(60))).values()) == {0.5}
    assert server.stats.statuses[400] <= 2 * 8
    assert server.repeats_after_ok == 0


def test_a_prompt_that_is_refused_in_every_form_fails_alone_and_its_form_is_kept(server: JudgeServer) -> None:
    refuse(server, lambda body: OBSCURE if "river 7 " in body["messages"][-1]["content"] else None)
    plan = plan_of(judge_at(server.url, max_concurrency=4), metrics=[AsksTwice()])
    scores = values(run(work_of(plan), rows_of(60)))
    assert scores.pop(("s7", "refuses")) == "JUDGE_HTTP"
    assert set(scores.values()) == {0.0}
    assert {format_of(request.body) for request in server.requests[-40:]} == {"json_schema"}
    assert server.stats.statuses[400] <= 2


def test_the_first_prompts_of_a_kind_do_not_search_for_ever(server: JudgeServer) -> None:
    refuse(server, lambda body: None if "Monday" in body["messages"][-1]["content"] else OBSCURE)
    plan = plan_of(judge_at(server.url, max_concurrency=4), metrics=[AsksTwice()])
    scores = values(run(work_of(plan), rows_of(60)))
    assert set(scores.values()) == {"JUDGE_HTTP"}
    # three prompts in every form, then each once, and a harmless one after 5, 10, 20 and 40 samples
    assert len(server.requests) <= 3 * 11 + 2 * 60 + 4
