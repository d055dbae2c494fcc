"""Scoring as a column: a pandas UDF that takes the rows of a task through the engine and gives their scores in order."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pandas as pd
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import ArrayType, DoubleType, StringType, StructType

from rageval_spark.engine.store import MOST_BUCKETS
from rageval_spark.engine.task import Task
from rageval_spark.engine.work import Row, Scored, Work
from rageval_spark.errors import ConfigError
from rageval_spark.values import plain

RESULT = (StructType().add("score", DoubleType()).add("status", StringType()).add("code", StringType())
          .add("reason", StringType()).add("flags", ArrayType(StringType())))
"""What a row gets; `score` is in [0, 1], and null exactly where `status` is not "scored"."""
FIRST_ROWS, MOST_ROWS = 64, 16_384
"""How many rows the first chunk of a task has, and the largest."""
MOST_CHARS = 32_000_000
"""How much text a chunk may have, about."""


def scoring_udf(work: Work, buckets: int | None, name: str) -> Any:
    """A UDF of the fields that the work's one metric reads, in their order, giving RESULT; `buckets` is how many the
    replies store has, None without one. All that it needs travels in its closure, the key included.

    Not deterministic, so that the optimizer neither computes it twice where a plan uses it twice nor moves it.
    """
    [use] = work.plan.groups[0].uses
    fields = use.metric.reads

    def score(batches: Iterator[tuple[pd.Series, ...]]) -> Iterator[pd.DataFrame]:
        with closing(Task(work).run(_rows(batches, fields, buckets, name))) as scored:
            for results in _in_order(scored):
                yield pd.DataFrame(results, columns=RESULT.names, dtype=object)

    score.__name__ = name
    made: Any = pandas_udf(score, RESULT)  # type: ignore[call-overload] # whose overloads know no iterator of frames
    return made.asNondeterministic()


def _rows(batches: Iterable[Any], fields: Sequence[str], buckets: int | None, name: str) -> Iterator[Row]:
    """The rows of a task, their numbers for ids. With a store they come by bucket, chunk for chunk; without one a bucket is
    so many rows, after which their replies are forgotten."""
    numbered = enumerate(_read(batches, fields, name))
    if buckets is None:
        yield from (Row(str(at), at // MOST_ROWS, values, {}) for at, values in numbered)
        return
    for chunk in _chunks(Row(str(at), _bucket(values, buckets), values, {}) for at, values in numbered):
        yield from sorted(chunk, key=lambda row: row.bucket)


def _read(batches: Iterable[Any], fields: Sequence[str], name: str) -> Iterator[dict[str, Any]]:
    """The values of each row under the names of their fields."""
    for given in batches:
        columns = given if isinstance(given, tuple) else (given,)  # one alone comes as it is
        if len(columns) != len(fields):
            raise ConfigError(f"{name} takes {len(fields)} columns, {', '.join(fields)}, in this order; "
                              f"it was given {len(columns)}")
        yield from (dict(zip(fields, row, strict=True)) for row in zip(*map(_values, columns), strict=True))


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in chunks that grow: each opens nearly every bucket of the store, and holds its first results back until
    most of it is done."""
    chunk, size, most = list[Row](), 0, FIRST_ROWS
    for row in rows:
        chunk.append(row)
        size += _size(list(row.values.values()))
        if len(chunk) == most or size >= MOST_CHARS:
            yield chunk
            chunk, size, most = [], 0, min(most * 4, MOST_ROWS)
    yield chunk


def _size(value: Any) -> int:
    """About how many characters a value has."""
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(_size, value)) if isinstance(value, list) else len(value) if isinstance(value, str) else 8


def _bucket(values: Mapping[str, Any], buckets: int) -> int:
    """The bucket in which a run keeps what belongs to this question (samples.normalised)."""
    question = values.get("user_input")
    return zlib.crc32(question.encode(errors="replace") if isinstance(question, str) else b"") % MOST_BUCKETS % buckets


def _values(column: Any) -> Iterable[Any]:
    """The values of a column as JSON has them; a column of structs comes as a frame."""
    if isinstance(column, pd.DataFrame):
        return [_plain(value) or None for value in column.to_dict("records")]
    return map(_plain, column)


def _plain(value: Any) -> Any:
    """Return a value of pandas in the types of JSON. Whole floats become ints: pandas makes floats of ints beside a null."""
    return _whole(plain(value))


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items() if item is not None}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _in_order(batches: Iterable[list[Scored]]) -> Iterator[list[tuple[Any, ...]]]:
    """Results in the order of their rows, as soon as all before them are there: what waits for a slow prompt is no more
    than comes in until its deadline, and small."""
    waiting: dict[int, tuple[Any, ...]] = {}
    due = 0
    for batch in batches:
        for one in batch:
            score = one.score
            waiting[int(one.row.sample_id)] = (score.value, score.status, score.code, score.reason, list(score.flags))
        ready = []
        while due in waiting:
            ready.append(waiting.pop(due))
            due += 1
        if ready:
            yield ready
