"""Upkeep of a replies store, bucket by bucket: what it holds, whether it can be read, fewer files, fewer old replies."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rageval_spark.engine import store
from rageval_spark.engine.files import Folder
from rageval_spark.errors import ConfigError

READ = ["key", "reply", "vector"]
"""The columns that tell whether a row can be used."""


def stats(output: Folder) -> dict[str, Any]:
    """What the store of an output holds, as JSON-ready values: counts, and what its replies took.

    `replies` counts each prompt once, `rows` every row; tokens are those that servers reported.
    """
    kinds, served = Counter[str](), Counter[str]()
    found: Counter[str] = Counter(dict.fromkeys(("buckets", "files", "unreadable", "rows", "replies"), 0))
    tokens = dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens"), 0)
    times: list[float] = []
    for bucket in _buckets(output):
        found["buckets"] += 1
        keys: set[str] = set()
        for _, rows in _parts(bucket):
            found["files"] += 1
            if not isinstance(rows, pa.Table):
                found["unreadable"] += 1
                continue
            found["rows"] += len(rows)
            kinds.update(rows["kind"].to_pylist())
            served.update(name or model for name, model in zip(
                rows["served_model"].to_pylist(), rows["model"].to_pylist(), strict=True))
            keys.update(rows["key"].to_pylist())
            times.extend(time for time in pc.min_max(rows["created_at"]).as_py().values() if time is not None)
            for name in tokens:
                tokens[name] += pc.sum(rows[name]).as_py() or 0
        found["replies"] += len(keys)
    return {**found, **tokens, "kinds": dict(kinds.most_common()), "served_models": dict(served.most_common()),
            "oldest": _date(min(times, default=None)), "newest": _date(max(times, default=None))}


def _date(time: float | None) -> str | None:
    return None if time is None else datetime.fromtimestamp(time, timezone.utc).isoformat(timespec="seconds")


def verify(output: Folder) -> Iterator[str]:
    """A sentence for everything in a store that a run cannot use, with what to do. Nothing is changed."""
    for bucket in _buckets(output):
        for name, rows in _parts(bucket):
            if not isinstance(rows, pa.Table):
                yield (f"{bucket}/{name} cannot be read: {rows}. Delete that file; what it held is lost already, and is asked "
                       f"and paid for again where a run needs it")
                continue
            broken = sum(not _usable(row) for row in rows.select(READ).to_pylist())
            if broken:
                yield f"{bucket}/{name}: {broken} of {len(rows)} rows hold no reply; rageval store compact drops them"


def compact(output: Folder) -> tuple[int, int, int]:
    """Make one file of each bucket's, each prompt's newest usable reply in it: the numbers of files before and after, and of rows
    that are gone.

    Files that cannot be read stay as they are. Runs may read and write meanwhile.
    """
    return _rewritten(output, lambda rows: rows)


def prune(output: Folder, before: float) -> tuple[int, int, int]:
    """Compact, without the replies that were made before a time (seconds since 1970)."""
    return _rewritten(output, lambda rows: rows.filter(pc.greater_equal(pc.fill_null(rows["created_at"], 0.0), before)))


def _rewritten(output: Folder, kept: Callable[[pa.Table], pa.Table]) -> tuple[int, int, int]:
    before = after = gone = 0
    for bucket in _buckets(output):
        parts = dict(_parts(bucket))
        readable = {name: rows for name, rows in parts.items() if isinstance(rows, pa.Table)}
        before, after = before + len(parts), after + len(parts) - len(readable)
        if not readable:
            continue
        rows = pa.concat_tables(readable.values())
        left = kept(_newest(rows))
        gone += len(rows) - len(left)
        if len(left):
            after += 1
            if len(readable) == 1 and len(left) == len(rows):
                continue
            store.write_part(bucket, f"part-{uuid.uuid4().hex[:12]}-000000.parquet", left)
        for name in readable:
            bucket.delete(name)
    return before, after, gone


def _newest(rows: pa.Table) -> pa.Table:
    """The newest row of every key that holds a reply."""
    rows = rows.filter(pa.array(map(_usable, rows.select(READ).to_pylist()), pa.bool_()))
    rows = rows.sort_by("created_at")
    last = {key: place for place, key in enumerate(rows["key"].to_pylist())}
    return rows.take(pa.array(sorted(last.values()), pa.int64()))


def _buckets(output: Folder) -> Iterator[Folder]:
    replies = output / "replies"
    if store.layout(replies) is None:
        raise ConfigError(f"{replies} is no replies store; name the output folder of a run, found {output}")
    for name in replies.folders():
        if name.startswith("bucket="):
            yield replies / name


def _parts(bucket: Folder) -> Iterator[tuple[str, pa.Table | Exception]]:
    """Every file of a bucket with its rows, or with what keeps it from being read. One that is merged away meanwhile
    is left out: its rows are in another by then."""
    for name in bucket.names(".parquet"):
        try:
            yield name, store.read_part(bucket, name)
        except FileNotFoundError:
            continue
        except (pa.ArrowException, OSError, ValueError) as error:
            yield name, error


def _usable(row: dict[str, Any]) -> bool:
    if row["key"] is None:
        return False
    if row["vector"] is not None:
        return len(row["vector"]) > 0 and len(row["vector"]) % 4 == 0
    try:
        return isinstance(json.loads(row["reply"] or ""), dict)
    except ValueError:
        return False
