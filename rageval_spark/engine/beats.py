"""Beats: small files by which the tasks of a run share its limits, report to the driver, and learn of a stop."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rageval_spark.engine.files import Folder

log = logging.getLogger(__name__)

STOP = "stop"
STALE_AFTER = 3
"""Periods without a new beat after which a task is taken for gone, and its share for free."""
NEW_RUN = 7
SETTLED = 10
"""Beats of the others up to which a starting task knows that its planned share is still kept for it, and after which
the shares of planned tasks that never showed up are dealt out. The gap between the two is the safety margin."""


@dataclass
class Beats:
    """One task's beats. `beat` is called once a period by one thread.

    A task's share of a limit is limit ÷ tasks that run; never more than what the others' beats leave free, so the sum
    over tasks stays within the limit at every moment, also while tasks come and go.
    """

    folder: Folder
    index: int
    planned: int
    period_s: float = 1.0
    clock: Callable[[], float] = time.monotonic
    name: str = ""
    _sequence: int = 0
    _seen: dict[str, tuple[int, float, Mapping[str, Any]]] = field(default_factory=dict)
    _joined_at: int | None = None
    _last: float | None = None

    def __post_init__(self) -> None:
        self.name = self.name or f"task-{self.index:05d}-{uuid.uuid4().hex[:8]}"

    def beat(self, limits: Mapping[str, int], state: Mapping[str, Any],
             in_flight: Mapping[str, int]) -> tuple[dict[str, int], float]:
        """Write a beat and return this task's capacity for each limit, and its fraction of the rates."""
        now = self.clock()
        late = self._last is not None and now - self._last > (STALE_AFTER - 0.5) * self.period_s
        self._read(now)
        others = [beat for _, _, beat in self._alive(now)]
        newcomer = self._sequence == 0 and any(beat["sequence"] >= NEW_RUN for beat in others)
        if late or newcomer:
            self._joined_at = self._sequence
        waiting = self._joined_at is not None and self._sequence < self._joined_at + 2
        tasks, rank = self._standing(others)
        shares = {}
        for name, limit in limits.items():
            fair = limit // tasks + (rank < limit % tasks)
            free = limit - sum(beat["held"].get(name, 0) for beat in others)
            shares[name] = 0 if waiting else max(0, min(fair, free) if self._sequence or newcomer else fair)
        held = {name: max(in_flight.get(name, 0), shares[name]) for name in limits}
        self._write({**state, "held": held, "in_flight": dict(in_flight)})
        self._last = now
        return shares, 0.0 if waiting else 1 / tasks

    def leave(self, state: Mapping[str, Any]) -> None:
        """The last beat: the task is done and holds nothing."""
        self._write({**state, "done": True, "held": {}, "in_flight": {}})

    def stop_asked(self) -> bool:
        return self.folder.exists(STOP)

    def _standing(self, others: list[Mapping[str, Any]]) -> tuple[int, int]:
        """How many tasks share the limits, and which of them this one is."""
        ahead = sum(beat["name"] < self.name for beat in others)
        if self._sequence >= SETTLED:
            return len(others) + 1, ahead
        seen = {self.index, *(beat["index"] for _, _, beat in self._seen.values())}
        unseen = [index for index in range(self.planned) if index not in seen]
        return len(others) + 1 + len(unseen), ahead + sum(index < self.index for index in unseen)

    def _alive(self, now: float) -> list[tuple[int, float, Mapping[str, Any]]]:
        return [one for one in self._seen.values()
                if not one[2].get("done") and now - one[1] < STALE_AFTER * self.period_s]

    def _read(self, now: float) -> None:
        for beat in read(self.folder):
            name, sequence = beat["name"], beat["sequence"]
            if name != self.name and (name not in self._seen or self._seen[name][0] != sequence):
                self._seen[name] = (sequence, now, beat)

    def _write(self, state: Mapping[str, Any]) -> None:
        self._sequence += 1
        beat = {"name": self.name, "index": self.index, "sequence": self._sequence, "at": time.time(), **state}
        self.folder.write_json(f"{self.name}.json", beat)


def read(folder: Folder) -> list[dict[str, Any]]:
    """The last beat of every task; one that is being replaced is left out."""
    beats = []
    for name in folder.names(".json"):
        try:
            beat = folder.read_json(name)
        except (FileNotFoundError, ValueError):
            continue
        if isinstance(beat, dict) and "sequence" in beat:
            beats.append(beat)
    return beats


def ask_to_stop(folder: Folder) -> None:
    folder.write(STOP, b"stop\n")
