"""The words and sentences of a text in any language, and its normal form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import sentencex

from rageval_spark.prompts.abbreviations import ORDINALS, Abbreviations, abbreviations_of
from rageval_spark.prompts.detection import (
    HAN,
    HANGUL,
    KANA,
    LANGUAGE_NAMES,
    LETTER,
    SCRIPTS,
    detect_language,
    language_name,
    prompt_language,
    script,
)

__all__ = [
    "HAN", "HANGUL", "KANA", "LANGUAGE_NAMES", "LETTER", "SCRIPTS", "UNSPACED", "compatible", "detect_language", "is_invisible",
    "language_name", "normalised", "prompt_language", "same_answer", "script", "sentence_spans", "sentences", "word_tokens",
]  # fmt: skip

UNSPACED = r"\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\u0e00-\u0eff\u1780-\u17ff"
TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:['’.,-][^\W_{UNSPACED}]+)*")

_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_WINDOW = 2000
"""Characters that sentences are sought in at a time: `sentencex` takes time with the square of a paragraph's length."""
_OVERLAP = 200
_OPAQUE = re.compile(r"(?:https?://|www\.)[!-~]+|`[^`]*`|[\w.+-]{1,64}@[\w.-]{1,255}")
_STOPS = r".!?…。！？؟۔।॥։።፧｡．"
_CLOSERS = r"\"'”’“»«›‹)\]}*_」』）】》"
_STOP_WITHIN = re.compile(rf"(?<![{_STOPS}])([{_STOPS}]{{1,9}})((?:[ \u00a0\u202f]»)?[{_CLOSERS}]{{0,9}})(?=\s|$|(?<=[。！？｡．」』”’）】》]))")
_ELLIPSIS = re.compile(r"(?:…|\.\.\.){1,9}(?=\s{1,9}[^\W\d_a-zß-ÿа-я]|[\u3040-\u30ff\u3400-\u9fff])")
_DIGIT_FIRST = re.compile(r"(?:(?<=[^\W\d_]{3}\.\s)|(?<=[!?]\s)|(?<=[。！？｡।॥۔።]))\d")
"""A number that begins a sentence: in some languages sentencex never splits before one."""
_QUOTE = re.compile(r"(\[\d{1,4}\])|[\"“”„«»‹›()\[\]{}（）【】「」『』]|(?<![^\W_])['‘’]|['‘’](?![^\W_])")
_LAST_WORD = re.compile(r"([^\s(\[{\"'“”„«»/–—]+)\.[*_]*\s*$")
_ENUMERATOR = re.compile(r"\s*(?:[-*•]\s*)?[(\[]?(?:(?:\d{1,3}|[ivxIVX]{2,5})[.)]{1,2}|[^\W\d_]\.?\))\s*$")
_LETTER_ALONE = re.compile(r"\s*[^\W\d_]\.\s*$")
_NAME = re.compile(r"(?:[^\W\d_]\.[\s-]*){0,4}([^\W\d_]{2,})")
_ORDINAL = re.compile(r"(?:^|[^\w.,])(?:\d{1,2}|[IVXLC]+)\.\s*$")
_AFTER_ARTICLE = re.compile(
    r"\b(?:am|im|vom|zum|zur|beim|der|die|das|den|dem|des|ein\w*|jede\w|seit|ab|bis|und|sein\w*|ihr\w*|dies\w*)\s+\d{1,2}\.\s*$", re.I)
_GERMAN_ROMAN = re.compile(r"\b[A-ZÄÖÜ][a-zäöüß]+\s+[IVX]+\.\s*$")
_MEASURED = re.compile(r"\d[ \u00a0\u202f]?[^\W\d_]+\.\s*$")
_WORD_AT_STOP = re.compile(r"(?:(?<=\d)([ \u00a0\u202f]|(?=\w)))?(?<![^\W\d_])(?<!\.)([^\W\d_]{1,20})(?=\.\s)")
_NO_STOP = re.compile(rf"(?<![{_STOPS}])[{_STOPS}]{{1,9}}[{_CLOSERS}]{{1,9}}(?=[,;:])|(?<!\S)\.(?=\w)|(?<=\s)(?:…|\.{{2,9}})(?=\s)")
_GLUED = re.compile(r"(?:^|[\s(])[a-zß-ÿа-я]{2,}\.$")
_TITLE = re.compile(r"[A-ZÀ-ÞА-Я][a-zß-ÿа-я]*(?:[\s,]|$)")
_JAPANESE_QUOTATION = re.compile(r"(?:と|って|という|との|など)")
_STARTERS = ("the it he she they we i you this that these those there in on at as if but and so when while for to a an is are not"
             " er sie es das der die den dem ein eine wir ich il elle le la les un une ce cette on el los las ella este esta o os as"
             " ele ela lo gli questa questo ona ono to jest de het een hij zij det den han hon он она оно они это в на и но")
SENTENCE_STARTERS = frozenset(_STARTERS.split())
"""Words that begin a sentence after a single letter ("vitamin C. It is …") and no name ("G. Verdi")."""


def word_tokens(text: str) -> list[str]:
    """Words; in scripts without spaces each character is one."""
    return TOKEN.findall(text)


def sentences(text: str) -> list[str]:
    """Sentences of a text in any language, trimmed. Pieces without a letter or digit are none."""
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the places of a text's sentences, without the white space around them. A line break always ends one.

    Boundaries are those of `sentencex`: of the libraries without a model it is kept, knows the stops and abbreviations of most
    languages, and splits best (94 of 145 texts, `pysbd` 76, `nupunkt` 62). It is shown a copy without quotes, brackets,
    addresses and code, as it splits within or beside them. Then pieces are joined after what it does not know: `abbreviations`.
    """
    language = detect_language(text)
    known = abbreviations_of(language)
    spans: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        for start, end in _joined_pieces(line[0], _pieces(line[0], language or "en", known), language, known):
            piece = line[0][start:end]
            if TOKEN.search(piece):
                start += len(piece) - len(piece.lstrip())
                spans.append((line.start() + start, line.start() + start + len(piece.strip())))
    return spans


def _pieces(line: str, language: str, known: Abbreviations) -> list[tuple[int, int]]:
    """Return where sentencex cuts a line. A long one is cut in windows; the last piece of each goes on in the next."""
    plain = _without_quotes(line, known)
    pieces: list[tuple[int, int]] = []
    start = at = 0
    while at < len(plain):
        window = plain[at:at + _WINDOW]
        lengths = [len(piece) for piece in sentencex.segment(language, window)]
        last = lengths.pop()
        for length in lengths:
            at += length
            pieces.append((start, at))
            start = at
        if at + last == len(plain):
            pieces.append((start, at + last))
            return pieces
        if not lengths:  # a sentence longer than the window: look on from a word near its end
            at += max(window.rfind(" ", 0, _WINDOW - _OVERLAP), _WINDOW // 2)
    return pieces


def _without_quotes(line: str, known: Abbreviations) -> str:
    """Return the line for sentencex, as long as it was: quotes and brackets are letters, and stand before the stop."""
    plain = _OPAQUE.sub(lambda match: _hide(match[0]), line)
    plain = _ELLIPSIS.sub(lambda match: "x" * (len(match[0]) - 1) + ".", plain)
    plain = _NO_STOP.sub(lambda match: "x" * len(match[0]), plain)
    plain = _STOP_WITHIN.sub(lambda match: "X" * len(match[2]) + match[1], plain)
    plain = _QUOTE.sub(lambda match: match[1] or "X", plain)
    plain = _DIGIT_FIRST.sub("X", plain)
    # After a single letter sentencex never splits, after a digit it does.
    return _WORD_AT_STOP.sub(lambda match: "5" * len(match[0]) if _is_ours(match, known) else match[0], plain)


def _is_ours(word: re.Match[str], known: Abbreviations) -> bool:
    """Whether `_goes_on` decides about the stop after a word, and not sentencex: "No. 5", but "No. It is closed."."""
    if len(word[2]) == 1 or word[2].casefold() == "no" or word[2].casefold() in known.numbered:
        return True
    folded = word[2].casefold()
    return (word[1] is not None and _is_unit(folded, known)) or (folded in known.inner and folded not in known.always)


def _is_unit(word: str, known: Abbreviations) -> bool:
    """Whether a word after a number is its unit: "5 m." is no "M. Dupont"."""
    return len(word) == 1 or (len(word) == 2 and word in known.inner)


def _hide(address: str) -> str:
    """Return as many letters, with the stops at its end: they are the sentence's."""
    inner = address.rstrip(_STOPS + ",;:)]}>\"'")
    return "x" * len(inner) + address[len(inner):]


def _joined_pieces(line: str, pieces: Sequence[tuple[int, int]], language: str | None,
                   known: Abbreviations) -> Iterator[tuple[int, int]]:
    begin = 0
    for (_, end), following in zip(pieces, [*pieces[1:], None], strict=True):
        if following and _goes_on(line[max(begin, end - 80):end], line[end:end + 20].lstrip(), language, known):
            continue
        yield begin, end
        begin = end


def _goes_on(before: str, after: str, language: str | None, known: Abbreviations) -> bool:
    """Whether the sentence goes on after a stop: it is that of an abbreviation, an initial, an ordinal or a quotation."""
    first = after.lstrip("\"'“„«(*_[")[:1]
    if _ENUMERATOR.match(before):
        return True
    if before.rstrip()[-1:] in "\"”’»)" and first.islower():
        return True  # "Is it open?" she asked.
    if before.rstrip()[-1:] in "」』" and _JAPANESE_QUOTATION.match(after):
        return True
    if before.endswith(".") and first.lower() != first.upper() and not (_GLUED.search(before) and _TITLE.match(after)):
        return True  # "ASP.NET", but not "It is open.The café is not."
    if not (last := _LAST_WORD.search(before)):
        return False
    word = last[1].casefold()
    spaced = re.search(r"((?:\b[^\W\d_]{1,2}\.\s)*)\S+\s*$", before)
    dotted = re.sub(r"\s", "", spaced[1]).casefold() + word if spaced else word
    measured = _is_unit(word, known) and _MEASURED.search(before)
    if not measured and (word in known.always or dotted in known.always):
        return True
    if word in known.inner and (name := _NAME.match(after)) and after[name.end():name.end() + 1] == "." and name[1].casefold() in known.inner:
        return True  # Smith & Co. Ltd.
    if ".-" in word or (after.startswith("-") and not before[-1].isspace()):
        return True  # J.-J. Rousseau
    if first.isdigit() and (word in known.numbered or word.endswith(("str", "nr"))):
        return True  # "Schillerstr. 5"
    if _LETTER_ALONE.match(before):
        return bool(_NAME.match(after))  # "a. Open the lid", "G. Verdi"
    if len(last[1]) == 1 and last[1].isupper() and first.isalpha() and not first.islower() and not (language == "en" and last[1] == "I"):
        return (name := _NAME.match(after)) is not None and name[1].lower() not in SENTENCE_STARTERS
    if first.islower() and (word in known.inner or dotted in known.inner or "." in word or (len(word) == 1 and word.isalpha())):
        return True
    if language == "de" and word in known.inner and (noun := _NAME.match(after)):
        return noun[1].lower() not in SENTENCE_STARTERS  # "3 Mio. Euro"
    if language in ORDINALS and _ORDINAL.search(before):
        return first.islower() or (language == "de" and bool(_AFTER_ARTICLE.search(before) or _GERMAN_ROMAN.search(before)))
    return False


def normalised(text: str) -> str:
    """NFKC, casefolded, white space collapsed: texts that are equal so are the same claim or chunk.

    Signs that nobody sees are left out. The unit after a number keeps its case, and a power its sign: 5 MW is not 5 mW.
    """
    return " ".join(_UNIT.sub(lambda match: match[1] or match[0].casefold(), compatible(text)).split())


def same_answer(a: str, b: str) -> bool:
    """Whether two answers are the same without asking anybody: as `normalised`, and the case of two letters counts (US, us; pH), as do powers (x²)."""
    return _spelled(a) == _spelled(b) and _RAISED.findall(a) == _RAISED.findall(b)


def _spelled(text: str) -> str:
    return " ".join(_UNIT_OR_CAPITALS.sub(lambda match: match[1] or match[0].casefold(), compatible(text)).split())


def compatible(text: str) -> str:
    """Return the text in NFKC, without signs that nobody sees; of a power the sign ^ stays, of a fraction the number before."""
    if text.isascii():
        return text
    text = _POWER.sub(lambda match: "^" + match[0].replace("⁻", "-"), text)
    text = _FRACTION.sub(lambda match: " " + match[0], text)
    text = unicodedata.normalize("NFKC", text).replace("\u2044", "/")
    return "".join(sign for sign in text if not is_invisible(sign))


@lru_cache(maxsize=10_000)
def is_invisible(sign: str) -> bool:
    """Whether a character is a joiner, a soft hyphen, a mark of direction or of the order of bytes, or a style of an emoji."""
    return unicodedata.category(sign) == "Cf" or "\ufe00" <= sign <= "\ufe0f"


_POWER = re.compile(r"(?<=\d)[\u00b2\u00b3\u00b9\u2070\u2074-\u207e]+")
_RAISED = re.compile(r"(?<=[^\W\d_])[\u00b2\u00b3\u00b9\u2070\u2074-\u207e]")
_FRACTION = re.compile(r"(?<=\d)[\u00bc-\u00be\u2150-\u215e]")
_UNIT = re.compile(r"((?<=\d)\s?[^\W\d_]{1,4}\b)|[^\d]+?(?=\d)|[^\d]+|\d+")
_UNIT_OR_CAPITALS = re.compile(r"((?<=\d)\s?[^\W\d_]{1,4}\b|\b[a-z]?[A-Z]{1,2}\b(?<=\b..))|\d+|[^\W\d]+|\W")
