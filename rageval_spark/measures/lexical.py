"""Texts compared word by word: what is compared, its tokens in any script, and how much two texts share."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from rageval_spark.measures.numbers import language_of_numbers, replace_numbers, to_ascii_digits
from rageval_spark.prompts.detection import language_name
from rageval_spark.prompts.language import UNSPACED, compatible
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score, Skip

UNSPACED_CHARACTER = re.compile(rf"[{UNSPACED}\U00020000-\U0003ffff]")
ARTICLE = re.compile(r"\b(?:a|an|the)\b")


class _Unpunctuated(dict[int, str]):
    """For str.translate: deletes punctuation. Fills itself, as most of Unicode never occurs."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        self[point] = "" if unicodedata.category(character)[0] == "P" else character
        return self[point]


class _Words(dict[int, str]):
    """For str.translate: keeps letters, marks and digits; sets symbols and characters of unspaced scripts apart."""

    def __missing__(self, point: int) -> str:
        character, category = chr(point), unicodedata.category(chr(point))
        if category == "Cf" or 0xFE00 <= point <= 0xFE0F:  # invisible: joiners, soft hyphens, the styles of an emoji
            self[point] = ""
        elif category == "So" or UNSPACED_CHARACTER.match(character):
            self[point] = f" {character} "
        else:
            self[point] = character if category[0] in "LMN" else " "
        return self[point]


_UNPUNCTUATED, _WORDS = _Unpunctuated(), _Words()


def texts(sample: Sample, *, blank_too: bool = False) -> tuple[str, Mapping[int, str]]:
    """The response, and the references that are not blank by rank from 1.

    `blank_too`: where all references are blank, one of them stands, as it says that there is no answer.
    Raises Skip where the response or the reference is missing.
    """
    if sample.response is None:
        raise Skip("NO_ANSWER")
    given = sample.reference or ()
    references = {rank: text for rank, text in enumerate(given, 1) if not blank(text)}
    if not references and not (given and blank_too):
        raise Skip("NO_REFERENCE")
    return sample.response, references or {1: ""}


def emptiness(response: str) -> tuple[str, ...]:
    """The flags of a response."""
    return ("EMPTY_ANSWER",) if blank(response) else ()


def squad(text: str, *others: str | None) -> str:
    """Return the text in NFKC, casefolded, without punctuation and the words a, an and the, with white space collapsed.

    Symbols such as $ stay. Numbers stay whole, with sign and per cent, and numbers of equal value become equal. The language in
    which a bare number ("1.200") is read may be known from `others`, the texts beside it.
    """
    plain = compatible(to_ascii_digits(text))
    language = language_of_numbers(text, *others) if plain and _SEPARATED.search(plain) else None
    plain = _GRADE.sub(r"\1\2minus", plain).casefold()
    return " ".join(ARTICLE.sub(" ", replace_numbers(plain, language, _without_punctuation)).split())


_SEPARATED = re.compile(r"\d[.,'’\s]\d")
_GRADE = re.compile(r"(^|\s)(A|B|C|D|E|AB|O)-(?=\s|$)")
"""School grades and blood groups with a minus, such as "A-"."""
_NAMED_WITH_SIGN = re.compile(r"(?<![^\W_])([a-z])#(?!\w)")


def _without_punctuation(text: str) -> str:
    return _NAMED_WITH_SIGN.sub("\\1\ue000", text).translate(_UNPUNCTUATED).replace("\ue000", "#")


def squad_tokens(text: str, *others: str | None) -> list[str]:
    """Tokens of `squad` between white space; in scripts without spaces each character is one."""
    return UNSPACED_CHARACTER.sub(r" \g<0> ", squad(text, *others)).split()


def words(text: str) -> list[str]:
    """Runs of letters, marks and digits, casefolded; each emoji and each character of an unspaced script is one."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_WORDS).split()


@lru_cache(maxsize=100_000)
def stem(token: str) -> str:
    """Porter's stem of a token of more than three letters, as rouge-score has it: with NLTK's extensions."""
    return str(_porter().stem(token)) if len(token) > 3 else token


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # takes 1 s: loaded only if stems are needed

    return PorterStemmer()


def maybe_english(text: str) -> bool:
    """Whether the text is English, as far as can be told: a few words in ASCII may be."""
    return language_name(text) in ({"English", None} if text.isascii() else {"English"})


@dataclass(frozen=True)
class Overlap:
    """What a response and a reference share of so many tokens (or n-grams) in each."""

    matched: int
    in_response: int
    in_reference: int

    @property
    def precision(self) -> float | None:
        return self.matched / self.in_response if self.in_response else None

    @property
    def recall(self) -> float | None:
        return self.matched / self.in_reference if self.in_reference else None

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 1 where there is nothing on either side."""
        size = self.in_response + self.in_reference
        return 2 * self.matched / size if size else 1.0

    @classmethod
    def of(cls, response: Iterable[Hashable], reference: Iterable[Hashable]) -> Overlap:
        """That of two multisets, also where they are counted already."""
        a, b = Counter(response), Counter(reference)
        return cls((a & b).total(), a.total(), b.total())


def best(response: str, overlaps: Mapping[int, Overlap]) -> Score:
    """The score of the reference, by rank, with the highest F1."""
    rank = max(overlaps, key=lambda rank: overlaps[rank].f1)
    found = overlaps[rank]
    reason = f"{found.matched} shared, of {found.in_response} in the response and {found.in_reference} in the reference"
    return Score.of(found.f1, reason, flags=emptiness(response), precision=found.precision, recall=found.recall,
                    matched=found.matched, in_response=found.in_response, in_reference=found.in_reference, reference=rank)


def ngrams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(tokens[i:] for i in range(n)), strict=False))


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> list[int]:
    """Places in `a` of a longest common subsequence; among several the one that is found from the end, `b` first.

    Bit-parallel (Hyyrö 2004): of row i, the zeros below bit j count the length over a[:i] and b[:j].
    """
    places: dict[str, int] = {}
    for j, token in enumerate(b):
        places[token] = places.get(token, 0) | 1 << j
    row = (1 << len(b)) - 1
    rows = [row]
    for token in a:
        matching = row & places.get(token, 0)
        row = ((row + matching) | (row - matching)) & rows[0]
        rows.append(row)

    def length(i: int, j: int) -> int:
        return j - (rows[i] & ((1 << j) - 1)).bit_count()

    found, i, j = [], len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            found.append(i)
        elif length(i, j - 1) > length(i - 1, j):
            j -= 1
        else:
            i -= 1
    return found[::-1]


def union_overlap(response: Sequence[Sequence[str]], reference: Sequence[Sequence[str]]) -> Overlap:
    """That of the lines of two texts: the tokens of each reference line that a longest common subsequence with some
    line of the response has, none counted more often than either text has it."""
    left = Counter(token for line in response for token in line) & Counter(token for line in reference for token in line)
    matched = 0
    for line in reference:
        for place in sorted({place for other in response for place in common_subsequence(line, other)}):
            if left[line[place]] > 0:
                left[line[place]] -= 1
                matched += 1
    return Overlap(matched, sum(map(len, response)), sum(map(len, reference)))
