"""People's labels and the scores that they are held against: what of both the driver is handed, bounded in number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rageval_spark.engine.files import Folder
from rageval_spark.errors import InputError
from rageval_spark.spark import first_lines
from rageval_spark.spark.files import FORMATS, Source
from rageval_spark.spark.names import CORRUPT, column
from rageval_spark.spark.read import read, read_scores, rows_told

MOST_ROWS = 100_000
"""Rows of a labels file: more than people label, and few enough for the driver."""
BINS = 20
PER_SCORE = ("sample_id", "field_group", "metric")
SHOWN = ("score", "status", "code", "passed", "reason", "slices")


def columns_of(frame: DataFrame) -> list[str]:
    """The names of its columns, that for malformed rows left out."""
    return [name for name in frame.columns if name != CORRUPT]


def labels(spark: SparkSession, path: str) -> DataFrame:
    """The rows of a labels file; of CSV also one with semicolons or tabs, as spreadsheets write it. Raises InputError."""
    if not path.rstrip("/").endswith(tuple(FORMATS)):
        raise InputError(f"the format of {path} is not known from its name; labels end with one of {', '.join(FORMATS)}")
    kind = next(kind for suffix, kind in FORMATS.items() if path.rstrip("/").endswith(suffix))
    options = {"sep": _separator(spark, path)} if kind == "csv" else {}
    return read(spark, Source(path, kind, options=options))


def _separator(spark: SparkSession, path: str) -> str:
    """Return what separates the cells of a CSV file, by its header. Starts one job; raises InputError."""
    with rows_told(path):
        header = first_lines.look_at(spark, path, {}).first
    return next((separator for separator in ";\t" if separator.encode() in header and b"," not in header), ",")


def rows(frame: DataFrame, columns: Sequence[str], source: object) -> list[Mapping[str, str | None]]:
    """Columns of all rows as texts, in the order of the file, empty ones null. Starts one job.

    Raises InputError for more than MOST_ROWS rows, and for a row that is not of the file's format.
    """
    corrupt = [CORRUPT] if CORRUPT in frame.columns else []
    texts = (column(name).cast("string").alias(name) for name in (*columns, *corrupt))
    with rows_told(source):
        found = frame.select(*texts).limit(MOST_ROWS + 1).collect()
    if len(found) > MOST_ROWS:
        raise InputError(f"{source} has more than {MOST_ROWS:,} rows; give the labelled ones alone")
    for place, row in enumerate(found, 1):
        if corrupt and row[CORRUPT]:
            raise InputError(f"{source}, row {place} cannot be read: {row[CORRUPT][:200]}")
    return [{name: row[name] or None for name in columns} for row in found]


def scores_of(spark: SparkSession, run: Folder, sample_ids: Sequence[str], metrics: Sequence[str]) -> list[Mapping[str, Any]]:
    """The scores of these samples by these metrics, one row per sample × field group × metric: PER_SCORE, SHOWN, and `rows`,
    how many rows of the run share them; of several, one is shown. Starts one job."""
    wanted = spark.createDataFrame([(one,) for one in sample_ids], "sample_id string")
    mine = read_scores(spark, run).where(F.col("metric").isin(list(metrics)))
    scores = mine.join(F.broadcast(wanted), "sample_id", "left_semi")
    one = F.first(F.struct(*SHOWN)).alias("one")
    with rows_told(run):
        found = scores.groupBy(*PER_SCORE).agg(F.count(F.lit(1)).alias("rows"), one).collect()
    return [{**{name: row[name] for name in (*PER_SCORE, "rows")}, **row["one"].asDict()} for row in found]


def binned(spark: SparkSession, run: Folder, metrics: Sequence[str]) -> Mapping[tuple[str, str], Sequence[int]]:
    """By field group and metric: how many scores of the run are in each of BINS equal parts of [0, 1]. Starts one job."""
    place = F.least(F.floor(F.col("score") * BINS), F.lit(BINS - 1).cast("long")).alias("bin")
    scores = read_scores(spark, run).where(F.col("metric").isin(list(metrics)) & F.col("score").isNotNull())
    counts: dict[tuple[str, str], list[int]] = {}
    with rows_told(run):
        for row in scores.groupBy("field_group", "metric", place).count().collect():
            counts.setdefault((row["field_group"], row["metric"]), [0] * BINS)[row["bin"]] = row["count"]
    return counts


def some_ids(spark: SparkSession, run: Folder) -> list[str]:
    """Ids of three samples of the run. Starts one job."""
    with rows_told(run):
        return [row["sample_id"] for row in read_scores(spark, run).select("sample_id").distinct().limit(3).collect()]
