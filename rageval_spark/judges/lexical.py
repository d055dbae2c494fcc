"""How much of a text's wording is found in another: words, word pairs, numbers, names. No model and no I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from rageval_spark.judges.stems import function_words, stem
from rageval_spark.measures.numbers import numbers_of, to_ascii_digits, value_of
from rageval_spark.prompts.detection import detect_language
from rageval_spark.prompts.language import UNSPACED, compatible

WORD = re.compile(rf"[{UNSPACED}]+|\d+(?:[.,:]\d+)*|[^\W\d_{UNSPACED}]+(?:['’][^\W\d_{UNSPACED}]+)*")
JOINT = re.compile(r"[/:×^%‰]|(?<=\d)-")
NAME = re.compile(rf"[^\W\d_{UNSPACED}]+(?:['’-][^\W\d_{UNSPACED}]+)*")
UNSPACED_TEXT = re.compile(rf"[{UNSPACED}]")
ENUMERATOR = re.compile(r"^\s*\d{1,3}[.)]\s+(?=\D)")
"""The number of an item in a list: nothing that a source must hold."""
ENDINGS = ("ies", "es", "s", "ing", "ed")
SAYING_NOTHING = """
a about above after all also am an and any are as at based be because been before being below between both but by can
could did do does doing down during each either few for from further given had has have having he her here hers him
his how i if in into is it its just may me might more most must my neither no nor not now of off on once only or other
our out over own same shall she should so some such than that the their theirs them then there these they this those
through to too under until up us very was we were what when where which while who whom whose why will with within
without would you your yours
"""
FUNCTION_WORDS = frozenset(SAYING_NOTHING.split())
"""Words that say nothing of a text's subject."""
LEAST_WORDS = 2
"""A sentence with fewer content words states nothing by itself: "Sure.", "Step 1:"."""


@dataclass(frozen=True)
class Wording:
    """A text's words, stemmed, in order; words of unspaced scripts are pairs of their characters."""

    words: tuple[str, ...]
    empty: frozenset[str] = frozenset()
    """Function words among them, in languages other than English."""

    @property
    def content(self) -> list[str]:
        return [word for word in self.words if word not in FUNCTION_WORDS and word not in self.empty]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.words, self.words[1:], strict=False))


@dataclass(frozen=True)
class Premise:
    """The words, word pairs and numbers of texts, in which those of a sentence are looked up."""

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    numbers: frozenset[str]
    language: str | None


@dataclass(frozen=True)
class Found:
    """How much of a sentence a premise holds: shares of its `words` and `pairs` in [0, 1] (`pairs` is None for a single word),
    counts of its numbers and names, and what of it is absent."""

    words: float
    pairs: float | None
    missing: tuple[str, ...]
    numbers: int
    absent_numbers: tuple[str, ...]
    names: int
    absent_names: tuple[str, ...]


def wording(text: str, language: str | None = None) -> Wording:
    """Return the words of a text. Without a language its words are stemmed as English ones."""
    words: list[str] = []
    other = language if language not in (None, "en", "zh", "ja", "ko") else None
    empty: set[str] = set()
    for word in WORD.findall((to_ascii_digits(compatible(text)) if other else text).casefold()):
        if other and word[0].isdecimal():
            words.append(value_of(word, other) if ":" not in word else word)
        elif other and not UNSPACED_TEXT.match(word):
            # the article counts apart: "l'ufficio", "d'eau"
            for part in re.split(r"(?<=^\w)['’]|(?<=^\w\w)['’]", word):
                words.append(stem(part, other))
                if part in function_words(other):
                    empty.add(words[-1])
        elif word.isascii() or not UNSPACED_TEXT.match(word):
            words.append(_stem(word))
        else:
            words.extend(word[i : i + 2] for i in range(len(word) - 1)) if len(word) > 1 else words.append(word)
    return Wording(tuple(words), frozenset(empty))


@lru_cache(maxsize=64)
def premise(texts: tuple[str, ...], language: str | None = None) -> Premise:
    """Return the premise that texts make. Give the language if it is known: that of short texts is hard to detect."""
    language = language or shared_language(*texts)
    wordings = [wording(text, language) for text in texts]
    return Premise(frozenset(word for one in wordings for word in one.words),
                   frozenset(pair for one in wordings for pair in one.pairs),
                   frozenset(number for text in texts for number in _numbers(text, language)), language)


def shared_language(*texts: str) -> str | None:
    """Return the language of texts that belong together."""
    return detect_language(" ".join(text[:2000] for text in texts))


def found(sentence: str, given: Premise) -> Found:
    """Return how much of a sentence the premise holds. Names are capitalised words behind the first; German ones are not looked
    up, since every noun has a capital."""
    sentence = ENUMERATOR.sub("", sentence)
    own = wording(sentence, given.language)
    content = own.content or list(own.words)
    missing = tuple(dict.fromkeys(word for word in content if word not in given.words))
    pairs = own.pairs
    numbers = _numbers(sentence, given.language)
    names = [name for name in NAME.findall(sentence)[1:] if name[0].isupper() and name.casefold() not in FUNCTION_WORDS]
    if names and (given.language or detect_language(sentence)) == "de":
        names = []
    return Found(
        _share([word in given.words for word in content]),
        _share([pair in given.pairs for pair in pairs]) if pairs else None, missing,
        len(numbers), tuple(number for number in numbers if number not in given.numbers),
        len(names), tuple(name for name in names if not given.words.issuperset(wording(name, given.language).words)),
    )


def support(sentences: Sequence[Found]) -> float:
    """How likely a text of these sentences is to be faithful to the premise, in [0, 1]: a heuristic screen.

    A logistic of shares alone, fitted on human labels of RAGTruth (arXiv 2401.00396); no length enters it.
    """
    words = sorted(one.words for one in sentences)
    pairs = [one.pairs for one in sentences if one.pairs is not None] or [fmean(words)]
    unfaithful = (0.742 - 0.555 * _quantile(words, 0.2) - 1.251 * fmean(words) - 0.574 * fmean(pairs) - 1.708 * min(pairs)
                  + 0.461 * _ratio(sum(len(one.absent_numbers) for one in sentences), sum(one.numbers for one in sentences))
                  + 0.427 * _ratio(sum(len(one.absent_names) for one in sentences), sum(one.names for one in sentences)))
    return 1 / (1 + math.exp(unfaithful))


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    word = word.replace("’", "'").removesuffix("'s")
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _numbers(text: str, language: str | None) -> list[str]:
    """Return the values of a text's numbers. Those of a date or a range count alone: elsewhere it may be in words."""
    return [part for number in numbers_of(text, language) for part in JOINT.split(number) if part]


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else 1.0


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between the two values around the place, as numpy's default."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
