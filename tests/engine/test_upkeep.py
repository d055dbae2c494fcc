"""Upkeep of a store: what it holds, what is wrong with it, fewer files, fewer old replies, and runs that go on meanwhile."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rageval_spark.engine import store, upkeep
from rageval_spark.engine.files import Folder
from rageval_spark.engine.store import RepliesStore
from rageval_spark.errors import ConfigError

DAY = 86_400.0


@pytest.fixture
def output(tmp_path: Path) -> Folder:
    store.create(Folder(str(tmp_path / "replies")), 64)
    return Folder(str(tmp_path))


def kept(output: Folder, *keys: str, bucket: int = 3, verdict: int = 1, **more: Any) -> None:
    """Replies in a part of their own, as a run that was killed leaves them."""
    one = RepliesStore(output / "replies", run_id="r")
    for key in keys:
        one.put(bucket, {"key": key, "kind": "verify_claims", "model": "m", "served_model": "m-1", "prompt_tokens": 10,
                         "reply": f'{{"verdict": {verdict}}}', **more})
    one.flush()


def files(output: Folder, bucket: int = 3) -> list[str]:
    return (output / "replies" / f"bucket={bucket:03d}").names()


def found(output: Folder, key: str, bucket: int = 3) -> Any:
    one = RepliesStore(output / "replies", run_id="later")
    one.open(bucket)
    row = one.find(bucket, key)
    return row and row["reply"]


def test_what_a_store_holds(output: Folder) -> None:
    kept(output, "a", "b", created_at=time.time() - DAY)
    kept(output, "a", created_at=time.time())
    kept(output, "c", bucket=40, kind="list_claims", served_model=None, prompt_tokens=None)
    said = upkeep.stats(output)
    assert {name: said[name] for name in ("buckets", "files", "unreadable", "rows", "replies", "prompt_tokens")} == {
        "buckets": 2, "files": 3, "unreadable": 0, "rows": 4, "replies": 3, "prompt_tokens": 30}
    assert said["kinds"] == {"verify_claims": 3, "list_claims": 1}
    assert said["served_models"] == {"m-1": 3, "m": 1}
    newest, oldest = (datetime.fromisoformat(said[name]) for name in ("newest", "oldest"))
    assert (newest - oldest).total_seconds() == pytest.approx(DAY, abs=60)


def test_what_cannot_be_used_is_named_and_left_alone(output: Folder, tmp_path: Path) -> None:
    kept(output, "a")
    kept(output, "b", reply="{")
    (tmp_path / "replies/bucket=003/part-torn.parquet").write_bytes(b"PAR1 torn")
    said = list(upkeep.verify(output))
    assert len(said) == 2
    assert any("part-torn.parquet cannot be read" in sentence and "Delete that file" in sentence for sentence in said)
    assert any("1 of 1 rows hold no reply; rageval store compact drops them" in sentence for sentence in said)
    assert upkeep.stats(output)["unreadable"] == 1
    assert upkeep.compact(output)[:2] == (3, 2)
    assert "part-torn.parquet" in files(output)
    (tmp_path / "replies/bucket=003/part-torn.parquet").unlink()
    assert list(upkeep.verify(output)) == [], "what it says to do is enough"


def test_compacting_keeps_the_newest_reply_of_every_prompt(output: Folder) -> None:
    now = time.time()
    kept(output, "a", verdict=0, created_at=now)
    kept(output, "a", "b", verdict=1, created_at=now - 5)
    kept(output, "c", bucket=5)
    before = {key: found(output, key) for key in "ab"}
    assert upkeep.compact(output)[:2] == (3, 2)
    assert len(files(output)) == 1
    assert before == {key: found(output, key) for key in "ab"} == {"a": '{"verdict": 0}', "b": '{"verdict": 1}'}
    unchanged = files(output)
    assert upkeep.compact(output) == (2, 2, 0)
    assert files(output) == unchanged
    assert list(upkeep.verify(output)) == []


def test_pruning_deletes_by_age_and_empty_files_with_it(output: Folder) -> None:
    kept(output, "old", created_at=time.time() - 100 * DAY)
    kept(output, "new")
    kept(output, "older", bucket=7, created_at=time.time() - 200 * DAY)
    assert upkeep.prune(output, time.time() - 90 * DAY) == (3, 1, 2)
    assert [bool(found(output, key, bucket)) for key, bucket in [("new", 3), ("old", 3), ("older", 7)]] == [True, False, False]
    assert files(output, 7) == []


def test_a_run_that_goes_on_while_its_store_is_compacted_loses_nothing(output: Folder) -> None:
    one = RepliesStore(output / "replies", run_id="r")
    one.open(3)
    for i in range(100):
        one.put(3, {"key": f"k{i}", "kind": "verify_claims", "model": "m", "reply": f'{{"verdict": {i % 2}}}'})
        one.flush()
        if i % 30 == 7:
            upkeep.compact(output)
    one.close(3)
    assert [found(output, f"k{i}") for i in range(100)] == [f'{{"verdict": {i % 2}}}' for i in range(100)]
    upkeep.compact(output)
    assert len(files(output)) == 1
    assert upkeep.stats(output)["replies"] == 100


def test_what_is_no_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no replies store"):
        upkeep.stats(Folder(str(tmp_path)))
