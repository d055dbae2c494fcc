"""The replies store: what was put is found again, whatever happened to the files in between."""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_spark.engine.files import Folder
from rageval_spark.engine.store import (
    LAYOUT,
    LEAST_BUCKETS,
    MOST_BUCKETS,
    SAMPLES_PER_BUCKET,
    SCHEMA,
    VERSION,
    RepliesStore,
    buckets_for,
    create,
    layout,
    read_part,
)
from rageval_spark.errors import StoreError


def reply(key: str, verdict: int = 1, **more: Any) -> dict[str, Any]:
    return {"key": key, "kind": "detect_refusal", "model": "judge", "served_model": "judge-1", "fingerprint": None,
            "reply": json.dumps({"refused": verdict}), "raw": ["…"], "flags": ["REPAIRED"], "vector": None,
            "prompt_tokens": 12, "completion_tokens": 3, "cached_tokens": None, "latency_ms": 1.5, **more}


def store(folder: Path, **settings: Any) -> RepliesStore:
    return RepliesStore(Folder(str(folder)), **{"run_id": "run", **settings})


def opened(folder: Path, bucket: int = 3, **settings: Any) -> RepliesStore:
    one = store(folder, **settings)
    one.open(bucket)
    return one


def stored(folder: Path, *replies: dict[str, Any], bucket: int = 3, **settings: Any) -> None:
    one = opened(folder, bucket, **settings)
    for row in replies:
        one.put(bucket, row)
    one.flush()


def said(one: RepliesStore, key: str, bucket: int = 3) -> Any:
    row = one.find(bucket, key)
    return None if row is None else json.loads(row["reply"])["refused"]


def parts(folder: Path, bucket: int = 3) -> list[Path]:
    return sorted((folder / f"bucket={bucket:03d}").glob("*.parquet"))


def test_what_was_put_is_found_at_once_and_after_a_flush_by_the_next(tmp_path: Path) -> None:
    one = opened(tmp_path)
    vector = b"\x00\x00\x80?"
    one.put(3, reply("a"))
    one.put(3, {**reply("b"), "kind": "embed", "reply": None, "vector": vector, "flags": None})
    assert said(one, "a") == 1
    assert said(opened(tmp_path), "a") is None
    one.flush()
    assert one.pending == 0
    again = opened(tmp_path)
    found = again.find(3, "a")
    assert found is not None
    assert (found["model"], found["served_model"], found["flags"]) == ("judge", "judge-1", ["REPAIRED"])
    embedded = again.find(3, "b")
    assert embedded is not None
    assert (embedded["vector"], embedded["reply"]) == (vector, None)
    assert again.find(3, "c") is None


def test_a_row_holds_all_that_is_known_of_a_reply(tmp_path: Path) -> None:
    began = time.time()
    stored(tmp_path, reply("a"))
    [part] = parts(tmp_path)
    table = pq.read_table(part, partitioning=None)
    assert table.schema == SCHEMA
    [row] = table.to_pylist()
    assert began <= row.pop("created_at") <= time.time()
    assert row == {**reply("a"), "run_id": "run", "bucket": 3}


def test_a_flush_writes_one_part_per_bucket_and_none_for_nothing(tmp_path: Path) -> None:
    one = store(tmp_path)
    for bucket in (1, 2):
        for key in "abc":
            one.put(bucket, reply(f"{key}{bucket}"))
    one.flush()
    one.flush()
    assert [len(parts(tmp_path, bucket)) for bucket in (1, 2)] == [1, 1]


def test_a_reply_of_another_open_bucket_is_found_and_kept_in_both(tmp_path: Path) -> None:
    one = opened(tmp_path, 1)
    one.open(2)
    one.put(1, reply("a"))
    assert said(one, "a", bucket=2) == 1
    one.flush()
    assert said(opened(tmp_path, 2), "a", bucket=2) == 1
    rows = [row for bucket in (1, 2) for row in read_part(Folder(str(tmp_path)) / f"bucket={bucket:03d}",
                                                          parts(tmp_path, bucket)[0].name).to_pylist()]
    assert [row["prompt_tokens"] for row in rows] == [12, 0]  # it was paid for once
    assert rows[0]["created_at"] == rows[1]["created_at"]


def test_a_bucket_that_is_closed_is_forgotten_and_its_parts_are_one(tmp_path: Path) -> None:
    stored(tmp_path, reply("theirs"), run_id="another")
    one = opened(tmp_path)
    for key in ("a", "b", "c", "d"):
        one.put(3, reply(key))
        one.flush()
    one.put(3, reply("last"))
    assert len(parts(tmp_path)) == 5
    one.close(3)
    assert len(parts(tmp_path)) == 2  # of which one is another writer's, who may still be at work
    assert one.find(3, "a") is None
    again = opened(tmp_path)
    assert all(said(again, key) == 1 for key in ("theirs", "a", "b", "c", "d", "last"))


def test_a_bucket_may_be_opened_again(tmp_path: Path) -> None:
    one = opened(tmp_path)
    one.put(3, reply("a"))
    one.close(3)
    one.open(3)
    assert said(one, "a") == 1
    one.put(3, reply("b"))
    one.close(3)
    again = opened(tmp_path)
    assert (said(again, "a"), said(again, "b")) == (1, 1)


def test_closing_what_was_never_written_leaves_nothing(tmp_path: Path) -> None:
    one = opened(tmp_path)
    one.close(3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1 torn in the middle"])
def test_a_file_that_is_torn_is_skipped_with_a_warning(
        tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    stored(tmp_path, reply("a"))
    parts(tmp_path)[0].with_name("part-0.parquet").write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert said(opened(tmp_path), "a") == 1
    assert "part-0.parquet is skipped" in caplog.text


def test_half_a_part_is_skipped_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stored(tmp_path, reply("a"))
    stored(tmp_path, reply("b"))
    torn = parts(tmp_path)[0]
    torn.write_bytes(torn.read_bytes()[:-200])
    with caplog.at_level(logging.WARNING):
        one = opened(tmp_path)
    assert sorted([said(one, "a") or 0, said(one, "b") or 0]) == [0, 1]
    assert "is skipped" in caplog.text


def test_a_foreign_parquet_file_is_skipped_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stored(tmp_path, reply("a"))
    pq.write_table(pa.table({"question": ["What?"]}), parts(tmp_path)[0].with_name("foreign.parquet"))
    with caplog.at_level(logging.WARNING):
        assert said(opened(tmp_path), "a") == 1
    assert "it is no part of a replies store" in caplog.text


def test_columns_of_an_older_part_are_filled_and_of_a_newer_one_left_out(tmp_path: Path) -> None:
    stored(tmp_path, reply("a"))
    table = pq.read_table(parts(tmp_path)[0], partitioning=None)
    older = table.drop_columns(["flags", "cached_tokens", "created_at"]).append_column("mood", pa.array(["good"]))
    pq.write_table(older.set_column(0, "key", pa.array(["old"])), parts(tmp_path)[0].with_name("older.parquet"))
    found = opened(tmp_path).find(3, "old")
    assert found is not None
    assert found["flags"] is None
    assert "mood" not in found


def test_a_row_without_a_reply_is_no_reply(tmp_path: Path) -> None:
    stored(tmp_path, reply("a"))
    table = pq.read_table(parts(tmp_path)[0], partitioning=None)
    pq.write_table(table.drop_columns(["reply"]), parts(tmp_path)[0])
    assert opened(tmp_path).find(3, "a") is None


def test_of_two_replies_to_one_prompt_the_newest_counts(tmp_path: Path) -> None:
    for created_at, verdict in ((200.0, 1), (300.0, 0), (100.0, 1)):
        stored(tmp_path, reply("a", verdict, created_at=created_at))
        assert said(opened(tmp_path), "a") == (0 if verdict == 0 or created_at == 100.0 else 1)


def test_old_replies_are_not_reused(tmp_path: Path) -> None:
    now = time.time()
    stored(tmp_path, reply("old", created_at=now - 1000), reply("new", created_at=now - 10), run_id="another")
    one = opened(tmp_path, max_age_s=500)
    assert (said(one, "old"), said(one, "new")) == (None, 1)


def test_without_reuse_only_what_this_run_paid_for_is_found(tmp_path: Path) -> None:
    stored(tmp_path, reply("theirs"), run_id="another")
    stored(tmp_path, reply("ours"))
    one = opened(tmp_path, reuse=False)
    assert (said(one, "theirs"), said(one, "ours")) == (None, 1)


def test_what_cannot_be_written_stays_pending_and_is_written_later(tmp_path: Path) -> None:
    one = store(tmp_path)
    for bucket in (1, 2, 3):
        one.put(bucket, reply(f"a{bucket}"))
    (tmp_path / "bucket=002").write_text("in the way")
    with pytest.raises(OSError, match="bucket=002"):
        one.flush()
    assert one.pending == 2
    one.put(1, reply("later"))
    with pytest.raises(OSError, match="bucket=002"):
        one.flush()
    (tmp_path / "bucket=002").unlink()
    one.flush()
    assert one.pending == 0
    for bucket in (1, 2, 3):
        assert said(opened(tmp_path, bucket), f"a{bucket}", bucket) == 1
    assert said(opened(tmp_path, 1), "later", 1) == 1


def test_a_failed_write_leaves_no_draft(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    (tmp_path / "name").mkdir()
    with pytest.raises(OSError, match="name"):
        folder.write("name", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


def test_a_reader_sees_whole_parts_only(tmp_path: Path) -> None:
    """One writes and merges without end while another reads: no torn part, no reply lost in a merge."""
    stop, faults = threading.Event(), list[str]()
    stored(tmp_path, reply("first"))

    def write() -> None:
        number = 0
        while not stop.is_set():
            one = opened(tmp_path)
            for _ in range(3):
                number += 1
                one.put(3, reply(f"k{number % 7}"))
                one.flush()
            one.close(3)
            for old in parts(tmp_path)[:-3]:  # keep the folder small, as if merged by someone
                if "first" not in {row["key"] for row in pq.read_table(old, partitioning=None).to_pylist()}:
                    old.unlink()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        end = time.monotonic() + 2
        while time.monotonic() < end and not faults:
            if said(opened(tmp_path, run_id="reader"), "first") != 1:
                faults.append("lost")
    finally:
        stop.set()
        thread.join()
    assert faults == []
    assert [path for path in tmp_path.rglob("*") if path.suffix == ".tmp"] == []


def test_a_part_that_was_merged_while_the_folder_was_read_is_found_where_it_went(tmp_path: Path) -> None:
    one = opened(tmp_path)
    for key in "ab":
        one.put(3, reply(key))
        one.flush()

    class Merging(Folder):
        """A folder in which the parts are merged just after it was listed for the first time."""

        def __truediv__(self, name: str) -> Folder:
            return Merging(str(Folder.__truediv__(self, name)))

        def names(self, suffix: str = "") -> list[str]:
            listed = super().names(suffix)
            one.close(3)
            return listed

    reader = RepliesStore(Merging(str(tmp_path)), run_id="reader")
    reader.open(3)
    assert (said(reader, "a"), said(reader, "b")) == (1, 1)


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    def write(name: str) -> None:
        one = opened(tmp_path, run_id=name)
        for number in range(20):
            one.put(3, reply(f"{name}{number}"))
            one.flush()
        one.close(3)

    writers = [threading.Thread(target=write, args=[name]) for name in "xyz"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(parts(tmp_path)) == 3
    again = opened(tmp_path)
    assert all(said(again, f"{name}{number}") == 1 for name in "xyz" for number in range(20))


def test_putting_and_flushing_on_two_threads_loses_nothing(tmp_path: Path) -> None:
    one, done = opened(tmp_path), threading.Event()

    def flush() -> None:
        while not done.is_set():
            one.flush()

    keeper = threading.Thread(target=flush)
    keeper.start()
    for number in range(3000):
        one.put(3, reply(str(number)))
    done.set()
    keeper.join()
    one.close(3)
    again = opened(tmp_path)
    assert all(said(again, str(number)) == 1 for number in range(3000))


def test_without_a_folder_replies_live_as_long_as_their_bucket() -> None:
    one = RepliesStore(None, run_id="run")
    one.open(3)
    one.put(3, reply("a"))
    one.flush()
    assert (said(one, "a"), one.pending) == (1, 0)
    one.close(3)
    assert said(one, "a") is None


@pytest.mark.parametrize(("samples", "buckets"), [
    (0, LEAST_BUCKETS), (LEAST_BUCKETS * SAMPLES_PER_BUCKET, LEAST_BUCKETS),
    (LEAST_BUCKETS * SAMPLES_PER_BUCKET + 1, 2 * LEAST_BUCKETS), (10**12, MOST_BUCKETS),
])
def test_the_number_of_buckets_follows_the_samples(samples: int, buckets: int) -> None:
    assert buckets_for(samples) == buckets


def test_the_layout_is_kept(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "replies"))
    assert layout(folder) is None
    create(folder, 128)
    assert layout(folder) == 128


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / LAYOUT).write_text(json.dumps({"version": VERSION + 1, "buckets": 64}))
    with pytest.raises(StoreError, match="newer version"):
        layout(Folder(str(tmp_path)))


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"version": 1, "buckets": null}'])
def test_a_layout_that_cannot_be_read_is_refused_with_advice(tmp_path: Path, content: str) -> None:
    (tmp_path / LAYOUT).write_text(content)
    with pytest.raises(StoreError, match="restore the file"):
        layout(Folder(str(tmp_path)))
