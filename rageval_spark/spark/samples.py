"""From the dataset's columns to one plain shape that carries any sample through the scoring pass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.engine.store import MOST_BUCKETS
from rageval_spark.engine.work import Row
from rageval_spark.errors import InputError
from rageval_spark.spark.names import CORRUPT, column
from rageval_spark.spark.nested import with_paths
from rageval_spark.values import MISSING_TEXTS

FINE = "fine"
"""The finest bucket of a row; its bucket is this modulo the store's number of buckets, both powers of two."""
BY_REFERENCE, BY_CONTENT = "by_reference", "by_content"
"""Two cells of 8 by which a heavy bucket is split: first what shares the reference's claims, then anything."""
CELLS = 8


def normalised(frame: DataFrame, groups: Sequence[FieldGroup], slices: Sequence[str], strata: Sequence[str] = ()) -> DataFrame:
    """One row per row of the dataset: sample_id, fine bucket, cells, `sample` (mapped columns as JSON), `slices`
    (as JSON), `fault` (null, or why the row cannot be read), `stratum` (the values of `strata` as JSON) and `weight` (1.0).
    Lazy: starts no job.

    Raises InputError for a slice or one of `strata` that is no column.
    """
    check_columns(frame, slices, "slice")
    check_columns(frame, strata, "stratify")
    names = list(dict.fromkeys(name for group in groups for name in group.fields.values()))
    frame = _without_nan(with_paths(frame, [*names, *slices, *strata]))
    first = groups[0].fields
    corrupt = column(CORRUPT) if CORRUPT in frame.columns else F.lit(None).cast("string")
    mapped = F.struct(*[column(name).alias(name) for name in names], corrupt.alias(CORRUPT))
    sample = F.to_json(mapped)
    ids = {group.fields.get("sample_id") for group in groups}
    content = F.to_json(F.struct(*[column(name).alias(name) for name in names if name not in ids], corrupt.alias(CORRUPT)))
    question = _text(frame, first.get("user_input"))
    reference = _text(frame, first.get("reference"))
    shaped = frame.select(
        _given_id(frame, first.get("sample_id")).alias("given_id"),
        F.substring(F.sha2(F.concat_ws("\0", question, reference, corrupt), 256), 1, 16).alias("content_id"),
        _detail(frame, first).alias("detail"),
        F.pmod(F.crc32(F.encode(F.coalesce(question, F.lit("")), "UTF-8")), F.lit(MOST_BUCKETS)).cast("int").alias(FINE),
        F.pmod(F.hash(reference), F.lit(CELLS)).alias(BY_REFERENCE),
        F.pmod(F.xxhash64(content), F.lit(CELLS)).cast("int").alias(BY_CONTENT),
        sample.alias("sample"),
        F.to_json(F.struct(*[_slice_value(column(name).cast("string")).alias(name) for name in slices]))
        .alias("slices") if slices else F.lit("{}").alias("slices"),
        F.when(corrupt.isNotNull(), F.concat(F.lit("the row cannot be read: "), F.substring(corrupt, 1, 200)))
        .alias("fault"),
        F.to_json(F.array(*[column(name).cast("string") for name in strata])).alias("stratum") if strata
        else F.lit("").alias("stratum"),
        F.lit(1.0).alias("weight"),
    )
    return shaped.withColumn("sample_id", _sample_id("sample_id" in first)).drop("given_id", "content_id", "detail")


def rows_of(samples: DataFrame, fine: Sequence[int], most: int) -> Iterator[tuple[int, Row]]:
    """At most so many rows of these finest buckets, each with its bucket. Starts one job."""
    rows = samples.where(F.col(FINE).isin(list(fine))).select(FINE, "sample_id", "sample", "slices", "fault").limit(most)
    for bucket, sample_id, sample, slices, fault in rows.collect():
        yield bucket, Row(sample_id, bucket, json.loads(sample), json.loads(slices), fault)


def check_columns(frame: DataFrame, names: Sequence[str], to: str) -> None:
    """Raises InputError for a name, to slice or stratify by, that is no column."""
    there = with_paths(frame, names).columns
    for name in names:
        if name not in there:
            columns = (column for column in frame.columns if column != CORRUPT)
            raise InputError(f"no column {name!r} to {to} by; the columns are {', '.join(columns)}")


def _slice_value(value: Column) -> Column:
    """A slice's value, with `null` for null. So that it stays different, the text "null" gets quotation marks; so does null in
    quotation marks."""
    quoted = F.when(value.rlike('^"*null"*$'), F.concat(F.lit('"'), value, F.lit('"'))).otherwise(value)
    return F.coalesce(quoted, F.lit("null"))


def _without_nan(frame: DataFrame) -> DataFrame:
    """Put null in place of NaN, with which pandas writes a missing value."""
    numbers = [field.name for field in frame.schema.fields if isinstance(field.dataType, (T.FloatType, T.DoubleType))]
    if not numbers:
        return frame
    return frame.select(*(F.when(~F.isnan(column(name)), column(name)).alias(name) if name in numbers else column(name)
                          for name in frame.columns))


IDENTIFYING = ("retrieved_contexts", "history", "relevant_ids", "relevance", "should_refuse", "reference_goal",
               "reference_tool_calls", "reference_turns", "tools")
"""Fields that identify a row without an id, beside question and reference. The answers of the system are not among them."""
NUMBERED = r"^([0-9a-f]{16}(?:\.[0-9a-f]{8})?)-[0-9]+$"
"""Pattern of the id of a row that repeats an earlier one in all identifying fields. Group 1 is the id of the first row."""


def _detail(frame: DataFrame, fields: Mapping[str, str]) -> Column:
    """A hash of a row's IDENTIFYING fields; null if it has none."""
    texts = [_text(frame, fields[name]) for name in IDENTIFYING if name in fields]
    if not texts:
        return F.lit(None).cast("string")
    parts = F.to_json(F.array(*texts))
    return F.when(F.coalesce(*texts).isNotNull(), F.substring(F.sha2(parts, 256), 1, 8))


def _given_id(frame: DataFrame, name: str | None) -> Column:
    """The id that the data has for a row; null without one, also if a text stands for a missing value."""
    text = _text(frame, name)
    return F.when(~F.trim(text).isin("", *sorted(MISSING_TEXTS)), text)


def _sample_id(given: bool) -> Column:
    """The given id, or the content's hash. Where that repeats a hash of the details follows it, and where these repeat, too, the
    number of the occurrence.

    Beside an id column the hash of the details always follows, and rows that repeat it share their id: numbers would take a
    shuffle for the few rows without an id.
    """
    if given:
        made = F.concat_ws(".", F.col("content_id"), F.col("detail"))
        return F.coalesce(F.col("given_id"), made)
    content, detail, order = F.col("content_id"), F.col("detail"), F.xxhash64("sample")
    alike = Window.partitionBy("content_id").orderBy("detail", order)
    repeats = F.lag(F.lit(1)).over(alike).isNotNull() | F.lead(F.lit(1)).over(alike).isNotNull()
    base = F.when(repeats & detail.isNotNull(), F.concat(content, F.lit("."), detail)).otherwise(content)
    occurrence = F.row_number().over(Window.partitionBy("content_id", "detail").orderBy(order))
    return F.when(occurrence == 1, base).otherwise(F.concat(base, F.lit("-"), occurrence.cast("string")))


def _text(frame: DataFrame, name: str | None) -> Column:
    """A column as text; lists and objects as their JSON."""
    if name is None:
        return F.lit(None).cast("string")
    kind = frame.schema[name].dataType
    nested = isinstance(kind, (T.ArrayType, T.StructType, T.MapType))
    return F.to_json(column(name)) if nested else column(name).cast("string")
