"""Statistics of scores: everything Spark can sum in one pass, then intervals and bounds from the sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from rageval_spark.engine.plan import FieldGroup, MetricUse
from rageval_spark.spark.samples import NUMBERED
from rageval_spark.statistics.intervals import interval

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}
GROUPING = ("slice", "slice_value", "field_group", "metric")
MEASURE = "measure:"


def stats(scores: DataFrame, groups: Sequence[FieldGroup], slices: Sequence[str], run_id: str) -> list[dict[str, Any]]:
    """One row per slice × field group × metric (tables.STATS), in the order of the config.

    Weights make them estimates for the dataset: averages are weighted, `extra` comes from weighted sums, and an interval is
    as wide as for the number of scores of equal weight that would tell as much: (Σw)² / Σw² (Kish 1965, effective sample size).
    That a part of a limited dataset was judged does not narrow it: it is of data such as this, as without sampling.

    Starts one job, a single groupBy; collects its result, which has no rows of samples.
    """
    metrics = [use.metric for group in groups for use in group.uses]
    names = sorted({name for metric in metrics for name in metric.measured})
    extremes = sorted({name for metric in metrics for name in metric.extremes})
    sliced = scores.withColumn("by", F.explode(F.array(*_slices(slices)))).select("*", "by.slice", "by.slice_value")
    rows = sliced.groupBy(*GROUPING).agg(*_aggregates(names, extremes)).collect()
    uses = {(group.key, use.name): use for group in groups for use in group.uses}
    order = {key: place for place, key in enumerate(uses)}
    by_slice: dict[str | None, int] = {None: -1, **{name: place for place, name in enumerate(slices)}}
    rows.sort(key=lambda row: (by_slice[row["slice"]], row["slice_value"] or "", order[row["field_group"], row["metric"]]))
    return [_stat(row, uses[row["field_group"], row["metric"]], run_id) for row in rows]


def _slices(slices: Sequence[str]) -> list[Column]:
    null = F.lit(None).cast("string")
    pairs = [(null, null), *((F.lit(name), F.col("slices")[F.lit(name)]) for name in slices)]
    return [F.struct(name.alias("slice"), value.alias("slice_value")) for name, value in pairs]


def _aggregates(measures: Iterable[str], extremes: Sequence[str]) -> list[Column]:
    status, score, unanswered = F.col("status"), F.col("score"), _unanswered()
    weight = F.coalesce("weight", F.lit(1.0))  # runs of older versions have none
    scored, failed = (F.when(status == one, weight) for one in ("scored", "failed"))
    average = _average(score, scored)
    spread = F.sqrt(F.greatest(F.lit(0.0), _average(score * score, scored) - average * average))
    return [
        F.count(F.lit(1)).alias("total"), F.count(score).alias("count"),
        F.count_if(status == "skipped").alias("n_skipped"), F.count_if(status == "failed").alias("n_failed"),
        average.alias("average"), F.min(score).alias("min"), F.max(score).alias("max"),
        F.when(_equal(scored), F.stddev_pop(score)).otherwise(spread).alias("std_dev"),
        _average(F.col("passed").cast("double"), scored).alias("pass_rate"),
        F.when(_equal(scored), F.count(score)).otherwise(F.sum(scored) ** 2 / F.sum(scored * scored)).alias("effective"),
        F.coalesce(F.sum(scored), F.lit(0.0)).alias("scored"), F.coalesce(F.sum(failed), F.lit(0.0)).alias("failed"),
        F.percentile_approx(score, list(QUANTILES.values()), 10_000).alias("quantiles"),
        *(F.sum(weight * F.col("measures")[name]).alias(MEASURE + name) for name in measures),
        *(F.min(F.col("measures")[name]).alias(f"{MEASURE}least {name}") for name in extremes),
        *(F.max(F.col("measures")[name]).alias(f"{MEASURE}greatest {name}") for name in extremes),
        F.count_if(unanswered).alias("n_unanswered"),
        F.count_if(score.isNotNull() & ~unanswered & ~F.arrays_overlap("flags", F.array(F.lit("REFUSAL"), F.lit("EMPTY_ANSWER"))))
        .alias("n_answered"),
    ]


def _unanswered() -> Column:
    """Whether the response of a score is blank or declines to answer; false where that is right, and where it is the
    reference that declines. Never null."""
    wrong = F.coalesce("score", F.lit(0.0)) < 1  # a reference may be blank, too
    declines = F.array_contains("flags", "REFUSAL") & wrong
    blank = F.array_contains("flags", "EMPTY_ANSWER") & wrong
    about_reference = F.coalesce("code", F.lit("")).isin("NO_REFERENCE_CLAIMS", "BOTH_REFUSED")
    by_code = F.coalesce("code", F.lit("")).isin("NO_ANSWER", "NO_CLAIMS")
    return F.coalesce(by_code | blank | declines & ~about_reference, F.lit(False))


def _equal(weight: Column) -> Column:
    return F.min(weight).eqNullSafe(F.max(weight))


def _average(value: Column, weight: Column) -> Column:
    """The weighted average; where weights are equal the plain one, to the last digit. `value` is null where `weight` is."""
    return F.when(_equal(weight), F.avg(value)).otherwise(F.sum(weight * value) / F.sum(weight))


def _stat(row: Row, use: MetricUse, run_id: str) -> dict[str, Any]:
    count, failed, average = row["count"], row["n_failed"], row["average"]
    weight, lost = row["scored"], row["failed"]
    low, high = interval(average, row["std_dev"], row["effective"], use.metric.binary)
    sums = {name.removeprefix(MEASURE): value for name, value in row.asDict().items()
            if name.startswith(MEASURE) and value is not None}
    known = weight * average if count else 0.0
    worst, best = (0, lost) if use.metric.direction == "higher" else (lost, 0)
    return {
        "run_id": run_id, **{name: row[name] for name in GROUPING}, "total": row["total"], "count": count,
        "n_skipped": row["n_skipped"], "n_failed": failed, "coverage": count / (count + failed) if count + failed else None,
        "average": average, "min": row["min"], "max": row["max"], "std_dev": row["std_dev"],
        **dict(zip(QUANTILES, row["quantiles"] or (None, None, None), strict=True)),
        "ci_low": low, "ci_high": high, "average_low": (known + worst) / (weight + lost) if weight + lost else None,
        "average_high": (known + best) / (weight + lost) if weight + lost else None,
        "pass_rate": row["pass_rate"],
        "extra": {name: float(value) for name, value in use.metric.extra(sums).items()}, "layer": use.metric.layer,
        **{name: row[name] if "response" in use.metric.takes() else None for name in ("n_answered", "n_unanswered")},
    }


@dataclass(frozen=True)
class Tally:
    """Counts over the scores of a run: samples by outcome, and scores by label and by code.

    `outcomes` has good, bad, incomplete and skipped, which add up to all samples; `undecided` of the skipped ones have a score,
    but of no metric with a threshold. `labels` counts by field group and label, `codes` by field
    group, metric, status and code. `repeats` are samples without an id that repeat an earlier one.
    """

    outcomes: Mapping[str, int]
    labels: Mapping[tuple[str, str], int]
    codes: Mapping[tuple[str, str, str, str], int]
    undecided: int = 0
    repeats: int = 0

    @property
    def samples(self) -> int:
        return sum(self.outcomes.values())


def tally(scores: DataFrame) -> Tally:
    """Starts two jobs. A sample is bad when one of its scores misses its threshold, incomplete when none does but one
    failed, skipped when no metric with a threshold scored it, else good."""
    per_sample = scores.groupBy("sample_id").agg(
        F.max(F.when(F.col("passed").eqNullSafe(False), 1).otherwise(0)).alias("bad"),
        F.max(F.when(F.col("status") == "failed", 1).otherwise(0)).alias("failed"), F.count("score").alias("scored"),
        F.count("passed").alias("decided"))
    outcome = (F.when(F.col("bad") == 1, "bad").when(F.col("failed") == 1, "incomplete")
               .when(F.col("decided") == 0, "skipped").otherwise("good"))
    outcomes = {"good": 0, "bad": 0, "incomplete": 0, "skipped": 0}
    undecided = repeats = 0
    open_ended = F.count_if((outcome == "skipped") & (F.col("scored") > 0)).alias("undecided")
    numbered = F.count_if(F.col("sample_id").rlike(NUMBERED)).alias("numbered")
    for row in per_sample.groupBy(outcome.alias("outcome")).agg(F.count("*").alias("count"), open_ended, numbered).collect():
        outcomes[row["outcome"]] = row["count"]
        undecided += row["undecided"]
        repeats += row["numbered"]
    labels: dict[tuple[str, str], int] = {}
    codes: dict[tuple[str, str, str, str], int] = {}
    for row in scores.groupBy("field_group", "metric", "status", "code", "label").count().collect():
        if row["label"]:
            labels[row["field_group"], row["label"]] = row["count"]
        if row["code"]:
            codes[row["field_group"], row["metric"], row["status"], row["code"]] = row["count"]
    return Tally(outcomes, labels, codes, undecided, repeats)
