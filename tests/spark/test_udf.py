"""A metric as a column, in DataFrames and in SQL: what it gives, in which order, and what it asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from rageval_spark import ConfigError, EmbeddedJudge, HttpJudge, JudgeRefused, Metric, Sample, Score, as_udf, evaluate
from rageval_spark.engine.work import Row
from rageval_spark.spark import udf
from rageval_spark.spark.score import causes_told
from tests.judge_server import Answer, JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ("question", "answer", "contexts")


def at(judge: JudgeServer, **settings: Any) -> HttpJudge:
    return HttpJudge(model="judge", base_url=judge.url, **{"max_attempts": 1, **settings})


def lakes(spark: SparkSession, count: int, parts: int = 2) -> DataFrame:
    """Rows of which the n-th scores 1 / (1 + n % 3): so many sentences, and the first of them is in the contexts."""
    return spark.range(0, count, 1, parts).selectExpr(
        "id", "concat('How deep is lake ', id, '?') AS question",
        "concat('Lake ', id, ' is ', id, ' m.', substring(' It is cold. It is old.', 1, cast(id % 3 * 12 AS int))) AS answer",
        "array(concat('Lake ', id, ' is ', id, ' m.')) AS contexts")


def expected(count: int) -> list[Any]:
    return [pytest.approx(1 / (1 + (n % 3 > 0) + (n % 3 > 1))) for n in range(count)]


@contextmanager
def batches_of(spark: SparkSession, rows: int) -> Iterator[None]:
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    spark.conf.set(name, str(rows))
    try:
        yield
    finally:
        spark.conf.set(name, before or "500")


def sent(judge: JudgeServer) -> Counter[bytes]:
    """How often each prompt was sent, the preflight's apart."""
    return Counter(request.digest for request in judge.chats() if request.kind != "detect_refusal")


def test_scores_stand_beside_their_rows_in_order_over_batches(spark: SparkSession, judge: JudgeServer) -> None:
    faithfulness = as_udf("faithfulness", at(judge))
    judge.latency_ms = 20
    judge.script("list_claims", Answer(delay_s=1.5))  # an early row is done last
    with batches_of(spark, 7):
        rows = lakes(spark, 60).withColumn("f", faithfulness(*COLUMNS)).collect()
    assert [row.id for row in rows] == list(range(60))
    assert [row.f.score for row in rows] == expected(60)
    assert {(row.f.status, row.f.code) for row in rows} == {("scored", None)}
    assert rows[1].f.reason.startswith("1 of 2 claims supported")
    assert judge.max_in_flight > 14, "requests of several batches are in flight at a time"
    assert set(sent(judge).values()) == {1}


@pytest.mark.parametrize("stored", [True, False])
def test_a_row_is_judged_once_however_the_plan_uses_it(
        stored: bool, spark: SparkSession, judge: JudgeServer, tmp_path: Path) -> None:
    faithfulness = as_udf("faithfulness", at(judge), store=str(tmp_path / "out") if stored else None)
    judged = lakes(spark, 20).withColumn("f", faithfulness(*COLUMNS))
    derived = (judged.withColumn("score", judged.f.score).withColumn("why", judged.f.reason)
               .where("score < 0.9 and why is not null"))
    derived.write.parquet(str(tmp_path / "table"))
    assert spark.read.parquet(str(tmp_path / "table")).count() == sum(n % 3 > 0 for n in range(20))
    assert len(sent(judge)) == 40
    assert set(sent(judge).values()) == {1}
    assert derived.count() == sum(n % 3 > 0 for n in range(20))
    assert set(sent(judge).values()) == {1 if stored else 2}


def test_chunks_hold_all_rows_and_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udf, "FIRST_ROWS", 2)
    monkeypatch.setattr(udf, "MOST_ROWS", 16)
    rows = [Row(str(at), 0, {"response": "x", "retrieved_contexts": ["x"]}, {}) for at in range(50)]
    chunks = list(udf._chunks(rows))
    assert [row for chunk in chunks for row in chunk] == rows
    assert list(map(len, chunks)) == [2, 8, 16, 16, 8]
    monkeypatch.setattr(udf, "MOST_CHARS", 6)
    assert max(map(len, udf._chunks(rows))) == 3


def test_replies_are_those_of_runs(spark: SparkSession, judge: JudgeServer, tmp_path: Path) -> None:
    evaluate(lakes(spark, 12), ["faithfulness"], judge=at(judge), output=str(tmp_path))
    faithfulness = as_udf("faithfulness", at(judge), store=str(tmp_path))
    assert [row.f.score for row in lakes(spark, 12).select(faithfulness(*COLUMNS).alias("f")).collect()] == expected(12)
    assert set(sent(judge).values()) == {1}


def test_in_sql(spark: SparkSession, judge: JudgeServer) -> None:
    spark.udf.register("faithful", as_udf("faithfulness", at(judge)))
    lakes(spark, 6).createOrReplaceTempView("lakes")
    rows = spark.sql("""select id, f.score, f.code from (select id, faithful(question, answer, contexts) as f from lakes)
                        where f.score > 0.4 order by id""").collect()
    assert [(row.id, row.score, row.code) for row in rows] == [
        (n, score, None) for n, score in enumerate(expected(6)) if n % 3 < 2]


def test_values_are_read_as_those_of_a_dataset(spark: SparkSession, judge: JudgeServer) -> None:
    faithfulness = as_udf("faithfulness", at(judge), max_tasks=2)
    texts = [
        ("q?", "A b c. D e f.", '["A b c.", "x"]'), ("q?", "A b c.", "A b c."), (None, "A b c.", "A b c."),
        ("q?", None, "A b c."), ("q?", "A b c.", None), ("q?", "A b c.", "[7]"),
    ]  # fmt: skip
    frame = spark.createDataFrame(texts, "q string, a string, c string").coalesce(1)
    found = [row[0] for row in frame.select(faithfulness("q", "a", "c")).collect()]
    assert [(one.score, one.code) for one in found] == [
        (0.5, None), (1.0, None), (1.0, None), (None, "NO_ANSWER"), (None, "NO_CONTEXT"), (None, "INVALID_INPUT")]
    assert "retrieved_contexts: expected a text, found a number 7" in found[-1].reason
    chunks = [("q?", "A b c. D e f.", [("d1", "A b c."), None, ("d2", "D e f.")]), ("q?", "A b c.", []), ("q?", "A b c.", None)]
    frame = spark.createDataFrame(chunks, "q string, a string, c array<struct<id: string, text: string>>").coalesce(1)
    found = [row[0] for row in frame.select(faithfulness("q", "a", "c")).collect()]
    assert [(one.score, one.code) for one in found] == [(1.0, None), (None, "NO_CONTEXT"), (None, "NO_CONTEXT")]
    frame = spark.range(1).selectExpr("3 AS q", "'A b c.' AS a", "array('A b c.') AS c")
    assert frame.select(faithfulness("q", "a", "c")).first()[0].code == "INVALID_INPUT"  # type: ignore[index]


@dataclass(frozen=True)
class Graded(Metric):
    """What its sample holds beside texts, without asking anybody."""

    name: ClassVar[str] = "graded"
    reads: ClassVar[tuple[str, ...]] = ("retrieved_ids", "relevance", "should_refuse", "reference_turns", "retrieved_scores")

    def score(self, sample: Sample) -> Score:
        return Score.of(1.0, repr([getattr(sample, name) for name in self.reads]), flags=["REFUSAL"])


@dataclass(frozen=True)
class Short(Metric):
    """Whether the response is short."""

    name: ClassVar[str] = "short"
    reads: ClassVar[tuple[str, ...]] = ("response",)

    def score(self, sample: Sample) -> Score:
        return Score.of(len(sample.response or "") < 3) if sample.response else Score.skipped("NO_ANSWER")


def test_a_metric_without_a_judge(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a",), ("long",), (None,)], "a string").coalesce(1)
    assert [(row[0].score, row[0].code) for row in frame.select(as_udf(Short())("a")).collect()] == [
        (1.0, None), (0.0, None), (None, "NO_ANSWER")]
    graded = as_udf(Graded(), name="holds")
    frame = spark.sql("""select * from values
        (array(1, 2), map('a', 1.5d, 'b', 2.0d), true, 2, array(0.5d, 1.0d)),
        (array(3), null, cast(null as boolean), cast(null as int), null) as t(i, g, f, n, s)""").coalesce(1)
    held = frame.select(graded("i", "g", "f", "n", "s").alias("held")).collect()
    assert [row.held.reason for row in held] == [
        "[('1', '2'), {'a': 1.5, 'b': 2.0}, True, 2, (0.5, 1.0)]", "[('3',), None, None, None, None]"]
    assert held[0].held.flags == ["REFUSAL"]
    frame = spark.sql("select array(1L) i, named_struct('a', 1.0, 'b', null) g, 1 f, 2.0d n, array(1, null) s")
    assert frame.select(graded("i", "g", "f", "n", "s").alias("held.")).first()[0].code == "INVALID_SCORE"  # type: ignore[index]
    frame = frame.drop("s").selectExpr("*", "'[1, 0.5]' s")
    [row] = frame.select(graded("i", "g", "f", "n", "s").alias("held")).collect()
    assert row.held.reason == "[('1',), {'a': 1.0}, True, 2, (1.0, 0.5)]"


def test_the_embedded_judge(spark: SparkSession) -> None:
    found = lakes(spark, 6).select(as_udf("faithfulness", EmbeddedJudge())(*COLUMNS).alias("f")).collect()
    assert {(row.f.status, *row.f.flags) for row in found} == {("scored", "HEURISTIC")}
    skipped = lakes(spark, 1).select(as_udf("answer_relevancy", EmbeddedJudge())("question", "answer").alias("f")).first()
    assert skipped is not None
    assert skipped.f.code == "JUDGE_UNSUPPORTED"


def test_a_failing_judge_is_a_null_with_a_code(spark: SparkSession, judge: JudgeServer) -> None:
    faithfulness = as_udf("faithfulness", at(judge))
    judge.always("verify_claims", Answer(500))
    rows = lakes(spark, 4).select(faithfulness(*COLUMNS).alias("f")).collect()
    assert {(row.f.score, row.f.status, row.f.code) for row in rows} == {(None, "failed", "JUDGE_HTTP")}


def test_a_mistake_is_told_at_once(spark: SparkSession, judge: JudgeServer, tmp_path: Path) -> None:
    judge.require_key = "sk-1"
    with pytest.raises(JudgeRefused, match="No key was sent"):
        as_udf("faithfulness", at(judge))
    with pytest.raises(ConfigError, match="RAGEVAL_NO_KEY"):
        as_udf("faithfulness", at(judge, api_key_env="RAGEVAL_NO_KEY"))
    with pytest.raises(ConfigError, match="asks a judge"):
        as_udf("faithfulness")
    with pytest.raises(ConfigError, match="use evaluate"):
        as_udf("faithfulness", at(judge, mode="batch"))
    with pytest.raises(ConfigError, match="2 tasks may compute the column at once, but max_concurrency is 1"):
        as_udf("faithfulness", at(judge, max_concurrency=1))
    with pytest.raises(ConfigError, match="at least 1, found 0"):
        as_udf("faithfulness", at(judge), max_tasks=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        as_udf("faithfulness", at(judge), store=str(tmp_path / "file"))
    assert not judge.chats("list_claims")


def test_a_wrong_number_of_columns_is_told_in_the_tasks_words(spark: SparkSession) -> None:
    faithfulness = as_udf("faithfulness", EmbeddedJudge())
    for given in (COLUMNS[:2], COLUMNS[:1]):
        with pytest.raises(Exception, match="takes 3 columns, user_input, response, retrieved_contexts, in this order; "
                                            f"it was given {len(given)}"), causes_told():
            lakes(spark, 1).select(faithfulness(*given)).collect()


def test_the_limit_holds_over_tasks(spark: SparkSession, judge: JudgeServer) -> None:
    faithfulness = as_udf("faithfulness", at(judge, max_concurrency=6))
    judge.latency_ms = 50
    rows = lakes(spark, 60, parts=4).select(faithfulness(*COLUMNS).alias("f")).collect()
    assert [row.f.score for row in rows] == expected(60)
    assert 4 <= judge.max_in_flight <= 6


def test_a_limit_asks_for_its_rows_alone(spark: SparkSession, judge: JudgeServer) -> None:
    faithfulness = as_udf("faithfulness", at(judge))
    assert len(lakes(spark, 500).select(faithfulness(*COLUMNS)).take(3)) == 3
    assert len(judge.chats("list_claims")) < 100
