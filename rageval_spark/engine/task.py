"""One task of a run: samples in, scores out. Three threads, none of which waits for another's work.

The caller's thread brings samples and takes scores away; the loop's thread asks the judge; the keeper makes replies
durable, beats, and looks for a stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rageval_spark.engine.beats import Beats, peak_memory_mb
from rageval_spark.engine.budget import Budget
from rageval_spark.engine.engine import Engine, Place
from rageval_spark.engine.handing import Tray, seldom_collected
from rageval_spark.engine.plan import FieldGroup, MetricUse
from rageval_spark.engine.store import PENDING_AT_ONCE, RepliesStore
from rageval_spark.engine.window import Closed, windows_of
from rageval_spark.engine.work import Row, Scored, Work, sample_of
from rageval_spark.errors import Interrupted
from rageval_spark.judges import http
from rageval_spark.sample import Sample
from rageval_spark.score import Score

KEEP_S = 0.2
"""How often the keeper wakes; what is due before it next does is done at once."""
LOOK_S = 0.25
"""How often a task looks for a stop on a local disk."""
HAND_OVER_S = 1.0
"""How long finished scores may wait to be handed on."""
PLENTY = 4
"""The part of what may be in play that is left to gather, that long, before more is brought: each wake-up of the
caller's thread takes time from the loop's."""
STOPPED = "stopped on request"
LAST_LOOKS_S = (0.3,) * 5
"""After a stop or an error: how long replies on their way are still waited for. A stall costs one look, not all."""


@dataclass
class Task:
    """A task at work. `run` is called once."""

    work: Work
    index: int = 0
    _results: Tray = field(default_factory=Tray)
    _scored: list[Scored] = field(default_factory=list)
    _in_play: int = 0
    _open: Counter[int] = field(default_factory=Counter)
    _closing: set[int] = field(default_factory=set)
    _done: Counter[str] = field(default_factory=Counter)
    _playing: set[asyncio.Task[None]] = field(default_factory=set)
    _ready: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)
    _loop: asyncio.AbstractEventLoop | None = None
    _engine: Engine | None = None

    def __post_init__(self) -> None:
        work = self.work
        self._store = RepliesStore(work.store, run_id=work.run_id, oldest=work.oldest)
        self._beats = Beats(work.beats, self.index, work.planned_tasks,
                            1.0 if work.beats.is_local else 2.0) if work.beats else None
        self._cpu_before = time.process_time()
        self._limits = work.plan.limits()
        self._windows = windows_of(work.plan, 1 if work.beats else work.planned_tasks)
        self._budget = Budget(work.limits, work.until)
        self._per_row = sum(len(group.uses) for group in work.plan.groups)

    def run(self, rows: Iterable[Row]) -> Generator[list[Scored], None, None]:
        """Scores of all rows × metrics, handed on about every second as they finish.

        Raises Interrupted on a stop, StoreError or OSError where replies cannot be made durable, and what the engine
        itself raises; before it ends, however it ends, its threads have ended and every reply that came is stored.
        """
        if self._beats and self._beats.stop_asked():
            raise Interrupted(STOPPED)
        loop = threading.Thread(target=self._loop_thread, name="rageval-loop", daemon=True)
        keeper = threading.Thread(target=self._keeper_thread, name="rageval-keeper", daemon=True)
        self._beat()
        with seldom_collected():
            try:
                loop.start()
                self._ready.wait()
                self._take(wanted=0)  # raises what kept the loop from starting
                keeper.start()
                yield from self._feed(rows)
            finally:
                self._end(loop, keeper)

    def _end(self, loop: threading.Thread, keeper: threading.Thread) -> None:
        self._call(self._finish)
        loop.join()
        self._ended.set()
        if keeper.is_alive():
            keeper.join()
        try:
            self._store.flush()
        finally:
            if self._beats:
                self._beats.leave(self._state())

    def _feed(self, rows: Iterable[Row]) -> Iterator[list[Scored]]:
        self._handed_over = time.monotonic()
        bucket: int | None = None
        for order, row in enumerate(rows):
            if row.bucket != bucket:
                self._leave(bucket)
                bucket = row.bucket
                self._closing.discard(bucket)
                self._store.open(bucket)
            self._open[bucket] += self._per_row
            self._in_play += self._per_row
            self._call(self._start, row, order)
            yield from self._finished(self._room())
        self._leave(bucket)
        yield from self._finished(fewer_than=1)
        if self._scored:
            yield self._scored

    def _finished(self, fewer_than: int) -> Iterator[list[Scored]]:
        """Hand on what is done, until fewer scores than that are in play."""
        while True:
            self._take(self._in_play - fewer_than + 1 + fewer_than // PLENTY if self._in_play >= fewer_than else 0)
            if self._scored and time.monotonic() - self._handed_over > HAND_OVER_S:
                ready, self._scored = self._scored, []
                yield ready
                self._handed_over = time.monotonic()
            if self._in_play < fewer_than:
                return

    def _room(self) -> int:
        """How many scores may be in play: enough to keep the window full with samples at every stage."""
        samples = 2 * max((window.capacity for window in self._windows.values()), default=64) + 8
        return samples * max(1, self._per_row)

    def _take(self, wanted: int) -> None:
        """Collect the scores that are done, waiting for so many, but not for long. Raises what a thread did."""
        for result in self._results.take(wanted, within_s=HAND_OVER_S):
            if isinstance(result, BaseException):
                raise result
            self._scored.append(result)
            self._in_play -= 1
            self._done[result.score.status] += 1
            self._open[result.row.bucket] -= 1
            if result.row.bucket in self._closing:
                self._leave(result.row.bucket)

    def _leave(self, bucket: int | None) -> None:
        """Close a bucket that has no more rows, as soon as its last score is done."""
        if bucket is None:
            return
        self._closing.add(bucket)
        if self._open[bucket] == 0:
            self._closing.discard(bucket)
            del self._open[bucket]
            self._store.close(bucket)

    # the loop's thread

    def _loop_thread(self) -> None:
        try:
            asyncio.run(self._loop_main())
        except BaseException as error:
            self._results.put(error)
        finally:
            self._ready.set()

    async def _loop_main(self) -> None:
        self._finishing = asyncio.Event()
        async with http.session(limit=0) as session:
            self._engine = Engine(self.work.plan, self._store, session, self._windows, self._budget)
            self._loop = asyncio.get_running_loop()
            self._ready.set()
            await self._finishing.wait()
            for seconds in LAST_LOOKS_S:
                if self._playing:  # ended early: what is on its way is paid for
                    await asyncio.wait(self._playing, timeout=seconds)
            for playing in self._playing:
                playing.cancel()
            await asyncio.gather(*self._playing, return_exceptions=True)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Have the loop call it; nothing happens where there is no loop any more."""
        with contextlib.suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function, *arguments)

    def _start(self, row: Row, order: int) -> None:
        place = Place(order, row.bucket)
        try:
            for group in self.work.plan.groups:
                sample = sample_of(row, group)
                for use in group.uses:
                    playing = asyncio.ensure_future(self._play(row, group, use, sample, place))
                    self._playing.add(playing)
                    playing.add_done_callback(self._playing.discard)
        except BaseException as error:
            self._results.put(error)

    async def _play(self, row: Row, group: FieldGroup, use: MetricUse, sample: Sample | Score, place: Place) -> None:
        assert self._engine is not None
        try:
            score = sample if isinstance(sample, Score) else await self._engine.score(use, sample, place)
            self._results.put(Scored(row, group, use, score))
        except Closed:
            return
        except BaseException as error:
            self._results.put(error)

    def _finish(self) -> None:
        """Ask nothing more, and let the loop end."""
        self._close_windows()
        self._finishing.set()

    def _close_windows(self) -> None:
        for window in self._windows.values():
            window.close()

    # the keeper's thread

    def _keeper_thread(self) -> None:
        flush_every = 0.5 if self.work.store is None or self.work.store.is_local else 15.0
        look_every = LOOK_S if self.work.beats is None or self.work.beats.is_local else 2 * LOOK_S
        period = self._beats.period_s if self._beats else float("inf")
        flushed = beaten = looked = time.monotonic()
        try:
            while not self._ended.wait(KEEP_S):
                now = time.monotonic()
                if now - flushed > flush_every - KEEP_S or self._store.pending >= PENDING_AT_ONCE:
                    flushed = now
                    self._store.flush()
                if now - beaten >= period - KEEP_S / 2:
                    beaten = now
                    self._beat()
                if self._beats and now - looked >= look_every:
                    looked = now
                    if self._beats.stop_asked():
                        raise Interrupted(STOPPED)
        except BaseException as error:
            self._call(self._close_windows)
            self._results.put(error)

    def _beat(self) -> None:
        if self._beats is None:
            return
        until = time.monotonic() + self._beats.lease_s
        in_flight = {name: window.in_flight for name, window in self._windows.items()}
        shares, fraction = self._beats.beat(self._limits, self._renewed_state, in_flight)
        resize = self._call if self._loop else lambda function, *arguments: function(*arguments)
        for name, window in self._windows.items():
            resize(window.resize, shares[name], fraction, until)

    def _renewed_state(self) -> dict[str, Any]:
        assert self._beats is not None
        self._budget.renew(self._beats.others(), self.work.planned_tasks, sum(self._limits.values()))
        return self._state()

    def _state(self) -> dict[str, Any]:
        return {"done": False, "scores": dict(self._done), "budget": self._budget.told(),
                **(self._engine.state() if self._engine else {}),
                "cpu_s": round(time.process_time() - self._cpu_before, 3), "memory_mb": peak_memory_mb()}
