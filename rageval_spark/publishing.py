"""Where else a run goes once its files are complete: tables of a catalog, an experiment of MLflow."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rageval_spark import tracking
from rageval_spark.config import Output
from rageval_spark.engine.files import Folder
from rageval_spark.errors import PublishingFailed
from rageval_spark.spark import catalog
from rageval_spark.spark.worst import missed_first

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

MOST_ROWS = 1000
"""Scores that are noted in MLflow, those that missed their threshold first."""


def prepare(output: Output, spark: SparkSession) -> None:
    """See that a run can go where it is wanted. Raises ConfigError, before anything is spent."""
    if output.mlflow:
        tracking.prepare(output.mlflow)
    if output.tables:
        catalog.prepare(spark, output.tables, output.format)


def publish(output: Output, spark: SparkSession, folder: Folder, manifest: Mapping[str, Any], summary: Mapping[str, Any],
            scores: DataFrame, stats: DataFrame) -> None:
    """Bring a complete run where it is wanted. Raises PublishingFailed for tables; MLflow is worth a warning."""
    again = "Run the same command with this id to do that alone, without asking anything again"
    if output.mlflow:
        try:
            tracking.note(output.mlflow, folder, manifest, summary, missed_first(scores, MOST_ROWS))
        except Exception as error:  # each of MLflow's stores raises what it likes
            log.warning("the run is complete, but could not be noted in MLflow: %s. %s", error, again)
    if output.tables:
        try:
            catalog.publish(spark, output.tables, manifest["run_id"], scores, stats)
        except PublishingFailed as failure:
            raise PublishingFailed(f"the run is complete in {folder}, but {failure}. {again}") from failure
