"""Where servers put a model's reply and its tokens in a chat completion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rageval_spark.judges.reading import answer_in_thinking
from rageval_spark.score import Usage

THOUGHTS = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks")
"""Fields that hold a model's thinking, not its answer."""


def reply_text(message: Mapping[str, Any]) -> tuple[str, bool, str]:
    """Return the text of a message, whether the model declined in words of its own, and what an empty message holds elsewhere.

    A server may send the reply as text, in parts, parsed, or as the arguments of a tool call, perhaps with text beside them
    (then the reader decides between the two); and some send the whole of it as if it were thinking, where it counts only if it
    is JSON and nothing else.
    """
    text = _joined(message.get("content"), "text")
    refusal = _joined(message.get("refusal"), "refusal") or _joined(message.get("content"), "refusal")
    arguments = _arguments(message)
    if text.strip():
        return "\n".join((text, *arguments)), False, ""
    if refusal.strip():
        return refusal, True, ""
    parsed = message.get("parsed")
    if isinstance(parsed, Mapping):
        return compact_json(parsed), False, ""
    if arguments:
        return "\n".join(arguments), False, ""
    thoughts = {name: _joined(message.get(name), "text").strip() for name in THOUGHTS}
    for name, thought in thoughts.items():
        if thought:
            if answer := answer_in_thinking(thought):
                return answer, False, ""
            return "", False, f"the server sent {len(thought)} characters of thinking as {name!r}, and no answer"
    # parts of a form that is not read, such as a summary or encrypted thinking
    unread = [name for name in (*THOUGHTS, "content") if isinstance(message.get(name), list) and message[name]]
    return "", False, f"the server sent something else under {unread[0]!r}, and no answer" if unread else ""


def _arguments(message: Mapping[str, Any]) -> list[str]:
    """The arguments of the tool calls of a message that are not blank."""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    given = [call.get("arguments") for call in (*functions, message.get("function_call")) if isinstance(call, Mapping)]
    texts = [value if isinstance(value, str) else compact_json(value) for value in given if value is not None]
    return [text for text in texts if text.strip()]


def _joined(value: Any, kind: str) -> str:
    """The text of a field: itself, or that of its parts of one kind."""
    if isinstance(value, Mapping) and value.get("type") in (kind, f"output_{kind}"):
        value = [value]
    if not isinstance(value, list):
        return "" if value is None else value if isinstance(value, str) else compact_json(value)
    if all(isinstance(part, str) for part in value):
        return "".join(value)
    texts = []
    for part in value:
        if isinstance(part, Mapping) and part.get("type") in (None, kind, f"output_{kind}") and part.get("thought") is not True:
            text = part.get(kind)
            text = text.get("value") if isinstance(text, Mapping) else text
            texts.append(str(text or ""))
    return "".join(texts)


TOKENS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "completion_tokens": ("completion_tokens", "output_tokens"),
    "cached_tokens": ("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
}
"""Where servers report tokens within "usage": first the names of OpenAI's chat completions."""


def usage_of(payload: Mapping[str, Any], latency_ms: float) -> Usage:
    """Return the tokens as the server reports them; None for those that it does not, or that are no count."""
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
    """Return the value as JSON without white space, in its own letters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
