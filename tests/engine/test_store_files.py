"""The files of the replies store: torn, foreign, of another version, written by several at once."""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_spark.engine.files import Folder
from rageval_spark.engine.store import (
    LAYOUT,
    VERSION,
    RepliesStore,
    create,
    layout,
)
from rageval_spark.errors import StoreError
from tests.engine.test_store import opened, parts, reply, said, stored


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
