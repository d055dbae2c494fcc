"""What a dataset holds, field by field: counts in one pass, for a look before the first run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.prompts.detection import HAN
from rageval_spark.spark.names import CORRUPT, column
from rageval_spark.spark.nested import with_paths


def profile(frame: DataFrame, fields: Mapping[str, str]) -> Mapping[str, int]:
    """Counts over all rows: `rows`, `malformed`, `without FIELD` for each mapped field (null or blank), `same id`
    and `same content` (rows beyond the first), `in Chinese` (by the question), `unanswerable`. Starts one job."""
    frame = with_paths(frame, fields.values())
    kinds = {name: frame.schema[source].dataType for name, source in fields.items()}
    counts = [F.count(F.lit(1)).alias("rows")]
    if CORRUPT in frame.columns:
        counts.append(F.count(column(CORRUPT)).alias("malformed"))
    for name, source in fields.items():
        counts.append(F.count_if(_blank(column(source), kinds[name])).alias(f"without {name}"))
    if "sample_id" in fields:
        counts.append((F.count(column(fields["sample_id"])) - F.count_distinct(column(fields["sample_id"]))).alias("same id"))
    content = F.to_json(F.struct(*[column(source).alias(name) for name, source in fields.items() if name != "sample_id"]))
    counts.append((F.count(content) - F.count_distinct(F.xxhash64(content))).alias("same content"))
    if isinstance(kinds.get("user_input"), T.StringType):
        counts.append(F.count_if(column(fields["user_input"]).rlike(HAN.pattern)).alias("in Chinese"))
    if "should_refuse" in fields:
        counts.append(F.count_if(F.lower(column(fields["should_refuse"]).cast("string")).isin("true", "1")).alias("unanswerable"))
    [row] = frame.agg(*counts).collect()
    found: Mapping[str, Any] = row.asDict()
    return found


def first_rows(frame: DataFrame, fields: Mapping[str, str], most: int) -> list[Mapping[str, Any]]:
    """The columns of some readable rows, by name. Starts one job, which reads no more than it needs."""
    frame = with_paths(frame, fields.values())
    readable = frame.where(column(CORRUPT).isNull()) if CORRUPT in frame.columns else frame
    rows = readable.select(F.to_json(F.struct(*map(column, dict.fromkeys(fields.values())))).alias("values"))
    return [json.loads(row["values"]) for row in rows.limit(most).collect()]


def _blank(value: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.StringType):
        return value.isNull() | (F.trim(value).isin("", "[]"))
    if isinstance(kind, (T.ArrayType, T.MapType)):
        return value.isNull() | (F.size(value) == 0)
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        return value.isNull() | F.isnan(value)
    return value.isNull()
