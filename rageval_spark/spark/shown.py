"""What a page shows of scores: how they are distributed, and a few samples with all that was found of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

BINS = 20
HOW = ("worst", "borderline", "random", "unscored")
"""Why a sample is shown: it misses a threshold by most, is NEAR one, was drawn, or a metric of it has no score."""
NEAR = 0.15
"""How far from its threshold a score (both in [0, 1]) may be to be borderline: what one claim or chunk of seven, decided the
other way, makes. Scores of 0 and 1 are never near 0.5."""
MOST = {"worst": 25, "borderline": 10, "random": 10, "unscored": 10}
"""How many samples are shown at most, by HOW."""
EACH = 10
LONGEST = 100_000
SHOWN = ("sample_id", "field_group", "metric", "score", "status", "code", "reason", "passed", "threshold", "flags", "slices")


def histograms(scores: DataFrame, slices: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """How many scores lie in each of BINS equal parts of [0, 1] (the last with 1), by field group and metric: of all rows
    (`slice` None), and of these values of slices. Starts one job; collects up to BINS rows for each histogram."""
    value = {name: F.col("slices")[name] for name in slices}
    all_rows = F.struct(F.lit(None).cast("string").alias("slice"), F.lit(None).cast("string").alias("slice_value"))
    parts = [F.when(value[name].isin(list(values)), F.struct(F.lit(name).alias("slice"), value[name].alias("slice_value")))
             for name, values in slices.items()]
    place = F.least(F.floor(F.col("score") * BINS + 1e-9), F.lit(BINS - 1)).alias("place")
    exploded = scores.where("score is not null").withColumn("by", F.explode(F.array_compact(F.array(all_rows, *parts))))
    keys = ("slice", "slice_value", "field_group", "metric")
    found: dict[tuple[Any, ...], list[int]] = {}
    for row in exploded.select("by.*", "field_group", "metric", place).groupBy(*keys, "place").count().collect():
        found.setdefault(tuple(row[key] for key in keys), [0] * BINS)[row["place"]] = row["count"]
    return [{**dict(zip(keys, key, strict=True)), "counts": counts} for key, counts in found.items()]


def chosen(scores: DataFrame, metrics: Sequence[tuple[str, str]]) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """The samples to show: by id, for each reason of HOW, those of `metrics` for which they were chosen (none for "random").

    Of each of `metrics` (field group and name; at least one) as many are taken as MOST leaves room for, at most EACH. Hashes
    of ids break ties, so that the choice is the same every time. Starts one job; collects up to EACH rows for each reason,
    metric and code.
    """
    distance, none = F.abs(F.col("score") - F.col("threshold")), F.lit(None).cast("string")
    unscored = F.col("score").isNull() & (F.col("code") != "JUDGE_UNSUPPORTED")  # which all samples have
    group, metric = metrics[0]  # to draw samples, one row of each is enough
    reasons = [_reason("worst", ~F.col("passed"), -distance, none),
               _reason("borderline", distance <= NEAR + 1e-9, distance, none),
               _reason("random", (F.col("field_group") == group) & (F.col("metric") == metric), F.lit(0.0), none),
               _reason("unscored", unscored, F.lit(0.0), F.col("code"))]
    candidates = scores.select("sample_id", "field_group", "metric", F.xxhash64("sample_id").alias("luck"),
                               F.explode(F.array_compact(F.array(*reasons))).alias("as")).select("*", "as.*")
    kind = F.xxhash64("how", "field_group", "metric", "code")  # a number is sorted by much faster than four texts
    window = Window.partitionBy(kind).orderBy("by", "luck", "sample_id")
    placed = candidates.withColumn("place", F.row_number().over(window)).where(F.col("place") <= EACH)  # kept small on the way
    rows = placed.select("how", "place", "luck", "field_group", "metric", "sample_id").collect()
    return _taken(rows, {key: number for number, key in enumerate(metrics)})


def _reason(how: str, where: Column, by: Column, code: Column) -> Column:
    return F.when(where, F.struct(F.lit(how).alias("how"), by.alias("by"), code.alias("code")))


def _taken(rows: Sequence[Row], order: Mapping[tuple[str, str], int]) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """The first of each metric, then the second of each, …, until there are enough; those drawn by chance by their hashes."""
    def turn(row: Row) -> tuple[int, ...]:
        how = HOW.index(row["how"])
        return (how, row["luck"], 0) if row["how"] == "random" else (how, row["place"], order[row["field_group"], row["metric"]])

    found: dict[str, dict[str, list[tuple[str, str]]]] = {}
    taken: dict[str, set[str]] = {how: set() for how in HOW}
    for row in sorted(rows, key=turn):
        how, id, metric = row["how"], row["sample_id"], (row["field_group"], row["metric"])
        if id in taken[how] or len(taken[how]) < MOST[how]:
            taken[how].add(id)
            named = found.setdefault(id, {}).setdefault(how, [])
            if how != "random" and metric not in named:
                named.append(metric)
    return found


def of_samples(scores: DataFrame, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The scores of a few samples (as SHOWN, with `details`, null where they are longer than LONGEST characters), one per
    sample, field group and metric: of several rows with one id the worst. Starts one job; collects ids × metrics rows."""
    margin = F.abs(F.col("score") - F.col("threshold")) * F.when(F.col("passed"), 1.0).otherwise(-1.0)
    details = F.when(F.length("details") <= LONGEST, F.col("details")).alias("details")
    margin = F.coalesce(margin, F.col("score") + 1)  # without a threshold the lowest is the worst
    one = F.min_by(F.struct(*SHOWN, details), F.struct(F.coalesce(margin, F.lit(9.0)), "reason", "details")).alias("one")
    rows = scores.where(F.col("sample_id").isin(list(ids))).groupBy("sample_id", "field_group", "metric").agg(one).collect()
    return [row["one"].asDict() for row in rows]
