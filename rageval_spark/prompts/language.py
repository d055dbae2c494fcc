"""What can be told of a text's language from its characters and commonest words, without a model."""

from __future__ import annotations

import re
from functools import lru_cache

from rageval_spark.prompts.numbers import compatible

LETTER = re.compile(r"[^\W\d_]")
HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
KANA = re.compile(r"[\u3040-\u30ff]")
HANGUL = re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")
OTHER_SCRIPTS = {
    "Thai": re.compile(r"[\u0e00-\u0e7f]"), "Arabic": re.compile(r"[\u0600-\u06ff]"),
    "Hebrew": re.compile(r"[\u0590-\u05ff]"), "Hindi": re.compile(r"[\u0900-\u097f]"),
    "Greek": re.compile(r"[\u0370-\u03ff]"), "Russian": re.compile(r"[\u0400-\u04ff]"),
}  # fmt: skip
OF_ANOTHER_LANGUAGE = re.compile(r"[іїєґўјљњџћђ]|[پچژگکیٹڈڑے]", re.I)
"""Letters of Cyrillic and Arabic script that Russian and Arabic do not have: the language is then not known."""
COMMON_WORDS = {
    "English": "the is are was what how which who when where why does do did can of to in and for with",
    "German": "der die das ist sind war was wie welche wer wann wo warum kann von zu und für mit nicht ein eine",
    "French": "le la les est sont était que quel quelle comment qui quand où pourquoi de des et pour avec une dans",
    "Spanish": "el la los las es son era qué cuál cómo quién cuándo dónde por de del y para con una en",
    "Portuguese": "o a os as é são era que qual como quem quando onde por de do da e para com uma em não",
    "Italian": "il lo la gli è sono era che quale come chi quando dove perché di del e per con una in nel",
    "Dutch": "de het een is zijn was wat hoe welke wie wanneer waar waarom van en voor met niet in",
}
"""Language → words that occur in nearly every sentence of it and seldom in the others'."""

UNSPACED = r"\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\u0e00-\u0eff\u1780-\u17ff"
TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:['’.,-][^\W_{UNSPACED}]+)*")
SENTENCE = re.compile(r"[^.!?。！？؟।\n]*(?:[.!?](?!\s|$|[\"'”’)\]])[^.!?。！？؟।\n]*)*(?:[.!?。！？؟।]+[\"'”’)\]」』]*|\n|$)")


UNIT = re.compile(r"(?<=\d) ?(?:[^\W\d_]{1,2}|[^\W\d_]{0,3}[A-Z][^\W\d_]{0,3}(?<![A-Z][a-z]{2})(?<![A-Z][a-z]{3}))(?!\w)")
"""A short word behind a number, unless only its first letter is a capital: "MW", "kWh", "m", not "Days"."""


@lru_cache(maxsize=4096)  # every prompt over a sample asks it of the same question
def prompt_language(text: str) -> str:
    """"zh" for a text that is written in Chinese, else "en": the languages that prompts are worded in."""
    han, others = len(HAN.findall(text)), len(re.findall(r"[^\W\d_\u3400-\u9fff\uf900-\ufaff]+", text))
    return "zh" if han > 1.5 * others and not KANA.search(text) else "en"


def language_name(text: str) -> str | None:
    """The English name of the text's language; None where script and common words do not tell."""
    if KANA.search(text):
        return "Japanese"
    if HANGUL.search(text):
        return "Korean"
    if prompt_language(text) == "zh":
        return "Chinese"
    letters = len(LETTER.findall(text))
    for name, script in OTHER_SCRIPTS.items():
        if len(script.findall(text)) * 2 > letters:
            return None if OF_ANOTHER_LANGUAGE.search(text) else name
    words = set(re.findall(r"\w+", text.casefold()))
    hits = {name: len(words & set(common.split())) for name, common in COMMON_WORDS.items()}
    best = max(hits, key=lambda name: hits[name])
    return best if hits[best] > 1 and list(hits.values()).count(hits[best]) == 1 else None


def script(text: str) -> str:
    """The script of most letters: "Han", "Kana", "Hangul", one of OTHER_SCRIPTS or "Latin"."""
    if text.isascii():
        return "Latin"
    letters = len(LETTER.findall(text))
    for name, pattern in {"Kana": KANA, "Hangul": HANGUL, "Han": HAN, **OTHER_SCRIPTS}.items():
        if len(pattern.findall(text)) * 4 > letters:
            return name
    return "Latin"


def word_tokens(text: str) -> list[str]:
    """Words; in scripts without spaces each character is one."""
    return TOKEN.findall(text)


def sentences(text: str) -> list[str]:
    """Sentences of a text in any script, trimmed; a point within a number or name ends none."""
    return [part.strip() for part in SENTENCE.findall(text) if word_tokens(part)]


def normalised(text: str) -> str:
    """NFKC, casefolded, white space collapsed: texts that are equal so are the same claim or chunk.

    Invisible characters do not count, powers and fractions stay apart from other numbers (`numbers.compatible`), and a
    unit behind a number keeps its case: 5 MW is not 5 mW.
    """
    plain = " ".join(compatible(text).split())
    if plain.islower():
        return plain.casefold()
    parts, end = [], 0
    for unit in UNIT.finditer(plain):
        parts += [plain[end : unit.start()].casefold(), unit[0]]
        end = unit.end()
    return "".join([*parts, plain[end:].casefold()])


def detect_language(text: str) -> str | None:
    names = {"English": "en", "German": "de", "French": "fr", "Spanish": "es", "Portuguese": "pt", "Italian": "it", "Dutch": "nl"}
    return names.get(language_name(text) or "")
