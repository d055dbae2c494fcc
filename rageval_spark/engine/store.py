"""The replies store: every reply ever paid for, by the key of its prompt."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_spark.engine.files import Folder
from rageval_spark.errors import StoreError

log = logging.getLogger(__name__)

SCHEMA = pa.schema([
    ("key", pa.string()), ("kind", pa.string()), ("model", pa.string()), ("served_model", pa.string()),
    ("fingerprint", pa.string()), ("reply", pa.string()), ("raw", pa.list_(pa.string())), ("flags", pa.list_(pa.string())),
    ("vector", pa.binary()),
    ("prompt_tokens", pa.int64()), ("completion_tokens", pa.int64()), ("cached_tokens", pa.int64()),
    ("latency_ms", pa.float64()), ("created_at", pa.float64()), ("run_id", pa.string()), ("bucket", pa.int32()),
])  # fmt: skip
"""One row per accepted reply. `reply` is JSON, `vector` little-endian float32, `created_at` seconds since 1970."""

MOST_BUCKETS = 8192
LEAST_BUCKETS = 64
SAMPLES_PER_BUCKET = 5_000
VERSION = 1
LAYOUT = "_store.json"
PENDING_AT_ONCE = 5_000
"""Replies that are flushed at once, however short the time since the last flush."""


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
        raise StoreError(f"{folder} was written by a newer version of rageval_spark (store version {version}, known {VERSION})")
    return buckets


def create(folder: Folder, buckets: int) -> None:
    folder.write_json(LAYOUT, {"version": VERSION, "buckets": buckets})


class RepliesStore:
    """One task's view of the store: the buckets it has open, and what is still to be written.

    `find` and `put` are called by the loop, `open` and `close` by the thread that feeds it, `flush` by the keeper.
    Without a folder everything stays in memory.
    """

    def __init__(self, folder: Folder | None, *, run_id: str, max_age_s: float | None = None, reuse: bool = True):
        self._folder = folder
        self._run_id = run_id
        self._oldest = time.time() - max_age_s if max_age_s else 0.0
        self._reuse = reuse
        self._writer = uuid.uuid4().hex[:12]
        self._open: dict[int, dict[str, Mapping[str, Any]]] = {}
        self._pending: list[dict[str, Any]] = []
        self._written: dict[int, list[str]] = defaultdict(list)
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._parts = 0

    def open(self, bucket: int) -> None:
        """Bring a bucket's replies into memory; nothing happens where it is open."""
        if bucket not in self._open:
            self._open[bucket] = self._load(bucket) if self._folder is not None and self._reuse else {}

    def find(self, key: str) -> Mapping[str, Any] | None:
        for replies in list(self._open.values()):
            if key in replies:
                return replies[key]
        return None

    def put(self, bucket: int, row: dict[str, Any]) -> None:
        row = {**row, "run_id": self._run_id, "bucket": bucket, "created_at": time.time()}
        self._open.setdefault(bucket, {})[row["key"]] = row
        if self._folder is not None:
            with self._lock:
                self._pending.append(row)

    @property
    def pending(self) -> int:
        return len(self._pending)

    def flush(self) -> None:
        """Make every reply put so far durable: one new part per bucket."""
        if self._folder is None:
            return
        with self._flushing:
            with self._lock:
                rows, self._pending = self._pending, []
            try:
                by_bucket = defaultdict(list)
                for row in rows:
                    by_bucket[row["bucket"]].append(row)
                for bucket, mine in sorted(by_bucket.items()):
                    self._written[bucket].append(self._write(bucket, mine))
                    rows = [row for row in rows if row["bucket"] != bucket]
            except BaseException:
                with self._lock:
                    self._pending = rows + self._pending
                raise

    def close(self, bucket: int) -> None:
        """Forget a bucket whose samples are all done, and merge the parts that were written for it into one."""
        if self._folder is None:
            return
        self.flush()
        replies = self._open.pop(bucket, {})
        with self._flushing:
            parts = self._written.pop(bucket, [])
            if len(parts) > 1:
                mine = [dict(row) for row in replies.values() if row["run_id"] == self._run_id and row.get("_own", True)]
                self._write(bucket, mine)
                for name in parts:
                    self._bucket(bucket).delete(name)

    def _bucket(self, bucket: int) -> Folder:
        assert self._folder is not None
        return self._folder / f"bucket={bucket:03d}"

    def _write(self, bucket: int, rows: list[dict[str, Any]]) -> str:
        self._parts += 1
        name = f"part-{self._writer}-{self._parts:06d}.parquet"
        out = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), out, compression="zstd")
        self._bucket(bucket).write(name, out.getvalue())
        return name

    def _load(self, bucket: int) -> dict[str, Mapping[str, Any]]:
        replies: dict[str, Mapping[str, Any]] = {}
        folder = self._bucket(bucket)
        for name in folder.names(".parquet"):
            try:
                rows = read_part(folder, name)
            except FileNotFoundError:
                continue  # merged into another part by its writer since it was listed
            except (pa.ArrowException, OSError, ValueError) as error:
                log.warning("replies store: %s/%s is skipped, it cannot be read: %s", folder, name, error)
                continue
            for row in rows:
                if (row["created_at"] or 0) >= self._oldest:
                    replies[row["key"]] = row
        return replies


def read_part(folder: Folder, name: str) -> list[dict[str, Any]]:
    """Rows of one part; columns of a later version are left out, missing ones null. Raises what pyarrow raises."""
    table = pq.read_table(pa.BufferReader(folder.read(name)))
    if not {"key", "kind"} <= set(table.column_names):
        raise ValueError("it is no part of a replies store")
    for field in SCHEMA:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    rows: list[dict[str, Any]] = table.select(SCHEMA.names).cast(SCHEMA).to_pylist()
    return [{**row, "_own": False} for row in rows]
