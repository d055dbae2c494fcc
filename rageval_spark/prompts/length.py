"""How long a prompt is, and how contexts are divided over several: a fixed estimate, the same every night."""

from __future__ import annotations

from collections.abc import Sequence

Text = tuple[int, str]

INSTRUCTION_TOKENS = 900
"""Kept free for the system text and the longest instruction."""
LEAST_ROOM = 200
OVERLAP = 0.1


def tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its UTF-8 bytes, rounded up."""
    return (len(text) if text.isascii() else len(text.encode())) // 4 + 1


def room(token_limit: int, *others: str) -> int:
    """Tokens left for contexts beside the instruction and these other texts."""
    return max(LEAST_ROOM, token_limit - INSTRUCTION_TOKENS - sum(tokens(text) for text in others))


def packed(chunks: Sequence[Text], room: int, most: int | None = None) -> tuple[list[tuple[Text, ...]], bool]:
    """Groups of whole chunks within `room` tokens and `most` items each, and whether length forced a division.

    A chunk that is longer than the room is cut into overlapping pieces under its own id; no group holds an id twice.
    Without chunks there is one empty group.
    """
    pieces = [(id, piece) for id, text in chunks for piece in _pieces(text, room)]
    groups: list[list[Text]] = [[]]
    used, forced = 0, len(pieces) > len(chunks)
    for id, text in pieces:
        size = tokens(text)
        full = most is not None and len(groups[-1]) >= most
        if groups[-1] and (full or used + size > room or any(id == other for other, _ in groups[-1])):
            forced |= used + size > room
            groups.append([])
            used = 0
        groups[-1].append((id, text))
        used += size
    return [tuple(group) for group in groups], forced


def _pieces(text: str, room: int) -> list[str]:
    pieces, start = [], 0
    while tokens(text[start:]) > room:
        most = text[start : start + 4 * room].encode()[: 4 * room - 1].decode(errors="ignore")
        end = start + max(1, len(most))
        back = start + max(1, int(len(most) * (1 - OVERLAP)))
        end = _between_words(text, back, end)
        pieces.append(text[start:end])
        start = _between_words(text, start + 1, back)
    return [*pieces, text[start:]]


def _between_words(text: str, low: int, high: int) -> int:
    """The last place from `low` to `high` that cuts no word, lest "1889" be read as "188"; `high` where none does."""
    gap = max(text.rfind(" ", low, high), text.rfind("\n", low, high))
    return gap if gap >= 0 else high
