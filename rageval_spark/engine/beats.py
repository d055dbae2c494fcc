"""Beats: small files by which the tasks of a run share its limits, report to the driver, and learn of a stop."""

from __future__ import annotations

import resource
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rageval_spark.engine.files import Folder

STOP = "stop"
STALE_AFTER = 3
"""Periods, and looks of one's own, without a new beat after which a task is taken for gone and its share for free.
Looks count too: after a stall of the whole machine everybody's beats are old, and nobody is gone."""
LEASE = 2.5
"""Periods for which a task may use its share after a beat: it stops before others can take it for gone."""
NEW_RUN = 7
SETTLED = 10
"""Beats of the others up to which a starting task knows that its planned share is still kept for it, and after which
the shares of planned tasks that never showed up are dealt out. The gap between the two is the safety margin."""
RATES = "rates"
WHOLE = 10_000
"""The rates are shared like a limit of so many parts."""


class Seen(NamedTuple):
    """Another task's last beat, and when it was first seen: the time, and the number of the look."""

    beat: Mapping[str, Any]
    at: float
    look: int


@dataclass
class Beats:
    """One task's beats. `beat` is called once a period by one thread.

    A task's share of a limit is limit ÷ tasks that run; a task that is to grow leaves to the others what they still
    hold beyond theirs, so that the sum over tasks stays within the limit at every moment, also while tasks come and go.
    """

    folder: Folder
    index: int
    planned: int
    period_s: float = 1.0
    clock: Callable[[], float] = time.monotonic
    name: str = ""
    _sequence: int = 0
    _seen: dict[str, Seen] = field(default_factory=dict)
    _joined_at: int | None = None
    _shares: dict[str, int] = field(default_factory=dict)
    _held: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = self.name or f"{_place(self.index)}-{uuid.uuid4().hex[:8]}"

    @property
    def lease_s(self) -> float:
        """How long after the beginning of a beat the shares that it returned may be used."""
        return LEASE * self.period_s

    def beat(self, limits: Mapping[str, int], state: Callable[[], Mapping[str, Any]],
             in_flight: Mapping[str, int]) -> tuple[dict[str, int], float]:
        """Write a beat and return this task's capacity for each limit, and its fraction of the rates. What `state` gives is
        written with it; it is asked once the beats of the others are read."""
        before = {name: seen.beat["sequence"] for name, seen in self._seen.items()}
        others = self._look(self.clock())
        # a newcomer to a run under way; or the others beat so often meanwhile that they may take this task for gone
        most = NEW_RUN if self._sequence == 0 else STALE_AFTER
        if any(beat["sequence"] - before.get(beat["name"], 0) >= most for beat in others):
            self._joined_at = self._sequence
        limits = {**limits, RATES: WHOLE}
        if self._joined_at is not None and self._sequence < self._joined_at + 2:
            shares = dict.fromkeys(limits, 0)
        else:
            shares = self._divided(limits, others)
        # the last share is held for one beat more: the window may not have shrunk yet
        self._held = {name: max(in_flight.get(name, 0), shares[name], self._shares.get(name, 0)) for name in limits}
        self._write({**state(), "held": self._held, "in_flight": dict(in_flight)})
        self._shares = shares
        return {name: share for name, share in shares.items() if name != RATES}, shares[RATES] / WHOLE

    def leave(self, state: Mapping[str, Any]) -> None:
        """The last beat: the task is done and holds nothing."""
        self._write({**state, "done": True, "held": {}, "in_flight": {}})

    def others(self) -> list[Mapping[str, Any]]:
        """The last beats of all other tasks, as they were last read; those that have left are among them."""
        return [seen.beat for seen in self._seen.values()]

    def stop_asked(self) -> bool:
        return self.folder.exists(STOP)

    def _divided(self, limits: Mapping[str, int], others: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        tasks = sorted([self.name, *(beat["name"] for beat in others), *self._awaited()])
        shares = {}
        for name, limit in limits.items():
            fair = {task: limit // len(tasks) + (rank < limit % len(tasks)) for rank, task in enumerate(tasks)}
            mine = fair[self.name]
            beyond = sum(max(0, beat["held"].get(name, 0) - fair[beat["name"]]) for beat in others)
            shares[name] = max(mine - beyond, min(mine, self._held.get(name, 0)))
        return shares

    def _awaited(self) -> list[str]:
        """The places of planned tasks that have not shown up yet, as long as their shares are kept for them."""
        seen = [seen.beat for seen in self._seen.values()]
        if max([self._sequence, *(beat["sequence"] for beat in seen)]) >= SETTLED:
            return []
        return [_place(index) for index in {*range(self.planned)} - {self.index, *(beat["index"] for beat in seen)}]

    def _look(self, now: float) -> list[Mapping[str, Any]]:
        """The last beats of the other tasks that are at work."""
        for beat in read(self.folder):
            name, known = beat["name"], self._seen.get(beat["name"])
            if name != self.name and (known is None or known.beat["sequence"] != beat["sequence"]):
                self._seen[name] = Seen(beat, now, self._sequence)
        return [seen.beat for seen in self._seen.values() if not seen.beat.get("done") and (
            now - seen.at < STALE_AFTER * self.period_s or self._sequence - seen.look < STALE_AFTER)]

    def _write(self, state: Mapping[str, Any]) -> None:
        self._sequence += 1
        beat = {"name": self.name, "index": self.index, "sequence": self._sequence, "at": time.time(), **state}
        self.folder.write_json(f"{self.name}.json", beat)


def _place(index: int) -> str:
    return f"task-{index:05d}"


def read(folder: Folder) -> list[dict[str, Any]]:
    """The last beat of every task; one that is being replaced is left out."""
    beats = []
    for name in folder.names(".json"):
        try:
            beat = folder.read_json(name)
        except (FileNotFoundError, ValueError):
            continue
        if isinstance(beat, dict) and {"name", "index", "sequence", "held"} <= beat.keys():
            beats.append(beat)
    return beats


def peak_memory_mb() -> int:
    """The most memory that this process had resident so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))


def added(told: Sequence[Mapping[str, Any]], *under: str) -> dict[str, float]:
    """The sums over beats of the numbers that each has under these names."""
    sums: dict[str, float] = {}
    for beat in told:
        for name in under:
            beat = beat.get(name, {})
        for name, amount in beat.items():
            sums[name] = sums.get(name, 0.0) + amount
    return sums


def ask_to_stop(folder: Folder) -> None:
    folder.write(STOP, b"stop\n")
