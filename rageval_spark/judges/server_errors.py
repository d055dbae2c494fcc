"""Errors of servers, in the forms and words in which they send them, and what each means for the request. No I/O."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rageval_spark.judges.server_words import BUDGET, FILTERED, IN_A_200, INPUT, KEY, LIMIT, MODEL, NO_CREDIT, SUM, TOO_LONG
from rageval_spark.values import well_formed

TRANSIENT = (408, 409, 425, 429)
THROTTLED = (429, 503, 529)
SHOWN = 400
"""Characters of a server's message that are shown."""


class Unanswered(Exception):
    """One HTTP attempt brought no completion.

    `transient`: another attempt may succeed; `throttled`: the server asks for less; `budget_too_large`: it allows fewer output
    tokens than were asked for; `error` is the server's own error, for `dialect`: message, code, type, param.
    """

    def __init__(
        self,
        code: str,
        reason: str,
        *,
        transient: bool = False,
        throttled: bool = False,
        budget_too_large: bool = False,
        retry_after_s: float | None = None,
        error: Mapping[str, Any] | None = None,
        status: int | None = None,
    ):
        super().__init__(code, reason)
        self.code, self.reason = code, reason
        self.transient, self.throttled, self.budget_too_large = transient, throttled, budget_too_large
        self.retry_after_s = retry_after_s
        self.error = error or {}
        self.status = status


def refused(status: int, headers: Mapping[str, str], body: bytes) -> Unanswered:
    """Return the meaning of an answer without a completion: one with an error status, or with an error in the body of a 200."""
    error = error_of(body)
    reason = well_formed(f"HTTP {status}: {_shown(error, body) or 'no message'}")
    text = " ".join(str(error[name]) for name in ("code", "type", "message") if error.get(name))

    def permanent(code: str, *, budget_too_large: bool = False) -> Unanswered:
        return Unanswered(code, reason, error=error, status=status, budget_too_large=budget_too_large)

    if 300 <= status < 400:
        return Unanswered("JUDGE_HTTP", _redirect(status, headers), status=status)
    if status == 402 or NO_CREDIT.search(text):
        return permanent("JUDGE_HTTP")
    if status in (401, 404, 405):
        return permanent("JUDGE_CONTENT_FILTER" if status == 401 and "content_filter" in text else "JUDGE_HTTP")
    # A gateway may wrap any of these in a 500. A 429 means one of them only for a request larger than a minute's allowance.
    if status not in TRANSIENT and status <= 500 and FILTERED.search(text):
        return permanent("JUDGE_CONTENT_FILTER")
    if status not in (401, 403, 408, 409, 425, 429) and status <= 500 and _is_budget(text):
        return permanent("JUDGE_HTTP", budget_too_large=True)
    if status == 413 or _is_too_long(status, text):
        return permanent("CONTEXT_TOO_LONG")
    if status in TRANSIENT or (status >= 500 and status != 501):
        return Unanswered(
            {429: "JUDGE_RATE_LIMIT", 408: "JUDGE_TIMEOUT"}.get(status, "JUDGE_HTTP"),
            reason,
            transient=True,
            throttled=status in THROTTLED,
            retry_after_s=retry_after_s(headers),
            error=error,
            status=status,
        )
    return permanent("JUDGE_HTTP")


def _is_budget(text: str) -> bool:
    """Return whether the output budget is too large, rather than the prompt: the prompt alone would fit."""
    if parts := SUM.search(text):
        return int(parts[1]) < int(parts[3])
    if not BUDGET.search(text):
        return False
    limit, given = _number(LIMIT, text), _number(INPUT, text)
    return limit is None or given is None or given < limit


def _is_too_long(status: int, text: str) -> bool:
    if status == 429:
        return re.search("request too large", text, re.I) is not None
    return status in (400, 403, 422, 500) and TOO_LONG.search(text) is not None


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return next((int(group) for group in match.groups() if group), None) if match else None


def _redirect(status: int, headers: Mapping[str, str]) -> str:
    """Return the reason for a redirect. It names only the origin of the target, since the rest may hold a secret."""
    target = next((value for name, value in headers.items() if name.casefold() == "location"), "")
    origin = re.match(r"([a-z][a-z0-9+.-]*://)(?:[^/?#]*@)?([^/?#]*)", target, re.I)
    place = origin[1] + origin[2] if origin else "another path of the same server"
    return f"HTTP {status}: the server redirects to {place}; redirects are not followed, name the final address in base_url"


def error_in_success(body: bytes) -> Unanswered | None:
    """Return the error that a server sent with a 200, or None if it sent none.

    An error that names neither status nor known type, and has no known words, is transient.
    """
    if b'"error"' not in body:  # the usual case costs no parsing
        return None
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return None
    first = payload[0] if isinstance(payload, list) and payload else payload
    if not isinstance(first, Mapping) or first.get("choices") or first.get("data"):
        return None
    if not (first.get("error") or first.get("object") == "error"):
        return None
    return _refusal_in(body)


def no_answer(body: bytes, otherwise: str) -> Unanswered:
    """Return what the body of a 200 means that holds no answer: the error that it names in whatever form, else `otherwise`."""
    return _refusal_in(body) if error_of(body).get("message") else Unanswered("JUDGE_HTTP", otherwise, transient=True)


def _refusal_in(body: bytes) -> Unanswered:
    error = error_of(body)
    status = _status_in(error)
    refusal = refused(status or 400, {}, body)
    refusal.reason = refusal.reason.replace(f"HTTP {status or 400}", "HTTP 200 with an error", 1)
    if status is None and refusal.code == "JUDGE_HTTP" and not refusal.budget_too_large:
        refusal.transient = not (NO_CREDIT.search(refusal.reason) or KEY.search(refusal.reason) or MODEL.search(refusal.reason))
        refusal.status = 200
    return refusal


def _status_in(error: Mapping[str, Any]) -> int | None:
    for name in ("code", "status", "http_status", "type"):
        value = str(error.get(name) or "")
        if value.isdecimal() and 400 <= int(value) <= 599:
            return int(value)
        if value.casefold() in IN_A_200:
            return IN_A_200[value.casefold()]
    return None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait by `retry-after-ms` or `Retry-After` (seconds or a date); None if neither is usable."""
    lower = {name.casefold(): value for name, value in headers.items()}
    for name, seconds in (
        ("retry-after-ms", lambda text: float(text) / 1000),
        ("retry-after", float),
        ("retry-after", lambda text: email.utils.parsedate_to_datetime(text).timestamp() - time.time()),
    ):
        try:
            value = seconds(lower[name])
        except (KeyError, ValueError, TypeError, OverflowError):
            continue
        if math.isfinite(value):
            return max(0.0, value)
    return None


MESSAGES = ("message", "error_message", "error_msg", "errorMessage", "Message", "msg", "detail", "details", "description",
            "error_description", "reason", "title", "status_msg")
CODES = ("code", "error_code", "errorCode", "status")
WRAPPERS = ("error", "errors", "detail", "fault", "base_resp", "response")


def error_of(body: bytes) -> dict[str, Any]:
    """Return the message, code, type and param of a server's error, however it is wrapped; {} if the body holds no error."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return _error_in(payload, depth=4)


def _error_in(value: Any, depth: int) -> dict[str, Any]:
    if isinstance(value, str):
        return {"message": value} if value.strip() else {}
    if isinstance(value, Sequence):
        errors = [error for item in value[:5] if depth and (error := _error_in(item, depth - 1))]
        if not errors:
            return {}
        return {**errors[0], "message": "; ".join(str(error["message"]) for error in errors if "message" in error)}
    if not isinstance(value, Mapping) or not depth:
        return {}
    error = {name: value[name] for name in ("type", "param", "http_status", "status") if _is_scalar(value.get(name))}
    for name in CODES:
        if _is_scalar(value.get(name)):
            error["code"] = value[name]
            break
    inner = next(filter(None, (_error_in(value.get(name), depth - 1) for name in WRAPPERS)), {})
    message = next((text for name in MESSAGES if isinstance(text := value.get(name), str) and text.strip()), None)
    if message is not None:
        error["message"] = _with_place(value, message)
    # the outer message of a wrapper says less than what it wraps
    error.update({name: text for name, text in inner.items() if text})
    metadata = value.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if isinstance(raw, str) and raw.strip():  # OpenRouter: the words of the provider behind it
        error["message"] = f"{error.get('message', '')}: {raw}".removeprefix(": ")
    return error


def _with_place(value: Mapping[str, Any], message: str) -> str:
    """Return the message with the part of the request that it is about, which FastAPI names under "loc"."""
    place = value.get("loc")
    if isinstance(place, Sequence) and not isinstance(place, str):
        return f"{'.'.join(map(str, place))}: {message}"
    return message


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""


def _shown(error: Mapping[str, Any], body: bytes) -> str:
    message = " ".join(str(error.get("message") or "").split())
    if message:
        return message if len(message) <= SHOWN else message[: SHOWN - 1] + "…"
    text = start_of(body)
    title = re.search(r"<title[^>]*>\s*([^<]{1,200}?)\s*</title>", body[:4000].decode(errors="replace"), re.I)
    return f"a page “{title[1]}”" if title else text


def start_of(body: bytes, width: int = 200) -> str:
    """Return the beginning of a body, to be shown."""
    return body[:width].decode(errors="replace").strip()

