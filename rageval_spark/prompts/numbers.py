"""Numbers in a text: where they are, and which of them are equal however they are written."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

DECIMAL_COMMA = frozenset((
    "bg", "ca", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hr", "hu", "id", "is", "it", "lt", "lv", "nb", "nl", "nn", "no",
    "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr", "uk", "vi",
))  # fmt: skip
"""Languages that write 3,5 and 1.200 for 3.5 and 1,200."""
SPACED_THOUSANDS = frozenset((
    "bg", "cs", "et", "fi", "fr", "hu", "lt", "lv", "nb", "nn", "no", "pl", "ru", "sk", "sv", "uk",
))  # fmt: skip
"""Languages that write 1 200 for 1,200, with an ordinary space where no narrow one is at hand."""

MINUS = "\u2212\u2010\u2011\u2012\u2013-"  # the hyphen last: elsewhere in a set it would make a range
NUMBER = re.compile(
    rf"(?<![\w.,])(?P<sign>[+{MINUS}](?=[.\d\u20a0-\u20bf$£¥]))?(?P<currency>[$£¥\u20a0-\u20bf])?"
    r"(?P<digits>\.?\d+(?:[.,'’:/]\d+)*)(?:\s?(?P<unit>[%‰‱]))?"
)
"""A number with its sign, currency and per cent; also dates, times, fractions and versions, which are one token each."""
GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:[\u00a0\u2007\u2009\u202f]\d{3})+(?!\d)")
GROUPED_BY_SPACES = re.compile(r"(?<![\d.,] )(?<![\d.,])\d{1,3}(?: \d{3})+(?! ?\d)")
RANGE = re.compile(rf"(?<=\d)\s?[{MINUS}]\s?(?=\d)")
INVISIBLE = re.compile(r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
POWER = re.compile(r"(?<=\d)[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
VULGAR = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞↉])")
MOST_DIGITS = 60
"""A longer run of digits is an identifier, and compared as it is written."""


def compatible(text: str) -> str:
    """NFKC without invisible characters, in which no number becomes another: 10² stays apart from 102, 5½ from 51/2.

    Digits of all scripts become ASCII, and spaces that group digits are left out.
    """
    text = GROUPED.sub(lambda match: re.sub(r"\D", "", match[0]), INVISIBLE.sub("", text))
    text = POWER.sub(lambda match: "^" + match[0].translate(SUPERSCRIPTS), text)
    text = unicodedata.normalize("NFKC", VULGAR.sub(" ", text)).replace("\u2044", "/")
    text = text.replace("\u066b", ".").replace("\u066c", ",")  # the Arabic decimal and thousands separators
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


def unify_numbers(text: str, language: str | None) -> str:
    """Write each number of a text (as `compatible` returns it) in one way: 1,200.50 and 1.200,5 (German) as 1200.5.

    `language` is an ISO 639-1 code. It decides what "1.200" and "1,200" mean; None reads them as English does. The
    signs of numbers, per cent and currencies stay. Dates, versions and numbers with leading zeros stay as they are.
    """
    if language in SPACED_THOUSANDS:
        text = GROUPED_BY_SPACES.sub(lambda match: match[0].replace(" ", ""), text)
    text = RANGE.sub(_range, text)
    return NUMBER.sub(lambda match: _unified(match, language in DECIMAL_COMMA), text)


def _range(match: re.Match[str]) -> str:
    """A dash between two numbers without spaces, or with one on either side, joins them; "5 -3" is no range."""
    dash = match[0]
    return dash if dash[0].isspace() != dash[-1].isspace() else "–"


def _unified(match: re.Match[str], decimal_comma: bool) -> str:
    sign = "-" if match["sign"] and match["sign"] in MINUS else ""
    value = _value(match["digits"], decimal_comma)
    return f"{sign}{match['currency'] or ''}{value}{match['unit'] or ''}"


def _value(digits: str, decimal_comma: bool) -> str:
    """The digits of one number in plain decimal notation, or unchanged where they are a date, a version or an identifier."""
    plain = digits.replace("’", "'")
    if len(plain) > MOST_DIGITS or re.search("[:/]", plain):
        return digits
    marks = re.findall(r"[.,']", plain)
    whole, decimals = plain, ""
    if marks and _is_decimal(plain, marks, decimal_comma):
        whole, _, decimals = plain.rpartition(marks[-1])
        marks = marks[:-1]
    if marks and not _is_grouped(whole, marks):
        return digits
    whole = re.sub(r"\D", "", whole) or "0"
    if len(whole) > 1 and whole.startswith("0"):
        return digits
    number = Decimal(f"{whole}.{decimals or 0}")
    return f"{number.normalize():f}"


def _is_decimal(digits: str, marks: list[str], decimal_comma: bool) -> bool:
    """Whether the last mark separates decimals."""
    last = marks[-1]
    if last == "'" or marks.count(last) > 1:
        return False
    if len(marks) > 1:
        return True
    whole, _, decimals = digits.rpartition(last)
    if len(decimals) != 3 or not 1 <= len(whole) <= 3 or whole == "0":
        return True
    return (last == ",") is decimal_comma


def _is_grouped(whole: str, marks: list[str]) -> bool:
    """Whether one mark groups all digits by three, or by two but for the last three as in India (12,34,567)."""
    if len(set(marks)) > 1:
        return False
    first, *groups = re.split(r"[.,']", whole)
    by_three = len(first) <= 3 and all(len(group) == 3 for group in groups)
    by_two = len(first) <= 2 and all(len(group) == 2 for group in groups[:-1]) and len(groups[-1]) == 3
    return bool(first) and (by_three or (by_two and marks[0] == ","))
