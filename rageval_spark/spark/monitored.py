"""Logs of production in Spark: the rows of some days, sums of what they tell, and the table that figures go to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any

import pandas as pd
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.engine.sampling import Sampling
from rageval_spark.engine.signals import READ, Sums, Watch
from rageval_spark.errors import InputError
from rageval_spark.sample import fields_found
from rageval_spark.spark.files import Source, first_line
from rageval_spark.spark.names import CORRUPT, column, quote
from rageval_spark.spark.read import read, refuse_ambiguous, resolved, rows_told
from rageval_spark.spark.samples import check_columns, normalised

DAY, FEEDBACK = "rageval day", "rageval feedback"
NO_DAY = "null"
"""The day of rows whose time cannot be read."""
COUNTS = "day string, slice string, slice_value string, name string, key string, count long, hits long"
FIGURES = "slice string, slice_value string, figure string, value double, count long, ci_low double, ci_high double, day date"
"""One row per day × slice × figure; `slice` is null for all rows. `value` is a share, a score or a distance in [0, 1] (of rows
their number), null where nothing tells it; `count` is of how many rows or scores it is, `ci_low` and `ci_high` are its 95 %
interval."""
MOST_COUNTS = 200_000
"""Rows of sums that the driver takes: some thousand values of slices a day."""


def today(spark: SparkSession) -> date:
    """The day that it is in the session's time zone. Starts no job on executors."""
    [row] = spark.sql("select current_date() as today").collect()
    found: date = row["today"]
    return found


def moment(frame: DataFrame, name: str, source: object) -> str:
    """A column of times as SQL, null where a text is none. Raises InputError for a column that is not there or no time."""
    if name not in frame.columns:
        raise InputError(f"time: no column {name!r}; the columns of {source} are {', '.join(_plain(frame))}")
    kind = frame.schema[name].dataType
    quoted = quote(name)
    if isinstance(kind, T.StringType):
        return f"try_to_timestamp({quoted})"
    if not isinstance(kind, (T.DateType, T.TimestampType, T.TimestampNTZType)):
        raise InputError(f"time: column {name!r} is {kind.simpleString()}; a time is a date, a timestamp, or a text such as "
                         f"2026-11-29T08:15:00Z")
    return quoted


def within(moment: str, first: date, last: date) -> str:
    """The condition that a time is on one of the days, in the session's time zone."""
    return f"({moment} >= date'{first}' and {moment} < date_add(date'{last}', 1))"


def columns_of(frame: DataFrame, mapped: Mapping[str, str], slices: Sequence[str], feedback: str | None,
               sampling: Sampling, source: Source) -> FieldGroup:
    """The columns that signals are read from: as mapped, else by name. Raises InputError for those that are not there or of
    another type."""
    fields = mapped or fields_found(_plain(frame))
    if not mapped:
        refuse_ambiguous(READ, _plain(frame), source)
    [group] = resolved([FieldGroup({name: fields[name] for name in READ if name in fields}, ())], frame, source)
    if not group.fields:
        raise InputError(f"no column of {source} is a question, an answer or what was retrieved; its columns are "
                         f"{', '.join(_plain(frame))}. Map them: evaluate: [{{fields: {{user_input: <column>, …}}}}]")
    check_columns(frame, slices, "slice")
    check_columns(frame, sampling.stratify_by, "stratify")
    if feedback is not None and feedback not in frame.columns:
        raise InputError(f"feedback: no column {feedback!r}; the columns of {source} are {', '.join(_plain(frame))}")
    return group


def _plain(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if name != CORRUPT]


def counted(frame: DataFrame, watch: Watch, slices: Sequence[str], moment: str, feedback: str | None = None) -> list[Any]:
    """The sums (COUNTS) of all rows, those without a time under NO_DAY. Starts one job: tasks sum their rows, and only sums
    are shuffled and collected. Raises InputError where there are more than MOST_COUNTS."""
    rated = column(feedback).cast("string") if feedback else F.lit(None).cast("string")
    shaped = frame.withColumn(DAY, F.expr(f"cast(cast({moment} as date) as string)")).withColumn(
        FEEDBACK, F.when(rated != "null", rated))  # a slice would have the text "null" in quotation marks
    rows = normalised(shaped, [watch.group], [*slices, DAY, FEEDBACK]).select("sample", "slices", "fault")

    def summed(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        sums = Sums(watch)
        for frame in frames:
            for sample, sliced, fault in frame.itertuples(index=False, name=None):
                of = json.loads(sliced)
                sums.add(of.pop(DAY), {name: of[name] for name in slices}, json.loads(sample), of[FEEDBACK], fault)
        yield pd.DataFrame(list(sums.rows()), columns=[part.split()[0] for part in COUNTS.split(", ")])

    by = ("day", "slice", "slice_value", "name", "key")
    sums = rows.mapInPandas(summed, COUNTS).groupBy(*by).agg(F.sum("count").alias("count"), F.sum("hits").alias("hits"))
    with rows_told():
        found = sums.limit(MOST_COUNTS + 1).collect()
    if len(found) > MOST_COUNTS:
        raise InputError(f"slices: {', '.join(slices)} have so many values in these days that there would be more than "
                         f"{MOST_COUNTS:,} figures; name columns with few, or fewer days")
    return found


def questions(spark: SparkSession, source: Source, groups: Sequence[FieldGroup]) -> list[Any]:
    """The sums (COUNTS) of the questions of a dataset, under NO_DAY. Starts one job. Raises InputError."""
    frame = read(spark, source, groups)
    names = [group.fields["user_input"] for group in groups if "user_input" in group.fields]
    if not names:
        raise InputError("its metrics read no question")
    [group] = resolved([FieldGroup({"user_input": names[0]}, ())], frame, source)
    return counted(frame, Watch(group), (), "cast(null as date)")


def check_table(spark: SparkSession, table: str) -> bool:
    """Whether a catalog table of figures is there. Raises InputError where it cannot be, or has other columns."""
    with _told(table):
        if not spark.catalog.tableExists(table):
            return False
        if (there := spark.table(table).columns) != _names():
            raise InputError(f"table {table} has the columns {', '.join(there)}; figures need {', '.join(_names())}. Name "
                             f"another table, or one that is not there yet")
    return True


def replace(spark: SparkSession, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put figures (FIGURES) into a catalog table, partitioned by day, in place of those of their days; it is made where there is
    none. Starts one job. Raises InputError as check_table, or where it cannot be written."""
    frame = spark.createDataFrame([tuple(row[name] for name in _names()) for row in rows], FIGURES).coalesce(1)
    there = check_table(spark, table)
    with _told(table):
        if not there:
            frame.write.partitionBy("day").saveAsTable(table)
            return
        mode = "spark.sql.sources.partitionOverwriteMode"
        before = spark.conf.get(mode, "static")
        spark.conf.set(mode, "dynamic")  # for this write alone: only the partitions of these days are replaced
        try:
            frame.write.insertInto(table, overwrite=True)
        finally:
            spark.conf.set(mode, str(before))


def series(spark: SparkSession, table: str, since: date) -> list[Mapping[str, Any]]:
    """The figures of all rows together in a catalog table, from a day on. Starts one job."""
    with _told(table):
        return [row.asDict() for row in spark.table(table).where(f"slice is null and day >= date'{since}'").collect()]


def _names() -> list[str]:
    return [part.split()[0] for part in FIGURES.split(", ")]


@contextmanager
def _told(table: str) -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise InputError(f"table {table}: {first_line(error)}") from None
