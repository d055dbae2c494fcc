"""One task of a run: samples in, scores out. Three threads, none of which waits for another's work.

The caller's thread brings samples and takes scores away; the loop's thread asks the judge; the keeper makes replies
durable, beats, and looks for a stop.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rageval_spark.engine.beats import Beats
from rageval_spark.engine.engine import Engine, Place
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.store import PENDING_AT_ONCE, RepliesStore
from rageval_spark.engine.window import Closed, Window
from rageval_spark.errors import Interrupted, SampleFault
from rageval_spark.judges import http
from rageval_spark.judges.settings import HttpJudge
from rageval_spark.sample import Sample
from rageval_spark.score import Score

log = logging.getLogger(__name__)

TICK_S = 0.1
HAND_OVER_S = 1.0
"""How long finished scores may wait to be handed on."""
LAST_REPLIES_S = 1.5
"""After a stop: how long replies that are on their way are still waited for."""


@dataclass(frozen=True)
class Row:
    """One row of the dataset: its columns' values, or the fault for which it cannot be read."""

    sample_id: str
    bucket: int
    values: Mapping[str, Any]
    slices: Mapping[str, str]
    fault: str | None = None


@dataclass(frozen=True)
class Scored:
    row: Row
    group: FieldGroup
    use: MetricUse
    score: Score


@dataclass(frozen=True)
class Work:
    """What a task needs beside its rows; travels in the closure. Without `store` replies stay in memory, without
    `beats` the task has the limits to itself."""

    plan: Plan
    run_id: str
    store: Folder | None = None
    beats: Folder | None = None
    planned_tasks: int = 1
    reuse: bool = True
    max_age_s: float | None = None


@dataclass
class Task:
    """A task at work. `run` is called once."""

    work: Work
    index: int = 0
    _results: queue.SimpleQueue[Scored | BaseException] = field(default_factory=queue.SimpleQueue)
    _in_play: int = 0
    _open: Counter[int] = field(default_factory=Counter)
    _done: Counter[str] = field(default_factory=Counter)
    _ended: threading.Event = field(default_factory=threading.Event)
    _stopped: bool = False

    def run(self, rows: Iterable[Row]) -> Iterator[list[Scored]]:
        """Scores of all rows × metrics, handed on about every second as they finish.

        Raises Interrupted on a stop, and StoreError or OSError where replies cannot be made durable.
        """
        work = self.work
        self._store = RepliesStore(work.store, run_id=work.run_id, max_age_s=work.max_age_s, reuse=work.reuse)
        self._beats = Beats(work.beats, self.index, work.planned_tasks,
                            1.0 if work.beats.is_local else 2.0) if work.beats else None
        self._windows = windows(work.plan)
        loop = threading.Thread(target=self._loop_thread, name="rageval-loop", daemon=True)
        keeper = threading.Thread(target=self._keeper_thread, name="rageval-keeper", daemon=True)
        self._ready = threading.Event()
        self._beat()
        loop.start()
        self._ready.wait()
        keeper.start()
        try:
            yield from self._feed(rows)
        finally:
            self._call(self._finish.set)
            loop.join()
            self._ended.set()
            keeper.join()
            self._store.flush()
            if self._beats:
                self._beats.leave(self._state())

    def _feed(self, rows: Iterable[Row]) -> Iterator[list[Scored]]:
        ready: list[Scored] = []
        handed_over = time.monotonic()
        bucket: int | None = None
        for order, row in enumerate(rows):
            if bucket is not None and row.bucket != bucket:
                self._close_when_done(bucket)
            bucket = row.bucket
            self._store.open(bucket)
            self._submit(row, order)
            while True:
                self._take(ready, wait=self._in_play >= self._room())
                if ready and time.monotonic() - handed_over > HAND_OVER_S:
                    yield ready
                    ready, handed_over = [], time.monotonic()
                if self._in_play < self._room():
                    break
        if bucket is not None:
            self._close_when_done(bucket)
        while self._in_play:
            self._take(ready, wait=True)
            if ready and time.monotonic() - handed_over > HAND_OVER_S:
                yield ready
                ready, handed_over = [], time.monotonic()
        if ready:
            yield ready

    def _room(self) -> int:
        """How many scores may be in play: enough to keep the window full with samples at every stage."""
        return (2 * max((window.capacity for window in self._windows.values()), default=64) + 8) * self._per_row

    @property
    def _per_row(self) -> int:
        return max(1, sum(len(group.uses) for group in self.work.plan.groups))

    def _submit(self, row: Row, order: int) -> None:
        self._open[row.bucket] += self._per_row
        self._in_play += self._per_row
        self._call(self._start, row, order)

    def _take(self, ready: list[Scored], wait: bool) -> None:
        """Move finished scores to `ready`, waiting a moment for the first where asked to."""
        try:
            while True:
                result = self._results.get(block=wait, timeout=TICK_S)
                wait = False
                if isinstance(result, BaseException):
                    raise result
                ready.append(result)
                self._in_play -= 1
                self._done[result.score.status] += 1
                self._open[result.row.bucket] -= 1
                if self._open[result.row.bucket] == 0 and result.row.bucket in self._closing:
                    self._close_when_done(result.row.bucket)
        except queue.Empty:
            return

    @property
    def _closing(self) -> set[int]:
        return self.__dict__.setdefault("_closing_buckets", set())

    def _close_when_done(self, bucket: int) -> None:
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
        self._loop = asyncio.get_running_loop()
        self._finish = asyncio.Event()
        self._playing: set[asyncio.Task[None]] = set()
        async with http.session(limit=0) as session:
            self._engine = Engine(self.work.plan, self._store, session, self._windows)
            self._ready.set()
            await self._finish.wait()
            if self._playing:  # stopped: what is on its way is paid for
                await asyncio.wait(self._playing, timeout=LAST_REPLIES_S)
            for playing in self._playing:
                playing.cancel()
            await asyncio.gather(*self._playing, return_exceptions=True)

    def _call(self, function: Any, *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _start(self, row: Row, order: int) -> None:
        for group in self.work.plan.groups:
            sample = sample_of(row, group)
            for use in group.uses:
                playing = self._loop.create_task(self._play(row, group, use, sample, order))
                self._playing.add(playing)
                playing.add_done_callback(self._playing.discard)

    async def _play(self, row: Row, group: FieldGroup, use: MetricUse, sample: Sample | Score, order: int) -> None:
        try:
            if isinstance(sample, Score):
                score = sample
            else:
                score = await self._engine.score(use, sample, Place(order, row.bucket))
            self._results.put(Scored(row, group, use, score))
        except Closed:
            return
        except BaseException as error:
            self._results.put(error)

    # the keeper's thread

    def _keeper_thread(self) -> None:
        flush_every = 0.5 if self.work.store is None or self.work.store.is_local else 15.0
        period = self._beats.period_s if self._beats else 1.0
        flushed = beaten = time.monotonic()
        try:
            while not self._ended.wait(TICK_S):
                now = time.monotonic()
                if now - flushed >= flush_every - TICK_S or self._store.pending >= PENDING_AT_ONCE:
                    flushed = now
                    self._store.flush()
                if now - beaten >= period - TICK_S / 2:
                    beaten = now
                    self._beat()
                if self._beats and not self._stopped and self._beats.stop_asked():
                    self._stopped = True
                    self._call(self._close_windows)
                    self._results.put(Interrupted("stopped on request"))
        except BaseException as error:
            self._call(self._close_windows)
            self._results.put(error)

    def _close_windows(self) -> None:
        for window in self._windows.values():
            window.close()

    def _beat(self) -> None:
        if self._beats is None:
            return
        limits = limits_of(self.work.plan)
        in_flight = {name: window.in_flight for name, window in self._windows.items()}
        shares, fraction = self._beats.beat(limits, self._state(), in_flight)
        for name, window in self._windows.items():
            if hasattr(self, "_loop"):
                self._call(window.resize, shares[name], fraction)
            else:
                window.capacity, window.fraction = shares[name], fraction

    def _state(self) -> dict[str, Any]:
        engine = getattr(self, "_engine", None)
        waits = {name: round(window.waited_s, 1) for name, window in self._windows.items()}
        spent = {model: asdict(usage) for model, usage in engine.spent.items()} if engine else {}
        return {"done": False, "scores": dict(self._done), "counts": dict(engine.counts) if engine else {},
                "usage": spent, "waited_s": waits}


def sample_of(row: Row, group: FieldGroup) -> Sample | Score:
    """The sample that a field group sees of a row; a failed score where the row cannot be read so."""
    if row.fault is not None:
        return Score.failed("INVALID_INPUT", row.fault)
    values = {name: row.values.get(column) for name, column in group.fields.items()}
    try:
        return Sample.parse({**values, "sample_id": row.sample_id})
    except SampleFault as fault:
        return Score.failed("INVALID_INPUT", _with_column(str(fault), group.fields))


def _with_column(fault: str, fields: Mapping[str, str]) -> str:
    name, _, rest = fault.partition(":")
    column = fields.get(name, name)
    return fault if column == name else f"{name} (column {column}):{rest}"


def limits_of(plan: Plan) -> dict[str, int]:
    """The limit of requests in flight by server: the smallest that a judge there is given."""
    limits: dict[str, int] = {}
    for endpoint in plan.endpoints():
        limit = endpoint.max_concurrency if isinstance(endpoint, HttpJudge) else plan.max_concurrency
        limits[endpoint.base_url] = min(limit, limits.get(endpoint.base_url, limit))
    return limits


def windows(plan: Plan) -> dict[str, Window]:
    """One window per server, shared by all judges and embedding models there."""
    def least(values: Sequence[float | None]) -> float | None:
        return min((value for value in values if value), default=None)

    made = {}
    for url, limit in limits_of(plan).items():
        judges = [judge for judge in plan.judges() if judge.base_url == url]
        made[url] = Window(limit, least([judge.requests_per_minute for judge in judges]),
                           least([judge.tokens_per_minute for judge in judges]))
    return made
