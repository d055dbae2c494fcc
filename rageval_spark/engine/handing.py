"""What the threads of a task share: a tray for what is done, and a garbage collector that seldom disturbs."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections import deque
from collections.abc import Iterator

from rageval_spark.engine.work import Scored

NEW_OBJECTS = 20_000
"""How many objects come up between two looks of the garbage collector."""


class Tray:
    """Where other threads put what they are done with, for the one that takes it when there is enough."""

    def __init__(self) -> None:
        self._put: deque[Scored | BaseException] = deque()
        self._enough = threading.Event()
        self._wanted = 0

    def put(self, result: Scored | BaseException) -> None:
        self._put.append(result)
        if len(self._put) >= self._wanted or isinstance(result, BaseException):
            self._enough.set()

    def take(self, wanted: int, within_s: float) -> Iterator[Scored | BaseException]:
        """What is there, once so much is, or an error, or the time is over."""
        self._wanted = wanted
        if len(self._put) < wanted:
            self._enough.wait(within_s)
        self._enough.clear()
        while self._put:
            yield self._put.popleft()


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """Have the garbage collector leave alone what is there already, and look seldom: it took a sixth of the loop's time."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
