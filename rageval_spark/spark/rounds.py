"""Scoring in rounds, without I/O in tasks: samples meet the replies and results of their bucket in one stream."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rageval_spark.engine import work as works
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import Plan
from rageval_spark.engine.replay import Replay, as_json
from rageval_spark.engine.round_files import CHAT
from rageval_spark.engine.work import Scored, Work, sample_of
from rageval_spark.sample import Sample
from rageval_spark.spark.score import record
from rageval_spark.spark.tables import SCORES

REPLY, RESULT, SAMPLE = 0, 1, 2
"""What a row of the stream is; those of a bucket come in this order."""
STREAM = ("bucket", "place", "sample_id", "sample", "slices", "fault", "weight")
FOUND = "what string, id string, bucket int, endpoint int, path string, body string, tokens long"
"""What a pass finds: requests for what is missing, and replies that results became (`body` is the row as JSON)."""
FOUND_COLUMNS = [column.split()[0] for column in FOUND.split(", ")]
ROWS_AT_ONCE = 200
STORED = """
key string, kind string, model string, served_model string, fingerprint string, reply string, raw array<string>,
flags array<string>, vector string, prompt_tokens long, completion_tokens long, cached_tokens long, latency_ms double,
created_at double, run_id string
"""
"""A row of the replies store, its vector in base64."""


def stream(samples: DataFrame, replies: DataFrame, results: DataFrame | None, tasks: int) -> DataFrame:
    """Everything a pass reads: per bucket its replies, its results, its samples. The id of a result's row is that of the run
    that asked for it."""
    nothing = F.lit(None).cast("string")

    def shaped(rows: DataFrame, place: int) -> DataFrame:
        asker = F.col("run_id") if "run_id" in rows.columns else nothing
        return rows.select("bucket", F.lit(place).alias("place"), asker.alias("sample_id"), F.col("said").alias("sample"),
                           nothing.alias("slices"), nothing.alias("fault"), F.lit(None).cast("double").alias("weight"))

    rows = samples.select("bucket", F.lit(SAMPLE).alias("place"), "sample_id", "sample", "slices", "fault", "weight")
    rows = rows.unionByName(shaped(replies, REPLY))
    if results is not None:
        rows = rows.unionByName(shaped(results, RESULT))
    return rows.repartition(tasks, "bucket").sortWithinPartitions("bucket", "place", "sample_id").select(*STREAM)


def stored(spark: SparkSession, store: Folder) -> DataFrame:
    """The rows of a replies store: `bucket`, and `said` as JSON."""
    columns = STORED.replace("vector string", "vector binary")
    if not any(name.startswith("bucket=") for name in store.folders()):
        rows = spark.createDataFrame([], columns + ", bucket int")
    else:
        read = spark.read.schema(columns).option("recursiveFileLookup", "true").option("ignoreCorruptFiles", "true")
        rows = read.option("pathGlobFilter", "*.parquet").parquet(store.for_spark())
        rows = rows.withColumn("bucket", F.regexp_extract(F.input_file_name(), r"bucket=(\d+)", 1).cast("int"))
    row = F.struct(*[F.base64("vector").alias("vector") if name == "vector" else F.col(name)
                     for name in rows.columns if name not in ("bucket", "raw")])
    usable = rows.where("key is not null and (reply is not null or vector is not null)")
    return usable.select("bucket", F.to_json(row, {"ignoreNullFields": "false"}).alias("said"))


def keep(found: DataFrame, store: Folder) -> None:
    """Add the replies that a pass found to the store."""
    row = F.from_json("body", STORED).alias("row")
    rows = found.where("what = 'reply'").select(row, F.format_string("%03d", "bucket").alias("bucket")).select("row.*", "bucket")
    rows = rows.withColumn("vector", F.unbase64("vector"))
    rows.write.mode("append").partitionBy("bucket").parquet(store.for_spark())


def requests(found: DataFrame) -> DataFrame:
    """What is to be asked: each request once, with the buckets that wait for it."""
    first = [F.first(name).alias(name) for name in ("endpoint", "path", "body", "tokens")]
    return found.where("what = 'request'").groupBy("id").agg(*first, F.collect_set("bucket").alias("buckets"))


def measured(requests: DataFrame) -> Row:
    """Of requests: their `count`, how many `prompts` are among them, their `tokens` by endpoint as far as they are known
    before, and `which`, a number that is the same for the same ones."""
    by_endpoint = requests.groupBy("endpoint").agg(
        F.count("*").alias("count"), F.count_if(F.col("path") == CHAT).alias("prompts"), F.sum("tokens").alias("tokens"),
        F.sum(F.crc32("id")).alias("which"))
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("count", "prompts", "which")]
    [row] = by_endpoint.agg(*sums, F.map_from_entries(F.collect_list(F.struct("endpoint", "tokens"))).alias("tokens")).collect()
    return row


def some(requests: DataFrame, most: int) -> DataFrame:
    """So many of the requests, the same ones every time."""
    return requests.orderBy("id").limit(most)


def asked(spark: SparkSession, path: str) -> Iterator[tuple[str, int, str, str, int]]:
    """The requests of a table, those of one endpoint and path together: id, endpoint, path, body, tokens. Partition by
    partition: what the driver holds does not grow with their number."""
    rows = spark.read.parquet(path).orderBy("endpoint", "path", "id")
    yield from rows.select("id", "endpoint", "path", "body", "tokens").toLocalIterator()


def reused(spark: SparkSession, scores: str) -> int:
    """How many prompts of a table of scores were paid for before."""
    [row] = spark.read.schema(SCORES).parquet(scores).agg(F.sum("n_reused")).collect()
    return row[0] or 0


def results(spark: SparkSession, prompts: Sequence[str], files: Mapping[str, Sequence[str]]) -> DataFrame | None:
    """Return usable lines of reply files, once for each bucket that waits for them, with the run that asked; None without files.

    `prompts` are the tables that `requests` made, `files` are by run and as engine.reply_files writes them.
    """
    lines: DataFrame | None = None
    for run_id, paths in files.items():
        id, said = F.substring_index("value", "\t", 1).alias("id"), F.expr("substr(value, instr(value, '\t') + 1)").alias("said")
        of_run = spark.read.text(list(paths)).select(id, said, F.lit(run_id).alias("run_id"))
        lines = of_run if lines is None else lines.unionByName(of_run)
    if lines is None:
        return None
    asked = spark.read.parquet(*prompts).select("id", F.explode("buckets").alias("bucket")).distinct()
    return lines.join(asked, "id").select("bucket", "said", "run_id")


def divide(spark: SparkSession, missing: DataFrame, waiting: Sequence[Sequence[str]]) -> tuple[DataFrame, list[int]]:
    """Return the missing requests that stand in none of the files of requests, and the indices of the lists in `waiting` whose
    files hold others of them: those were asked before, and their answers are still to come. Starts at most one job."""
    ids: DataFrame | None = None
    for index, files in enumerate(waiting):
        id = F.get_json_object("value", "$.custom_id").alias("id")
        asked_before = spark.read.text(list(files)).select(id, F.lit(index).alias("place"))
        ids = asked_before if ids is None else ids.unionByName(asked_before)
    if ids is None:
        return missing, []
    needed = [row.place for row in missing.join(ids, "id").select("place").distinct().collect()]
    return missing.join(ids, "id", "left_anti") if needed else missing, sorted(needed)


def collecting(work: Work) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """The function of a pass that finds what is missing (FOUND)."""

    def collect(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        return _framed(_found(frames, work), FOUND_COLUMNS)

    return collect


def scoring(work: Work, unanswered: tuple[str, str]) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """The function of the last pass: every score there is (SCORES), `unanswered` (code and reason) where a reply is still
    missing."""

    def score(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        replay = Replay(work.plan, work.run_id, work.oldest, unanswered=unanswered)
        scores = (record(one, work.run_id) for row in _samples(frames, replay) for one in _scored(row, work.plan, replay))
        return _framed(scores)

    return score


def _found(frames: Iterator[pd.DataFrame], work: Work) -> Iterator[tuple[Any, ...]]:
    replay = Replay(work.plan, work.run_id, work.oldest)
    for row in _samples(frames, replay):
        deque(_scored(row, work.plan, replay), maxlen=0)  # for what it asks
        for one in replay.requests:
            yield "request", one.id, row.bucket, one.endpoint, one.path, one.body, one.tokens
        for kept in replay.accepted:
            yield "reply", kept["key"], row.bucket, None, None, as_json(kept), None
        replay.requests.clear()
        replay.accepted.clear()


def _framed(rows: Iterator[Any], columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield pd.DataFrame(some, columns=columns, dtype=object)


def scored(rows: DataFrame, work: Work, unanswered: tuple[str, str]) -> DataFrame:
    return rows.mapInPandas(scoring(work, unanswered), SCORES)


def _samples(frames: Iterator[pd.DataFrame], replay: Replay) -> Iterator[works.Row]:
    """The samples of a stream, what is known of their bucket told to the replay before."""
    bucket = None
    for frame in frames:
        for of, place, sample_id, said, slices, fault, weight in frame.itertuples(index=False, name=None):
            if of != bucket:
                bucket = of
                replay.begin()
            if place == REPLY:
                replay.know(json.loads(said))
            elif place == RESULT:
                replay.learn(said, sample_id)
            else:
                yield works.Row(sample_id, int(of), json.loads(said), json.loads(slices), fault, weight)


def _scored(row: works.Row, plan: Plan, replay: Replay) -> Iterator[Scored]:
    for group in plan.groups:
        sample = sample_of(row, group)
        for use in group.uses:
            score = replay.score(use, sample) if isinstance(sample, Sample) else sample
            if score is not None:
                yield Scored(row, group, use, score)
