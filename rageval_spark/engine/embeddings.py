"""Gathering texts of many samples into few embedding requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from rageval_spark.engine.window import Window
from rageval_spark.judges.wire import Unanswered
from rageval_spark.score import Usage

LONGEST_WAIT_S = 1.0
LITTLE_TO_DO_WAIT_S = 0.1

Vectors = tuple[list[Any], Usage, "str | None"]
Vector = tuple[Any, Usage, "str | None"]
Waiting = tuple[str, int, "asyncio.Future[Vector]"]
"""A text, the order of its sample, and where its vector goes."""


class Gatherer:
    """Sends texts in batches: when one is full, when the oldest text has waited a second, and soon where the window
    has little else to do. Belongs to one event loop.
    """

    def __init__(self, batch_size: int, window: Window, send: Callable[[list[str], int], Awaitable[Vectors]]):
        self._batch_size = batch_size
        self._window = window
        self._send = send
        self._texts: list[Waiting] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()

    async def embed(self, text: str, order: int) -> Vector:
        """The vector of a text, its part of what the request took, and the served model. Raises JudgeFault."""
        loop = asyncio.get_running_loop()
        vector: asyncio.Future[Vector] = loop.create_future()
        self._texts.append((text, order, vector))
        if len(self._texts) >= self._batch_size:
            self._go()
        elif self._alarm is None:
            self._alarm = loop.call_later(LITTLE_TO_DO_WAIT_S, self._ring, loop.time() + LONGEST_WAIT_S)
        return await vector

    def _ring(self, latest: float) -> None:
        loop = asyncio.get_running_loop()
        busy = self._window.in_flight + self._window.waiting >= self._window.size / 2
        if busy and loop.time() < latest:
            self._alarm = loop.call_later(LITTLE_TO_DO_WAIT_S, self._ring, latest)
        else:
            self._go()

    def _go(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        batch, self._texts = self._texts, []
        task = asyncio.get_running_loop().create_task(self._deliver(batch))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _deliver(self, batch: list[Waiting]) -> None:
        try:
            first = min(order for _, order, _ in batch)
            vectors, usage, model = await self._send([text for text, _, _ in batch], first)
        except BaseException as error:
            half = len(batch) // 2
            if half and _for_its_texts(error):  # one text that is refused is not to cost the others their vectors
                await asyncio.gather(self._deliver(batch[:half]), self._deliver(batch[half:]))
                return
            for _, _, vector in batch:
                if not vector.done():
                    vector.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, _, future), vector, mine in zip(batch, vectors, _parts(usage, len(batch)), strict=True):
            if not future.done():
                future.set_result((vector, mine, model))


def _for_its_texts(error: BaseException) -> bool:
    """Whether the server took offence at what was sent, rather than at who sent it or how much."""
    refusal = error.__cause__
    return isinstance(refusal, Unanswered) and not refusal.transient and not refusal.fatal


def _parts(usage: Usage, count: int) -> list[Usage]:
    """What a request took, dealt out to its texts so that the tokens add up to it."""
    tokens = usage.prompt_tokens
    return [Usage(prompt_tokens=None if tokens is None else tokens * (i + 1) // count - tokens * i // count,
                  latency_ms=usage.latency_ms / count) for i in range(count)]
