"""Values within columns by a dotted path: of structs, maps, lists of structs, and JSON text."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.spark.names import CORRUPT, column

JSON = {"allowNonNumericNumbers": "true"}  # json.dumps writes NaN for a missing number
OBJECT, LIST = "map<string,string>", "array<string>"


def with_paths(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    """Add a column for each name that is a path into a column. A name that is a column itself is left as it is.

    A row gets a fault in CORRUPT if text on a path is not JSON.
    """
    values, faults = dict[str, Column](), []
    for name in dict.fromkeys(names):
        if name in frame.columns or not (steps := path_of(frame, name)):
            continue
        root, *keys = steps
        value, fault = _value(column(root), frame.schema[root].dataType, keys)
        if value is None:
            continue
        values[name] = value
        if fault is not None:
            faults.append(F.when(fault, F.concat(F.lit(f"column {root} is not JSON: "), column(root).cast("string"))))
    if not values:
        return frame
    before = [column(CORRUPT)] if CORRUPT in frame.columns else []
    marked = [F.coalesce(*before, *faults).alias(CORRUPT)] if before or faults else []
    return frame.select(*(column(name) for name in frame.columns if name != CORRUPT),
                        *(value.alias(name) for name, value in values.items()), *marked)


def path_of(frame: DataFrame, name: str) -> list[str]:
    """Return the column and the keys of a path: the longest column's name that it begins with, then the rest. [] if none fits."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        if (root := ".".join(parts[:count])) in frame.columns:
            return [root, *parts[count:]]
    return []


def is_open(frame: DataFrame, name: str) -> bool:
    """Whether only the rows can say if a path exists: it leads into a map or JSON text."""
    root, *keys = path_of(frame, name)
    kind = frame.schema[root].dataType
    while keys and isinstance(kind, (T.StructType, T.ArrayType)):
        inner = kind.elementType if isinstance(kind, T.ArrayType) else kind
        if not isinstance(inner, T.StructType) or not (key := _key(inner, keys)):
            return False
        kind, keys = inner[key].dataType, keys[key.count(".") + 1:]
    return bool(keys)


def _value(value: Column, kind: T.DataType, keys: list[str]) -> tuple[Column | None, Column | None]:
    """Return the value at the end of the keys, and whether text on the way is not JSON.

    The first is None if the column's type has no such value, the second if there is no text on the way.
    """
    if not keys:
        return value, None
    inner = kind.elementType if isinstance(kind, T.ArrayType) else kind
    if isinstance(inner, T.StructType) and (key := _key(inner, keys)):
        kept = inner[key].dataType
        return _value(value.getField(key), T.ArrayType(kept) if isinstance(kind, T.ArrayType) else kept,
                      keys[key.count(".") + 1:])
    if isinstance(kind, T.MapType) and isinstance(kind.keyType, T.StringType):
        return _value(F.element_at(value, keys[0]), kind.valueType, keys[1:])
    if isinstance(kind, T.StringType):
        return _of_text(value, keys)
    return None, None


def _key(struct: T.StructType, keys: list[str]) -> str | None:
    """Return the field of a struct that the first keys name: the longest one, since names may hold dots. None if none fits."""
    return next((key for count in range(len(keys), 0, -1) if (key := ".".join(keys[:count])) in struct.names), None)


def _of_text(value: Column, keys: list[str]) -> tuple[Column, Column | None]:
    """Do the same as `_value` for JSON text: return the value in an object, or the list of those in a list's objects, as text."""
    parsed = F.from_json(value, OBJECT, JSON)
    listed = F.from_json(value, LIST, JSON)
    is_list = F.ltrim(value).startswith("[")
    no_objects = listed.isNull() | F.exists(listed, lambda item: F.from_json(item, OBJECT, JSON).isNull())
    bad = ~F.trim(value).isin("", "null", "NaN") & F.when(is_list, no_objects).otherwise(parsed.isNull())
    of_list = F.to_json(F.transform(listed, lambda item: _entry(F.from_json(item, OBJECT, JSON), keys[0])))
    inner, worse = _value(F.when(is_list, of_list).otherwise(_entry(parsed, keys[0])), T.StringType(), keys[1:])
    assert inner is not None
    return inner, bad if worse is None else F.coalesce(bad, F.lit(False)) | F.coalesce(worse, F.lit(False))


def _entry(parsed: Column, key: str) -> Column:
    """A value of an object, but null for a literal NaN, which Spark turns into a quoted text."""
    value = F.element_at(parsed, key)
    return F.when(value != '"NaN"', value)
