"""The window: how many requests are in flight to one server, and how fast new ones start."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from rageval_spark.engine.plan import Plan

CUT = 0.8
"""What is left of the window after the server asked for less."""
GROWTH_BELOW = 1.0
GROWTH_ABOVE = 0.4
"""Requests by which the window grows per round trip: below the size at which it was last cut, and above."""
UNMEASURED_S = 0.25
"""What a round trip is taken for before the first answer."""
LATENESS_S = 0.05
"""By how much a start that came late may be made up for: timers ring late, and the rates are to be reached."""


class Closed(Exception):
    """Nothing more is to be asked: the run is being stopped."""


@dataclass
class Window:
    """A sliding window over requests, the samples that came first served first.

    `capacity` is this task's share of the job's limit and `fraction` its share of the rates, both held until
    `lease_until`; within them the window shrinks when the server throttles and grows again as it answers. Belongs to
    one event loop.
    """

    capacity: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    fraction: float = 1.0
    lease_until: float = float("inf")
    clock: Callable[[], float] = time.monotonic
    in_flight: int = 0
    waited_s: float = 0.0
    closed: bool = False
    round_trip_s: float = UNMEASURED_S
    _ceiling: float = field(default=float("inf"))
    _last_ceiling: float = field(default=float("inf"))
    _last_cut: float = field(default=float("-inf"))
    _last_start: float = field(default=float("-inf"))
    _pause_s: float = 0.0
    _alarm: asyncio.TimerHandle | None = None
    _waiting: list[tuple[int, int, int, asyncio.Future[None]]] = field(default_factory=list)
    _count: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def size(self) -> int:
        """How many may be in flight now."""
        if self.clock() >= self.lease_until:
            return 0
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
            if place.done() and not place.cancelled() and place.exception() is None:
                self.release()
            raise
        self.waited_s += self.clock() - began
        if self.closed:
            self.release()
            raise Closed

    def release(self) -> None:
        self.in_flight -= 1
        self._admit()

    def resize(self, capacity: int, fraction: float, lease_until: float = float("inf")) -> None:
        self.capacity, self.fraction, self.lease_until = capacity, fraction, lease_until
        self._silence()
        self._admit()

    def close(self) -> None:
        """Turn away all that wait and all that come."""
        self.closed = True
        self._silence()
        while self._waiting:
            place = heapq.heappop(self._waiting)[-1]
            if not place.done():
                place.set_exception(Closed())

    def answered(self, seconds: float) -> None:
        """The server answered well after so many seconds."""
        self.round_trip_s = 0.9 * self.round_trip_s + 0.1 * seconds
        if self._ceiling < self.capacity:
            growth = GROWTH_BELOW if self._ceiling < self._last_ceiling else GROWTH_ABOVE
            self._ceiling += growth / self._ceiling
            self._admit()

    def throttled(self, began: float) -> None:
        """A request that began then was told that there are too many: cut the window.

        At most once per round trip: what began before the last cut could be felt says nothing of the window after it.
        """
        if began >= self._last_cut + self.round_trip_s:
            self._last_cut = self.clock()
            self._last_ceiling = min(self._ceiling, self.in_flight)
            self._ceiling = max(1.0, CUT * self._last_ceiling)

    @property
    def _next_start(self) -> float:
        return self._last_start + self._pause_s / max(self.fraction, 1e-9)

    def _full_pause_s(self, tokens: int) -> float:
        """The time that the job's rates put between the start of a request of so many tokens and the next."""
        requests = 60 / self.requests_per_minute if self.requests_per_minute else 0.0
        return max(requests, 60 * tokens / self.tokens_per_minute if self.tokens_per_minute else 0.0)

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.size:
            now, due = self.clock(), self._next_start
            if now < due:
                if self._alarm is None:
                    self._alarm = asyncio.get_running_loop().call_later(due - now, self._ring)
                return
            _, _, tokens, place = heapq.heappop(self._waiting)
            if not place.done():
                self.in_flight += 1
                self._last_start, self._pause_s = max(now - LATENESS_S, due), self._full_pause_s(tokens)
                place.set_result(None)

    def _ring(self) -> None:
        self._alarm = None
        self._admit()

    def _silence(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


def windows_of(plan: Plan) -> dict[str, Window]:
    """One window per server, shared by all judges and embedding models there."""
    def least(values: Iterable[float | None]) -> float | None:
        return min((value for value in values if value), default=None)

    made = {}
    for url, limit in plan.limits().items():
        judges = [judge for judge in plan.judges() if judge.base_url == url]
        made[url] = Window(limit, least(judge.requests_per_minute for judge in judges),
                           least(judge.tokens_per_minute for judge in judges))
    return made
