"""Wording of the user's own, in place of the instruction that a kind of prompt has in a language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rageval_spark.prompts.kinds import KINDS
from rageval_spark.prompts.rendering import PLACE, SYSTEM

Wording = Mapping[str, Mapping[str, str]]
"""Instruction by kind and language."""


def wording_of(given: Any) -> dict[str, dict[str, str]]:
    """Texts by kind and language, from such a mapping or from a folder of files `<kind>.<language>.txt`.

    Raises ValueError, which names the file or entry and what is possible: where there is no such kind or language, or a
    text is blank or has other places than the built-in one.
    """
    texts: dict[str, dict[str, str]] = {}
    for where, kind, language, text in _entries(given) if isinstance(given, Mapping) else _files(given):
        if kind not in KINDS:
            raise ValueError(f"{where}: no kind of prompt is called {kind!r}; the kinds are {', '.join(KINDS)}")
        if language not in SYSTEM:
            raise ValueError(f"{where}: no prompts are worded in {language!r}; the languages are {', '.join(SYSTEM)}")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{where} is blank; it takes the place of a whole instruction, which "
                             f"`rageval prompts show {kind}` prints")
        needed, found = (set(PLACE.findall(one)) for one in (KINDS[kind].wording[language], text))
        if needed != found:
            wrong = [f"it lacks {_places(needed - found)}"] * bool(needed - found)
            wrong += [f"there is no {_places(found - needed)} to fill in"] * bool(found - needed)
            raise ValueError(f"{where}: {' and '.join(wrong)}; this text has {_places(needed) or 'no places'}")
        texts.setdefault(kind, {})[language] = text
    return texts


def builtin() -> Iterator[tuple[str, str, str]]:
    """Kind, language and text of each wording there is."""
    return ((kind, language, text) for kind, prompt in KINDS.items() for language, text in prompt.wording.items())


def file_name(kind: str, language: str) -> str:
    return f"{kind}.{language}.txt"


def _entries(given: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    for kind, texts in given.items():
        if not isinstance(texts, Mapping):
            raise ValueError(f"{kind} holds texts by language ({', '.join(SYSTEM)}), found {texts!r}")
        yield from ((f"{kind}.{language}", kind, language, text) for language, text in texts.items())


def _files(given: Any) -> Iterator[tuple[str, str, str, str]]:
    expected = f"files named <kind>.<language>.txt, such as {file_name('verify_claims', 'en')}; `rageval prompts export` makes them"
    if not isinstance(given, (str, Path)):
        raise ValueError(f"takes a folder of {expected}")
    folder = Path(given)
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}; it is to hold {expected}")
    files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
    if not files:
        raise ValueError(f"{folder} is empty; it is to hold {expected}")
    for file in files:
        kind, _, rest = file.name.partition(".")
        language, _, ending = rest.rpartition(".")
        if ending != "txt" or not language or not file.is_file():
            raise ValueError(f"{file} is not expected; the folder holds {expected}")
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{file} cannot be read: {error}") from None
        yield str(file), kind, language, text.rstrip("\n")  # editors end a file with a line break


def _places(names: set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))
