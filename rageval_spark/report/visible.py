"""Texts of users as people may safely see them, on a page or at a terminal."""

from __future__ import annotations

import re

UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that turn, hide or break text, or act on a terminal: shown by their numbers."""
LONGEST = 400


def visible(text: str) -> str:
    """The text without a character that is not seen but acts."""
    return UNSEEN.sub(_numbered, text)


def cut(text: str, most: int = LONGEST) -> str:
    """The beginning of a text that is too long for a line, and how much follows."""
    return text if len(text) <= most + 40 else f"{text[:most]} … [{len(text) - most:,} more characters]"


def _numbered(found: re.Match[str]) -> str:
    return f"⟨U+{ord(found[0]):04X}⟩"
