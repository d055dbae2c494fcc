"""The window: how many requests are in flight to one server, and how fast new ones start."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

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
PREFIXES = 4096
"""How many prefixes are taken for known to the server, the latest."""


class Closed(Exception):
    """Nothing more is to be asked: the run is being stopped."""


class Waiting(NamedTuple):
    """One that waits for a place; sorts by the order of its sample, then as it came."""

    order: int
    came: int
    tokens: int
    prefix: str
    place: asyncio.Future[None]


@dataclass
class Window:
    """A sliding window over requests, the samples that came first served first.

    Of requests that share a prefix the first goes ahead, so that a server that keeps prefixes has it for the others:
    they start once it is answered, and before that only where nobody else waits for a place.

    `capacity` is this task's share of the job's limit and `fraction` its share of the rates, both held until
    `lease_until`; within them the window shrinks when the server throttles and grows again as it answers. Belongs to
    one event loop. `waited_s` is what requests waited for their places, all added up; `paced_s` for how long the rates
    alone put off the next start.
    """

    capacity: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    fraction: float = 1.0
    lease_until: float = float("inf")
    clock: Callable[[], float] = time.monotonic
    in_flight: int = 0
    waited_s: float = 0.0
    paced_s: float = 0.0
    closed: bool = False
    round_trip_s: float = UNMEASURED_S
    _ceiling: float = field(default=float("inf"))
    _last_ceiling: float = field(default=float("inf"))
    _last_cut: float = field(default=float("-inf"))
    _last_start: float = field(default=float("-inf"))
    _pause_s: float = 0.0
    _alarm: asyncio.TimerHandle | None = None
    _waiting: list[Waiting] = field(default_factory=list)
    _led: dict[str, list[Waiting]] = field(default_factory=dict)  # prefixes on their way, and who waits for them
    _held: int = 0
    _known: dict[str, None] = field(default_factory=dict)
    _count: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def size(self) -> int:
        """How many may be in flight now."""
        if self.clock() >= self.lease_until:
            return 0
        return int(min(self.capacity, max(1.0, self._ceiling)))

    @property
    def waiting(self) -> int:
        return len(self._waiting) + self._held

    async def acquire(self, order: int, tokens: int = 0, prefix: str = "") -> None:
        """Wait for a place. Raises Closed once the window is closed."""
        if self.closed:
            raise Closed
        place = asyncio.get_running_loop().create_future()
        began = self.clock()
        heapq.heappush(self._waiting, Waiting(order, next(self._count), tokens, prefix, place))
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.release(prefix)
            raise
        self.waited_s += self.clock() - began
        if self.closed:
            self.release(prefix)
            raise Closed

    def release(self, prefix: str = "", answered: bool = False) -> None:
        """Give a place back; the prefix is that with which it was acquired."""
        self.in_flight -= 1
        if answered and prefix:
            self._known[prefix] = None
            if len(self._known) > PREFIXES:
                del self._known[next(iter(self._known))]
        for waiting in self._led.pop(prefix, ()):
            self._held -= 1
            heapq.heappush(self._waiting, waiting)
        self._admit()

    def resize(self, capacity: int, fraction: float, lease_until: float = float("inf")) -> None:
        self.capacity, self.fraction, self.lease_until = capacity, fraction, lease_until
        self._silence()
        self._admit()

    def close(self) -> None:
        """Turn away all that wait and all that come."""
        self.closed = True
        self._silence()
        while (waiting := self._next()) is not None:
            if not waiting.place.done():
                waiting.place.set_exception(Closed())

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

    def _next(self) -> Waiting | None:
        """Takes out the one to start next."""
        while self._waiting:
            waiting = heapq.heappop(self._waiting)
            led = self._led.get(waiting.prefix)
            if led is None:
                return waiting
            led.append(waiting)
            self._held += 1
        if not self._held:
            return None
        self._held -= 1
        return min(led for led in self._led.values() if led).pop(0)

    def _admit(self) -> None:
        while self.waiting and self.in_flight < self.size:
            now, due = self.clock(), self._next_start
            if now < due:
                if self._alarm is None:
                    self.paced_s += due - now
                    self._alarm = asyncio.get_running_loop().call_later(due - now, self._ring)
                return
            waiting = self._next()
            if waiting is not None and not waiting.place.done():
                self.in_flight += 1
                self._last_start, self._pause_s = max(now - LATENESS_S, due), self._full_pause_s(waiting.tokens)
                if waiting.prefix and waiting.prefix not in self._known:
                    self._led.setdefault(waiting.prefix, [])
                waiting.place.set_result(None)

    def _ring(self) -> None:
        self._alarm = None
        self._admit()

    def _silence(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


def windows_of(plan: Plan, tasks: int = 1) -> dict[str, Window]:
    """One window per server, shared by all judges and embedding models there; an even share of it for one of `tasks`."""
    def least(values: Iterable[float | None]) -> float | None:
        return min((value for value in values if value), default=None)

    made = {}
    for url, limit in plan.limits().items():
        judges = [judge for judge in plan.judges() if judge.base_url == url]
        made[url] = Window(max(1, limit // tasks), least(judge.requests_per_minute for judge in judges),
                           least(judge.tokens_per_minute for judge in judges), fraction=1 / tasks)
    return made
