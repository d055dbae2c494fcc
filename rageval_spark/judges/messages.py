"""Where servers put a model's reply and its tokens in a chat completion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rageval_spark.judges.reading import is_object
from rageval_spark.score import Usage

THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Fields that hold a model's thinking, not its answer."""


def reply_text(message: Mapping[str, Any]) -> tuple[str, bool, str]:
    """Return the text of a message, whether the server marks it as a refusal, and for a message without text what it holds.

    A server may send the reply as text, in parts, parsed, or as the arguments of a tool call. Some send all of it as thinking:
    that counts only if it is one JSON object and nothing else.
    """
    text = _joined(message.get("content"), "text")
    refusal = _joined(message.get("refusal"), "refusal") or _joined(message.get("content"), "refusal")
    if text.strip():
        return text, False, ""
    if refusal.strip():
        return refusal, True, ""
    parsed = message.get("parsed")
    if isinstance(parsed, Mapping):
        return compact_json(parsed), False, ""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    arguments = [call.get("arguments") for call in (*functions, message.get("function_call")) if isinstance(call, Mapping)]
    if arguments:
        return "\n".join(given if isinstance(given, str) else compact_json(given) for given in arguments), False, ""
    thoughts = {name: _joined(message.get(name), "text").strip() for name in THOUGHTS}
    for name, thought in thoughts.items():
        if thought:
            if is_object(thought):
                return thought, False, ""
            return "", False, f"the server sent {len(thought)} characters of thinking as {name!r}, and no answer"
    return "", False, ""


def _joined(value: Any, kind: str) -> str:
    """Return the text of a field: the field itself, or its parts of one kind joined."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return compact_json(value)
    parts = [part for part in value if isinstance(part, Mapping) and part.get("type") in (None, kind, f"output_{kind}")]
    return "".join(str(part.get(kind) or "") for part in parts)


TOKENS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "completion_tokens": ("completion_tokens", "output_tokens"),
    "cached_tokens": ("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
}
"""Keys within "usage" under which servers report tokens, in the order in which they are tried."""


def usage_of(payload: Mapping[str, Any], latency_ms: float) -> Usage:
    """Return the tokens that a server reports. A count is None if it is not reported, or is no whole number from 0."""
    def count(names: tuple[str, ...]) -> int | None:
        for name in names:
            value: Any = payload.get("usage")
            for key in name.split("."):
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 and value == value // 1:
                return int(value)
        return None

    prompt, completion, cached = (count(TOKENS[field]) for field in ("prompt_tokens", "completion_tokens", "cached_tokens"))
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached, latency_ms=latency_ms)


def compact_json(value: Any) -> str:
    """Return JSON without white space between its parts."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
