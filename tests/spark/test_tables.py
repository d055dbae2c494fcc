"""Placing, reading and summing on Spark, piece by piece."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, MetricUse
from rageval_spark.errors import InputError
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.spark.files import Source
from rageval_spark.spark.placing import count_by_bucket, packed, partition_keys, placed, spark_hash, task_count
from rageval_spark.spark.read import read, resolved
from rageval_spark.spark.samples import normalised
from rageval_spark.spark.score import drop_good
from rageval_spark.spark.stats import stats
from rageval_spark.spark.tables import SCORES
from rageval_spark.spark.worst import worst
from rageval_spark.statistics.intervals import interval

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIELDS = {"user_input": "q", "response": "a", "retrieved_contexts": "ctx"}
GROUP = FieldGroup(FIELDS, (MetricUse(Faithfulness(), "faithfulness"),))


@given(st.lists(st.integers(1, 100), min_size=1, max_size=60), st.integers(1, 8))
def test_packing_places_every_cell_once_and_evenly(weights: list[int], tasks: int) -> None:
    cells = [(weight, (place, None)) for place, weight in enumerate(weights)]
    task_of = packed(cells, tasks)
    assert set(task_of) == {cell for _, cell in cells}
    loads = Counter(dict.fromkeys(range(tasks), 0))
    for weight, cell in cells:
        loads[task_of[cell]] += weight
    assert max(loads.values()) - min(loads.values()) <= max(weights)


def test_tasks_follow_from_rows_slots_and_limit() -> None:
    assert task_count(6, 8, 64) == 1
    assert task_count(1000, 8, 64) == 8
    assert task_count(1000, 8, 3) == 3
    assert task_count(25, 8, 64) == 3


def test_the_hash_is_sparks(spark: SparkSession) -> None:
    values = [0, 1, 2, 1000, 123_456_789]
    rows = spark.range(1).selectExpr(*[f"hash({value}) AS h{value}" for value in values]).first()
    assert rows is not None
    assert [spark_hash(value) for value in values] == list(rows)
    assert [spark_hash(key) % 5 for key in partition_keys(5)] == list(range(5))


def test_a_hot_question_is_spread_and_equal_rows_stay_together(spark: SparkSession) -> None:
    rows = [("hot?", f"answer {i % 50}", ["c"]) for i in range(200)] + [(f"cold {i}?", "a", ["c"]) for i in range(40)]
    samples = normalised(spark.createDataFrame(rows, "q string, a string, ctx array<string>"), [GROUP], [])
    at = placed(samples, count_by_bucket(samples), 64, 2).selectExpr(
        "spark_partition_id() AS at", "bucket", "sample", "sample_id").collect()
    assert len(at) == 240
    assert len({row["sample_id"] for row in at}) == 240, "repeated questions get occurrence numbers"
    loads = Counter(row["at"] for row in at)
    assert set(loads) == {0, 1}
    assert max(loads.values()) <= 150
    tasks_of_content: dict[str, set[int]] = {}
    for row in at:
        tasks_of_content.setdefault(row["sample"], set()).add(row["at"])
    assert all(len(tasks) == 1 for tasks in tasks_of_content.values())
    for task in loads:
        buckets = [row["bucket"] for row in at if row["at"] == task]
        assert buckets == sorted(buckets)


def test_ids_do_not_depend_on_partitions_or_order(spark: SparkSession) -> None:
    rows = [(f"q{i % 7}", f"a{i}", ["c"]) for i in range(21)]
    random.Random(1).shuffle(shuffled := list(rows))
    schema = "q string, a string, ctx array<string>"
    ids = [sorted((row["sample"], row["sample_id"], row["fine"]) for row in normalised(frame, [GROUP], []).collect())
           for frame in (spark.createDataFrame(rows, schema).coalesce(1), spark.createDataFrame(shuffled, schema).repartition(3))]
    assert ids[0] == ids[1]


def test_csv_and_parquet_are_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('q,a,ctx\n"What, then?","He said ""no""\nand left.","[""one"", ""two""]"\nonly,two\n')
    frame = read(spark, Source(str(tmp_path / "d.csv")))
    [group] = resolved([GROUP], frame)
    first, second = normalised(frame, [group], []).collect()
    assert '"a":"He said \\"no\\"\\nand left."' in first["sample"]
    assert first["fault"] is None
    assert "only,two" in second["fault"]
    frame.select("q", "a").where("a is not null").coalesce(1).write.parquet(str(tmp_path / "p"))
    assert read(spark, Source(str(tmp_path / "p"), "parquet", where="q = 'only'")).count() == 1


@pytest.mark.parametrize(("source", "says"), [
    (Source("no/such.parquet"), "no/such.parquet"), (Source("data.bin"), "the format of data.bin"),
    (Source(table="no_such_table"), "no_such_table"), (Source("x", format="no_such_format"), "no_such_format"),
])  # fmt: skip
def test_what_cannot_be_read_is_named(spark: SparkSession, source: Source, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read(spark, source)


def test_a_file_that_is_no_json_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("this is\nno json\n")
    with pytest.raises(InputError, match="no row that could be read as json"):
        read(spark, Source(str(tmp_path / "x.jsonl"), "json"))


def test_statistics_are_those_of_the_rows_and_of_their_parts(spark: SparkSession) -> None:
    chance = random.Random(5)
    rows: list[tuple[Any, ...]] = []
    for i in range(200):
        status = chance.choices(["scored", "skipped", "failed"], [8, 1, 1])[0]
        score = round(chance.random(), 3) if status == "scored" else None
        rows.append(("r", str(i), GROUP.key, "faithfulness", score, status, None, None, None if score is None else score >= 0.5,
                     0.5, None, [], {}, "{}", None, 2, 0, 1, 1, None, 1.0, {"lang": "en" if i % 3 else "zh"}, None))
    frame = spark.createDataFrame(rows, SCORES)
    whole, *parts = stats(frame, [GROUP], ["lang"], "r")
    values = [row[4] for row in rows if row[4] is not None]
    assert whole["slice"] is None
    assert whole["average"] == pytest.approx(statistics.fmean(values))
    assert whole["std_dev"] == pytest.approx(statistics.pstdev(values))
    assert (whole["min"], whole["max"]) == (min(values), max(values))
    assert whole["p50"] == pytest.approx(statistics.median(values), abs=0.02)
    assert whole["pass_rate"] == pytest.approx(sum(value >= 0.5 for value in values) / len(values))
    assert sum(part["count"] for part in parts) == whole["count"]
    assert sum(part["count"] * part["average"] for part in parts) == pytest.approx(whole["count"] * whole["average"])
    low, high = scipy_stats.t.interval(0.95, len(values) - 1, loc=statistics.fmean(values), scale=scipy_stats.sem(values))
    assert (whole["ci_low"], whole["ci_high"]) == pytest.approx((low, high))


def test_the_worst_samples_and_the_rows_that_are_not_good(spark: SparkSession, tmp_path: Path) -> None:
    scores: list[tuple[str, str, float | None]] = [
        ("a", "faithfulness", 1.0), ("a", "context_recall", 0.0), ("b", "faithfulness", 0.4), ("b", "context_recall", 0.2),
        ("c", "faithfulness", 0.1), ("c", "context_recall", 1.0), ("d", "faithfulness", None), ("e", "faithfulness", 0.9)]
    scores.append(("b", "faithfulness", 0.45))  # once more, which counts once
    empty = dict.fromkeys(spark.createDataFrame([], SCORES).columns)
    rows = [{**empty, "sample_id": sample, "metric": metric, "score": score, "threshold": 0.5,
             "passed": None if score is None else score >= 0.5}
            for sample, metric, score in scores]
    folder = Folder(str(tmp_path))
    spark.createDataFrame(rows, SCORES).write.parquet(folder.for_spark("scores"))
    found = worst(spark.read.parquet(folder.for_spark("scores")), ["faithfulness", "context_recall"], 3)
    assert {sample: [(one["metric"], one["score"]) for one in missed] for sample, missed in found.items()} == {
        "c": [("faithfulness", 0.1)], "b": [("faithfulness", 0.4), ("context_recall", 0.2)], "a": [("context_recall", 0.0)]}
    assert list(found) == ["b", "a", "c"]  # two thresholds missed by 0.4 together, then one by 0.5, then one by 0.4
    assert worst(spark.read.parquet(folder.for_spark("scores")).where("passed"), ["faithfulness"], 3) == {}
    drop_good(spark, folder)
    left = spark.read.parquet(folder.for_spark("scores")).select("sample_id", "metric").collect()
    assert sorted(map(tuple, left)) == [("a", "context_recall"), ("b", "context_recall"), ("b", "faithfulness"),
                                        ("b", "faithfulness"),
                                        ("c", "faithfulness"), ("d", "faithfulness")]
    assert not folder.exists("scores.kept")


@pytest.mark.parametrize(("good", "count"), [(0, 2), (1, 2), (5, 10), (99, 100), (100, 100)])
def test_intervals_of_shares_are_wilsons(good: int, count: int) -> None:
    expected = scipy_stats.binomtest(good, count).proportion_ci(0.95, method="wilson")
    share = good / count
    found = interval(share, (share * (1 - share)) ** 0.5, count, binary=True)
    assert found == pytest.approx((expected.low, expected.high))


def test_no_interval_without_two_scores() -> None:
    assert interval(None, None, 0, False) == interval(0.5, 0.0, 1, False) == (None, None)
