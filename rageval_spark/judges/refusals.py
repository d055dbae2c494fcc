"""Whether a text declines to answer, recognized by phrases of its language.

The phrases are data: a file per language in `phrases/`, which `Phrases` describes. A new language is a new file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any

import yaml

from rageval_spark.judges.lexical import LEAST_WORDS, wording
from rageval_spark.prompts.detection import LANGUAGE_NAMES, SCRIPTS, detect_language, script
from rageval_spark.prompts.language import sentences, word_tokens

LONGEST = 20_000
"""Characters of the longest text that can be a refusal. The limit bounds the time to match phrases."""
SHORT = 6
"""Words below which the language of a text is uncertain: it may be any language of its script."""
FEWEST = 3
"""Words from which a text in an unknown language may be a refusal in it."""
ASKS = re.compile(r"[?？؟][\"'”’)\]」』]*$")
QUOTED = re.compile(
    r"\"[^\"]*\"|“[^“”]*”|„[^„“”]*[“”]|”[^“”]*“|«[^«»]*»|»[^«»]*«|「[^「」]*」|『[^『』]*』|《[^《》]*》"
    r"|(?<!\w)['‘](?:[^'’‘]|['’](?=\w))*['’](?!\w)")
QUOTE = "\ufffc"
"""Placeholder for a quotation. It counts as one word that states something."""
MARKS = re.compile("[\u0300-\u036f\u064b-\u065f\u0670\u0640\u093c\u200b-\u200f\ufeff*`_#>]")
"""Accents, vowel signs of Arabic, the Hindi nukta, characters without width and Markdown: people leave them out."""
SAME_LETTERS = str.maketrans({
    "ß": "ss", "ł": "l", "ı": "i", "ø": "o", "’": "'", "ʼ": "'", "´": "'", "‘": "'", "＇": "'",
    "ى": "ي", "ة": "ه", "أ": "ا", "إ": "ا", "آ": "ا",
    "ँ": "ं",
})  # fmt: skip
GAP = r"(?:[^\s,;:.]{1,30},? ){0,5}?"
WORD = r"(?:[^\s,;:.]{1,30} )?"


class Says(Enum):
    """What a sentence, or a part of one, contributes to an answer."""

    DECLINES = "declines"
    NOTHING = "nothing"
    STATES = "states"


@dataclass(frozen=True)
class Phrases:
    """The phrases of a language, compiled. In the files "…" stands for up to five words, "~" for up to one, `<name>` for
    the alternatives under `words`; a line of `refuses` and `lacks` is a pattern of its own."""

    refuses: re.Pattern[str]
    """Phrases that decline anywhere in a main clause."""
    lacks: re.Pattern[str]
    """Phrases that decline only if the sentence names a source: "does not include breakfast" is an answer."""
    sources: re.Pattern[str]
    apologies: re.Pattern[str]
    turns: re.Pattern[str]
    """Words of contrast or consequence, behind which an answer may follow: "I am not sure, but it is 5 euros"."""
    conditions: re.Pattern[str]
    """Subordinate clauses up to their comma, which decline nothing."""
    reports: re.Pattern[str]
    """Reports of what others said: that they did not know is an answer."""
    fillers: re.Pattern[str]
    """Sentences that offer, ask for patience or speak of the assistant itself."""
    about: re.Pattern[str]
    """Words for the persons of the conversation and for its question."""
    only: re.Pattern[str]
    """Words such as "only": beside a refusal, "the documents only cover …" is a part of it."""
    denials: re.Pattern[str]
    """Texts such as "Unfortunately not": a refusal only if the question is an open one."""
    open_questions: re.Pattern[str]
    """Words of open questions, which "no" does not answer."""
    least_letters: int
    """Letters from which a word states something; 0: pairs of characters are counted instead."""
    is_english: bool
    digraphs: Sequence[Sequence[str]]

    def fold(self, text: str) -> str:
        """Return the text in the spelling in which patterns are matched."""
        return _replace_pairs(_plain(text.casefold()), self.digraphs)


LANGUAGES: tuple[str, ...] = tuple(sorted(
    file.name.removesuffix(".yaml") for file in resources.files(__package__).joinpath("phrases").iterdir()
    if file.name.endswith(".yaml")))  # fmt: skip
"""ISO 639-1 codes of the languages whose refusals are known."""


EAST_ASIAN: Mapping[str, Sequence[str]] = {"Han": ("zh", "ja"), "Kana": ("ja",), "Hangul": ("ko",)}
"""Script → the languages that a text in it may be in, for the scripts that are not in SCRIPTS."""


def names() -> str:
    """Return the English names of LANGUAGES, joined by commas."""
    return ", ".join(sorted(LANGUAGE_NAMES[language] for language in LANGUAGES))


@cache
def phrases(language: str) -> Phrases:
    """Read the phrases of one of LANGUAGES."""
    text = resources.files(__package__).joinpath("phrases").joinpath(f"{language}.yaml").read_text(encoding="utf-8")
    data: Mapping[str, Any] = yaml.safe_load(text)
    spaced = data.get("spaced", True)
    digraphs: Sequence[Sequence[str]] = data.get("replace", ())
    start, end = (r"(?<!\w)", r"(?!\w)") if spaced else ("", "")

    def compile_pattern(pattern: str) -> re.Pattern[str]:
        for _ in range(2):  # an entry of `words` may name another
            for name, words in data["words"].items():
                pattern = pattern.replace(f"<{name}>", f"(?:{words})")
        pattern = pattern.replace("… ", GAP).replace("~ ", WORD)
        return re.compile(_replace_pairs(_plain(pattern, keep="*#>_`"), digraphs), re.I)

    def whole(alternatives: str) -> str:
        return rf"{start}(?:{alternatives}){end}"

    def lines(name: str) -> re.Pattern[str]:
        return compile_pattern(whole("|".join(line.strip() for line in data[name].splitlines() if line.strip())))

    contrasts = whole(data["contrasts"])
    comma = r"(?:^|[,;،，] ?(?:and |und |et |y |e |en |i |и |و)?)" if spaced else ""
    reports = rf"^.*{whole(data['reports'])}" if data.get("verb_final") else rf"{whole(data['reports'])}.*"
    opens = r"(?:^|[,;،，(]|\s)\s*" if spaced else r"(?:^|[,;，、])\s*"
    return Phrases(
        refuses=lines("refuses"),
        lacks=lines("lacks"),
        sources=compile_pattern(whole(data["sources"])),
        apologies=compile_pattern(whole(data["apologies"])),
        turns=compile_pattern(rf"{contrasts}|{comma}{whole(data['consequences'])}|[;；]"),
        conditions=compile_pattern(rf"{opens}(?:{data['conditions']}){end}[^,;:，；、،]*"),
        reports=compile_pattern(reports),
        fillers=compile_pattern(whole(data["fillers"])),
        about=compile_pattern(whole(data["about"])),
        only=compile_pattern(whole(data["only"])),
        denials=compile_pattern(rf"^\W*(?:{data['denials']})\W*$"),
        open_questions=compile_pattern(whole(data["open_questions"])),
        least_letters=data.get("least_letters", 4),
        is_english=language == "en",
        digraphs=digraphs,
    )


def _plain(text: str, keep: str = "") -> str:
    """Return the text without accents and marks, and with the plain letters that people often type instead of others.
    `keep` are marks that stay, since they are syntax in a pattern."""
    folded = unicodedata.normalize("NFKD", text).translate(SAME_LETTERS)
    return unicodedata.normalize("NFC", MARKS.sub(lambda mark: mark[0] if mark[0] in keep else "", folded))


def _replace_pairs(text: str, pairs: Sequence[Sequence[str]]) -> str:
    for written, letter in pairs:
        text = text.replace(written, letter)
    return text


def refused(text: str, question: str = "") -> bool | None:
    """Return whether a text declines: one sentence declines, and the others only ask, offer help or say next to nothing.

    None if it is unknown: the text holds no known phrase, and its language is unsure or none of LANGUAGES.
    """
    if len(text) > LONGEST:
        return False
    languages, certain = languages_of(text, question)
    if any(_declines(text, question, phrases(language)) for language in languages):
        return True
    return False if certain else None


def languages_of(text: str, question: str = "") -> tuple[list[str], bool]:
    """Return which of LANGUAGES a text may be in, and whether it can be in no other language.

    If a text has too few words to tell, the language of its question counts.
    """
    words = sum(not word.isdecimal() for word in word_tokens(text))
    language = detect_language(text)
    if language is None:
        language = detect_language(question) or detect_language(f"{question} {text}")
    if language in LANGUAGES and words >= SHORT:
        return [language], True
    written_in = script(text)
    candidates = EAST_ASIAN[written_in] if written_in in EAST_ASIAN else SCRIPTS[written_in][1]
    if language is not None and language not in LANGUAGES and words >= SHORT:
        return [], False
    also = [other for other in candidates if other in LANGUAGES and other != language]
    known = language in LANGUAGES
    return ([language, *also] if known and language else also), known or (language is None and words < FEWEST)


def language_in_doubt(text: str, question: str = "") -> str:
    """Return the English name of the language of a text for which `refused` is None; "unsure" if there is none."""
    language = detect_language(text) or detect_language(question)
    return LANGUAGE_NAMES[language] if language and language not in LANGUAGES else "unsure"


def declines(sentence: str, languages: Sequence[str] | None = None) -> bool:
    """Return whether a sentence declines, and states nothing beside it. `languages`: those that it may be in, if known."""
    if len(sentence) > LONGEST:
        return False
    candidates = languages_of(sentence)[0] if languages is None else languages
    return any(_says(_unquoted(sentence), phrases(language)) is Says.DECLINES for language in candidates)


def _declines(text: str, question: str, words: Phrases) -> bool:
    if words.denials.search(words.fold(text)):
        return not word_tokens(question) or bool(words.open_questions.search(words.fold(question)))
    any_declines = False
    for sentence in sentences(_unquoted(text)):
        result = _says(sentence, words)
        if result is Says.STATES:
            return False
        any_declines |= result is Says.DECLINES
    return any_declines


def _unquoted(text: str) -> str:
    """Return the text with QUOTE in place of each quotation. A text that is one quotation only loses its quotes."""
    without = QUOTED.sub(f" {QUOTE} ", text)
    if re.search(r"\w", without):
        return without
    return text.strip().strip("\"“”„«»「」『』‘’'")


def _says(sentence: str, words: Phrases) -> Says:
    """Return what a sentence says, from its parts before and after "but" or ", so".

    A statement before the part that declines does not count if it is about the conversation or its sources: "The handbook
    mentions the pass, but it does not say what it costs" declines.
    """
    text = words.fold(sentence)
    apologizes = bool(words.apologies.search(text))
    text = words.apologies.sub(" ", text, count=1) if apologizes else text
    parts = _parts(text, words)
    results = [_part_says(part, words) for part in parts]
    if Says.DECLINES not in results:
        return Says.DECLINES if apologizes and Says.STATES not in results else max(results, key=list(Says).index)
    first = results.index(Says.DECLINES)
    states_before = any(result is Says.STATES and _is_about_the_subject(part, words)
                        for part, result in zip(parts[:first], results[:first], strict=True))
    return Says.STATES if states_before or Says.STATES in results[first:] else Says.DECLINES


def _is_about_the_subject(part: str, words: Phrases) -> bool:
    return bool(re.search(r"\d", part)) or not (words.about.search(part) or words.sources.search(part))


def _parts(text: str, words: Phrases) -> list[str]:
    """Split a sentence at its contrasts and consequences."""
    parts, start = [], 0
    for turn in words.turns.finditer(text):
        parts.append(text[start : turn.start()])
        start = turn.end()
    return [*parts, text[start:]]


def _part_says(part: str, words: Phrases) -> Says:
    searched = words.conditions.sub(" ", words.reports.sub(" ", part)).strip()
    if words.refuses.search(searched) or _source_lacks(part, searched, words):
        return Says.DECLINES
    return Says.NOTHING if _says_nothing(part, words) else Says.STATES


def _source_lacks(part: str, searched: str, words: Phrases) -> bool:
    """Return whether a source other than the thing that is lacking is named: "no information is passed on" names none."""
    lacking = words.lacks.search(searched)
    if lacking is None:
        return False
    return any(not lacking[0].endswith(source[0]) for source in words.sources.finditer(part))


def _says_nothing(part: str, words: Phrases) -> bool:
    if ASKS.search(part.strip()) or words.fillers.search(part):
        return True
    if words.only.search(part) and words.sources.search(part) and not re.search(r"\d", part):
        return True
    if words.is_english or not words.least_letters:
        return len(wording(part).content) + part.count(QUOTE) < LEAST_WORDS
    stating = [word for word in part.split()
               if len(word.strip(".,!?;:।()")) >= words.least_letters or QUOTE in word or re.search(r"\d", word)]
    return len(stating) < LEAST_WORDS
