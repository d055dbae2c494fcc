"""Names held against names: forms of one that differ in case, articles or separators are the same."""

from __future__ import annotations

import re
import unicodedata

from rageval_spark.prompts.language import UNSPACED, normalised

ARTICLE = re.compile(r"^(?:the|a|an|der|die|das|le|la|les|el|los|las|il|lo|gli|de|het|o|os|as)\s+(?=\S)")
SEPARATOR = re.compile(r"(?<=\d)[,'’](?=\d{3}(?!\d))")
GROUPED = re.compile(r"(?<![\d.,])\d{1,3}([. ])\d{3}(?:\1\d{3})+(?!\d)")
"""A number whose thousands are set apart by points or spaces: two groups at least, as one may be decimals or another number."""


def norm(text: str) -> str:
    """A name or text as it is compared: NFKC, casefolded, ASCII digits without separators of thousands, spaces collapsed,
    no article or punctuation at its ends."""
    digits = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in normalised(text))
    whole = GROUPED.sub(lambda number: number[0].replace(number[1], ""), digits)
    bare = _stripped(SEPARATOR.sub("", whole))
    return _stripped(ARTICLE.sub("", bare))


def _stripped(text: str) -> str:
    start, end = 0, len(text)
    while start < end and not _said(text[start]):
        start += 1
    while end > start and not _said(text[end - 1]):
        end -= 1
    return text[start:end]


def _said(char: str) -> bool:
    """Whether a character at the end of a name belongs to it: no punctuation or space, but signs such as € and % do."""
    return unicodedata.category(char)[0] not in "PZC" or char in "%°#&"


def occurs(name: str, text: str) -> bool:
    """Whether a name (as `norm` gives it) stands in such a text as whole words; in scripts without spaces anywhere."""
    before = rf"(?<![^\W{UNSPACED}])" if re.match(rf"[^\W{UNSPACED}]", name) else ""
    after = rf"(?![^\W{UNSPACED}])" if re.search(rf"[^\W{UNSPACED}]$", name) else ""
    return re.search(before + re.escape(name) + after, text) is not None
