"""Parquet files with columns of types that Spark does not know."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyarrow import types as kinds
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.spark.names import quote

REFUSED = ("PARQUET_TYPE", "TIME_TYPE", "DECIMAL_PRECISION", "UNSUPPORTED_DATATYPE", "UNSUPPORTED_ARROWTYPE")
"""Parts of the error classes with which Spark refuses a file for the type of a column."""


def without_unreadable(spark: SparkSession, reader: DataFrameReader, path: str, error: Exception) -> DataFrame | None:
    """Return the rows of Parquet that Spark refused with `error`, without the columns that it cannot read. Times in nanoseconds
    become times in microseconds.

    The schema is that of the first file; settings of the session do not change. Returns None if the error has another cause, or
    if pyarrow cannot read the schema. Starts one job.
    """
    if not any(name in str(error) for name in REFUSED):
        return None
    schema = _schema(spark, path)
    if schema is None:
        return None
    readable = T.StructType()
    nanoseconds: dict[str, bool] = {}
    for field in schema:
        kind = _spark_type(field.type)
        if kinds.is_timestamp(field.type) and field.type.unit == "ns":
            nanoseconds[field.name] = field.type.tz is not None
            kind = T.LongType()
        if kind is not None:
            readable.add(field.name, kind)
    frame = reader.schema(readable).load(path)
    return frame.withColumns({name: _time(name, aware) for name, aware in nanoseconds.items()}) if nanoseconds else frame


def _schema(spark: SparkSession, path: str) -> pa.Schema | None:
    """Return the schema of the first file at a path, in Spark's order; None if it cannot be read. Starts one job, which reads no
    content."""
    [*rows] = spark.read.format("binaryFile").load(path).select("path").limit(1).collect()
    try:
        uri = rows[0]["path"]
        if uri.startswith("file:"):
            return pq.read_schema("/" + uri.removeprefix("file:").lstrip("/"))
        system, name = fs.FileSystem.from_uri(uri)
        return pq.read_schema(name, filesystem=system)
    except (IndexError, OSError, pa.ArrowException):  # a file system that only Spark knows
        return None


SIMPLE: tuple[tuple[Callable[[pa.DataType], bool], T.DataType], ...] = (
    (kinds.is_boolean, T.BooleanType()), (kinds.is_int8, T.ByteType()), (kinds.is_int16, T.ShortType()),
    (kinds.is_int32, T.IntegerType()), (kinds.is_int64, T.LongType()), (kinds.is_uint8, T.ShortType()),
    (kinds.is_uint16, T.IntegerType()), (kinds.is_uint32, T.LongType()), (kinds.is_uint64, T.DecimalType(20, 0)),
    (kinds.is_float32, T.FloatType()), (kinds.is_float64, T.DoubleType()), (kinds.is_duration, T.LongType()),
    (kinds.is_string, T.StringType()), (kinds.is_large_string, T.StringType()), (kinds.is_null, T.IntegerType()),
    (kinds.is_binary, T.BinaryType()), (kinds.is_large_binary, T.BinaryType()), (kinds.is_fixed_size_binary, T.BinaryType()),
    (kinds.is_date, T.DateType()),
)  # fmt: skip
"""Types of Arrow as Spark reads them from Parquet."""


def _spark_type(kind: pa.DataType) -> T.DataType | None:
    """Return the type that Spark reads for a type of Arrow; None if it cannot read it."""
    for is_kind, spark_type in SIMPLE:
        if is_kind(kind):
            return spark_type
    if kinds.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if kinds.is_timestamp(kind) and kind.unit != "ns":
        return T.TimestampType() if kind.tz is not None else T.TimestampNTZType()
    if kinds.is_decimal(kind) and kind.precision <= 38:
        return T.DecimalType(kind.precision, kind.scale)
    if kinds.is_map(kind):
        key, value = _spark_type(kind.key_type), _spark_type(kind.item_type)
        return T.MapType(key, value) if key is not None and value is not None else None
    if kinds.is_struct(kind):
        fields = [(field.name, _spark_type(field.type)) for field in kind]
        readable = [T.StructField(name, part) for name, part in fields if part is not None]  # a struct may lack fields
        return T.StructType(readable) if readable else None
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        item = _spark_type(kind.value_type)
        return T.ArrayType(item) if item is not None else None
    return None


def _time(name: str, aware: bool) -> Column:
    """Return nanoseconds since 1970 as a time. Adding an interval does not depend on the session's time zone."""
    epoch = "timestamp'1970-01-01 00:00:00Z'" if aware else "timestamp_ntz'1970-01-01 00:00:00'"
    return F.expr(f"{epoch} + make_dt_interval(0, 0, 0, cast(floor({quote(name)} / 1000) as decimal(18, 0)) / 1000000)")
