"""The replies store: every reply ever paid for, by the key of its prompt."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_spark.engine.files import Folder
from rageval_spark.errors import StoreError

log = logging.getLogger(__name__)

SCHEMA = pa.schema([
    ("key", pa.string()), ("kind", pa.string()), ("model", pa.string()), ("served_model", pa.string()),
    ("fingerprint", pa.string()), ("reply", pa.string()), ("raw", pa.list_(pa.string())),
    ("flags", pa.list_(pa.string())), ("vector", pa.binary()),
    ("prompt_tokens", pa.int64()), ("completion_tokens", pa.int64()), ("cached_tokens", pa.int64()),
    ("latency_ms", pa.float64()), ("created_at", pa.float64()), ("run_id", pa.string()), ("bucket", pa.int32()),
])  # fmt: skip
"""One row per accepted reply. `reply` is JSON, `vector` little-endian float32, `created_at` seconds since 1970."""

KNOWN = ("key", "kind", "model", "served_model", "fingerprint", "reply", "flags", "vector", "created_at")
"""What is kept in memory of a reply."""
FREE = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0, "latency_ms": 0.0}
"""What a reply took that is kept once more."""

EVERY_AGE: Mapping[str, float] = {}
MOST_BUCKETS = 8192
LEAST_BUCKETS = 64
SAMPLES_PER_BUCKET = 5_000
VERSION = 1
LAYOUT = "_store.json"
PENDING_AT_ONCE = 5_000
"""Replies that are flushed at once, however short the time since the last flush."""
SMALL = 256
"""Rows up to which a part is kept in memory until it is merged."""
MERGED_AT_ONCE = 32
"""So many parts of a bucket become one, and so many of those again: a bucket under way stays a few dozen files."""


def buckets_for(samples: int) -> int:
    """How many buckets a new store gets: a power of two, so that buckets can be told from finer ones."""
    buckets = LEAST_BUCKETS
    while buckets < MOST_BUCKETS and samples > buckets * SAMPLES_PER_BUCKET:
        buckets *= 2
    return buckets


def layout(folder: Folder) -> int | None:
    """The number of buckets of an existing store; None where there is none. Raises StoreError for a newer version."""
    try:
        found = folder.read_json(LAYOUT)
        version, buckets = int(found["version"]), int(found["buckets"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"{folder}/{LAYOUT} cannot be read; it holds the number of buckets. If the store is not "
                         f"needed, delete the folder; otherwise restore the file.") from None
    if version > VERSION:
        raise StoreError(f"{folder} was written by a newer version of rageval_spark (store version {version}, "
                         f"known {VERSION})")
    return buckets


def create(folder: Folder, buckets: int) -> None:
    folder.write_json(LAYOUT, {"version": VERSION, "buckets": buckets})


def opened(folder: Folder, samples: int = 0) -> int:
    """The number of buckets of a store, which is made for so many samples where there is none."""
    known = layout(folder)
    if known is None:
        known = buckets_for(samples)
        create(folder, known)
    return known


class Part(NamedTuple):
    """A part that was written, and its rows where they are few: merging needs not read them again."""

    name: str
    rows: pa.Table | None = None


class RepliesStore:
    """One task's view of the store: the buckets it has open, and what is still to be written.

    `find`, `keep` and `put` are called by the loop, `open` and `close` by the thread that feeds it, `flush` by the
    keeper. Of the stored replies those of this run are always used (a retry pays for nothing again), those of other
    runs unless they are older than `oldest` says for their model (seconds since 1970). Without a folder nothing
    outlives its bucket.
    """

    def __init__(self, folder: Folder | None, *, run_id: str, oldest: Mapping[str, float] = EVERY_AGE):
        self._folder = folder
        self._run_id = run_id
        self._oldest = oldest
        self._writer = uuid.uuid4().hex[:12]
        self._open: dict[int, dict[str, Mapping[str, Any]]] = {}
        self._pending: list[dict[str, Any]] = []
        self._written: dict[int, list[list[Part]]] = defaultdict(list)  # by how often they were merged
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._parts = 0

    def open(self, bucket: int) -> None:
        """Bring a bucket's replies into memory; nothing happens where it is open."""
        if bucket not in self._open:
            self._open[bucket] = {} if self._folder is None else self._load(bucket)

    def find(self, bucket: int, key: str) -> Mapping[str, Any] | None:
        """The reply to a prompt of this bucket's samples, be it from another bucket that is open."""
        row = self._open.get(bucket, {}).get(key)
        if row is None:
            row = next((replies[key] for replies in list(self._open.values()) if key in replies), None)
            if row is not None:
                self.keep(bucket, row)
        return row

    def keep(self, bucket: int, row: Mapping[str, Any]) -> None:
        """Keep a reply that another bucket paid for in this one too: a later run may never have both open at once."""
        if row["key"] not in self._open.get(bucket, {}):
            self.put(bucket, {**{name: row.get(name) for name in KNOWN}, **FREE})

    def put(self, bucket: int, row: Mapping[str, Any]) -> None:
        row = {"created_at": time.time(), **row, "run_id": self._run_id, "bucket": bucket}
        self._open.setdefault(bucket, {})[row["key"]] = {name: row.get(name) for name in KNOWN}
        if self._folder is not None:
            with self._lock:
                self._pending.append(row)

    @property
    def pending(self) -> int:
        return len(self._pending)

    def flush(self) -> None:
        """Make every reply put so far durable: one new part per bucket. What cannot be written stays pending."""
        if self._folder is None:
            return
        with self._flushing:
            with self._lock:
                rows, self._pending = self._pending, []
            unwritten = defaultdict(list)
            for row in rows:
                unwritten[row["bucket"]].append(row)
            try:
                for bucket in sorted(unwritten):
                    table = pa.Table.from_pylist(unwritten[bucket], schema=SCHEMA)
                    name = self._write(bucket, table)
                    del unwritten[bucket]
                    self._written_one(bucket, Part(name, table if len(table) <= SMALL else None))
            finally:
                with self._lock:
                    self._pending[:0] = itertools.chain.from_iterable(unwritten.values())

    def close(self, bucket: int) -> None:
        """Forget a bucket whose samples are all done, and merge the parts that were written for it into one."""
        self.flush()
        self._open.pop(bucket, None)
        with self._flushing:
            parts = list(itertools.chain.from_iterable(self._written.pop(bucket, [])))
            if len(parts) > 1:
                self._merge(bucket, parts)

    def _written_one(self, bucket: int, part: Part, merges: int = 0) -> None:
        levels = self._written[bucket]
        if len(levels) == merges:
            levels.append([])
        levels[merges].append(part)
        if len(levels[merges]) == MERGED_AT_ONCE:
            parts, levels[merges] = levels[merges], []
            self._written_one(bucket, Part(self._merge(bucket, parts)), merges + 1)

    def _merge(self, bucket: int, parts: Sequence[Part]) -> str:
        """Make one part of several; those that are gone are in another one by now: somebody else merged them."""
        folder, tables = self._bucket(bucket), [SCHEMA.empty_table()]
        for name, rows in parts:
            with contextlib.suppress(FileNotFoundError):
                tables.append(read_part(folder, name) if rows is None else rows)
        merged = self._write(bucket, pa.concat_tables(tables), lasting=True)
        for name, _ in parts:
            folder.delete(name)
        return merged

    def _bucket(self, bucket: int) -> Folder:
        assert self._folder is not None
        return self._folder / f"bucket={bucket:03d}"

    def _write(self, bucket: int, rows: pa.Table, lasting: bool = False) -> str:
        self._parts += 1
        name = f"part-{self._writer}-{self._parts:06d}.parquet"
        write_part(self._bucket(bucket), name, rows, lasting)
        return name

    def _load(self, bucket: int) -> dict[str, Mapping[str, Any]]:
        replies: dict[str, Mapping[str, Any]] = {}
        folder, seen = self._bucket(bucket), set[str]()
        while unread := [name for name in folder.names(".parquet") if name not in seen]:
            seen.update(unread)
            gone = [name for name in unread if not self._read_into(replies, folder, name)]
            if not gone:  # else their writer merged them into a part that may not have been listed yet
                break
        return replies

    def _read_into(self, replies: dict[str, Mapping[str, Any]], folder: Folder, name: str) -> bool:
        """Take over the newest reply of every key of a part; False where the part is gone."""
        try:
            rows = read_part(folder, name).select([*KNOWN, "run_id"]).to_pylist()
        except FileNotFoundError:
            return False
        except (pa.ArrowException, OSError, ValueError) as error:
            log.warning("replies store: %s/%s is skipped, it cannot be read: %s", folder, name, error)
            return True
        for row in rows:
            age = row["created_at"] = row["created_at"] or 0.0
            usable = row["reply"] is not None or row["vector"] is not None
            if usable and (row.pop("run_id") == self._run_id or age >= self._oldest.get(row["model"], 0.0)):
                known = replies.get(row["key"])
                if known is None or age >= known["created_at"]:
                    replies[row["key"]] = row
        return True


def write_part(folder: Folder, name: str, rows: pa.Table, lasting: bool = True) -> None:
    """Write a part: small where it is to last, quick (a quarter of the time) where it will soon be merged into another."""
    out = pa.BufferOutputStream()
    pq.write_table(rows, out, compression="zstd" if lasting else "snappy", use_dictionary=lasting, write_statistics=lasting)
    folder.write(name, out.getvalue())


def read_part(folder: Folder, name: str) -> pa.Table:
    """One part under SCHEMA; columns of a later version are left out, missing ones null. Raises what pyarrow raises."""
    table = pq.read_table(pa.BufferReader(folder.read(name)))
    if not {"key", "kind"} <= set(table.column_names):
        raise ValueError("it is no part of a replies store")
    for field in SCHEMA:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(SCHEMA.names).cast(SCHEMA)
