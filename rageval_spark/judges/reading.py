"""Finding the one JSON object in what a judge wrote."""

from __future__ import annotations

import json
import re
from typing import Any

from rageval_spark.prompts.prompt import Accepted, Prompt, Unacceptable

THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.S)
CLOSED_ONLY = re.compile(r"^.*</think(?:ing)?>", re.S)
CUT = ("length", "max_tokens", "MAX_TOKENS")
FILTERED = ("content_filter", "safety", "SAFETY")


def read(prompt: Prompt, text: str) -> Accepted:
    """The accepted part of a reply's text.

    The whole text counts if it is JSON; else, without thinking and code fences, the single object in it that has the
    reply's shape. Free text is never searched for numbers, and of two different objects neither is taken. Raises
    Unacceptable with JUDGE_PARSE, JUDGE_SCHEMA, JUDGE_OUT_OF_RANGE or JUDGE_AMBIGUOUS.
    """
    whole = _parsed(text)
    if isinstance(whole, dict):
        return prompt.accept(whole)
    found = objects(CLOSED_ONLY.sub("", THINKING.sub("", text)))
    fault: Unacceptable | None = None
    usable: dict[str, Accepted] = {}
    for value in found:
        try:
            usable[json.dumps(value, sort_keys=True)] = prompt.accept(value)
        except Unacceptable as refused:
            fault = fault or refused
    if len(usable) > 1:
        raise Unacceptable("JUDGE_AMBIGUOUS", f"the reply holds {len(usable)} different JSON objects")
    if usable:
        return next(iter(usable.values()))
    raise fault or Unacceptable("JUDGE_PARSE", "the reply is not a JSON object")


def objects(text: str) -> list[dict[str, Any]]:
    """All outermost JSON objects in a text; braces within strings and of broken objects begin none."""
    decoder, found, at = json.JSONDecoder(), [], text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
            found.append(value)
        except (ValueError, RecursionError):
            end = at + 1
        at = text.find("{", end)
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
