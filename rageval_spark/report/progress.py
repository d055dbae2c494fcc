"""Progress of a run as its tasks' beats tell it: one living line in a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rageval_spark.engine import beats
from rageval_spark.engine.files import Folder

LINE_EVERY_S = 30.0
RECENT_S = 60.0
"""The time left is judged by the pace of so many seconds."""
SILENCE_S = 10.0
"""For so long a judge may answer nothing without being spoken of."""


class Progress:
    """Shows how far a run is while the `with` block lasts. `judgements` is the number of scores to come."""

    def __init__(self, folder: Folder, judgements: int, shown: bool = True):
        self._folder = folder
        self._judgements = judgements
        self._console = Console(stderr=True, highlight=False)
        self._shown = shown
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="rageval-progress", daemon=True)

    def __enter__(self) -> Progress:
        self._began = time.monotonic()
        self._before = (self._began, 0)
        self._done = deque([(self._began, 0)])
        if self._shown:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._shown:
            self._thread.join()

    def _watch(self) -> None:
        if self._console.is_terminal and sys.stderr.isatty():
            with Live(console=self._console, refresh_per_second=4, transient=True) as live:
                while not self._over.wait(1.0):
                    live.update(Text(self.line(beats.read(self._folder))))
        else:
            shown = time.monotonic()
            while not self._over.wait(1.0):
                if time.monotonic() - shown >= LINE_EVERY_S:
                    shown = time.monotonic()
                    self._console.print(self.line(beats.read(self._folder)), soft_wrap=True)

    def line(self, told: Sequence[Mapping[str, Any]]) -> str:
        """The line for these beats: done of planned, prompts a second, in flight, reused, failed, time left."""
        spent = totals(told)
        done = spent["scored"] + spent["skipped"] + spent["failed_scores"]
        now = time.monotonic()
        since, prompts_then = self._before
        rate = (spent["prompts"] - prompts_then) / max(now - since, 0.1)
        if now - since > 5:
            self._before = (now, spent["prompts"])
        self._done.append((now, done))
        while now - self._done[0][0] > RECENT_S:
            self._done.popleft()
        then, done_then = self._done[0]
        lately = done - done_then
        left = (now - then) / lately * (self._judgements - done) if lately else None
        parts = [f"{done:,} of {self._judgements:,} judgements", f"{rate:.0f} prompts/s", f"{spent['in_flight']} in flight",
                 f"{spent['reused']:,} reused", f"{spent['failed_scores']:,} failed"]
        retries = {name.removeprefix("retry_"): count for name, count in spent.items() if name.startswith("retry_")}
        if retries:
            causes = ", ".join(f"{cause} {count:,}" for cause, count in sorted(retries.items()))
            parts.append(f"{sum(retries.values()):,} retries ({causes})")
        paced = sum(beat.get("waits", {}).get("rate_s", 0.0) for beat in told)
        if paced > 0.5 * len(told) * (now - self._began):
            parts.append("held to the rate limits")
        silent = max((beat.get("silent_s", 0.0) for beat in told if not beat.get("done")), default=0.0)
        if silent > SILENCE_S:
            parts.append(f"NO ANSWER from the judge for {duration(silent)}")
        return " · ".join([*parts, f"{duration(left)} left" if left is not None else "starting" if not done else "stalled"])


def totals(told: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """The sums over tasks of their last beats: scores by status, prompts, reused, retries by cause, in flight."""
    sums: Counter[str] = Counter()
    for beat in told:
        sums.update(beat.get("counts", {}))
        scores = beat.get("scores", {})
        sums.update({"scored": scores.get("scored", 0), "skipped": scores.get("skipped", 0),
                     "failed_scores": scores.get("failed", 0), "in_flight": sum(beat.get("in_flight", {}).values())})
    return sums


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
