"""The replies store: what was put is found again, whatever happened to the files in between."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rageval_spark.engine.files import Folder
from rageval_spark.engine.store import (
    LEAST_BUCKETS,
    MERGED_AT_ONCE,
    MOST_BUCKETS,
    SAMPLES_PER_BUCKET,
    SCHEMA,
    RepliesStore,
    buckets_for,
    read_part,
)


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


def test_of_two_replies_to_one_prompt_the_newest_counts(tmp_path: Path) -> None:
    for created_at, verdict in ((200.0, 1), (300.0, 0), (100.0, 1)):
        stored(tmp_path, reply("a", verdict, created_at=created_at))
        assert said(opened(tmp_path), "a") == (0 if verdict == 0 or created_at == 100.0 else 1)


def test_old_replies_are_not_reused(tmp_path: Path) -> None:
    now = time.time()
    stored(tmp_path, reply("old", created_at=now - 1000), reply("new", created_at=now - 10), run_id="another")
    one = opened(tmp_path, oldest={"judge": time.time() - 500})
    assert (said(one, "old"), said(one, "new")) == (None, 1)


def test_without_reuse_only_what_this_run_paid_for_is_found(tmp_path: Path) -> None:
    stored(tmp_path, reply("theirs"), run_id="another")
    stored(tmp_path, reply("ours"))
    one = opened(tmp_path, oldest={"judge": float("inf")})
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


def test_a_bucket_under_way_stays_a_few_dozen_files(tmp_path: Path) -> None:
    one, most = store(tmp_path), 0
    one.open(3)
    for i in range(MERGED_AT_ONCE * MERGED_AT_ONCE + 5):
        one.put(3, reply(f"k{i}"))
        one.flush()
        most = max(most, len(parts(tmp_path)))
    assert most <= 2 * MERGED_AT_ONCE
    later = opened(tmp_path)
    assert all(later.find(3, f"k{i}") for i in range(MERGED_AT_ONCE * MERGED_AT_ONCE + 5))
    one.close(3)
    assert len(parts(tmp_path)) == 1
