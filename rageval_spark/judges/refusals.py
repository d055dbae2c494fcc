"""Which texts decline to answer, by the phrases that they are made of.

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
"""Characters of the longest text that can be a refusal. It keeps the time to match phrases in bounds."""
SHORT = 6
"""Words below which the language of a text is not certain: it may be any of its script."""
FEWEST = 3
"""Words from which a text of an unknown language may be a refusal in that language."""
ASKS = re.compile(r"[?？؟][\"'”’)\]」』]*$")
QUOTED = re.compile(
    r"\"[^\"]*\"|“[^“”]*”|„[^„“”]*[“”]|”[^“”]*“|«[^«»]*»|»[^«»]*«|「[^「」]*」|『[^『』]*』|《[^《》]*》"
    r"|(?<!\w)['‘](?:[^'’‘]|['’](?=\w))*['’](?!\w)")
QUOTE = "\ufffc"
"""What stands for a quotation. It counts as one word that states something."""
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
    """What a sentence does for an answer."""

    DECLINES = "declines"
    NOTHING = "nothing"
    STATES = "states"


@dataclass(frozen=True)
class Phrases:
    """The phrases of a language, compiled. In the files "…" stands for up to five words, "~" for up to one, `<name>` for
    the alternatives under `words`; a line of `refuses` and `lacks` is a pattern of its own."""

    refuses: re.Pattern[str]
    """What declines wherever it stands in a main clause."""
    lacks: re.Pattern[str]
    """What declines only if the sentence names a source: "does not include breakfast" is an answer."""
    sources: re.Pattern[str]
    apologies: re.Pattern[str]
    turns: re.Pattern[str]
    """Contrasts and consequences: an answer may follow them, as in "I am not sure, but it is 5 euros"."""
    conditions: re.Pattern[str]
    """Subordinate clauses up to their comma: a condition declines nothing."""
    reports: re.Pattern[str]
    """What others have said: it is an answer that they did not know."""
    fillers: re.Pattern[str]
    """Sentences that offer, ask for patience or speak of the assistant itself."""
    about: re.Pattern[str]
    """The persons of the conversation and its question."""
    only: re.Pattern[str]
    """"The documents only cover …" beside a refusal is a part of it."""
    denials: re.Pattern[str]
    """"Unfortunately not": a refusal unless the question can be answered by no."""
    open_questions: re.Pattern[str]
    """Words of questions that no does not answer."""
    least_letters: int
    """Letters from which a word states something; 0 counts pairs of characters."""
    is_english: bool
    digraphs: Sequence[Sequence[str]]

    def fold(self, text: str) -> str:
        """Return the text as patterns are matched with it."""
        return _replaced(_plain(text.casefold()), self.digraphs)


LANGUAGES: tuple[str, ...] = tuple(sorted(
    file.name.removesuffix(".yaml") for file in resources.files(__package__).joinpath("phrases").iterdir()
    if file.name.endswith(".yaml")))  # fmt: skip
"""ISO 639-1 codes of the languages whose refusals are known."""


def names() -> str:
    """The English names of LANGUAGES, for messages."""
    return ", ".join(sorted(LANGUAGE_NAMES[language] for language in LANGUAGES))


@cache
def phrases(language: str) -> Phrases:
    """Read the phrases of one of LANGUAGES."""
    text = resources.files(__package__).joinpath("phrases").joinpath(f"{language}.yaml").read_text(encoding="utf-8")
    data: Mapping[str, Any] = yaml.safe_load(text)
    spaced = data.get("spaced", True)
    digraphs: Sequence[Sequence[str]] = data.get("replace", ())
    start, end = (r"(?<!\w)", r"(?!\w)") if spaced else ("", "")

    def compiled(pattern: str) -> re.Pattern[str]:
        for name, words in (*data["words"].items(), *data["words"].items()):  # words may use words
            pattern = pattern.replace(f"<{name}>", f"(?:{words})")
        pattern = pattern.replace("… ", GAP).replace("~ ", WORD)
        return re.compile(_replaced(_plain(pattern, keep="*#>_`"), digraphs), re.I)

    def whole(alternatives: str) -> str:
        return rf"{start}(?:{alternatives}){end}"

    def lines(name: str) -> re.Pattern[str]:
        return compiled(whole("|".join(line.strip() for line in data[name].splitlines() if line.strip())))

    contrasts, comma = whole(data["contrasts"]), r"(?:^|[,;،，] ?(?:and |und |et |y |e |en |i |и |و)?)" if spaced else ""
    reports = rf"^.*{whole(data['reports'])}" if data.get("verb_final") else rf"{whole(data['reports'])}.*"
    opens = r"(?:^|[,;،，(]|\s)\s*" if spaced else r"(?:^|[,;，、])\s*"
    return Phrases(
        lines("refuses"), lines("lacks"), compiled(whole(data["sources"])), compiled(whole(data["apologies"])),
        compiled(rf"{contrasts}|{comma}{whole(data['consequences'])}|[;；]"),
        compiled(rf"{opens}(?:{data['conditions']}){end}[^,;:，；、،]*"), compiled(reports), compiled(whole(data["fillers"])),
        compiled(whole(data["about"])), compiled(whole(data["only"])), compiled(rf"^\W*(?:{data['denials']})\W*$"),
        compiled(whole(data["open_questions"])), data.get("least_letters", 4), language == "en", digraphs)


def _plain(text: str, keep: str = "") -> str:
    """Return the text without accents and marks, in the letters that people also type in their place. `keep`: what is
    syntax in a pattern."""
    folded = unicodedata.normalize("NFKD", text).translate(SAME_LETTERS)
    return unicodedata.normalize("NFC", MARKS.sub(lambda found: found[0] if found[0] in keep else "", folded))


def _replaced(text: str, pairs: Sequence[Sequence[str]]) -> str:
    for written, letter in pairs:
        text = text.replace(written, letter)
    return text


def refused(text: str, question: str = "") -> bool | None:
    """Return whether a text declines: a sentence of it declines, and the others only ask, offer help or say next to nothing.

    None if that is unknown: no phrase is in the text, and its language is none of LANGUAGES, or unsure.
    """
    if len(text) > LONGEST:
        return False
    languages, certain = languages_of(text, question)
    if any(_declines(text, question, phrases(language)) for language in languages):
        return True
    return False if certain else None


def languages_of(text: str, question: str = "") -> tuple[list[str], bool]:
    """Return the languages that a text may be in, of those in LANGUAGES, and whether there can be no other.

    A text of too few words to know takes the language of its question.
    """
    words = sum(not word.isdecimal() for word in word_tokens(text))
    language = detect_language(text)
    if language is None:
        language = detect_language(question) or detect_language(f"{question} {text}")
    if language in LANGUAGES and words >= SHORT:
        return [language], True
    name = {"Han": "zh ja", "Kana": "ja", "Hangul": "ko"}.get(script(text))
    candidates = name.split() if name else SCRIPTS[script(text)][1]
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
        said = _says(sentence, words)
        if said is Says.STATES:
            return False
        any_declines |= said is Says.DECLINES
    return any_declines


def _unquoted(text: str) -> str:
    """Return the text with a sign in place of each quotation; a text that is nothing but a quotation loses its quotes."""
    without = QUOTED.sub(f" {QUOTE} ", text)
    if re.search(r"\w", without):
        return without
    return text.strip().strip("\"“”„«»「」『』‘’'")


def _says(sentence: str, words: Phrases) -> Says:
    """Return what a sentence says. The parts before and after "but" or ", so" each count.

    What stands before "but" counts only if it neither speaks of the conversation nor of its sources: "The handbook mentions
    the pass, but it does not say what it costs" declines.
    """
    text = words.fold(sentence)
    apologizes = bool(words.apologies.search(text))
    text = words.apologies.sub(" ", text, count=1) if apologizes else text
    parts = _parts(text, words)
    results = [_part_says(part, words) for part in parts]
    if Says.DECLINES not in results:
        return Says.DECLINES if apologizes and Says.STATES not in results else max(results, key=list(Says).index)
    first = results.index(Says.DECLINES)
    before = any(result is Says.STATES and _is_of_the_matter(part, words)
                 for part, result in zip(parts[:first], results[:first], strict=True))
    return Says.STATES if before or Says.STATES in results[first:] else Says.DECLINES


def _is_of_the_matter(part: str, words: Phrases) -> bool:
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
    """Return whether a source lacks something: in "no information is passed on" the information is not the source."""
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
