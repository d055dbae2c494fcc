"""The parts that the content of a message consists of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rageval_spark.messages.calls import Call, read_calls, read_invalid_call
from rageval_spark.messages.names import (
    ARGUMENT_KEYS,
    CALL_NAME,
    CALLS_IN_TEXT,
    ID_KEYS,
    NAME_KEYS,
    PARTS,
    RESULT_KEYS,
    WRAPPER_KEYS,
    Part,
    body_of,
    form_fault,
    is_hosted,
    kind_of,
    parse_text,
)
from rageval_spark.values import well_formed

WEIGHTIEST: tuple[Part, ...] = ("call", "result", "media", "text", "nothing")
"""Of several keys that name a part's kind, the one that counts."""


class Pieces:
    """What the content of a message consists of."""

    def __init__(self, place: str):
        self.place = place
        self.texts: list[str] = []
        self.calls: list[Call] = []
        self.results: list[str] = []
        self.known = False
        """Whether anything was there that is known, though it may leave no trace."""

    def add(self, content: Any) -> None:
        if isinstance(content, str):
            parts = _parts_in_text(content)
            if parts:
                self.add(parts)
            else:
                self.texts += [content] if content else []
        elif isinstance(content, list):
            for part in content:
                if part is not None:
                    self.add(part)
        elif isinstance(content, Mapping):
            self._add_part(content)
        elif content is not None:
            raise form_fault(self.place, "a message's content as text or parts", content)

    def _add_part(self, part: Mapping[Any, Any]) -> None:
        body = body_of(part)
        kind = kind_of(body)
        if body.get("thought") is True:  # Gemini marks a text so
            self.known = True
            return
        what, kind, held = self._look_at(body, kind, part)
        self.known = True
        if what == "text":
            inner = next((body[key] for key in (kind, "text", "content", "value", "parts") if key in body), None)
            self.add(body_of(inner).get("value", "") if isinstance(inner, Mapping) and "value" in body_of(inner) else inner)
        elif what == "call":
            self.calls += _read_part_call(self.place, kind, held)
            nested = body.get("tool_invocation")
            result = next((body[key] for key in ("output", "result") if key in body), None)
            result = body_of(nested).get("result") if result is None and isinstance(nested, Mapping) else result
            self.results += [result_text(result)] if result is not None else []
        elif what == "result":
            self.results.append(result_text(held))
        elif what == "media":
            spoken = held.get("transcript") if isinstance(held, Mapping) else None
            self.texts.append(spoken if isinstance(spoken, str) and spoken else f"[{kind}]")

    def _look_at(self, body: Mapping[str, Any], kind: str, part: Mapping[Any, Any]) -> tuple[Part, str, Any]:
        """What a part is, its kind, and the object that holds it: the part itself, or what stands under the key that names its
        kind, as Bedrock and Gemini have it."""
        if kind in PARTS:
            return PARTS[kind], kind, part
        if is_hosted(kind):
            return "result" if kind.endswith(("_output", "_result")) else "call", kind, part
        if kind.startswith(("tool-", "data-")):
            return "call" if kind.startswith("tool-") else "nothing", kind, part
        keys = [key for key, value in body.items()
                if key in PARTS and value != "" and not (key == "function" and isinstance(value, str))]
        for key in sorted(keys, key=lambda key: WEIGHTIEST.index(PARTS[key])):  # a call may have its signature beside it
            return PARTS[key], key, body[key] if isinstance(body[key], Mapping) and PARTS[key] != "text" else part
        if "text" in body:
            return "text", "text", part
        if not kind and any(key in body for key in NAME_KEYS) and any(key in body for key in ARGUMENT_KEYS):
            return "call", "tool_call", part
        if not kind and any(key in body for key in ID_KEYS) and any(key in body for key in ("content", "result", "output")):
            return "result", "tool_result", part
        raise form_fault(self.place, "parts with text, tool calls or media of a known kind", part)


def split_calls(place: str, text: str) -> tuple[str, list[Call]]:
    """The text without the calls that the model wrote into it behind a mark, and these calls. A mark before other text is text.

    Raises SampleFault for calls that are not written in JSON. Broken JSON is a call that was made and is wrong.
    """
    calls: list[Call] = []
    for start, end in CALLS_IN_TEXT:
        rest, *marked = text.split(start)
        for piece in marked:
            written, _, after = piece.partition(end)
            written = written.strip()
            if not written.startswith(("{", "[", "<")):
                rest += start + piece
                continue
            value = parse_text(written)
            if isinstance(value, str) and not written.startswith("<"):
                name = CALL_NAME.search(written)
                calls.append(read_invalid_call({"name": name.group(1) if name else "", "args": written}))
            else:
                calls += read_calls(place, value if isinstance(value, list) else [value])
            rest = "\n".join(filter(None, (rest.strip(), after.strip())))
        text = rest
    return text, calls


def _parts_in_text(text: str) -> list[Any] | None:
    """The parts in a content that was written as JSON: Spark does so if another message of the column has a text there."""
    if not (text.startswith("[{") and text.endswith("}]")):
        return None
    parts = parse_text(text)
    known = isinstance(parts, list) and all(isinstance(part, Mapping) and kind_of(body_of(part)) in PARTS for part in parts)
    return parts if known else None


def _read_part_call(place: str, kind: str, part: Any) -> tuple[Call, ...]:
    body = body_of(part)
    if kind.startswith("tool-") and kind not in PARTS:  # AI SDK: the name is in the kind
        return read_calls(place, [{"name": kind[len("tool-"):], **part}])
    named = any(isinstance(body.get(key), str) for key in NAME_KEYS)
    if named or any(isinstance(body.get(key), Mapping) for key in WRAPPER_KEYS):
        if isinstance(body.get("input"), str) and kind == "custom_tool_call":  # takes any text
            part = {**part, "input": {"input": body["input"]}}
        return read_calls(place, [part])
    if kind == "executable_code" or (is_hosted(kind) and kind not in PARTS):
        name = kind.removesuffix("_call")
        action = body.get("action", body.get("arguments"))
        held = action if isinstance(action, Mapping) else {key: body[key] for key in ("queries", "query", "code") if key in body}
        return read_calls(place, [{"name": name, "args": held}])
    raise form_fault(place, "calls with a name and arguments", part)


def result_text(value: Any) -> str:
    """The text of a call's result; what has no known form is shown as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return "\n".join(filter(None, map(result_text, value)))
    if isinstance(value, Mapping):
        body = body_of(value)
        for key in RESULT_KEYS:
            if key in body:
                return result_text(body[key])
        if PARTS.get(kind := kind_of(body)) == "media":
            return f"[{kind}]"
    return well_formed(json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True))
