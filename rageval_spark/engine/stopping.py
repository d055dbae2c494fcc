"""Stopping a run from outside: Ctrl-C and SIGTERM reach the driver alone, and it tells the tasks."""

from __future__ import annotations

import time
from types import TracebackType

from rageval_spark.engine import beats
from rageval_spark.engine.files import Folder

LONGEST_END_S = 4.0


class Stopping:
    """Whether a stop was asked for, and the beats by which running tasks learn of it."""

    def __init__(self) -> None:
        self.asked = False
        self._beats: Folder | None = None

    def ask(self) -> None:
        """Let the tasks flush and end. A second call, or one while none run, raises KeyboardInterrupt."""
        if self._beats is None or self.asked:
            raise KeyboardInterrupt
        self.asked = True
        beats.ask_to_stop(self._beats)

    def during(self, folder: Folder) -> Scoring:
        return Scoring(self, folder)


class Scoring:
    """A `with` block during which tasks run; an error that leaves it stops those that still do."""

    def __init__(self, stopping: Stopping, folder: Folder):
        self._stopping, self._folder = stopping, folder

    def __enter__(self) -> None:
        self._stopping._beats = self._folder

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            beats.ask_to_stop(self._folder)
            _await_end(self._folder)
        self._stopping._beats = None


def _await_end(folder: Folder) -> None:
    """Wait a little until every task that still beats has made its replies durable."""
    end = time.monotonic() + LONGEST_END_S
    while time.monotonic() < end and any(
            not beat.get("done") and time.time() - beat["at"] < beats.STALE_AFTER for beat in beats.read(folder)):
        time.sleep(0.1)


stopping = Stopping()
"""The process's own: signals are the process's too."""
