"""Finding the one JSON object in what a judge wrote."""

from __future__ import annotations

import json
import re
from typing import Any

from rageval_spark.prompts.prompt import Accepted, Prompt, Unacceptable

LANDMARK = re.compile(r'(<think(?:ing)?>.*?</think(?:ing)?>)|(</think(?:ing)?>)|\{(?=\s*["}])', re.S)
"""A stretch of thinking, the end of one that was not opened, the beginning of an object."""
BRACES = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.S)
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
    found = objects(text)
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
    """All outermost JSON objects after the thinking. Tags within their strings are none; broken objects hold none."""
    decoder, found, at = json.JSONDecoder(), list[dict[str, Any]](), 0
    while landmark := LANDMARK.search(text, at):
        thinking, thinking_ends = landmark.groups()
        if thinking or thinking_ends:
            at = landmark.end()
            if thinking_ends:
                found.clear()
            continue
        try:
            value, at = decoder.raw_decode(text, landmark.start())
            found.append(value)
        except (ValueError, RecursionError):
            at = _end_of_broken(text, landmark.start())
    return found


def _end_of_broken(text: str, start: int) -> int:
    """Where the braces of a broken object close; if they do not, where thinking ends, or the text."""
    depth = 0
    for token in BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    end = text.find("</think", start)
    return end if end >= 0 else len(text)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
