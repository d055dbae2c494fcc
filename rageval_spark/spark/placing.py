"""Which task scores which rows: whole buckets, packed so that all tasks end at about the same time."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from rageval_spark.spark.read import rows_told
from rageval_spark.spark.samples import BY_CONTENT, BY_REFERENCE, CELLS, FINE
from rageval_spark.spark.session import local_slots

ROWS_PER_TASK = 10
"""A run with fewer rows than this per slot takes fewer tasks: starting a worker costs more than it saves."""
HEAVY = 0.25
"""A bucket with more rows than this part of a task's fair share is split further."""


def slots(spark: SparkSession) -> int:
    """How many tasks can run at once, found without a context. Starts one job, none for a local master."""
    return local_slots(spark) or max(1, spark.range(0, 10_000).select(F.spark_partition_id().alias("at")).distinct().count())


def task_count(rows: int, slots: int, max_concurrency: int) -> int:
    """The number of scoring tasks: no more than run at once, none without a request of its own in flight, and no more
    than the rows are worth."""
    return max(1, min(slots, max_concurrency, -(-rows // ROWS_PER_TASK)))


def count_by_bucket(samples: DataFrame) -> Counter[int]:
    """Rows by finest bucket. Starts one job, collects at most store.MOST_BUCKETS rows.

    The first job to see all rows: raises InputError where they cannot be read.
    """
    with rows_told():
        return Counter({row[FINE]: row["count"] for row in samples.groupBy(FINE).count().collect()})


def bucketed(samples: DataFrame, buckets: int) -> DataFrame:
    """The samples with their `bucket`, wherever they are."""
    return samples.withColumn("bucket", F.pmod(F.col(FINE), F.lit(buckets)))


def placed(samples: DataFrame, by_fine: Counter[int], buckets: int, tasks: int) -> DataFrame:
    """The samples with their `bucket`, in `tasks` partitions, each sorted by bucket.

    Starts one job more where a bucket is heavy: its rows are then counted by cell. Rows of equal content stay
    together always; rows of one question unless the bucket is heavy.
    """
    by_bucket: Counter[int] = Counter()
    for fine, count in by_fine.items():
        by_bucket[fine % buckets] += count
    most = max(1.0, HEAVY * sum(by_bucket.values()) / tasks)
    heavy = sorted(bucket for bucket, count in by_bucket.items() if tasks > 1 and count > most)
    samples = bucketed(samples, buckets)
    light = [(count, (bucket, None)) for bucket, count in by_bucket.items() if bucket not in heavy]
    task_of = packed([*light, *_cells(samples, heavy, most)], tasks)
    keys = partition_keys(tasks)
    whole = [keys[task_of.get((bucket, None), 0)] for bucket in range(buckets)]
    task = _looked_up(whole, F.col("bucket"))
    for bucket in heavy:
        by_cell = [keys[task_of.get((bucket, cell), 0)] for cell in range(CELLS * CELLS)]
        cell = F.col(BY_REFERENCE) * CELLS + F.col(BY_CONTENT)
        task = F.when(F.col("bucket") == bucket, _looked_up(by_cell, cell)).otherwise(task)
    chosen = samples.select("sample_id", "bucket", "sample", "slices", "fault", "weight", task.alias("task"))
    return chosen.repartition(tasks, "task").sortWithinPartitions("bucket", "sample_id").drop("task")


def _looked_up(values: Sequence[int], index: Column) -> Column:
    """The value at an index from 0; as one SQL text, since thousands of literals would be thousands of calls."""
    return F.element_at(F.expr(f"array({', '.join(map(str, values))})"), (index + 1).cast("int"))


Cell = tuple[int, "int | None"]


def _cells(samples: DataFrame, heavy: Sequence[int], most: float) -> list[tuple[int, Cell | tuple[Cell, ...]]]:
    """Heavy buckets in pieces: by reference while that is enough, else also by content."""
    if not heavy:
        return []
    counted = samples.where(F.col("bucket").isin(list(heavy))).groupBy("bucket", BY_REFERENCE, BY_CONTENT).count().collect()
    by_reference: Counter[tuple[int, int]] = Counter()
    for row in counted:
        by_reference[row["bucket"], row[BY_REFERENCE]] += row["count"]
    pieces: dict[tuple[int, int, int], list[Cell]] = {}
    sizes: Counter[tuple[int, int, int]] = Counter()
    for row in counted:
        bucket, reference, content = row["bucket"], row[BY_REFERENCE], row[BY_CONTENT]
        piece = (bucket, reference, content if by_reference[bucket, reference] > most else -1)
        pieces.setdefault(piece, []).append((bucket, reference * CELLS + content))
        sizes[piece] += row["count"]
    return [(size, tuple(pieces[piece])) for piece, size in sizes.items()]


def packed(weighed: Sequence[tuple[int, Cell | tuple[Cell, ...]]], tasks: int) -> dict[Cell, int]:
    """The task of each cell: the heaviest first, each to the task with the least so far."""
    loads = [(0, task) for task in range(tasks)]
    task_of: dict[Cell, int] = {}
    for weight, cells in sorted(weighed, key=lambda one: (-one[0], str(one[1]))):
        load, task = heapq.heappop(loads)
        heapq.heappush(loads, (load + weight, task))
        for cell in cells if isinstance(cells[0], tuple) else [cells]:
            task_of[cell] = task
    return task_of


def partition_keys(partitions: int) -> list[int]:
    """For each partition number an int that Spark's hash partitioning sends there: the only way to choose one that
    all supported versions have."""
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < partitions:
        keys.setdefault(spark_hash(key) % partitions, key)
        key += 1
    return [keys[partition] for partition in range(partitions)]


def spark_hash(value: int, seed: int = 42) -> int:
    """Spark's `hash` of one int: Murmur3, 32 bits, x86 (Austin Appleby, public domain), signed."""
    mask = 0xFFFFFFFF
    rotate: Callable[[int, int], int] = lambda word, by: (word << by | word >> 32 - by) & mask  # noqa: E731
    mixed = rotate(value * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    state = rotate((seed ^ mixed) & mask, 13) * 5 + 0xE6546B64 & mask
    state ^= 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ state >> shift) * factor & mask
    state ^= state >> 16
    return state - (1 << 32) if state >= 1 << 31 else state
