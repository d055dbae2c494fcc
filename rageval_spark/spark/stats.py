"""Statistics of scores: everything Spark can sum in one pass, then intervals and bounds from the sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from rageval_spark.engine.plan import FieldGroup, MetricUse

CONFIDENCE = 0.95
QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}
GROUPING = ("slice", "slice_value", "field_group", "metric")
MEASURE = "measure:"


def stats(scores: DataFrame, groups: Sequence[FieldGroup], slices: Sequence[str], run_id: str) -> list[dict[str, Any]]:
    """One row per slice × field group × metric (tables.STATS), in the order of the config.

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
    status, score = F.col("status"), F.col("score")
    return [
        F.count(F.lit(1)).alias("total"), F.count(score).alias("count"),
        F.count_if(status == "skipped").alias("n_skipped"), F.count_if(status == "failed").alias("n_failed"),
        F.avg(score).alias("average"), F.min(score).alias("min"), F.max(score).alias("max"),
        F.stddev_pop(score).alias("std_dev"), F.sum(F.col("passed").cast("long")).alias("passed"),
        F.percentile_approx(score, list(QUANTILES.values()), 10_000).alias("quantiles"),
        *(F.sum(F.col("measures")[name]).alias(MEASURE + name) for name in measures),
        *(F.min(F.col("measures")[name]).alias(f"{MEASURE}least {name}") for name in extremes),
        *(F.max(F.col("measures")[name]).alias(f"{MEASURE}greatest {name}") for name in extremes),
    ]


def _stat(row: Row, use: MetricUse, run_id: str) -> dict[str, Any]:
    count, failed, average = row["count"], row["n_failed"], row["average"]
    judged = count + failed
    low, high = interval(average, row["std_dev"], count, use.metric.binary)
    sums = {name.removeprefix(MEASURE): value for name, value in row.asDict().items()
            if name.startswith(MEASURE) and value is not None}
    scored = count * average if count else 0.0
    worst, best = (0, failed) if use.metric.direction == "higher" else (failed, 0)
    return {
        "run_id": run_id, **{name: row[name] for name in GROUPING}, "total": row["total"], "count": count,
        "n_skipped": row["n_skipped"], "n_failed": failed, "coverage": count / judged if judged else None,
        "average": average, "min": row["min"], "max": row["max"], "std_dev": row["std_dev"],
        **dict(zip(QUANTILES, row["quantiles"] or (None, None, None), strict=True)),
        "ci_low": low, "ci_high": high, "average_low": (scored + worst) / judged if judged else None,
        "average_high": (scored + best) / judged if judged else None,
        "pass_rate": row["passed"] / count if count else None,
        "extra": {name: float(value) for name, value in use.metric.extra(sums).items()}, "layer": use.metric.layer,
    }


def interval(average: float | None, std_dev: float | None, count: int, binary: bool) -> tuple[float | None, float | None]:
    """A 95 % interval of an average of scores in [0, 1]; (None, None) below two scores.

    Wilson's for 0/1 scores; else Student's t with the sample's standard deviation (from the population's), cut to [0, 1].
    """
    if average is None or std_dev is None or count < 2:
        return None, None
    if binary:
        z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        centre = (average + z * z / (2 * count)) / (1 + z * z / count)
        half = z / (1 + z * z / count) * math.sqrt(average * (1 - average) / count + z * z / (4 * count * count))
    else:
        centre, half = average, t_quantile((1 + CONFIDENCE) / 2, count - 1) * std_dev / math.sqrt(count - 1)
    return max(0.0, centre - half), min(1.0, centre + half)


def t_quantile(p: float, df: int) -> float:
    """Quantile of Student's t for p > 0.5: exact for 1 and 2 degrees of freedom, else G. W. Hill's expansion
    (Algorithm 396, 1970), good to five digits."""
    if df == 1:
        return math.tan(math.pi * (p - 0.5))
    if df == 2:
        return math.sqrt(2 / (4 * p * (1 - p)) - 2) if p < 1 else math.inf
    tail = 2 * (1 - p)
    a = 1 / (df - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * df
    y = (d * tail) ** (2 / df)
    if y > 0.05 + a:
        x = NormalDist().inv_cdf(tail / 2)
        y = x * x
        if df < 5:
            c += 0.3 * (df - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y * y)
    else:
        z = (1 / (((df + 6) / (df * y) - 0.089 * d - 0.822) * (df + 2) * 3) + 0.5 / (df + 4)) * y - 1
        y = z * (df + 1) / (df + 2) + 1 / y
    return math.sqrt(df * y)


@dataclass(frozen=True)
class Tally:
    """Counts over the scores of a run: samples by outcome, and scores by label and by code.

    `outcomes` has good, bad, incomplete and skipped; `labels` counts by field group and label, `codes` by field
    group, metric, status and code.
    """

    outcomes: Mapping[str, int]
    labels: Mapping[tuple[str, str], int]
    codes: Mapping[tuple[str, str, str, str], int]

    @property
    def samples(self) -> int:
        return sum(self.outcomes.values())


def tally(scores: DataFrame) -> Tally:
    """Starts two jobs. A sample is bad when one of its scores misses its threshold, incomplete when none does but one
    failed, skipped when nothing of it was scored, else good."""
    per_sample = scores.groupBy("sample_id").agg(
        F.max(F.when(F.col("passed").eqNullSafe(False), 1).otherwise(0)).alias("bad"),
        F.max(F.when(F.col("status") == "failed", 1).otherwise(0)).alias("failed"), F.count("score").alias("scored"))
    outcome = (F.when(F.col("bad") == 1, "bad").when(F.col("failed") == 1, "incomplete")
               .when(F.col("scored") == 0, "skipped").otherwise("good"))
    outcomes = {"good": 0, "bad": 0, "incomplete": 0, "skipped": 0}
    for row in per_sample.groupBy(outcome.alias("outcome")).count().collect():
        outcomes[row["outcome"]] = row["count"]
    labels: dict[tuple[str, str], int] = {}
    codes: dict[tuple[str, str, str, str], int] = {}
    for row in scores.groupBy("field_group", "metric", "status", "code", "label").count().collect():
        if row["label"]:
            labels[row["field_group"], row["label"]] = row["count"]
        if row["code"]:
            codes[row["field_group"], row["metric"], row["status"], row["code"]] = row["count"]
    return Tally(outcomes, labels, codes)
