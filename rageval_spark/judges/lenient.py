"""JSON as judges write it: tokens of several dialects are rewritten as tokens of JSON, which the standard parser then reads.

Nothing is completed, guessed or left out: an object that is cut, lacks a comma or holds a bare word stays an error. Libraries for
lenient JSON were tried: json-repair completes what is cut, pyjson5, hjson and dirtyjson take the last of two equal keys and
lose lone backslashes, json5 takes ten seconds for a megabyte, and none but json-repair reads Python's literals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

MOST_NESTED = 100
NOT_CLOSED = "it is not closed"


class Broken(Exception):
    """An object cannot be read. `reason` says why; `end` is the position behind its closing brace, or None if it has none."""

    def __init__(self, reason: str, end: int | None):
        super().__init__(reason, end)
        self.reason = reason
        self.end = end


class RepeatedKey(Exception):
    """An object, or one within it, has a `key` twice. `end` is the position behind the closing brace of the outer object."""

    def __init__(self, key: str, end: int = 0):
        super().__init__(key, end)
        self.key = key
        self.end = end


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKey(key)
            seen.add(key)
    return values


DECODER = json.JSONDecoder(object_pairs_hook=_object, strict=False)  # not strict: raw line breaks within strings are text

# A comment or a string that does not end takes all that is left: tried again at each of its characters, it would cost
# the square of its length.
TOKEN = re.compile(
    r"""
    (?P<space>\s+ | //[^\n]* | \#[^\n]* | /\*(?:.*?\*/|.*))
    | (?P<double>"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z))
    | (?P<quoted>'[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?\Z)
                | [“”„][^“”\\]*(?:\\.[^“”\\]*)*(?:[“”]|\\?\Z)
                | ‘[^’\\]*(?:\\.[^’\\]*)*(?:’|\\?\Z))
    | (?P<mark>[{}\[\],:])
    | (?P<word>[^\s"'“”„‘{}\[\],:/\#]+|.)
    """,
    re.S | re.X,
)
ESCAPE = re.compile(r"""\\(u[0-9a-fA-F]{4}|["\\/bfnrt])|(\\')|([\\"])""")
NAME = re.compile(r"[A-Za-z_$][\w$]*", re.A)
WORDS = {
    **{word: word.lower() for word in ("true", "false", "null", "True", "False", "TRUE", "FALSE", "NULL")},
    **{word: word for word in ("NaN", "Infinity", "-Infinity")},
    "None": "null",
    "nan": "NaN",
    "inf": "Infinity",
    "-inf": "-Infinity",
}
NUMBER = re.compile(r"\+?(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)", re.A)


def read_object(text: str, start: int) -> tuple[dict[str, Any], int]:
    """Return the object that begins at `start`, and the position behind it.

    Accepted beside JSON: line breaks, tabs and lone backslashes within strings, strings in single or typographic quotes, names
    without quotes, True, False and None, comments, a comma before a closing bracket. Raises Broken or RepeatedKey.
    """
    reason = "it is nested too deeply"
    try:
        return DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at character {error.pos + 1}"
    except ValueError as error:  # a number of thousands of digits
        reason = str(error)
    except (RepeatedKey, RecursionError):
        pass
    end, tokens = _tokens(text, start)
    if end is None:
        raise Broken(NOT_CLOSED, None)
    if not tokens:
        raise Broken(reason, end)
    try:
        return DECODER.decode("".join(tokens)), end
    except ValueError:
        raise Broken(reason, end) from None
    except RepeatedKey as error:
        raise RepeatedKey(error.key, end) from None


def _tokens(text: str, start: int) -> tuple[int | None, list[str]]:
    """Return the position behind the object (None if it is not closed), and its tokens in JSON ([] if JSON has none for one)."""
    depth = 0
    tokens: list[str] = []
    readable = True
    for match in TOKEN.finditer(text, start):
        kind, token = match.lastgroup, match[0]
        if kind == "space":
            continue
        if kind in ("double", "quoted"):
            token = '"' + ESCAPE.sub(_escape, token[1:-1]) + '"'
        elif kind == "word":
            token = _word(token)
            readable &= bool(token)
        elif token == ":":
            name = tokens[-1] if tokens else ""
            if NAME.fullmatch(name):
                tokens[-1] = f'"{name}"'
        elif token in "{[":
            depth += 1
            readable &= depth <= MOST_NESTED
        elif token in "}]":
            depth -= 1
            if len(tokens) > 1 and tokens[-1] == "," and tokens[-2] not in ("{", "[", ","):
                tokens.pop()
        tokens.append(token)
        if depth == 0:
            return match.end(), tokens if readable else []
    return None, []


def _escape(match: re.Match[str]) -> str:
    known, apostrophe, alone = match.groups()
    if known:
        return match[0]
    return "'" if apostrophe else f"\\{alone}"


def _word(token: str) -> str:
    """Return a bare word as JSON has it, a possible name as it is, and "" for any other word."""
    if token in WORDS:
        return WORDS[token]
    if number := NUMBER.fullmatch(token):
        return number[1]
    return token if NAME.fullmatch(token) else ""
