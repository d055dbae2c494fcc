"""What a page shows of scores: how they are distributed, and a few samples with all that was found of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

BINS = 20
HOW = ("worst", "borderline", "random", "unscored")
"""Why a sample is shown: it misses a threshold by most, is nearest to one, was drawn, or a metric of it has no score."""
MOST = {"worst": 30, "borderline": 10, "random": 10, "unscored": 10}
"""How many samples are shown at most, by HOW."""
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


def chosen(scores: DataFrame, metrics: Sequence[tuple[str, str]]) -> dict[str, dict[str, list[str]]]:
    """The samples to show: by id, for each reason of HOW, the metrics for which they were chosen (none for "random").

    Of each of `metrics` (field group and name) as many are taken as MOST leaves room for. Ids break ties by their hashes, so
    that the choice is the same every time. Starts one job; collects up to MOST × metrics rows.
    """
    luck = F.xxhash64("sample_id")
    distance = F.abs(F.col("score") - F.col("threshold"))
    scored = scores.where("status = 'scored'")
    unscored = scores.where("status != 'scored' and code != 'JUDGE_UNSUPPORTED'")  # which says the same of every sample
    each = {how: min(10, max(1, most // max(1, len(metrics)))) for how, most in MOST.items()}
    drawn = scores.orderBy(luck, "sample_id").limit(MOST["random"] * max(1, len(metrics)))
    rows: list[Row] = (
        _first("worst", scored.where(~F.col("passed")), each["worst"], (-distance, luck))
        .unionAll(_first("borderline", scored, each["borderline"], (distance, luck)))
        .unionAll(_first("unscored", unscored, 1, (luck,), "code"))
        .unionAll(drawn.select(F.lit("random").alias("how"), F.lit(0).alias("place"), "field_group", "metric", "sample_id"))
    ).collect()
    order = {key: number for number, key in enumerate(metrics)}
    found: dict[str, dict[str, list[str]]] = {}
    taken: dict[str, set[str]] = {how: set() for how in HOW}
    for row in sorted(rows, key=lambda row: (HOW.index(row["how"]), row["place"], order[row["field_group"], row["metric"]])):
        how, id = row["how"], row["sample_id"]
        if id in taken[how] or len(taken[how]) < MOST[how]:
            taken[how].add(id)
            named = found.setdefault(id, {}).setdefault(how, [])
            if how != "random" and row["metric"] not in named:
                named.append(row["metric"])
    return found


def _first(how: str, rows: DataFrame, count: int, by: Sequence[Column], *per: str) -> DataFrame:
    window = Window.partitionBy("field_group", "metric", *per).orderBy(*by, "sample_id")
    placed = rows.withColumn("place", F.row_number().over(window)).where(F.col("place") <= count)
    return placed.select(F.lit(how).alias("how"), "place", "field_group", "metric", "sample_id")


def of_samples(scores: DataFrame, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The scores of a few samples (as SHOWN, with `details`, null where they are longer than LONGEST characters), one per
    sample, field group and metric: of several rows with one id the worst. Starts one job; collects ids × metrics rows."""
    margin = F.abs(F.col("score") - F.col("threshold")) * F.when(F.col("passed"), 1.0).otherwise(-1.0)
    details = F.when(F.length("details") <= LONGEST, F.col("details")).alias("details")
    one = F.min_by(F.struct(*SHOWN, details), F.struct(F.coalesce(margin, F.lit(9.0)), "reason", "details")).alias("one")
    rows = scores.where(F.col("sample_id").isin(list(ids))).groupBy("sample_id", "field_group", "metric").agg(one).collect()
    return [row["one"].asDict() for row in rows]
