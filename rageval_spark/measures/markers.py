"""Citation markers in a text: which sentence cites which contexts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import regex

from rageval_spark.prompts.language import sentence_spans

SOURCE_WORDS = (
    "docs?|documents?|sources?|src|refs?|references?|citations?|cite|contexts?|chunks?|passages?|quellen?|dokumente?|fuentes?"
    "|documentos?|fontes?|fonti|bron|bronnen|źródło|kaynak|источник|документ|مصدر|المصدر|स्रोत|来源|來源|文档|文件|资料|參考|参考|引用"
    "|出典|資料|文書|출처|문서|kontexte?|contextos?|contest[oi]|contextes?|контекст|results?|excerpts?|snippets?|fragments?|web|index"
    "|auszug|extraits?"
)
"""What a marker may call a context: "[doc1]", "[Source 2]", "[来源3]"."""
CALLED = rf"(?:{SOURCE_WORDS})[\s:：.#№_-]{{0,3}}"
DASH = r"\s*(?:[-–—~]|\b(?:to|through|bis)\b)\s*"
NUMBERS = rf"[#№]?\^?\d{{1,4}}\^?(?:{DASH}(?:{CALLED})?\^?\d{{1,4}}\^?)?"
NAMED = rf"(?:{CALLED})?{NUMBERS}"
AND_WORDS = ("and", "und", "et", "y", "e", "en", "i", "и", "و")
_AND_WORD = rf"\b(?:{'|'.join(AND_WORDS)})\b"
AND = rf"\s*(?:[,;，；、&和及と](?:\s*{_AND_WORD})?|{_AND_WORD})\s*"
PAGE = r"\s*[,:]\s*(?:pp?|pages?|S|Seiten?|págs?|pag|str|с|стр|sec|sections?|§|lines?)[.\s]{1,2}\d{1,4}(?:\s?[-–]\s?\d{1,4})?"
LISTED = rf"{NAMED}(?:{PAGE})?(?:{AND}{NAMED}(?:{PAGE})?)*"
SEE = r"(?:(?:see|cf|siehe|vgl|voir|véase|ver|vedi|zie|zob|см|参见|见)\b[.:]?\s*)?"
LINK = r"\([^()\s]{1,2000}(?:\s+\"[^\"\n]{0,200}\")?\)"
TAGS = "(?:sup|cite|ref|c)"
SUPERSCRIPT_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
AFTER_A_WORD = r"(?:(?<=[^\W\d_]{3})|(?<=[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af])|(?<=[.,;:!?)\]\"'”’。，！？」]))"
"""Where a raised number is a marker: behind a word of three letters or a stop, not in "10²", "x²" or "km²"."""


@dataclass(frozen=True)
class Style:
    """A way to write a citation: its pattern, and the numbers that a match names, given the number of the first context."""

    pattern: re.Pattern[str]
    numbers: Callable[[re.Match[str], int], list[int]]


def _numbers_in(text: str) -> list[int]:
    """The numbers of "1, 3-5". A range of more than LONGEST_RANGE numbers is no range: its ends count."""
    numbers: list[int] = []
    for first, last in RANGE.findall(PAGES.sub("", text)):
        start, end = int(first), int(last or first)
        numbers += range(start, end + 1) if start <= end <= start + LONGEST_RANGE else [start, end]
    return numbers


def _listed(match: re.Match[str], first: int) -> list[int]:
    return _numbers_in(match[1])


def _typeset(match: re.Match[str], first: int) -> list[int]:
    return _numbers_in(next(group for group in match.groups() if group))


def _file_search(match: re.Match[str], first: int) -> list[int]:
    """【4:0†source】 names the message and, from 0, the source; 【12†L3】 the source alone."""
    return [first + int(match[2])] if match[2] else [int(match[1])]


def _raised(match: re.Match[str], first: int) -> list[int]:
    digits = {raised: str(digit) for digit, raised in enumerate(SUPERSCRIPT_DIGITS)}
    return _numbers_in("".join(digits.get(character, "-" if character in "⁻–-" else ",") for character in match[0]))


PAGES = re.compile(PAGE, re.I)
RANGE = re.compile(rf"(\d+)\^?(?:{DASH}(?:{CALLED})?\^?(\d+))?", re.I)
LONGEST_RANGE = 1000
PATTERN_TIMEOUT_S = 1.0
STYLES: Sequence[Style] = (
    Style(re.compile(r"[【\[](\d{1,4})(?::(\d{1,4}))?†[^】\]\n]{0,200}[】\]]"), _file_search),
    Style(re.compile(rf"{AFTER_A_WORD}\s?<{TAGS}\b[^<>]{{0,200}}>\s*[\[(]?({LISTED})[\])]?(?:{LINK})?\s*</{TAGS}>", re.I),
          _listed),
    Style(re.compile(rf"{AFTER_A_WORD} ?(?:\^\[?({NUMBERS})\]?\^|\$\^\{{?\[?({NUMBERS})\]?\}}?\$)"
                     rf"|\\cite\w?\{{({LISTED})\}}", re.I), _typeset),
    Style(re.compile(rf"\[\\?\[\s*({LISTED})\s*\\?\]\]{LINK}", re.I), _listed),
    Style(re.compile(rf"\[\[\s*({LISTED})\s*\]\](?!\()", re.I), _listed),
    Style(re.compile(rf"\[\s*({LISTED})\s*\]{LINK}", re.I), _listed),
    Style(re.compile(rf"\\?[\[［【]\s*{SEE}({LISTED})\s*\\?[\]］】](?!\()", re.I), _listed),
    Style(re.compile(rf"[(（]\s*{SEE}({CALLED}{NUMBERS}(?:{PAGE})?(?:{AND}{NAMED}(?:{PAGE})?)*)\s*[)）]", re.I), _listed),
    Style(re.compile(rf"{AFTER_A_WORD} ?[{SUPERSCRIPT_DIGITS}]{{1,3}}(?:[,⁻–-][{SUPERSCRIPT_DIGITS}]{{1,3}})*"), _raised),
)
"""The styles that frameworks and people write, the most specific first; where two match, the first counts."""
IN_PARENTHESES = rf"[(（]\s*({NUMBERS}(?:\s*[,;，；、]\s*{NUMBERS})*)\s*[)）]"
PARENTHESES = Style(
    re.compile(rf"(?<=[^\W_]|[\"”’)\]])[ \u00a0]?{IN_PARENTHESES}(?=\s*(?:[.,;:!?。，；：！？(（]|$))", re.M), _listed)
"""(1): a citation only in a text without markers of another style, and only of contexts that are there."""
BEHIND_STOPS = Style(re.compile(rf"(?<=[.!?。！？]) ?{IN_PARENTHESES}(?=\s|$)"), _listed)
"""(1) behind a full stop: a citation if the text ends so, else the number of an item: "There are two. (1) Open it."."""
ENDS_BEHIND_STOP = re.compile(r"[.!?。！？] ?[(（]\d{1,4}[)）]\Z")
MOST_IN_PARENTHESES = 20
"""The highest number in parentheses that is taken for a citation if the number of contexts is not known."""
UNKNOWN = re.compile(
    rf"【[^】\n]{{1,200}}】|\[\^[^\]\n]{{1,60}}\]|\[(?:{SOURCE_WORDS})\b[^\]\n]{{0,60}}\]|cite(?:turn\d+\w+\d+)+"
    r"|[\[(][^\[\]()\n]{1,80}\.(?:pdf|docx?|html?|md|txt|xlsx?|pptx?|csv|json)\b[^\[\]()\n]{0,40}[\])]|\]\(https?://[^\s)]{1,2000}\)"
    r"|<(?:cite|ref)\b|[\[【](?!(?:fig|abb|tab|step|schritt|section|chapter|page|part|phase|level|option|version|q|day|week))"
    r"[^\W\d_]{1,20}[\s:.#_-]{0,3}\d{1,4}[\]】]|[(\[][A-Z][\w.&' -]{1,60},? (?:19|20)\d\d[a-z]?[)\]]", re.I)
"""What looks like a citation, but names no number of a context."""
CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.S)
# a footnote or link under the text; what it holds is no statement
DEFINITION = re.compile(r"^[ \t]*(\[\^?\d+\])(:?)[ \t]*(.*)$", re.M)
LINKED = re.compile(r"(?:<?https?://|www\.)\S*(?:\s+\".*\")?\s*\Z|\[[^\]]{0,200}\]\(https?://[^\s)]*\)\W*\Z")
TO = re.compile(r" ?[-–—] ?")
"""Between the markers of a range: [1]-[3]."""
BRACKETED = re.compile(r"\[\^?\d+\]")
HEADINGS = (
    "references?|sources?|citations?|bibliography|works cited|footnotes?|quellen(?:verzeichnis)?|literatur|fuentes|referencias"
    "|références|fonti|riferimenti|fontes|referências|bronnen|źródła|источники|kaynaklar|参考文献|参考资料|来源|引用|出典|출처"
    "|المصادر"
)
REFERENCES = re.compile(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*)?[*_]{{0,2}}(?:{HEADINGS})[*_]{{0,2}}[ \t]*[:：]?[*_]{{0,2}}[ \t]*\n"
    r"(?:[ \t]*(?:[-*•][ \t]*)?(?:[\[【(]?\^?\d{1,4}[\]】).:]|【|https?://|\[).*(?:\n|\Z)|[ \t]*\n)+\Z",
    re.M | re.I,
)
"""A list of sources that ends a text."""
INDEXED = re.compile(r"[A-Za-z_][A-Za-z_0-9]*$")
STOPS = tuple(".!?,;:。！？，；：۔।")
EMPTY_BRACKETS = re.compile(rf"[ \t]*(?:\(\s*{SEE}\)|\[\s*\]|（\s*）)", re.I)


@dataclass(frozen=True)
class Cited:
    """A sentence without its markers, and the numbers that they name, each once, in their order."""

    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Marker:
    """Where a marker is in a text, and what it names."""

    start: int
    end: int
    numbers: tuple[int, ...]


def cited(text: str, *, contexts: int | None = None, first: int = 1, pattern: str | None = None) -> list[Cited]:
    """Return the sentences of a text that hold a word, in their order, with the numbers of the contexts that they cite.

    `contexts` is how many there are (None: not known), `first` the number of the first, `pattern` a regular expression
    of the user's own in place of STYLES, whose first group holds the numbers. What stands in code, as an index (`a[1].x`), in a
    footnote or in a list of sources at the end is no citation. After a full stop a marker belongs to the sentence before;
    at the beginning of a line to the sentence that follows. Raises TimeoutError if `pattern` takes too long.
    """
    text = _without_references(text)
    parts: list[str] = []  # the text without markers
    places: list[tuple[int, tuple[int, ...]]] = []
    length = end = end_of_words = 0
    for marker in _markers(text, contexts, first, pattern):
        between = text[end : marker.start]
        if places and between.strip(" \t,;，；、&").casefold() in ("", *AND_WORDS):  # what joins two markers goes with them
            between = ""
        leads = _leads_a_line(text, marker)
        if between.strip():
            end_of_words = length + len(between.rstrip())
        parts.append(between)
        length += len(between)
        if not leads and text[marker.end : marker.end + 1] in STOPS:
            length -= _strip_end(parts)
        places.append((length + leads if leads else end_of_words, marker.numbers))
        end = marker.end
    plain = "".join([*parts, text[end:]])
    spans = sentence_spans(plain)
    starts = [start for start, _ in spans]
    numbers: list[dict[int, None]] = [{} for _ in spans]
    for place, named in places:
        if spans:  # that which begins before the marker, or the first
            owner = max(0, bisect_left(starts, place) - 1)
            numbers[owner].update(dict.fromkeys(named))
    cleaned = (EMPTY_BRACKETS.sub("", " ".join(plain[start:end].split())) for start, end in spans)
    return [Cited(sentence, tuple(named)) for sentence, named in zip(cleaned, numbers, strict=True)]


def _strip_end(parts: list[str]) -> int:
    """Take the spaces from the end of a text in parts, and return how many there were."""
    spaces = 0
    while parts:
        part = parts.pop()
        kept = part.rstrip(" ")
        spaces += len(part) - len(kept)
        if kept:
            parts.append(kept)
            break
    return spaces


def unknown_marker(text: str) -> str | None:
    """Return the first part of a text that looks like a citation in a style that is not known; None if there is none."""
    match = UNKNOWN.search(_without_code(_without_references(text)))
    return match[0] if match else None


def check_pattern(pattern: str) -> str:
    """Return a pattern of the user's own. Raises ValueError if it is no regular expression with a group for the numbers."""
    try:
        groups = regex.compile(pattern).groups
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"it is no regular expression: {error}") from None
    if not groups:
        raise ValueError("it needs a group, in parentheses, around the number: '<ref id=(\\d+)>'")
    return pattern


def _markers(text: str, contexts: int | None, first: int, pattern: str | None) -> Iterator[Marker]:
    """The markers of a text in their order, none overlapping another."""
    plain = _without_code(text)
    if pattern is not None:
        for match in regex.finditer(pattern, plain, timeout=PATTERN_TIMEOUT_S):
            if numbers := _numbers_in(match[1] or ""):
                yield Marker(match.start(), match.end(), tuple(numbers))
        return
    markers = _of_styles(plain, first)
    if not markers and unknown_marker(text) is None:
        highest = MOST_IN_PARENTHESES if contexts is None else first + contexts - 1
        style = BEHIND_STOPS if ENDS_BEHIND_STOP.search(plain[-20:].rstrip()) else PARENTHESES
        matches = [(match, style.numbers(match, first)) for match in style.pattern.finditer(plain)]
        markers = [Marker(*match.span(), tuple(numbers)) for match, numbers in matches
                   if all(first <= number <= highest for number in numbers)]
    yield from markers


def _of_styles(text: str, first: int) -> list[Marker]:
    markers: list[Marker] = []
    taken = bytearray(len(text))
    for style in STYLES:
        for match in style.pattern.finditer(text):
            start, end = match.span()
            if not taken.count(1, start, end) and not _is_index(text, match, first):
                start, end = _with_emphasis(text, start, end)
                taken[start:end] = b"\x01" * (end - start)
                markers.append(Marker(start, end, tuple(style.numbers(match, first))))
    return _with_ranges(text, sorted(markers, key=lambda marker: marker.start))


def _with_emphasis(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of a marker with the stars of **[1]**."""
    size = next((len(mark) for mark in ("***", "**", "*") if text.startswith(mark, end) and text.endswith(mark, 0, start)), 0)
    return start - size, end + size


def _with_ranges(text: str, markers: Sequence[Marker]) -> list[Marker]:
    """Join two markers of a range into one."""
    joined: list[Marker] = []
    for marker in markers:
        before = joined[-1] if joined else None
        if before and len(before.numbers) == len(marker.numbers) == 1 and TO.fullmatch(text[before.end : marker.start][:4]):
            numbers = _numbers_in(f"{before.numbers[0]}-{marker.numbers[0]}")
            joined[-1] = Marker(before.start, marker.end, tuple(numbers))
        else:
            joined.append(marker)
    return joined


def _leads_a_line(text: str, marker: Marker) -> int:
    """How far behind a marker at the beginning of a line its text begins, from 1; 0 for any other marker."""
    before = text[max(0, marker.start - 40) : marker.start]
    if "\n" not in before and marker.start > 40:
        return 0
    follows = re.match(r"[ \t]*[^\W_]", text[marker.end : marker.end + 40])
    return follows.end() if follows and not before.rpartition("\n")[2].strip(" \t-*•>") else 0


def _without_code(text: str) -> str:
    """The text with code blanked out, in which everything else keeps its place."""
    return CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text) if "`" in text or "~~~" in text else text


def _without_references(text: str) -> str:
    """The text without footnotes and without a list of sources at its end.

    "[1]: …" is a footnote if the text has the marker elsewhere, or if it is a link; else it cites what it introduces.
    """
    text = REFERENCES.sub("", text)
    marks = Counter(BRACKETED.findall(text))

    def kept(match: re.Match[str]) -> str:
        return "" if LINKED.match(match[3]) or (match[2] and marks[match[1]] > 1) else match[0]

    return DEFINITION.sub(kept, text)


def _is_index(text: str, match: re.Match[str], first: int) -> bool:
    """Whether brackets right after a word are an index of code and no marker."""
    if text[match.start()] != "[" or not (match[1] or "").strip("^").isdigit():
        return False
    if INDEXED.search(text[max(0, match.start() - 40) : match.start()]) is None:
        return False
    after = text[match.end() : match.end() + 2]
    return (match[1] == "0" and first > 0) or bool(re.match(r"\w|\.\w|\s?[=+*/]|\[[^\d^]", after))
