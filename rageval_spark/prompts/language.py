"""The language of a text and its sentences, words and normal form.

Languages are named by script and, within a script, by `py3langid`: a kept library with 139 languages, 0.03 ms a text, no download.
It takes 76 MB and a second to load, so that plain English, decided by its commonest words, does without.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import sentencex

from rageval_spark.prompts.abbreviations import ORDINALS, Abbreviations, abbreviations_of
from rageval_spark.prompts.numbers import compatible

LETTER = re.compile(r"[^\W\d_]")
HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
KANA = re.compile(r"[\u3040-\u30ff]")
HANGUL = re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")
SCRIPTS: Mapping[str, tuple[re.Pattern[str], tuple[str, ...]]] = {
    name: (re.compile(f"[{ranges}]"), tuple(languages.split())) for name, ranges, languages in (
        ("Latin", r"A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff",
         "en de fr es it pt ca nl pl cs sk sl hr ro hu tr sv da no fi et lv lt vi id sq"),
        ("Cyrillic", r"\u0400-\u052f", "ru uk bg be sr mk kk ky mn"),
        ("Arabic", r"\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff", "ar fa ur ps"),
        ("Devanagari", r"\u0900-\u097f", "hi mr ne"),
        ("Bengali", r"\u0980-\u09ff", "bn as"),
        ("Thai", r"\u0e00-\u0e7f", "th"), ("Hebrew", r"\u0590-\u05ff", "he"), ("Greek", r"\u0370-\u03ff\u1f00-\u1fff", "el"),
        ("Armenian", r"\u0530-\u058f", "hy"), ("Georgian", r"\u10a0-\u10ff", "ka"), ("Ethiopic", r"\u1200-\u139f", "am"),
        ("Gurmukhi", r"\u0a00-\u0a7f", "pa"), ("Gujarati", r"\u0a80-\u0aff", "gu"), ("Tamil", r"\u0b80-\u0bff", "ta"),
        ("Telugu", r"\u0c00-\u0c7f", "te"), ("Kannada", r"\u0c80-\u0cff", "kn"), ("Malayalam", r"\u0d00-\u0d7f", "ml"),
        ("Sinhala", r"\u0d80-\u0dff", "si"), ("Lao", r"\u0e80-\u0eff", "lo"), ("Burmese", r"\u1000-\u109f", "my"),
        ("Khmer", r"\u1780-\u17ff", "km"),
    )
}  # fmt: skip
"""Script → its characters, and the languages that a text in it may be in."""
LANGUAGE_NAMES: Mapping[str, str] = {
    "am": "Amharic", "ar": "Arabic", "as": "Assamese", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian",
    "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh",
    "km": "Khmer", "kn": "Kannada", "ko": "Korean", "ky": "Kyrgyz", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian",
    "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi", "my": "Burmese", "ne": "Nepali", "nl": "Dutch",
    "no": "Norwegian", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "ta": "Tamil",
    "te": "Telugu", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
_ENGLISH = "the and of from with this that which what are have has does how when where you your their"
ENGLISH_WORDS = frozenset(_ENGLISH.split())
"""Words of nearly every English text and of no other language's."""
_OTHERS = "de la le les el los il di der das den und ist nicht von een het van na nie jest på och att och er ikke det em não que una um"
OTHER_LATIN_WORDS = frozenset(_OTHERS.split())
"""Common words of other languages: a text with one of them may quote English."""
_STARTERS = ("the it he she they we i you this that these those there in on at as if but and so when while for to a an is are not"
             " er sie es das der die den dem ein eine wir ich il elle le la les un une ce cette on el los las ella este esta o os as"
             " ele ela lo gli questa questo ona ono to jest de het een hij zij det den han hon он она оно они это в на и но")
SENTENCE_STARTERS = frozenset(_STARTERS.split())
"""Words that begin a sentence after a single letter ("vitamin C. It is …") and no name ("G. Verdi")."""
NO_PROSE = re.compile(r"https?://\S+|`[^`]*`|[\w.+-]{1,64}@\S+")
LEAST_PROBABILITY = 0.45
"""Probability below which the language of a text stays unsure. "DNS TTL" has 0.09, "Non lo so." 0.68."""
READ = 4000
"""Characters of a text that its language is read from."""

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
_NO_STOP = re.compile(rf"(?<![{_STOPS}])[{_STOPS}]{{1,9}}[{_CLOSERS}]{{1,9}}(?=[,;:])|(?<!\S)\.(?=\w)")
_GLUED = re.compile(r"(?:^|[\s(])[a-zß-ÿа-я]{2,}\.$")
_TITLE = re.compile(r"[A-ZÀ-ÞА-Я][a-zß-ÿа-я]*(?:[\s,]|$)")
_JAPANESE_QUOTATION = re.compile(r"(?:と|って|という|との|など)")
UNIT = re.compile(r"(?<=\d) ?(?:[^\W\d_]{1,2}|[^\W\d_]{0,3}[A-Z][^\W\d_]{0,3}(?<![A-Z][a-z]{2})(?<![A-Z][a-z]{3}))(?!\w)")
"""A short word behind a number, unless only its first letter is a capital: "MW", "kWh", "m", not "Days"."""


@lru_cache(maxsize=4096)  # every prompt over a sample asks it of the same question
def prompt_language(text: str) -> str:
    """"zh" for a text that is written in Chinese, else "en": the languages that prompts are worded in."""
    han, others = len(HAN.findall(text)), len(re.findall(r"[^\W\d_\u3400-\u9fff\uf900-\ufaff]+", text))
    return "zh" if han > 1.5 * others and not KANA.search(text) else "en"


@lru_cache(maxsize=4096)
def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code of a text's language, or None if it is unsure.

    Deterministic. Unsure are texts without letters, of few words that several languages have, and in mixed scripts.
    """
    text = NO_PROSE.sub(" ", text[:READ])
    name, share = _main_script(text)
    if name == "Han":
        return "ja" if len(KANA.findall(text)) * 20 >= len(HAN.findall(text)) and KANA.search(text) else "zh"
    if name in ("Kana", "Hangul"):
        return "ja" if name == "Kana" else "ko"
    if share < 0.6:
        return None
    languages = SCRIPTS[name][1]
    if len(languages) == 1:
        return languages[0]
    if name == "Latin" and _is_plain_english(text):
        return "en"
    probabilities: Counter[str] = Counter()
    for language, probability in _identifier().rank(text):
        language = "no" if language in ("nb", "nn") else language
        if language in languages:
            probabilities[language] += probability
    best, probability = probabilities.most_common(1)[0]
    return best if probability >= LEAST_PROBABILITY * probabilities.total() else None


def _is_plain_english(text: str) -> bool:
    words = re.findall(r"[^\W\d_]+", text.lower())
    hits = [word for word in words if word in ENGLISH_WORDS]
    return len(set(hits)) > 1 and len(hits) * 8 >= len(words) and OTHER_LATIN_WORDS.isdisjoint(words)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def language_name(text: str) -> str | None:
    """Return the English name of the text's language, or None if it is unsure."""
    language = detect_language(text)
    return LANGUAGE_NAMES[language] if language else None


def script(text: str) -> str:
    """Return the script of most letters: "Han", "Kana", "Hangul" or a name in SCRIPTS; "Latin" if there are none."""
    return "Latin" if text.isascii() else _main_script(text)[0]


def _main_script(text: str) -> tuple[str, float]:
    """Return the script of most letters and its share of them.

    Signs of Chinese, Japanese and Korean stand for more than a letter each: a quarter is enough for them.
    """
    letters = len(LETTER.findall(text))
    if not letters:
        return "Latin", 0.0
    for name, pattern in (("Kana", KANA), ("Hangul", HANGUL), ("Han", HAN)):
        if (count := len(pattern.findall(text))) * 4 > letters:
            return name, count / letters
    counts = {name: len(pattern.findall(text)) for name, (pattern, _) in SCRIPTS.items()}
    name = max(counts, key=lambda name: counts[name])
    return (name, counts[name] / letters) if counts[name] * 4 > letters else ("Latin", 0.0)


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
    # After a single letter sentencex never splits, after a digit it does.
    return _WORD_AT_STOP.sub(lambda match: "5" * len(match[0]) if _is_ours(match, known) else match[0], plain)


def _is_ours(word: re.Match[str], known: Abbreviations) -> bool:
    """Whether `_goes_on` decides about the stop after a word, and not sentencex: "No. 5", but "No. It is closed."."""
    if len(word[2]) == 1 or word[2].casefold() == "no" or word[2].casefold() in known.numbered:
        return True
    return bool(word[1] is not None and _is_unit(word[2].casefold(), known))


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
    if ".-" in word or (after.startswith("-") and not before[-1].isspace()):
        return True  # J.-J. Rousseau
    if first.isdigit() and word in known.numbered:
        return True
    if _LETTER_ALONE.match(before):
        return bool(_NAME.match(after))  # "a. Open the lid", "G. Verdi"
    if len(last[1]) == 1 and last[1].isupper() and first.isalpha() and not first.islower() and not (language == "en" and last[1] == "I"):
        return (name := _NAME.match(after)) is not None and name[1].lower() not in SENTENCE_STARTERS
    if first.islower() and (word in known.inner or dotted in known.inner or "." in word or (len(word) == 1 and word.isalpha())):
        return True
    if language in ORDINALS and _ORDINAL.search(before):
        return first.islower() or (language == "de" and bool(_AFTER_ARTICLE.search(before) or _GERMAN_ROMAN.search(before)))
    return False


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
