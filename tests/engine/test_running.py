"""Runs under way on one output: seen by another process, and gone once they end or are killed."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rageval_spark.engine.files import Folder
from rageval_spark.engine.running import GONE_S, under_way
from rageval_spark.errors import ConfigError

HOLDS = ("import sys; from rageval_spark.engine.files import Folder; from rageval_spark.engine.running import under_way\n"
         "with under_way(Folder(sys.argv[1]), sys.argv[2]): print('there', flush=True); sys.stdin.read()")


@contextmanager
def another(output: Path, run_id: str) -> Iterator[subprocess.Popen[str]]:
    """A process at a run, until its input ends or it is killed."""
    process = subprocess.Popen([sys.executable, "-c", HOLDS, str(output), run_id], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        deadline = time.monotonic() + 20
        while not (output / "running" / f"{run_id}.json").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_same_run_is_not_begun_twice(tmp_path: Path) -> None:
    with another(tmp_path, "nightly"), pytest.raises(ConfigError, match="the run nightly is under way in another process"), \
            under_way(Folder(str(tmp_path)), "nightly"):
        pass


def test_of_another_run_is_warned_while_it_lasts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with another(tmp_path, "nightly") as process:
        with under_way(Folder(str(tmp_path)), "mine"):
            assert "the run nightly is under way on this output, too" in caplog.text
        process.communicate("")
    caplog.clear()
    with caplog.at_level(logging.WARNING), under_way(Folder(str(tmp_path)), "mine"):
        assert caplog.text == ""
    assert list((tmp_path / "running").iterdir()) == []


def test_a_run_that_was_killed_is_begun_again(tmp_path: Path) -> None:
    with another(tmp_path, "nightly") as process:
        process.kill()
        process.communicate()
        began = time.monotonic()
        with under_way(Folder(str(tmp_path)), "nightly"):
            assert time.monotonic() - began < GONE_S + 5
    assert list((tmp_path / "running").iterdir()) == []


def test_where_nothing_can_be_written_the_run_is_not_kept_from_telling_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with under_way(Folder(str(tmp_path / "file")), "nightly"):
        pass
