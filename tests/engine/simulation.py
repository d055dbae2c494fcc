"""An event loop in simulated time: what takes minutes is tested in no time, and exactly."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Instant(selectors.BaseSelector):
    """A selector that does not wait: it moves the loop's clock on."""

    def __init__(self) -> None:
        self._inner = selectors.DefaultSelector()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "all wait for each other"
        self.now += timeout
        return self._inner.select(0)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def get_map(self) -> Any:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is simulated: sleeping takes none."""

    def __init__(self) -> None:
        self._instant = _Instant()
        super().__init__(self._instant)

    def time(self) -> float:
        return self._instant.now


def simulate(play: Callable[[Callable[[], float]], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine function, which is given the clock, in simulated time."""
    loop = SimulatedLoop()
    try:
        return loop.run_until_complete(play(loop.time))
    finally:
        loop.close()
