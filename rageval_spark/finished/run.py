"""A finished run, and what can be had of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rageval_spark.engine.files import Folder
from rageval_spark.report.gates import exit_code
from rageval_spark.report.recorded import recorded
from rageval_spark.spark.read import read_scores
from rageval_spark.spark.tables import STATS
from rageval_spark.spark.worst import failures, worst

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rageval_spark.report.page import Page


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, its tables as DataFrames, its summary."""

    folder: Folder
    spark: SparkSession = field(repr=False)
    summary: Mapping[str, Any] = field(repr=False)

    @property
    def scores(self) -> DataFrame:
        return read_scores(self.spark, self.folder)

    @property
    def stats(self) -> DataFrame:
        return self.spark.read.schema(STATS).parquet(self.folder.for_spark("stats"))

    def worst(self, count: int = 3) -> Mapping[str, list[Mapping[str, Any]]]:
        """The samples that miss most thresholds, of as many those that miss them by most, with what they missed."""
        metrics = dict.fromkeys(name for group in self.summary["metrics_score"].values() for name in group["stats"])
        return worst(self.scores, list(metrics), count)

    def failures(self) -> list[Mapping[str, Any]]:
        """For each code of failed scores: how many there are, and metric, sample_id and reason of one."""
        return failures(self.scores)

    def report(self) -> Page:
        """The run's page (report.html), which a notebook shows in place; made anew where it is not there. Raises RagevalError."""
        from rageval_spark.report.page import make

        return make.existing(recorded(str(self.folder)))

    @property
    def page(self) -> str | None:
        """Where the run's page is; None where it could not be made."""
        return f"{self.folder}/report.html" if self.folder.exists("report.html") else None

    @property
    def exit_code(self) -> int:
        """0 where all gates are met, 3 where too many judgements failed, 1 where another gate is not met."""
        return exit_code(self.summary["gates"])
