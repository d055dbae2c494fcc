"""Making the page of a run: at its end, and again from its files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rageval_spark.engine.files import Folder
from rageval_spark.report.page import DATA, FILE, Page, write
from rageval_spark.report.page.gather import gathered
from rageval_spark.report.recorded import Recorded
from rageval_spark.spark import recalled, session
from rageval_spark.spark.read import read_scores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)


def page(folder: Folder, manifest: Mapping[str, Any], summary: Mapping[str, Any], scores: DataFrame,
         texts: Callable[[Sequence[str]], recalled.Texts]) -> None:
    """Make the page of a run that ends, and keep what it was made of beside it. What goes wrong is told, and costs the
    run nothing. Starts four jobs and what `texts` does."""
    try:
        for name in (FILE, DATA):  # of an earlier run of this id
            folder.delete(name)
        data = gathered(scores, summary, texts)
        folder.write_json(DATA, data)
        write(folder, manifest, summary, data)
    except Exception as error:  # a fault of a page, whatever it is, must not take with it what was paid for
        log.warning("the page %s/%s could not be made (%s: %s). All else of the run is there, and `rageval report %s` tries "
                    "again", folder, FILE, type(error).__name__, error, folder)


def again(run: Recorded, comparison: Mapping[str, Any] | None = None) -> Page:
    """Make the page of a finished run anew, with a comparison (Comparison.to_dict()) if there is one. Without Spark, unless
    the run has none of what pages are made of, or of the samples' texts. Raises InputError, OSError."""
    try:
        data = run.folder.read_json(DATA)
    except (FileNotFoundError, ValueError):
        data = None
    if not data or (data["samples"] and not any(one["texts"] for one in data["samples"])):  # the dataset may be back
        spark = session.own_session("local[*]", {})
        data = gathered(read_scores(spark, run.folder), run.summary, partial(recalled.texts, spark, run.manifest))
        if not run.manifest["config"].get("output", {}).get("good", True):
            data["histograms"] = []  # of bad ones alone they would tell of something else
            data["notes"].append("The run kept only what is below its threshold (output.good: false), so that there are no "
                                 "distributions.")
        run.folder.write_json(DATA, data)
    return write(run.folder, run.manifest, run.summary, data, comparison)


def existing(run: Recorded) -> Page:
    """The page of a finished run as it is, or made anew where it is not there. Raises InputError, OSError."""
    try:
        return Page(run.folder.read(FILE).decode())
    except FileNotFoundError:
        return again(run)
