"""The OpenAI-compatible protocol as pure functions: bodies out, completions in, errors told apart. No I/O."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rageval_spark.judges.conversation import Completion
from rageval_spark.judges.dialect import Transport as Transport
from rageval_spark.judges.server_errors import THROTTLED as THROTTLED
from rageval_spark.judges.server_errors import Unanswered as Unanswered
from rageval_spark.judges.server_errors import error_in_success, start_of
from rageval_spark.judges.server_errors import refused as refused
from rageval_spark.judges.server_errors import retry_after_s as retry_after_s
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.prompts.rendering import Rendered
from rageval_spark.sample import well_formed
from rageval_spark.score import Usage


@dataclass
class ChatWire:
    """Bodies of chat requests for one judge. What is the same for all prompts of a kind is built once."""

    judge: HttpJudge
    transport: Transport
    _tails: dict[Any, str] = field(default_factory=dict)

    def body(self, rendered: Rendered, note: str = "", budget: int | None = None, transport: Transport | None = None) -> bytes:
        """Return the body of a request, in the form of `transport` if one is given, else in the judge's own."""
        form = transport or self.transport
        user = rendered.user(schema_in_text=form.reply_format != "json_schema", note=note)
        if form.system:
            messages = [{"role": "system", "content": rendered.system}, {"role": "user", "content": user}]
        else:
            messages = [{"role": "user", "content": f"{rendered.system}\n\n{user}"}]
        head = _quoted({"model": self.judge.model, "messages": messages})
        return (head[:-1] + self._tail(rendered, budget, form) + "}").encode()

    def sent(self, rendered: Rendered, budget: int | None, form: Transport) -> dict[str, Any]:
        """Return what a form sends beside the prompt; forms with equal values are the same request."""
        return {**self._parameters(rendered, budget, form), "messages": form.system}

    def _tail(self, rendered: Rendered, budget: int | None, form: Transport) -> str:
        key = (rendered.kind, budget, id(rendered.schema), form)
        if key not in self._tails:
            parameters = self._parameters(rendered, budget, form)
            self._tails[key] = "".join(f",{_quoted(name)}:{_quoted(value)}" for name, value in parameters.items())
        return self._tails[key]

    def _parameters(self, rendered: Rendered, budget: int | None, form: Transport) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "temperature": self.judge.temperature,
            "seed": self.judge.seed,
            form.budget_name: budget,
            **self.judge.extra_body,
        }
        if form.reply_format == "json_schema":
            parameters["response_format"] = {"type": "json_schema", "json_schema": json_schema(rendered, form)}
        elif form.reply_format == "json_object":
            parameters["response_format"] = {"type": "json_object"}
        return {name: value for name, value in parameters.items() if value is not None and name not in form.dropped}


def json_schema(rendered: Rendered, form: Transport) -> dict[str, Any]:
    """Return the schema of a reply, in a form that the server takes; the reader accepts "1" as well as 1."""
    if form.schema == "strict":
        return {"name": rendered.kind, "strict": True, "schema": rendered.schema}
    if form.schema == "string_enums":
        return {"name": rendered.kind, "strict": True, "schema": _simplify(rendered.schema, without=())}
    return {"name": rendered.kind, "schema": _simplify(rendered.schema, without=("additionalProperties",))}


def _simplify(node: Any, without: Sequence[str]) -> Any:
    """A schema without some keywords, and with enums of strings in place of integers."""
    if isinstance(node, list):
        return [_simplify(part, without) for part in node]
    if not isinstance(node, Mapping):
        return node
    simple = {name: _simplify(part, without) for name, part in node.items() if name not in without}
    if isinstance(simple.get("enum"), list) and simple.get("type") == "integer":
        simple.update(type="string", enum=[str(value) for value in simple["enum"]])
    return simple


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def completion(body: bytes, latency_ms: float) -> Completion:
    """The completion in the body of a 200. Raises Unanswered (transient) where it holds none."""
    try:
        payload = json.loads(body)
        choice = payload["choices"][0]
        message = choice["message"]
        content = message.get("content") or message.get("refusal") or ""
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise Unanswered("JUDGE_HTTP", f"the server's answer is no chat completion: {start_of(body)}",
                         transient=True) from None
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    finish_reason, model, fingerprint = map(_said, (choice.get("finish_reason"), payload.get("model"),
                                                    payload.get("system_fingerprint")))
    return Completion(well_formed(str(content)), finish_reason, model, fingerprint, usage_of(payload, latency_ms))


def _said(value: Any) -> str | None:
    return well_formed(value) if isinstance(value, str) else None


def usage_of(payload: Mapping[str, Any], latency_ms: float) -> Usage:
    """Tokens as the server reports them; None for those that it does not."""
    def count(name: str, said: Any) -> int | None:
        tokens = said.get(name) if isinstance(said, Mapping) else None
        return tokens if isinstance(tokens, int) else None

    said = payload.get("usage")
    details = said.get("prompt_tokens_details") if isinstance(said, Mapping) else None
    return Usage(prompt_tokens=count("prompt_tokens", said), completion_tokens=count("completion_tokens", said),
                 cached_tokens=count("cached_tokens", details), latency_ms=latency_ms)


def embeddings_body(settings: HttpEmbeddings, transport: Transport, texts: Sequence[str]) -> bytes:
    return _quoted({"model": settings.model, "input": list(texts), **embeddings_parameters(settings, transport)}).encode()


def embeddings_parameters(settings: HttpEmbeddings, transport: Transport) -> dict[str, Any]:
    """Return what a form of an embedding request sends beside the texts."""
    parameters = {"dimensions": settings.dimensions, "encoding_format": transport.encoding, **settings.extra_body}
    return {name: value for name, value in parameters.items() if value is not None and name not in transport.dropped}


def embeddings(body: bytes, expected: int, latency_ms: float) -> tuple[list[np.ndarray[Any, Any]], Usage, str | None]:
    """Vectors (float32) in the order of the texts, what they took, and the served model.

    Raises Unanswered (transient) where the answer holds another number of vectors, or none.
    """
    try:
        payload = json.loads(body)
        data = sorted(payload["data"], key=lambda one: one.get("index", 0))
        vectors = [_vector(one["embedding"]) for one in data]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unanswered("JUDGE_HTTP", f"the server's answer holds no embeddings: {start_of(body)}",
                         transient=True) from None
    if len(vectors) != expected:
        raise Unanswered("JUDGE_HTTP", f"{expected} texts were sent, {len(vectors)} embeddings came", transient=True)
    usage = usage_of(payload, latency_ms)
    return vectors, replace(usage, completion_tokens=0, cached_tokens=0), _said(payload.get("model"))


def _vector(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value), dtype="<f4")
    return np.asarray(value, dtype="<f4")


def batch_result(line: str) -> tuple[str, bytes | Unanswered]:
    """A line of a batch's output or error file: the request's id, and the body of its answer or why there is none.

    Raises ValueError for a line that is none.
    """
    said = json.loads(line)
    if not isinstance(said, Mapping) or not isinstance(said.get("custom_id"), str):
        raise ValueError("it has no custom_id")
    response, error = said.get("response"), said.get("error")
    if isinstance(response, Mapping) and "body" in response:
        body = _quoted(response["body"]).encode()
        status = _status_of(response)
        if status < 300:
            return said["custom_id"], error_in_success(body) or body
        return said["custom_id"], refused(status, {}, body)
    reason = error.get("message") or error.get("code") if isinstance(error, Mapping) else error
    return said["custom_id"], Unanswered("JUDGE_HTTP", well_formed(f"the batch brought no answer: {reason}"), transient=True)


def _status_of(response: Mapping[str, Any]) -> int:
    """The status that a line of a batch names; one that is no number is a server's fault of this line alone."""
    status = response.get("status_code", 200)
    if isinstance(status, str) and status.isdecimal():
        status = int(status)
    return status if isinstance(status, int) and status >= 200 else 500
