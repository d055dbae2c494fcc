"""A sample: one question with its contexts, answer, reference …, read from whatever form the dataset has."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rageval_spark.errors import SampleFault

ALIASES: Mapping[str, tuple[str, ...]] = {
    "sample_id": ("id", "data_id"),
    "user_input": ("question", "prompt", "query"),
    "response": ("answer", "content", "output"),
    "retrieved_contexts": ("contexts", "context", "retrieved_chunks"),
    "reference": ("ground_truth", "ground_truths", "expected_output", "expected_response"),
    "retrieved_ids": ("retrieved_context_ids",),
    "relevant_ids": ("reference_context_ids", "relevant_chunk_ids"),
}
"""Other names of the sample fields, taken in this order when a config maps nothing."""


@dataclass(frozen=True)
class Sample:
    """Fields are None where the data has no value; a blank text is a value (the system produced nothing).

    `retrieved_contexts` keeps blank chunks as "" so that ranks hold. `reference` holds one text or several.
    `history` is a tuple of (role, text), oldest first. `relevance` has the grade of each id (relevant above 0); data that
    has grades under `relevant_ids` is read so too.
    """

    sample_id: str = ""
    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: tuple[str, ...] | None = None
    reference: tuple[str, ...] | None = None
    history: tuple[tuple[str, str], ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None
    retrieved_scores: tuple[float, ...] | None = None
    relevant_ids: tuple[str, ...] | None = None
    relevance: Mapping[str, float] | None = None
    should_refuse: bool | None = None
    messages: Sequence[Any] | None = None
    tools: Sequence[Any] | None = None
    tool_calls: Sequence[Any] | None = None
    reference_tool_calls: Sequence[Any] | None = None
    reference_goal: str | None = None
    reference_turns: int | None = None

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Sample:
        """A sample from values under field names or aliases; surplus names are ignored.

        Raises SampleFault naming the field for a value that cannot be read as the field's type.
        """
        found = {name: values[source] for name, source in fields_found(values).items()}
        read = {name: _read(name, value) for name, value in found.items() if value is not None}
        if isinstance(grades := read.get("relevant_ids"), Mapping):
            read.setdefault("relevance", grades)
            read["relevant_ids"] = tuple(id for id, grade in grades.items() if grade > 0)
        return cls(**read)

    @property
    def reference_text(self) -> str:
        """All reference texts, one under the other; blank where there is none."""
        return "\n".join(text for text in self.reference or () if text.strip())

    @property
    def spoken(self) -> tuple[str | None, ...]:
        """The texts that tell the language of a sample, the surest first."""
        contents = (one.get("content") for one in self.messages or () if isinstance(one, Mapping))
        said = next((text for text in contents if isinstance(text, str) and text.strip()), None)
        return self.user_input, self.response, said

    @property
    def has_question(self) -> bool:
        return not blank(self.user_input)

    @property
    def has_context(self) -> bool:
        return any(not blank(text) for text in self.retrieved_contexts or ())


def fields_found(names: Mapping[str, Any] | Sequence[str]) -> dict[str, str]:
    """Sample field → the name it goes by among `names`: its own name first, then its aliases in order."""
    found = {}
    for field in FIELDS:
        source = next((name for name in (field, *ALIASES.get(field, ())) if name in names), None)
        if source is not None:
            found[field] = source
    return found


def known_names() -> list[str]:
    """Every name that a sample's field may go by."""
    return [name for field in FIELDS for name in (field, *ALIASES.get(field, ()))]


def blank(text: str | None) -> bool:
    return text is None or not text.strip()


def well_formed(text: str) -> str:
    """The text with each half of a surrogate pair, as cut JSON escapes leave it, replaced: no UTF-8 can carry one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _read(field: str, value: Any) -> Any:
    try:
        return READERS[field](field, value)
    except (ValueError, OverflowError, RecursionError) as error:  # such as a number or a nesting without bounds
        raise SampleFault(f"{field}: cannot be read: {error}") from None


def _fault(field: str, value: Any, expected: str, code: str = "INVALID_INPUT") -> SampleFault:
    found = well_formed(json.dumps(value, ensure_ascii=False, default=str, skipkeys=True))
    shown = found if len(found) <= 80 else found[:77] + "..."
    return SampleFault(f"{field}: expected {expected}, found {_kind(value)} {shown}", code)


def _kind(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list", tuple: "a list",
             dict: "an object", type(None): "nothing:"}
    return names.get(type(value), type(value).__name__)


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _fault(field, value, "a text")
    return well_formed(value)


def _identifier(field: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise _fault(field, value, "a text or a whole number", "INVALID_ID")
    return value if isinstance(value, str) else str(value)


def _listed(field: str, value: Any, expected: str) -> list[Any]:
    """A list as it is, or the list that a JSON text holds (as CSV and mixed columns have it)."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            raise _fault(field, value, expected) from None
    if not isinstance(value, (list, tuple)):
        raise _fault(field, value, expected)
    return list(value)


def _contexts(field: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            parsed = json.loads(value) if value.lstrip().startswith("[") else value
        except ValueError:
            parsed = value
        value = parsed if isinstance(parsed, list) else [value]
    return tuple(_chunk(field, item) for item in _listed(field, value, "a list of texts"))


def _chunk(field: str, item: Any) -> str:
    if item is None:
        return ""
    if isinstance(item, Mapping):
        for key in ("text", "content", "page_content"):
            if isinstance(item.get(key), str):
                return _text(field, item[key])
        raise _fault(field, item, "objects with a text under text, content or page_content")
    return _text(field, item)


def _references(field: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(_text(field, item) for item in value if item is not None)
    return (_text(field, value),)


def _history(field: str, value: Any) -> tuple[tuple[str, str], ...]:
    turns = []
    for item in _listed(field, value, "a list of turns"):
        if isinstance(item, str):
            turns.append(("", _text(field, item)))
        elif isinstance(item, Mapping) and (text := item.get("content", item.get("text"))) is not None:
            turns.append((str(item.get("role", item.get("speaker", ""))), _text(field, text)))
        else:
            raise _fault(field, item, "turns as texts or as objects with role and content")
    return tuple(turns)


def _identifiers(field: str, value: Any) -> tuple[str, ...]:
    return tuple(_identifier(field, item) for item in _listed(field, value, "a list of ids"))


def _relevant(field: str, value: Any) -> tuple[str, ...] | Mapping[str, float]:
    graded = isinstance(value, Mapping) or (isinstance(value, str) and value.lstrip().startswith("{"))
    return _grades(field, value) if graded else _identifiers(field, value)


def _scores(field: str, value: Any) -> tuple[float, ...]:
    spelled = {name: float(name) for name in ("NaN", "Infinity", "-Infinity")}  # as Spark writes them into JSON
    listed = _listed(field, value, "a list of numbers")
    return tuple(_number(field, spelled.get(item, item) if isinstance(item, str) else item, "INVALID_SCORE") for item in listed)


def _number(field: str, value: Any, code: str = "INVALID_INPUT") -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _fault(field, value, "a number", code)
    return float(value)


def _grade(field: str, value: Any) -> float:
    if not math.isfinite(grade := _number(field, value)):
        raise _fault(field, value, "a finite grade")
    return grade


def _grades(field: str, value: Any) -> Mapping[str, float]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise _fault(field, value, "an object of id and grade") from None
    if not isinstance(value, Mapping):
        raise _fault(field, value, "an object of id and grade")
    return {_identifier(field, id): _grade(field, grade) for id, grade in value.items() if grade is not None}


def _flag(field: str, value: Any) -> bool:
    words = {"true": True, "false": False, "1": True, "0": False}
    if isinstance(value, bool):
        return value
    if str(value).strip().casefold() in words:
        return words[str(value).strip().casefold()]
    raise _fault(field, value, "true or false")


def _objects(field: str, value: Any) -> list[Any]:
    return _listed(field, value, "a list of objects")


def _whole(field: str, value: Any) -> int:
    number = _number(field, value)
    if not number.is_integer():
        raise _fault(field, value, "a whole number")
    return int(number)


READERS = {
    "sample_id": _identifier, "user_input": _text, "response": _text, "retrieved_contexts": _contexts,
    "reference": _references, "history": _history, "retrieved_ids": _identifiers, "retrieved_scores": _scores,
    "relevant_ids": _relevant, "relevance": _grades, "should_refuse": _flag, "messages": _objects,
    "tools": _objects, "tool_calls": _objects, "reference_tool_calls": _objects, "reference_goal": _text,
    "reference_turns": _whole,
}  # fmt: skip

FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Sample))
"""The sample fields in the order in which a field group's key names their columns."""
