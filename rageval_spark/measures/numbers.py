"""Numbers in texts: sign, value and per cent, as each language writes them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from rageval_spark.prompts.detection import LETTER, detect_language

COMMA_LANGUAGES = frozenset({
    "be", "bg", "ca", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hr", "hu", "hy", "id", "it", "ka", "kk", "ky", "lt", "lv",
    "mk", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sq", "sr", "sv", "tr", "uk", "vi",
})  # fmt: skip
"""Languages that write a comma before decimals, and a point, a space or an apostrophe between thousands."""
SPACED_LANGUAGES = frozenset({"bg", "be", "cs", "et", "fi", "fr", "hu", "kk", "lt", "lv", "no", "pl", "pt", "ru", "sk", "sv",
                              "uk"})  # fmt: skip
"""Languages that write a plain space between thousands."""
_DIGITS = r"\d+(?:[.,'’\u066b\u066c]\d+)*"
_SPACED = r"(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d+)?"
_FIXED_SPACE = re.compile(r"(?<=\d)[\u00a0\u202f\u2009\u2007](?=\d{3}(?!\d))")
_SIGN = r"(?:(?<![^\s(\[{\"'“„«=~<>])[-+±])?"
_CURRENCY = r"[$€£¥₹₩₽₺₴]?"
_EXPONENT = r"(?:e[+-]?\d{1,2}(?![\d.]))?"
_PART = r"(?:{spaced}" + _DIGITS + r"|(?<![\w.,])\.\d+)"
_PATTERN = "(" + _SIGN + ")(" + _CURRENCY + ")(" + _PART + _EXPONENT + r"(?:(?:\^-|[/:\-–×^])" + _DIGITS + r")*)(\s?[%‰٪])?"
NUMBER = re.compile(_PATTERN.replace("{spaced}", ""), re.I)
NUMBER_SPACED = re.compile(_PATTERN.replace("{spaced}", _SPACED + "|"), re.I)
_JOINT = re.compile(r"([/:\-–×^])")
MINUS = str.maketrans({"−": "-", "﹣": "-", "－": "-", "➖": "-", "‐": "-", "‑": "-", "٪": "%", "％": "%", "＋": "+"})


def to_ascii_digits(text: str) -> str:
    """Return the text with the digits of any script as 0 to 9, and one sign each for minus, plus, per cent and fixed spaces."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() and sign > "9" else sign
                   for sign in _FIXED_SPACE.sub("'", text.translate(MINUS)))


def replace_numbers(text: str, language: str | None, between: Callable[[str], str]) -> str:
    """Return the text with its numbers in canonical form, and what is between them passed through `between`."""
    parts: list[str] = []
    end = 0
    for number in _pattern(language).finditer(text):
        parts += [between(text[end:number.start()]), canonical(number, language)]
        end = number.end()
    return "".join([*parts, between(text[end:])])


def numbers_of(text: str, language: str | None) -> list[str]:
    """Return the numbers of a text in canonical form, without signs of currencies: those are compared as words."""
    numbers = _pattern(language).finditer(to_ascii_digits(text))
    return [canonical(number, language).replace(number[2] or "\0", "") for number in numbers]


def _pattern(language: str | None) -> re.Pattern[str]:
    return NUMBER_SPACED if language in SPACED_LANGUAGES else NUMBER


def canonical(number: re.Match[str], language: str | None) -> str:
    """Return sign, currency, value and per cent: "1.0" and "1" are "1", in German "1.200,50" is "1200.5"."""
    sign, currency, digits, percent = number.groups()
    parts = _JOINT.split(digits) if not re.fullmatch(r"[^/:×^–]*e[+-]?\d+", digits, re.I) else [digits]
    value = "".join("-" if part == "–" else part if _JOINT.fullmatch(part) else value_of(part, language) for part in parts)
    return ("" if sign == "+" else sign) + currency + value + (percent or "").strip()


def value_of(digits: str, language: str | None) -> str:
    """Return the plain value of digits with separators. Digits that are no decimal number ("1.2.3", "007") stay as they are."""
    plain = re.sub(r"[ '’\u066c](?=\d{3})", "", digits).replace("\u066b", ".")
    if len(plain) == len(digits) or "\u066b" not in digits:
        plain = _without_groups(plain, language)
    if len(plain) > 1 and plain[0] == "0" and plain.isdigit():
        return digits  # the number of a phone or an agent
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return digits.casefold()
    if not value.is_finite() or abs(value.adjusted()) > 40:
        return digits.casefold()
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") or "0" if "." in text else text


def _without_groups(digits: str, language: str | None) -> str:
    """Return digits with a point before decimals and nothing between thousands."""
    commas, points = digits.count(","), digits.count(".")
    if not commas and not points:
        return digits
    if commas and points:
        decimal = max(",.", key=digits.rfind)
        group = "." if decimal == "," else ","
        if digits.count(decimal) > 1 or not _is_grouped(digits[:digits.rfind(decimal)], group):
            return digits if decimal == "." else digits + "?"
        return digits.replace(group, "").replace(decimal, ".")
    separator = "," if commas else "."
    if commas + points > 1:
        return digits.replace(separator, "") if _is_grouped(digits, separator) else digits
    whole, rest = digits.split(separator)
    groups = "." if language in COMMA_LANGUAGES else ","
    if separator == groups and len(rest) == 3 and 0 < len(whole) <= 3 and whole[0] != "0":
        return whole + rest
    return f"{whole}.{rest}"


def _is_grouped(digits: str, separator: str) -> bool:
    """Return whether separators stand every three digits, or as in India: 12,34,567."""
    first, *rest = digits.split(separator)
    if not first.isdigit() or not rest or len(rest[-1]) != 3:
        return False
    return (len(first) <= 3 and len({len(group) for group in rest[:-1]} | {3}) == 1) or (
        len(first) <= 2 and all(len(group) == 2 for group in rest[:-1]))


def language_of_numbers(text: str, *others: str | None) -> str | None:
    """Return the language in which a text's numbers are read: its own, or for bare numbers that of the first of `others` with
    words; None if it is unsure."""
    for candidate in (text, *others):
        if candidate and LETTER.search(candidate) and (language := detect_language(candidate)):
            return language
    return None
