"""Texts that are not UTF-8: which they are, and marking their rows as faulty."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.spark.names import CORRUPT, column

BYTES = "ISO-8859-1"
"""An encoding in which each byte is one character, so that reading loses nothing."""
MARK = "\ufeff"
"""The byte order mark, as which some programs begin a file."""
REPLACED = "\ufffd"
"""What Java's decoders put in place of bytes that they cannot decode."""
REMEDY = "give the encoding of the file, such as input.options.encoding: windows-1252"


def is_utf8(text: Column) -> Column:
    """Whether the bytes of a text are UTF-8; null if the text is null."""
    if hasattr(F, "is_valid_utf8"):
        return F.is_valid_utf8(text)
    raw = text.cast("binary")
    return F.encode(F.decode(raw, "UTF-8"), "UTF-8") == raw


def readable(text: Column) -> Column:
    """The text with U+FFFD in place of bytes that are not UTF-8, which Python could not read."""
    return F.make_valid_utf8(text) if hasattr(F, "make_valid_utf8") else F.decode(text.cast("binary"), "UTF-8")


def decode_bytes(frame: DataFrame, header: bool) -> DataFrame:
    """Decode values and names of columns that were read as BYTES: they are UTF-8. A byte order mark is removed.

    Raises UnicodeDecodeError if a name is not UTF-8.
    """
    decoded = []
    for index, field in enumerate(frame.schema.fields):
        value, name = column(field.name), field.name.encode(BYTES).decode("utf-8")
        if isinstance(field.dataType, T.StringType):
            value = F.encode(value, BYTES).cast("string")
        if index == 0 and not header:
            value = F.regexp_replace(value, f"^{MARK}", "")
        elif name.startswith(MARK):  # Spark does not strip quotation marks behind it
            name = re.sub('^"(.*)"$', r"\1", name.removeprefix(MARK))
        decoded.append(value.alias(name))
    return frame.select(*decoded)


def mark_bad_utf8(frame: DataFrame) -> DataFrame:
    """Put a fault into CORRUPT if a text of the row is not UTF-8. That text becomes null."""
    names = _texts(frame)
    faults = [F.when(~is_utf8(column(name)), F.concat(F.lit(f"column {name} is not UTF-8 ({REMEDY}): "),
                                                       readable(column(name)))) for name in names]
    before = [readable(column(CORRUPT))] if CORRUPT in frame.columns else []
    kept = {name: F.when(is_utf8(column(name)), column(name)) for name in names}
    return frame.select(*(kept.get(name, column(name)).alias(name) for name in frame.columns if name != CORRUPT),
                        F.coalesce(*before, *faults, F.lit(None).cast("string")).alias(CORRUPT))


def mark_bad_record(frame: DataFrame) -> DataFrame:
    """Make the text in CORRUPT readable, with a note if it was not UTF-8. A frame without CORRUPT stays as it is."""
    if CORRUPT not in frame.columns:
        return frame
    text = column(CORRUPT)
    noted = F.concat(F.lit(f"it is not UTF-8 ({REMEDY}): "), readable(text))
    fault = F.when(is_utf8(text), text).when(text.isNotNull(), noted)
    return frame.select(*(fault.alias(name) if name == CORRUPT else column(name) for name in frame.columns))


def mark_replaced(frame: DataFrame, encoding: str) -> DataFrame:
    """Put a fault into CORRUPT if the decoder replaced bytes of the row."""
    others = [name for name in frame.columns if name != CORRUPT]
    text = F.to_json(F.struct(*(column(name).alias(name) for name in others)))
    before = [column(CORRUPT)] if CORRUPT in frame.columns else []
    fault = F.when(text.contains(REPLACED), F.concat(F.lit(f"holds bytes that are not {encoding} ({REMEDY}): "), text))
    return frame.select(*map(column, others), F.coalesce(*before, fault).alias(CORRUPT))


def _texts(frame: DataFrame) -> Sequence[str]:
    return [field.name for field in frame.schema.fields if isinstance(field.dataType, T.StringType) and field.name != CORRUPT]

