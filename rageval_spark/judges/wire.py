"""The OpenAI-compatible protocol as pure functions: bodies out, completions in, errors told apart. No I/O."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rageval_spark.judges.conversation import Completion
from rageval_spark.judges.dialect import Transport
from rageval_spark.judges.endings import ending_of
from rageval_spark.judges.messages import compact_json, reply_text, usage_of
from rageval_spark.judges.server_errors import Unanswered, error_in_success, no_answer, refused, start_of
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.prompts.rendering import Rendered
from rageval_spark.score import Usage
from rageval_spark.values import well_formed


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
        head = compact_json({"model": self.judge.model, "messages": messages})
        return (head[:-1] + self._tail(rendered, budget, form) + "}").encode()

    def sent(self, rendered: Rendered, budget: int | None, form: Transport) -> dict[str, Any]:
        """Return what a form sends beside the prompt; forms with equal values are the same request."""
        return {**self._parameters(rendered, budget, form), "messages": form.system}

    def _tail(self, rendered: Rendered, budget: int | None, form: Transport) -> str:
        key = (rendered.kind, budget, id(rendered.schema), form)
        if key not in self._tails:
            parameters = self._parameters(rendered, budget, form)
            self._tails[key] = "".join(f",{compact_json(name)}:{compact_json(value)}" for name, value in parameters.items())
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


def completion(body: bytes, latency_ms: float) -> Completion:
    """Return the completion in the body of a 200. Raises Unanswered (transient) if it holds none, or if the server broke off."""
    try:
        payload = json.loads(body)
        choice = payload["choices"][0]
        reported = choice.get("finish_reason"), payload.get("model"), payload.get("system_fingerprint")
        finish_reason, model, fingerprint = map(_string, reported)
        failure = choice.get("error")
        # a reply that was filtered or cut before its first word may have no message at all
        message = choice.get("message")
        if message is None:
            message = {} if ending_of(finish_reason) else {"content": choice["text"]}
        text, declined, elsewhere = reply_text(message)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise no_answer(body, f"the server's answer is no chat completion: {start_of(body)}") from None
    if failure:
        raise no_answer(compact_json({"error": failure}).encode(), f"the server broke its reply off: {failure}")
    if ending_of(finish_reason) == "failed":
        raise Unanswered("JUDGE_HTTP", f"the server broke its reply off (finish_reason {finish_reason!r})", transient=True)
    if declined:
        finish_reason = "refusal"
    return Completion(well_formed(text), finish_reason, model, fingerprint, usage_of(payload, latency_ms), elsewhere)


def _string(value: Any) -> str | None:
    return well_formed(value) if isinstance(value, str) else None


def embeddings_body(settings: HttpEmbeddings, transport: Transport, texts: Sequence[str]) -> bytes:
    return compact_json({"model": settings.model, "input": list(texts), **embeddings_parameters(settings, transport)}).encode()


def embeddings_parameters(settings: HttpEmbeddings, transport: Transport) -> dict[str, Any]:
    """Return what a form of an embedding request sends beside the texts."""
    parameters = {"dimensions": settings.dimensions, "encoding_format": transport.encoding, **settings.extra_body}
    return {name: value for name, value in parameters.items() if value is not None and name not in transport.dropped}


def embeddings(body: bytes, expected: int, latency_ms: float) -> tuple[list[np.ndarray[Any, Any]], Usage, str | None]:
    """Return the vectors (float32) in the order of the texts, what they took, and the served model.

    An embedding of null becomes NaN, and fails only the scores of its own text. Raises Unanswered
    (transient) if the answer holds another number of vectors, the same place twice, or what is no vector.
    """
    try:
        payload = json.loads(body)
        data = payload["data"]
        vectors = [_vector(row["embedding"]) for row in data]
        places = [row.get("index", place) for place, row in enumerate(data)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise no_answer(body, f"the server's answer holds no embeddings: {start_of(body)}") from None
    if len(vectors) != expected:
        raise Unanswered("JUDGE_HTTP", f"{expected} texts were sent, {len(vectors)} embeddings came", transient=True)
    by_place = dict(zip(places, vectors, strict=True)) if all(type(place) is int for place in places) else {}
    if by_place.keys() != set(range(expected)):
        raise Unanswered("JUDGE_HTTP", f"the embeddings are numbered {str(places)[:100]}: which is whose is not known",
                         transient=True)
    usage = usage_of(payload, latency_ms)
    in_order = [by_place[place] for place in range(expected)]
    return in_order, replace(usage, completion_tokens=0, cached_tokens=0), _string(payload.get("model"))


def _vector(value: Any) -> np.ndarray[Any, Any]:
    """A vector as numbers or as base64 of little-endian float32. Raises ValueError or TypeError for anything else."""
    if value is None:
        return np.full(1, np.nan, dtype="<f4")
    if isinstance(value, str):
        vector = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    elif isinstance(value, list) and all(type(number) in (int, float) for number in value):
        vector = np.asarray(value, dtype="<f4")
    else:
        raise TypeError("an embedding is a list of numbers, or their bytes in base64")
    if not len(vector):
        raise ValueError("an embedding has at least one dimension")
    return vector


def batch_result(line: str) -> tuple[str, bytes | Unanswered]:
    """A line of a batch's output or error file: the request's id, and the body of its answer or why there is none.

    Raises ValueError for a line that is none.
    """
    try:
        line.encode()
    except UnicodeEncodeError:
        raise ValueError("it is not UTF-8") from None
    try:
        said = json.loads(line)
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(said, Mapping) or not isinstance(said.get("custom_id"), str):
        raise ValueError("it has no custom_id")
    response, fault = said.get("response"), said.get("error")
    response = response if isinstance(response, Mapping) else {}
    content, status = response.get("body"), _status_of(response)
    if content is None:  # offline engines and people leave a level or two out
        content = next((bare for bare in (response, said.get("body")) if isinstance(bare, Mapping) and _is_answer(bare)), None)
    if content is None and fault:
        content = {"error": fault}
        if status < 300:
            refusal = error_in_success(compact_json(content).encode())
            assert refusal is not None
            refusal.reason = well_formed(refusal.reason.replace("HTTP 200 with an error", "the batch brought no answer", 1))
            return said["custom_id"], refusal
    if content is None and status < 300:
        reason = "the batch brought no answer: the line has neither an answer under response.body nor an error"
        return said["custom_id"], Unanswered("JUDGE_HTTP", reason, transient=True)
    body = well_formed(content if isinstance(content, str) else compact_json(content)).encode()
    if status < 300:
        return said["custom_id"], error_in_success(body) or body
    return said["custom_id"], refused(status, {}, body)


def _is_answer(value: Mapping[str, Any]) -> bool:
    return "choices" in value or "data" in value


def _status_of(response: Mapping[str, Any]) -> int:
    """The status that a line of a batch names; one that is no number is a server's fault of this line alone."""
    status = response.get("status_code")
    if status is None:
        return 200
    if isinstance(status, str) and status.isdecimal():
        status = int(status)
    return int(status) if isinstance(status, (int, float)) and status >= 200 and status == status // 1 else 500
