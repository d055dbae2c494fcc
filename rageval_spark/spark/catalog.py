"""Runs in tables of a catalog: a partition for each run, replaced where the run is done again."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rageval_spark.errors import ConfigError, PublishingFailed
from rageval_spark.spark.files import first_line
from rageval_spark.spark.names import quote
from rageval_spark.spark.tables import SCORES, STATS

KEY = "run_id"
SPOILT = re.compile(r"(?:^Error occurred during query planning:\s*|^\S*AnalysisException: )(.*)", re.M)
"""How Spark explains a statement that it cannot carry out: 4 by the first, 3.5 by the second."""
TABLES = {"scores": SCORES, "stats": STATS}


def prepare(spark: SparkSession, prefix: str, kind: str | None) -> None:
    """See that a run can be written to the tables `<prefix>scores` and `<prefix>stats`: they are made where they are not
    there, of the format `kind` or the session's default, and get the columns that they lack.

    Raises ConfigError naming the table and what is wrong with it. Has the statement that will write a run explained, and appends
    no rows, which takes the same rights and leaves nothing.
    """
    for name, columns in TABLES.items():
        table = _quoted(prefix + name)
        empty = spark.createDataFrame([], columns)
        try:
            if not spark.catalog.tableExists(table):
                writer = empty.write.partitionBy(KEY).mode("ignore")
                (writer.format(kind) if kind else writer).saveAsTable(table)
            _fit(spark, table, dict(empty.dtypes))
            told = "\n".join(row[0] for row in _replace(spark, table, "none", empty, "EXPLAIN ").collect())
            wrong = found[1] if (found := SPOILT.search(told)) else ""
            spark.table(table).limit(0).write.insertInto(table)
        except (PySparkException, Py4JError) as error:
            wrong = first_line(error)
        if wrong:
            raise ConfigError(f"output.tables: {table} cannot be written: {wrong.rstrip('.:')}. It has to be a table partitioned "
                              f"by {KEY} alone, in a schema that is there; where it is not there, it is made")


def _fit(spark: SparkSession, table: str, wanted: Mapping[str, str]) -> None:
    """Add the columns that a table of an older version lacks. Raises ConfigError for one of another type."""
    found = dict(spark.table(table).dtypes)
    for column, kind in wanted.items():
        if found.get(column, kind) != kind:
            raise ConfigError(f"output.tables: the column {column} of {table} is {found[column]}, and would have to be {kind}. "
                              f"Give another prefix, or drop the table and let it be made")
    if missing := [f"{column} {kind}" for column, kind in wanted.items() if column not in found]:
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({', '.join(missing)})")


def publish(spark: SparkSession, prefix: str, run_id: str, scores: DataFrame, stats: DataFrame) -> None:
    """Put a run's rows in the place of those that the tables have of the same id. Starts a job for each table. Raises
    PublishingFailed."""
    for name, frame in (("scores", scores), ("stats", stats)):
        table = _quoted(prefix + name)
        try:
            _replace(spark, table, run_id, frame)
        except (PySparkException, Py4JError) as error:
            raise PublishingFailed(f"{table} could not be written: {first_line(error)}") from error


def _replace(spark: SparkSession, table: str, run_id: str, frame: DataFrame, how: str = "") -> DataFrame:
    """INSERT OVERWRITE of one partition: what formats with and without DELETE have in common, and one transaction where a
    format has those. Columns that the table has beyond those of the frame are null."""
    view = f"rageval_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(view)
    try:
        values = ", ".join(f"{'' if name in frame.columns else 'NULL AS '}{_quoted(name, whole=True)}"
                           for name in spark.table(table).columns if name != KEY)
        return spark.sql(f"{how}INSERT OVERWRITE TABLE {table} PARTITION ({KEY} = '{run_id}') SELECT {values} FROM {view}")
    finally:
        spark.catalog.dropTempView(view)


def _quoted(name: str, whole: bool = False) -> str:
    """A name as SQL takes it, whatever signs are in it: each of its parts between dots, or the whole."""
    return ".".join(map(quote, [name] if whole else name.split(".")))
