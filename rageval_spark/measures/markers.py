"""Citation markers in a text: which sentence cites which contexts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rageval_spark.prompts.language import sentence_spans

CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.S)
DEFINITION = re.compile(r"^[ \t]*\[\^?\d+\]:.*$", re.M)
"""A footnote or link under the text; what it holds is no statement."""
NUMBERS = r"\^?\d{1,4}(?:\s*[-–—]\s*\^?\d{1,4})?"
MARKER = re.compile(rf"[\[［【]\s*({NUMBERS}(?:\s*[,;，；、]\s*{NUMBERS})*)\s*[\]］】](?![(:])")
RANGE = re.compile(r"\^?(\d+)(?:\s*[-–—]\s*\^?(\d+))?")
INDEXED = re.compile(r"[A-Za-z_][A-Za-z_0-9]*$")
STOPS = tuple(".!?,;:。！？，；：")
LONGEST_RANGE = 50


@dataclass(frozen=True)
class Cited:
    """A sentence without its markers, and the numbers that they name, each once, in their order."""

    text: str
    numbers: tuple[int, ...]


def cited(text: str) -> list[Cited]:
    """The sentences of a text that hold a word, in their order, with what they cite.

    A marker is `[1]`, `[1, 2]`, `[1-3]`, `[^1]` or in the brackets 【】［］; not within code, as an index (`a[0]`, `a[1].x`)
    or as a link. After a full stop it belongs to the sentence before.
    """
    text = DEFINITION.sub("", text)
    code = [found.span() for found in CODE.finditer(text)]
    plain, marks, at = "", [], 0
    for found in MARKER.finditer(text):
        if any(start <= found.start() < end for start, end in code) or _is_index(text, found):
            continue
        plain += text[at:found.start()]
        if text[found.end():found.end() + 1] in STOPS:
            plain = plain.rstrip(" ")
        marks.append((len(plain.rstrip()), found[1]))
        at = found.end()
    plain += text[at:]
    spans = sentence_spans(plain)
    numbers: list[dict[int, None]] = [{} for _ in spans]
    for place, named in marks:
        mine = max((i for i, (start, _) in enumerate(spans) if start < place), default=0)
        if spans:
            numbers[mine].update(dict.fromkeys(_numbers(named)))
    return [Cited(" ".join(plain[start:end].split()), tuple(found)) for (start, end), found in zip(spans, numbers, strict=True)]


def _is_index(text: str, marker: re.Match[str]) -> bool:
    """Whether brackets right after a word are an index of code and no marker."""
    attached = INDEXED.search(text[max(0, marker.start() - 40):marker.start()])
    if attached is None or text[marker.start()] != "[":
        return False
    after = text[marker.end():marker.end() + 2]
    return marker[1] == "0" or bool(re.match(r"\w|\.\w|\s?[=+*/]|\[[^\d^]", after))


def _numbers(named: str) -> list[int]:
    found: list[int] = []
    for first, last in RANGE.findall(named):
        start, end = int(first), int(last or first)
        found += range(start, min(end, start + LONGEST_RANGE) + 1) if start <= end else [start, end]
    return found
