"""Words marked in texts: those of an answer that no context has, and those of contexts that the answer has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from markupsafe import Markup, escape

from rageval_spark.judges.lexical import FUNCTION_WORDS, UNSPACED_TEXT, WORD, wording

MOST_WORDS = 1000


def words(text: str) -> list[str]:
    """The words of a text by their stems, each once, without those that say nothing of its subject."""
    return list(dict.fromkeys(wording(text).content))[:MOST_WORDS]


def absent(text: str, contexts: Sequence[str]) -> list[str]:
    """The words and numbers of a text that stand in no context."""
    there = {word for context in contexts for word in wording(context).words}
    return [word for word in words(text) if word not in there]


def marked(text: str, wanted: Set[str], kind: str) -> Markup:
    """The text, escaped, with these words in <mark class=kind>; neighbours share one."""
    parts, end = [], 0
    for start, stop in _joined(text, wanted):
        parts += [escape(text[end:start]), Markup('<mark class="{}">{}</mark>').format(kind, text[start:stop])]
        end = stop
    return Markup("").join([*parts, escape(text[end:])])


def _joined(text: str, wanted: Set[str]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for start, stop in _spans(text, wanted):
        if last and not text[last[1]:start].strip():
            last = (last[0], stop)
            continue
        if last:
            yield last
        last = (start, stop)
    if last:
        yield last


def _spans(text: str, wanted: Set[str]) -> Iterator[tuple[int, int]]:
    """Where the words are. Of unspaced scripts a word is a pair of characters, so that pairs may overlap."""
    for found in WORD.finditer(text):
        word, start = found[0].casefold(), found.start()
        if UNSPACED_TEXT.match(word) and len(word) > 1:
            hits = [place for place in range(len(word) - 1) if word[place:place + 2] in wanted]
            end = 0
            for place in hits:
                yield start + max(place, end), start + place + 2
                end = place + 2
        elif any(stem in wanted and stem not in FUNCTION_WORDS for stem in wording(word).words):
            yield start, found.end()
