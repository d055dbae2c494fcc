"""Reading the fields of a sample, each from the forms that datasets have it in."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from rageval_spark.cells import looks_like_list, read_cell
from rageval_spark.errors import SampleFault
from rageval_spark.messages import read_turns
from rageval_spark.values import is_missing, plain, well_formed


def read_field(field: str, value: Any) -> Any:
    """The value of a field, or None if it is missing."""
    empty: tuple[Any, ...] = ([], {}) if field in SCALARS else ({},) if field == "reference" else ()
    if is_missing(value) or value in empty or (field not in PROSE and _is_blank_cell(value)):
        return None
    try:
        return READERS[field](field, value)
    except (ValueError, OverflowError, RecursionError) as error:  # such as a number or a nesting without bounds
        raise SampleFault(f"{field}: cannot be read: {error}") from None


def _is_blank_cell(value: Any) -> bool:
    return isinstance(value, str) and value.strip() in ("", "null", "None")


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
    """A list as it is, or the list that a text holds in JSON or as Python or numpy print it."""
    if isinstance(value, str):
        value = _parse(field, value, expected)
    if isinstance(value, Mapping):
        inner = [value[name] for name in (field, "messages", "history") if isinstance(value.get(name), list)]
        value = [] if not value else inner[0] if inner else value
    if not isinstance(value, (list, tuple)):
        raise _fault(field, value, expected)
    return list(value)


def _parse(field: str, text: str, expected: str) -> Any:
    """The list or object in a text, in JSON or as Python or numpy print it."""
    try:
        value = read_cell(text)
        return plain(read_cell(value) if isinstance(value, str) else value)  # a text: JSON that was written twice
    except ValueError as error:
        why = f" that cannot be read ({error})" if text.lstrip().startswith(("[", "{", "array(")) else ""
        raise SampleFault(f"{_fault(field, text, expected)}{why}") from None


def _list_or_text(field: str, text: str, expected: str) -> list[Any]:
    """The list in a text that looks like one, or the text alone."""
    start = text.lstrip()[:1]
    if start in ("[", "(", "{", '"') or looks_like_list(text):
        try:
            value = read_cell(text)
            if isinstance(value, str) and looks_like_list(value):  # a list that was written as JSON twice
                value = read_cell(value)
            if isinstance(value, list) and (start not in ("(", "{") or looks_like_list(text)):
                return list(plain(value))
        except ValueError as error:
            if looks_like_list(text):
                raise SampleFault(f"{_fault(field, text, expected)} that looks like a list and cannot be read ({error}). "
                                  f"A text that is meant so can be given as the one item of a list") from None
    return [text]


def _contexts(field: str, value: Any) -> tuple[str, ...]:
    expected = "a list of texts"
    if isinstance(value, str):
        value = [] if value.strip() in ("{}", "()", "set()") else _list_or_text(field, value, expected)
    return tuple(_chunk(field, item) for item in _listed(field, value, expected))


def _chunk(field: str, item: Any) -> str:
    if is_missing(item):
        return ""
    if isinstance(item, Mapping):
        names = [key for key in ("text", "content", "page_content") if key in item]
        for key in names:
            if isinstance(item[key], str) and not is_missing(item[key]):
                return _text(field, item[key])
        if names and all(is_missing(item[key]) for key in names):
            return ""
        for key in ("node", "document", "kwargs"):  # LlamaIndex's node with its score, a document that LangChain stored
            if isinstance(item.get(key), Mapping):
                return _chunk(field, item[key])
        raise _fault(field, item, "objects with a text under text, content or page_content")
    return _text(field, item)


def _references(field: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = _list_or_text(field, value, "a text or a list of texts")
    if isinstance(value, list):
        return tuple(_text(field, item) for item in value if not is_missing(item))
    return (_text(field, value),)


def _history(field: str, value: Any) -> tuple[tuple[str, str], ...]:
    return read_turns(field, _listed(field, value, "a list of turns"))


def _identifiers(field: str, value: Any) -> tuple[str, ...]:
    listed = _listed(field, value, "a list of ids")
    # An id that is missing must not equal another that is: it is no id, however it is written.
    return tuple(_identifier(field, None if is_missing(item) else item) for item in listed)


def _relevant(field: str, value: Any) -> tuple[str, ...] | Mapping[str, float]:
    if isinstance(value, str) and value.lstrip().startswith("{"):  # grades, or a set of ids as Python prints it
        value = _parse(field, value, "an object of id and grade")
    return _grades(field, value) if isinstance(value, Mapping) else _identifiers(field, value)


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
        value = _parse(field, value, "an object of id and grade")
    if value == []:
        return {}
    if not isinstance(value, Mapping):
        raise _fault(field, value, "an object of id and grade")
    return {_identifier(field, id): _grade(field, grade) for id, grade in value.items() if not is_missing(grade)}


def _flag(field: str, value: Any) -> bool:
    words = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}  # floats: pandas, beside a null
    if isinstance(value, bool):
        return value
    if str(value).strip().casefold() in words:
        return words[str(value).strip().casefold()]
    raise _fault(field, value, "true or false")


def _objects(field: str, value: Any) -> list[Any]:
    return _listed(field, value, "a list of objects")


def _whole(field: str, value: Any) -> int:
    if isinstance(value, str):  # a table without types
        whole, _, fraction = value.strip().partition(".")
        value = int(whole) if whole.isdecimal() and not fraction.strip("0") else value
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

TEXTS = ("sample_id", "user_input", "response", "reference_goal")
"""Fields that take one text."""
SCALARS = (*TEXTS, "should_refuse", "reference_turns")
"""Fields that take one value, and for which an empty list is none."""
PROSE = (*TEXTS, "retrieved_contexts", "reference")
"""Fields whose values may be prose."""
