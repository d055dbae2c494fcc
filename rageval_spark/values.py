"""Values as other libraries hold them, converted to the plain values of JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

MISSING_TYPES = frozenset({"NAType", "NaTType", "MaskedConstant"})
"""Types of pandas and numpy with one value, which means missing. Compared by name, so that neither library is imported here."""
MISSING_TEXTS = frozenset({"NaN", "nan", "NaT", "<NA>"})
"""Texts that pandas and JSON writers leave in place of a missing value. "None", "null" and "N/A" are not among them: people
and systems do answer with these words."""
CONVERTERS = ("model_dump", "asDict", "_asdict", "as_py", "tolist", "to_list", "to_dict")
"""Methods that return an object's plain form, in the order in which they are tried: those of pydantic, Spark's Row, named
tuples, Arrow, numpy and pandas, and the SDKs of judges and agents."""


def plain(value: Any) -> Any:
    """Return a value in the types of JSON: objects become dicts, arrays become lists, and NaN, NaT and the like become None.

    A value of an unknown type, and bytes, are returned as they are, so that the reader of a field can name them in an error.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return _plain_scalar(value)
    if isinstance(value, (float, Decimal)):
        return _plain_number(value)
    if isinstance(value, Mapping):
        return {_plain_key(key): plain(item) for key, item in value.items()}
    if type(value).__name__ in MISSING_TYPES:
        return None
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, (date, time)):  # a datetime is a date too
        return value.isoformat()
    if isinstance(value, (UUID, PurePath)):
        return str(value)
    if isinstance(value, (bytes, bytearray, type)):
        return value
    return _plain_object(value)


def is_missing(value: Any) -> bool:
    """Return whether a plain value stands for a missing one. An empty list or object does not: a field may mean it."""
    return value is None or (isinstance(value, str) and value in MISSING_TEXTS)


def well_formed(text: str) -> str:
    """Return the text with U+FFFD in place of lone surrogates, as cut JSON escapes leave them: UTF-8 cannot carry one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, Enum):  # an Enum may be a str or an int as well
        return plain(value.value)
    if type(value) in (str, bool, int, type(None)):
        return value
    return str(value) if isinstance(value, str) else int(value)  # such as numpy.str_


def _plain_number(value: float | Decimal) -> float | int | None:
    if value.is_nan() if isinstance(value, Decimal) else math.isnan(value):
        return None
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    return float(value)


def _plain_key(key: Any) -> Any:
    converted = plain(key)
    return converted if isinstance(converted, (str, int, float, type(None))) else key


def _plain_object(value: Any) -> Any:
    # Before CONVERTERS: a dataclass may have a to_dict with other names, but users know it by its fields.
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and not (hasattr(value, "_fields") or hasattr(value, "asDict")):
        return [plain(item) for item in value]
    for name in CONVERTERS:
        method = getattr(value, name, None)
        if callable(method):
            converted = method()
            return converted if converted is value else plain(converted)
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return value
