"""What servers answer in place of a reply, and what it means: for the next attempt, and for the user."""

from __future__ import annotations

import email.utils
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_spark.judges.server_errors import Unanswered, error_in_success, error_of, refused, retry_after_s


def error(message: str, **more: Any) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


@pytest.mark.parametrize(("headers", "seconds"), [
    ({}, None),
    ({"Retry-After": "7"}, 7.0),
    ({"retry-after": "0.5"}, 0.5),
    ({"Retry-After": "-3"}, 0.0),
    ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
    ({"retry-after-ms": "soon", "Retry-After": "9"}, 9.0),
    ({"Retry-After": "soon"}, None),
    ({"Retry-After": "nan"}, None),
    ({"Retry-After": "inf"}, None),
    ({"Retry-After": ""}, None),
    ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
])
def test_retry_after_is_read_in_seconds_and_milliseconds(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_retry_after_is_read_as_a_date() -> None:
    date = email.utils.formatdate(time.time() + 3600, usegmt=True)
    seconds = retry_after_s({"Retry-After": date})
    assert seconds is not None
    assert 3000 < seconds <= 3600


TRANSIENT, THROTTLED = "transient", "throttled"


@pytest.mark.parametrize(("status", "body", "code", "nature"), [
    (400, error("bad"), "JUDGE_HTTP", set()),
    (400, error("This model's maximum context length is 8192 tokens"), "CONTEXT_TOO_LONG", set()),
    (400, error("too long", code="context_length_exceeded"), "CONTEXT_TOO_LONG", set()),
    (413, b"", "CONTEXT_TOO_LONG", set()),
    (400, error("filtered", code="content_filter"), "JUDGE_CONTENT_FILTER", set()),
    (400, error("triggering Azure OpenAI's content management policy"), "JUDGE_CONTENT_FILTER", set()),
    (401, error("no"), "JUDGE_HTTP", set()),
    (402, error("Insufficient Balance"), "JUDGE_HTTP", set()),
    (403, b"<html>", "JUDGE_HTTP", set()),
    (404, error("no such model"), "JUDGE_HTTP", set()),
    (429, error("wait"), "JUDGE_RATE_LIMIT", {TRANSIENT, THROTTLED}),
    (429, error("pay", code="insufficient_quota"), "JUDGE_HTTP", set()),
    (408, b"", "JUDGE_TIMEOUT", {TRANSIENT}),
    (409, b"", "JUDGE_HTTP", {TRANSIENT}),
    (500, b"oops", "JUDGE_HTTP", {TRANSIENT}),
    (501, b"", "JUDGE_HTTP", set()),
    (502, b"", "JUDGE_HTTP", {TRANSIENT}),
    (503, b"", "JUDGE_HTTP", {TRANSIENT, THROTTLED}),
    (529, b"", "JUDGE_HTTP", {TRANSIENT, THROTTLED}),
])
def test_a_refusal_says_what_to_do(status: int, body: bytes, code: str, nature: set[str]) -> None:
    refusal = refused(status, {"Retry-After": "3"}, body)
    assert refusal.code == code
    assert {name for name in (TRANSIENT, THROTTLED) if getattr(refusal, name)} == nature
    assert refusal.retry_after_s == (3.0 if refusal.transient else None)
    assert str(status) in refusal.reason


TOO_LONG = {
    "openai": (400, {"message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 "
                     "tokens. Please reduce the length of the messages.", "code": "context_length_exceeded"}),
    "openai, by messages alone": (400, {"message": "This model's maximum context length is 4097 tokens. However, you requested "
                                        "5000 tokens (4500 in the messages, 500 in the completion)."}),
    "openai by minute": (429, {"message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000.",
                               "type": "tokens", "code": "rate_limit_exceeded"}),
    "azure": (400, {"message": "Input tokens exceed the configured limit of 272000 tokens.", "code": "context_length_exceeded"}),
    "llama.cpp": (400, {"code": 400, "type": "exceed_context_size_error", "message":
                        "request (33056 tokens) exceeds the available context size (32768 tokens), try increasing it"}),
    "llama.cpp, older": (500, {"message": "the request exceeds the available context size. try increasing the context size"}),
    "vllm": (400, {"message": "The decoder prompt (length 9001) is longer than the maximum model length of 8192."}),
    "vllm, tokens": (400, {"message": "This model's maximum context length is 8192 tokens. However, your request has 9001 input "
                           "tokens. Please reduce the length of the input messages."}),
    "anthropic": (400, {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}),
    "bedrock": (400, "Input is too long for requested model."),
    "gemini": (400, {"code": 400, "status": "INVALID_ARGUMENT", "message":
                     "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}),
    "deepseek": (400, {"message": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens "
                       "(69000 in the messages, 1000 in the completion).", "type": "invalid_request_error"}),
    "tgi": (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000"),
    "tgi, input alone": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` "
                         "tokens and 100 `max_new_tokens`"),
    "mistral": (400, {"message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
                      "context length"}),
    "alibaba": (400, {"message": "Range of input length should be [1, 30720]", "code": "invalid_parameter_error"}),
    "cohere": (400, "too many tokens: size limit exceeded by 1200 tokens."),
    "ollama": (400, {"message": "input length exceeds maximum context length"}),
    "groq": (400, {"message": "Please reduce the length of the messages or completion.", "code": "context_length_exceeded"}),
    "litellm": (500, {"message": "litellm.ContextWindowExceededError: AnthropicException", "code": "500"}),
    "databricks": (400, {"error_code": "BAD_REQUEST", "message": "Bad request: prompt token count exceeds the maximum allowed"}),
    "nginx": (413, b"<html><head><title>413 Request Entity Too Large</title></head></html>"),
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_a_prompt_that_is_too_long_is_recognised_in_the_words_of_each_server(case: str) -> None:
    status, payload = TOO_LONG[case]
    body = payload if isinstance(payload, bytes) else json.dumps({"error": payload}).encode()
    refusal = refused(status, {}, body)
    assert (refusal.code, refusal.transient, refusal.budget_too_large) == ("CONTEXT_TOO_LONG", False, False)


@pytest.mark.parametrize("message", [
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
    "'max_tokens' or 'max_completion_tokens' is too large: 13800. This model's maximum context length is 8192 tokens and your "
    "request has 500 input tokens (13800 > 8192 - 500).",
    "This model's maximum context length is 8192 tokens. However, you requested 13800 output tokens and your prompt contains at "
    "least 1200 input tokens, for a total of at least 15000 tokens.",
    "This model's maximum context length is 4097 tokens. However, you requested 4500 tokens (500 in the messages, 4000 in the "
    "completion). Please reduce the length of the messages or completion.",
    "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for "
    "this model",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens`",
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]; it must be at most 8192",
    "max_tokens: 20000 > 8192, which is the maximum allowed number of output tokens; max_tokens must be at most 8192",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 500 `inputs` tokens and 4000 "
    "`max_new_tokens`",
])
def test_an_output_budget_that_is_too_large_is_no_prompt_that_is_too_long(message: str) -> None:
    refusal = refused(400, {}, error(message))
    assert (refusal.code, refusal.budget_too_large, refusal.transient) == ("JUDGE_HTTP", True, False)


@pytest.mark.parametrize(("status", "body"), [
    (400, error("The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
                code="content_filter")),
    (400, error("Content Exists Risk")),
    (400, error("Input data may contain inappropriate content.", code="data_inspection_failed")),
    (400, error("Your request was rejected as a result of our safety system.", code="content_policy_violation")),
    (403, error("anthropic/claude requires moderation. Your input was flagged for \"violence\".", code=403)),
    (400, error("The request was rejected because it was considered high risk", type="content_filter")),
    (400, error("Guardrail was enabled and input was blocked")),
    (451, error("prompt blocked for safety reasons")),
])
def test_a_content_filter_is_recognised_in_the_words_of_each_server(status: int, body: bytes) -> None:
    refusal = refused(status, {}, body)
    assert (refusal.code, refusal.transient) == ("JUDGE_CONTENT_FILTER", False)


@pytest.mark.parametrize(("body", "message"), [
    ({"error": {"message": "no"}}, "no"),
    ([{"error": {"code": 400, "message": "enum: only allowed for STRING type", "status": "INVALID_ARGUMENT"}}],
     "enum: only allowed for STRING type"),
    ({"error": "in a text"}, "in a text"),
    ({"detail": "not here"}, "not here"),
    ({"detail": [{"loc": ["body", "temperature"], "msg": "extra fields not permitted"}]},
     "body.temperature: extra fields not permitted"),
    ({"detail": {"error": {"message": "deep"}}}, "deep"),
    ({"errors": [{"message": "first"}, {"message": "second"}]}, "first; second"),
    ({"errors": ["plain"]}, "plain"),
    ({"message": "at the top"}, "at the top"),
    ({"Message": "as AWS writes it"}, "as AWS writes it"),
    ({"error_message": "flat"}, "flat"),
    ({"error_code": "BAD_REQUEST", "message": "as Databricks writes it"}, "as Databricks writes it"),
    ({"object": "error", "message": "as vLLM wrote it", "code": 400}, "as vLLM wrote it"),
    ({"error": {"message": "Provider returned error", "metadata": {"raw": "{\"why\": 1}"}}},
     "Provider returned error: {\"why\": 1}"),
    ({"message": "wrapper", "error": {"message": "what it wraps"}}, "what it wraps"),
])
def test_the_words_of_an_error_are_found_however_it_is_wrapped(body: Any, message: str) -> None:
    raw = json.dumps(body).encode()
    assert error_of(raw)["message"] == message
    assert refused(400, {}, raw).reason == f"HTTP 400: {message}"


@pytest.mark.parametrize("body", [b"[1]", b"null", b'"text"', b'{"error": "text"}', b'{"error": null}', b"\xff\xfe",
                                  b'{"message": "at the top"}', b'{"error": {"message": {"deep": 1}}}', b"[[[[[[[]]]]]]]"])
def test_whatever_the_body_a_refusal_has_a_reason(body: bytes) -> None:
    assert refused(500, {}, body).reason.startswith("HTTP 500: ")


NAMES = ["error", "errors", "detail", "message", "code", "type", "loc", "metadata", "raw"]
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner), max_leaves=8)


@given(JSON, st.sampled_from([200, 400, 403, 429, 500]))
def test_no_body_breaks_the_reading_of_errors(value: Any, status: int) -> None:
    body = json.dumps(value).encode()
    assert isinstance(refused(status, {}, body), Unanswered)
    assert error_in_success(body) is None or isinstance(error_in_success(body), Unanswered)


def test_a_page_of_a_firewall_is_named_by_its_title() -> None:
    page = b"<!DOCTYPE html><html><head><style>p {}</style><title>Request blocked</title></head><body>...</body></html>"
    assert refused(403, {}, page).reason == "HTTP 403: a page “Request blocked”"


@pytest.mark.parametrize(("location", "place"), [
    ("https://login.example/sso?token=secret", "https://login.example;"),
    ("https://me:secret@other.example/v1", "https://other.example;"),
    ("/v1/chat/completions/", "another path of the same server"),
    ("", "another path of the same server"),
])
def test_a_redirect_names_the_target_s_origin_and_nothing_more(location: str, place: str) -> None:
    refusal = refused(307, {"Location": location}, b"")
    assert place in refusal.reason
    assert "secret" not in refusal.reason
    assert (refusal.code, refusal.transient) == ("JUDGE_HTTP", False)


@pytest.mark.parametrize(("body", "code", "transient"), [
    ({"error": {"code": 400, "type": "exceed_context_size_error", "message":
                "request (33056 tokens) exceeds the available context size (32768 tokens)"}}, "CONTEXT_TOO_LONG", False),
    ({"error": {"message": "No auth credentials found", "code": 401}}, "JUDGE_HTTP", False),
    ({"error": {"message": "Invalid API key"}}, "JUDGE_HTTP", False),
    ({"error": {"message": "model 'x' not found"}}, "JUDGE_HTTP", False),
    ({"error": {"message": "Rate limit exceeded", "code": 429}}, "JUDGE_RATE_LIMIT", True),
    ({"error": {"message": "Overloaded", "type": "overloaded_error"}, "choices": None}, "JUDGE_HTTP", True),
    ({"error": {"message": "Upstream failed", "code": "502"}, "choices": []}, "JUDGE_HTTP", True),
    ({"error": {"message": "something"}}, "JUDGE_HTTP", True),
    ({"object": "error", "message": "maximum context length is 8192 tokens", "code": 40303}, "CONTEXT_TOO_LONG", False),
    ([{"error": {"message": "blocked", "code": "content_filter"}}], "JUDGE_CONTENT_FILTER", False),
])
def test_an_error_in_a_200_is_the_error_that_it_names(body: Any, code: str, transient: bool) -> None:
    refusal = error_in_success(json.dumps(body).encode())
    assert refusal is not None
    assert (refusal.code, refusal.transient) == (code, transient)
    assert refusal.reason.startswith("HTTP 200 with an error: ")


@pytest.mark.parametrize("body", [
    {"choices": [{"message": {"content": '{"error": 1}'}}]},
    {"choices": [{"message": {"content": "{}"}}], "error": None},
    {"data": [{"embedding": [1.0]}], "error": ""},
    {"choices": []},
])
def test_an_answer_without_an_error_is_none(body: Any) -> None:
    assert error_in_success(json.dumps(body).encode()) is None
