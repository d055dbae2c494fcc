"""Text as bytes: whether it is UTF-8, and rows in which it is not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.spark.names import CORRUPT, column

BYTES = "ISO-8859-1"
"""The encoding in which each byte is a character, so that a reader loses none."""
MARK = "\ufeff"
"""The byte order mark, as which some programs begin a file."""
REPLACED = "\ufffd"
"""What Java's decoders leave of bytes that are no text."""
REMEDY = "give the encoding of the file, such as input.options.encoding: windows-1252"


def is_utf8(text: Column) -> Column:
    """Whether the bytes of a text are UTF-8; null if the text is."""
    if hasattr(F, "is_valid_utf8"):
        return F.is_valid_utf8(text)
    raw = text.cast("binary")
    return F.encode(F.decode(raw, "UTF-8"), "UTF-8") == raw


def readable(text: Column) -> Column:
    """The text with U+FFFD in place of bytes that are not UTF-8: Python could not take them."""
    return F.make_valid_utf8(text) if hasattr(F, "make_valid_utf8") else F.decode(text.cast("binary"), "UTF-8")


def decode_bytes(frame: DataFrame, header: bool) -> DataFrame:
    """The frame with columns and names that were read as BYTES decoded as UTF-8, without the mark that may begin a file.
    Raises UnicodeDecodeError for a name."""
    decoded = []
    for place, field in enumerate(frame.schema.fields):
        value, name = column(field.name), field.name.encode(BYTES).decode("utf-8")
        if isinstance(field.dataType, T.StringType):
            value = F.encode(value, BYTES).cast("string")
        if place == 0 and not header:
            value = F.regexp_replace(value, f"^{MARK}", "")
        elif name.startswith(MARK):  # behind it Spark took the quotation marks of a name for a part of it
            name = re.sub('^"(.*)"$', r"\1", name.removeprefix(MARK))
        decoded.append(value.alias(name))
    return frame.select(*decoded)


def mark_bad_utf8(frame: DataFrame) -> DataFrame:
    """The frame with a fault in CORRUPT if a text of the row is not UTF-8; that text becomes null."""
    names = _texts(frame)
    faults = [F.when(~is_utf8(column(name)), F.concat(F.lit(f"column {name} is not UTF-8 ({REMEDY}): "),
                                                       readable(column(name)))) for name in names]
    before = [readable(column(CORRUPT))] if CORRUPT in frame.columns else []
    kept = {name: F.when(is_utf8(column(name)), column(name)) for name in names}
    return frame.select(*(kept.get(name, column(name)).alias(name) for name in frame.columns if name != CORRUPT),
                        F.coalesce(*before, *faults, F.lit(None).cast("string")).alias(CORRUPT))


def mark_bad_record(frame: DataFrame) -> DataFrame:
    """The frame with readable text in CORRUPT, which says so if the row was not UTF-8. The frame itself if it has no CORRUPT."""
    if CORRUPT not in frame.columns:
        return frame
    text = column(CORRUPT)
    said = F.when(is_utf8(text), text).when(text.isNotNull(), F.concat(F.lit(f"it is not UTF-8 ({REMEDY}): "), readable(text)))
    return frame.select(*(said.alias(name) if name == CORRUPT else column(name) for name in frame.columns))


def mark_replaced(frame: DataFrame, encoding: str) -> DataFrame:
    """The frame with a fault in CORRUPT if the decoder replaced characters of the row."""
    others = [name for name in frame.columns if name != CORRUPT]
    text = F.to_json(F.struct(*(column(name).alias(name) for name in others)))
    before = [column(CORRUPT)] if CORRUPT in frame.columns else []
    fault = F.when(text.contains(REPLACED), F.concat(F.lit(f"holds bytes that are not {encoding} ({REMEDY}): "), text))
    return frame.select(*map(column, others), F.coalesce(*before, fault).alias(CORRUPT))


def _texts(frame: DataFrame) -> Sequence[str]:
    return [field.name for field in frame.schema.fields if isinstance(field.dataType, T.StringType) and field.name != CORRUPT]

