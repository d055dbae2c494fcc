"""Runs in tables of a catalog: a partition for each run, replaced where the run is done again."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rageval_spark.errors import ConfigError, PublishingFailed
from rageval_spark.spark.read import first_line
from rageval_spark.spark.tables import SCORES, STATS

KEY = "run_id"
TABLES = {"scores": SCORES, "stats": STATS}


def prepare(spark: SparkSession, prefix: str, kind: str | None) -> None:
    """See that a run can be written to the tables `<prefix>scores` and `<prefix>stats`: they are made where they are not
    there, of the format `kind` or the session's default, and get the columns that they lack.

    Raises ConfigError naming the table and what is wrong with it. Appends no rows to each, which takes the same rights.
    """
    for name, columns in TABLES.items():
        table = _quoted(prefix + name)
        empty = spark.createDataFrame([], columns)
        with _told(table):
            if not spark.catalog.tableExists(table):
                writer = empty.write.partitionBy(KEY).mode("ignore")
                (writer.format(kind) if kind else writer).saveAsTable(table)
            _fit(spark, table, dict(empty.dtypes))
            spark.table(table).limit(0).write.insertInto(table)


def _fit(spark: SparkSession, table: str, wanted: Mapping[str, str]) -> None:
    """Add the columns that a table of an older version lacks. Raises ConfigError where it is a table of something else."""
    if [column.name for column in spark.catalog.listColumns(table) if column.isPartition] != [KEY]:
        raise ConfigError(f"output.tables: {table} is there, but is not a table partitioned by {KEY} alone, so that a run could "
                          f"not be replaced in it. Give another prefix, or drop it and let it be made")
    found = dict(spark.table(table).dtypes)
    for column, kind in wanted.items():
        if found.get(column, kind) != kind:
            raise ConfigError(f"output.tables: the column {column} of {table} is {found[column]}, and would have to be {kind}. "
                              f"Give another prefix, or drop the table and let it be made")
    if missing := [f"{column} {kind}" for column, kind in wanted.items() if column not in found]:
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({', '.join(missing)})")


@contextmanager
def _told(table: str) -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise ConfigError(f"output.tables: {table} cannot be written: {first_line(error)}") from None


def publish(spark: SparkSession, prefix: str, run_id: str, scores: DataFrame, stats: DataFrame) -> None:
    """Put a run's rows in the place of those that the tables have of the same id. Starts a job for each table.

    INSERT OVERWRITE of one partition is what formats with and without DELETE have in common, and one transaction where a
    format has those. Columns that the tables have beyond a run's are null. Raises PublishingFailed.
    """
    for name, frame in (("scores", scores), ("stats", stats)):
        table, view = _quoted(prefix + name), f"rageval_{uuid.uuid4().hex}"
        try:
            columns = [_quoted(one.name, whole=True) for one in spark.catalog.listColumns(table) if one.name != KEY]
            own = {_quoted(one, whole=True) for one in frame.columns}
            values = ", ".join(one if one in own else f"NULL AS {one}" for one in columns)
            frame.createOrReplaceTempView(view)
            spark.sql(f"INSERT OVERWRITE TABLE {table} PARTITION ({KEY} = '{run_id}') SELECT {values} FROM {view}")
        except (PySparkException, Py4JError) as error:
            raise PublishingFailed(f"{table} could not be written: {first_line(error)}") from error
        finally:
            spark.catalog.dropTempView(view)


def _quoted(name: str, whole: bool = False) -> str:
    """A name as SQL takes it, whatever signs are in it: each of its parts between dots, or the whole."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in ([name] if whole else name.split(".")))
