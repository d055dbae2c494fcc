"""The window: how many requests are in flight to one server, and how fast new ones start."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field

CUT = 0.8
"""What is left of the window after the server asked for less."""
GROWTH_BELOW = 1.0
GROWTH_ABOVE = 0.4
"""Requests by which the window grows per round trip: below the size at which it was last cut, and above."""


class Closed(Exception):
    """Nothing more is to be asked: the run is being stopped."""


@dataclass
class Window:
    """A sliding window over requests, the samples that came first served first.

    `capacity` is this task's share of the job's limit and `fraction` its share of the rates; within them the window
    shrinks when the server throttles and grows again as it answers. Belongs to one event loop.
    """

    capacity: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    fraction: float = 1.0
    clock: Callable[[], float] = time.monotonic
    in_flight: int = 0
    waited_s: float = 0.0
    closed: bool = False
    round_trip_s: float = 0.0
    _ceiling: float = field(default=float("inf"))
    _last_ceiling: float = field(default=float("inf"))
    _last_cut: float = field(default=float("-inf"))
    _next_start: float = field(default=float("-inf"))
    _alarm: asyncio.TimerHandle | None = None
    _waiting: list[tuple[int, int, int, asyncio.Future[None]]] = field(default_factory=list)
    _count: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def size(self) -> int:
        """How many may be in flight now."""
        return int(min(self.capacity, max(1.0, self._ceiling)))

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def acquire(self, order: int, tokens: int = 0) -> None:
        """Wait for a place. Raises Closed once the window is closed."""
        if self.closed:
            raise Closed
        place = asyncio.get_running_loop().create_future()
        began = self.clock()
        heapq.heappush(self._waiting, (order, next(self._count), tokens, place))
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release()
            raise
        self.waited_s += self.clock() - began
        if self.closed:
            self.release()
            raise Closed

    def release(self) -> None:
        self.in_flight -= 1
        self._admit()

    def resize(self, capacity: int, fraction: float) -> None:
        self.capacity, self.fraction = capacity, fraction
        self._admit()

    def close(self) -> None:
        """Turn away all that wait and all that come."""
        self.closed = True
        while self._waiting:
            place = heapq.heappop(self._waiting)[-1]
            if not place.done():
                place.set_exception(Closed())

    def answered(self, seconds: float) -> None:
        """The server answered well after so many seconds."""
        self.round_trip_s = seconds if not self.round_trip_s else 0.9 * self.round_trip_s + 0.1 * seconds
        if self._ceiling < self.capacity:
            growth = GROWTH_BELOW if self._ceiling < self._last_ceiling else GROWTH_ABOVE
            self._ceiling += growth / self._ceiling
            self._admit()

    def throttled(self) -> None:
        """The server asked for less: cut the window, at most once per round trip."""
        now = self.clock()
        if now - self._last_cut >= max(self.round_trip_s, 0.05):
            self._last_cut = now
            self._last_ceiling = min(self._ceiling, self.in_flight)
            self._ceiling = max(1.0, CUT * self._last_ceiling)

    def _interval_s(self, tokens: int) -> float:
        """The time that the rates put between the start of a request of so many tokens and the next."""
        requests = 60 / self.requests_per_minute if self.requests_per_minute else 0.0
        by_tokens = 60 * tokens / self.tokens_per_minute if self.tokens_per_minute else 0.0
        return max(requests, by_tokens) / max(self.fraction, 1e-9)

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.size:
            now = self.clock()
            if now < self._next_start:
                if self._alarm is None:
                    self._alarm = asyncio.get_running_loop().call_later(self._next_start - now, self._ring)
                return
            _, _, tokens, place = heapq.heappop(self._waiting)
            if not place.done():
                self.in_flight += 1
                self._next_start = max(now, self._next_start) + self._interval_s(tokens)
                place.set_result(None)

    def _ring(self) -> None:
        self._alarm = None
        self._admit()
