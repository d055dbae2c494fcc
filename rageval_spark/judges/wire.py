"""The OpenAI-compatible protocol as pure functions: bodies out, completions in, errors told apart. No I/O."""

from __future__ import annotations

import base64
import email.utils
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rageval_spark.judges.conversation import Completion
from rageval_spark.judges.endings import ending_of
from rageval_spark.judges.messages import reply_text, usage_of
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge, ReplyFormat
from rageval_spark.prompts.rendering import Rendered
from rageval_spark.sample import well_formed
from rageval_spark.score import Usage

FORMATS: tuple[ReplyFormat, ...] = ("json_schema", "json_object", "text")
TRANSIENT = (408, 409, 425, 429)
THROTTLED = (429, 503, 529)


class Unanswered(Exception):
    """One HTTP attempt brought no completion.

    `transient`: another attempt may succeed; `throttled`: the server asks for less; `fatal`: no prompt can succeed;
    `error` is the server's own error object, for `adapted`.
    """

    def __init__(self, code: str, reason: str, *, transient: bool = False, throttled: bool = False, fatal: bool = False,
                 retry_after_s: float | None = None, error: Mapping[str, Any] | None = None, status: int | None = None):
        super().__init__(code, reason)
        self.code, self.reason = code, reason
        self.transient, self.throttled, self.fatal = transient, throttled, fatal
        self.retry_after_s = retry_after_s
        self.error = error or {}
        self.status = status


@dataclass(frozen=True)
class Transport:
    """What was learnt of a server: the reply format it takes, parameters it refuses or wants under another name."""

    reply_format: ReplyFormat = "json_schema"
    dropped: frozenset[str] = frozenset()
    budget_name: str = "max_tokens"
    encoding: str | None = "base64"


@dataclass
class ChatWire:
    """Bodies of chat requests for one judge. What is the same for all prompts of a kind is built once."""

    judge: HttpJudge
    transport: Transport
    _tails: dict[Any, str] = field(default_factory=dict)

    def body(self, rendered: Rendered, note: str = "", budget: int | None = None) -> bytes:
        user = rendered.user(schema_in_text=self.transport.reply_format != "json_schema", note=note)
        messages = [{"role": "system", "content": rendered.system}, {"role": "user", "content": user}]
        head = _quoted({"model": self.judge.model, "messages": messages})
        return (head[:-1] + self._tail(rendered, budget) + "}").encode()

    def _tail(self, rendered: Rendered, budget: int | None) -> str:
        key = (rendered.kind, budget, id(rendered.schema), self.transport)
        if key not in self._tails:
            parameters: dict[str, Any] = {"temperature": self.judge.temperature, "seed": self.judge.seed,
                                          self.transport.budget_name: budget, **self.judge.extra_body}
            if self.transport.reply_format == "json_schema":
                parameters["response_format"] = {"type": "json_schema", "json_schema": {
                    "name": rendered.kind, "strict": True, "schema": rendered.schema}}
            elif self.transport.reply_format == "json_object":
                parameters["response_format"] = {"type": "json_object"}
            sent = {name: value for name, value in parameters.items()
                    if value is not None and name not in self.transport.dropped}
            self._tails[key] = "".join(f",{_quoted(name)}:{_quoted(value)}" for name, value in sent.items())
        return self._tails[key]


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def completion(body: bytes, latency_ms: float) -> Completion:
    """Return the completion in the body of a 200. Raises Unanswered (transient) if it holds none, or if the server broke off."""
    try:
        payload = json.loads(body)
        choice = payload["choices"][0]
        message = choice["message"] if "message" in choice else {"content": choice["text"]}
        text, declined, elsewhere = reply_text(message)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise Unanswered("JUDGE_HTTP", f"the server's answer is no chat completion: {_start(body)}",
                         transient=True) from None
    reported = choice.get("finish_reason"), payload.get("model"), payload.get("system_fingerprint")
    finish_reason, model, fingerprint = map(_string, reported)
    if ending_of(finish_reason) == "failed":
        raise Unanswered("JUDGE_HTTP", f"the server broke its reply off (finish_reason {finish_reason!r})", transient=True)
    if declined:
        finish_reason = "refusal"
    return Completion(well_formed(text), finish_reason, model, fingerprint, usage_of(payload, latency_ms), elsewhere)


def _string(value: Any) -> str | None:
    return well_formed(value) if isinstance(value, str) else None


def embeddings_body(settings: HttpEmbeddings, transport: Transport, texts: Sequence[str]) -> bytes:
    parameters = {"model": settings.model, "input": list(texts), "dimensions": settings.dimensions,
                  "encoding_format": transport.encoding, **settings.extra_body}
    return _quoted({name: value for name, value in parameters.items()
                    if value is not None and name not in transport.dropped}).encode()


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
        raise Unanswered("JUDGE_HTTP", f"the server's answer holds no embeddings: {_start(body)}",
                         transient=True) from None
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


def refused(status: int, headers: Mapping[str, str], body: bytes) -> Unanswered:
    """What an answer other than 200 means."""
    error = _error_of(body)
    text = well_formed(f"HTTP {status}: {error.get('message') or _start(body) or 'no message'}")
    named = f"{error.get('code')} {error.get('type')} {error.get('message')}".casefold()
    if status == 429 and "insufficient_quota" in named:
        return Unanswered("JUDGE_HTTP", text, fatal=True, error=error, status=status)
    if status in TRANSIENT or status >= 500:
        code = {429: "JUDGE_RATE_LIMIT", 408: "JUDGE_TIMEOUT"}.get(status, "JUDGE_HTTP")
        return Unanswered(code, text, transient=True, throttled=status in THROTTLED, status=status, error=error,
                          retry_after_s=retry_after_s(headers))
    if status in (401, 403, 404):
        return Unanswered("JUDGE_HTTP", text, fatal=True, error=error, status=status)
    if "content_filter" in named or "content management" in named:
        return Unanswered("JUDGE_CONTENT_FILTER", text, error=error, status=status)
    if status == 413 or "context_length" in named or "maximum context" in named:
        return Unanswered("CONTEXT_TOO_LONG", text, error=error, status=status)
    return Unanswered("JUDGE_HTTP", text, error=error, status=status)


def adapted(transport: Transport, refusal: Unanswered) -> Transport | None:
    """The transport that avoids what the server calls unsupported; None where the refusal is about something else."""
    if refusal.status not in (400, 422):
        return None
    message = str(refusal.error.get("message") or refusal.reason)
    parameter = str(refusal.error.get("param") or "").split(".")[0]
    said = message.casefold()
    if not any(word in said for word in ("unsupported", "not support", "unrecognized", "unknown", "extra inputs",
                                         "not permitted", "unexpected", "does not support")):
        return None
    if parameter == "response_format" or "response_format" in said or "json_schema" in said or "json_object" in said:
        rest = FORMATS[FORMATS.index(transport.reply_format) + 1 :]
        return replace(transport, reply_format=rest[0]) if rest else None
    if "max_completion_tokens" in said and transport.budget_name == "max_tokens":
        return replace(transport, budget_name="max_completion_tokens")
    if parameter == "encoding_format" or "encoding_format" in said:
        return replace(transport, encoding=None) if transport.encoding else None
    known = ("temperature", "seed", "max_completion_tokens", "max_tokens", "top_p", "dimensions", parameter)
    name = parameter or next((name for name in known if name and name in said), "")
    if not name or name in transport.dropped or name in ("model", "messages", "input"):
        return None
    return replace(transport, dropped=transport.dropped | {name})


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
    id, response, fault = said["custom_id"], said.get("response"), said.get("error")
    if isinstance(response, Mapping) and response.get("body") is not None:
        content = response["body"]
        body = well_formed(content if isinstance(content, str) else _quoted(content)).encode()
        status = response.get("status_code")
        try:
            number = 200 if status is None else int(status)
        except (TypeError, ValueError, OverflowError):
            shown = well_formed(_quoted(status)[:40])
            return id, Unanswered("JUDGE_HTTP", f"the batch's answer has the status {shown}", transient=True)
        return id, body if number == 200 else refused(number, {}, body)
    reason = fault.get("message") or fault.get("code") if isinstance(fault, Mapping) else fault
    return id, Unanswered("JUDGE_HTTP", well_formed(f"the batch brought no answer: {reason}"), transient=True)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as `retry-after-ms` or `Retry-After` (seconds or a date) say; None where neither does."""
    lower = {name.casefold(): value for name, value in headers.items()}
    for name, seconds in (
        ("retry-after-ms", lambda text: float(text) / 1000),
        ("retry-after", float),
        ("retry-after", lambda text: email.utils.parsedate_to_datetime(text).timestamp() - time.time()),
    ):
        try:
            return max(0.0, seconds(lower[name]))
        except (KeyError, ValueError, TypeError):
            continue
    return None


def _error_of(body: bytes) -> Mapping[str, Any]:
    """The error object that servers put under "error", at the top, or as bare text."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = payload.get("error", payload) if isinstance(payload, Mapping) else {}
    return error if isinstance(error, Mapping) else {"message": str(error)}


def _start(body: bytes, width: int = 200) -> str:
    return body[:width].decode(errors="replace").strip()
