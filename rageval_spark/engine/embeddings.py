"""Gathering texts of many samples into few embedding requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from rageval_spark.engine.window import Window
from rageval_spark.judges.server_errors import Unanswered
from rageval_spark.score import Usage

LONGEST_WAIT_S = 1.0
LITTLE_TO_DO_WAIT_S = 0.1

Vectors = tuple[list[Any], Usage, "str | None"]
Vector = tuple[Any, Usage, "str | None"]
Waiting = tuple[str, int, "asyncio.Future[Vector]"]
"""A text, the order of its sample, and where its vector goes."""
Send = Callable[[list[str], int, "int | None"], Awaitable[Vectors]]
"""Sends texts for a sample of an order, with at most so many attempts."""
IsAlive = Callable[[int, float], Awaitable[bool]]
"""Whether the server answers at all: given the order of a sample, and when its request began (`time.monotonic`)."""


class Gatherer:
    """Sends texts in batches: when one is full, when the oldest text has waited a second, and soon where the window
    has little else to do. Belongs to one event loop.

    A batch that is refused is sent in halves, so that a text which the server refuses fails alone. Before that, `is_alive` is
    asked whether the server answers at all.
    """

    def __init__(self, batch_size: int, window: Window, send: Send, is_alive: IsAlive):
        self._batch_size = batch_size
        self._window = window
        self._send = send
        self._is_alive = is_alive
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
        refusal = await self._deliver_or_split(batch, None)
        if refusal is not None and not refusal.transient:
            # every half of it was taken: the batch was too large, as the next one would be
            self._batch_size = max(1, min(self._batch_size, len(batch) // 2))

    async def _deliver_or_split(self, batch: list[Waiting], split_for: Unanswered | None) -> Unanswered | None:
        """Deliver the vectors of a batch, in halves if it is refused. `split_for`: this is a half of a batch that was refused so.

        Returns the refusal of this batch if its halves were all answered nevertheless, else None.
        """
        first, began = min(order for _, order, _ in batch), time.monotonic()
        # a server that failed at a batch either answers its half soon, or fails again
        attempts = 2 if split_for and split_for.transient and len(batch) > 1 else None
        try:
            vectors, usage, model = await self._send([text for text, _, _ in batch], first, attempts)
        except BaseException as error:
            refusal = _for_its_texts(error) if len(batch) > 1 else None
            if refusal is not None and (split_for or await self._is_alive(first, began)):
                half = len(batch) // 2
                await asyncio.gather(*(self._deliver_or_split(part, refusal) for part in (batch[:half], batch[half:])))
                return refusal if all(_is_delivered(vector) for _, _, vector in batch) else None
            for _, _, vector in batch:
                if not vector.done():
                    vector.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return None
        for (_, _, future), vector, usage_of_one in zip(batch, vectors, _parts(usage, len(batch)), strict=True):
            if not future.done():
                future.set_result((vector, usage_of_one, model))
        return None


def _is_delivered(vector: asyncio.Future[Vector]) -> bool:
    return vector.done() and not vector.cancelled() and vector.exception() is None


def _for_its_texts(error: BaseException) -> Unanswered | None:
    """Return the refusal if a text of the batch may be its cause, rather than the load of the server; else None."""
    refusal = error.__cause__
    if not isinstance(refusal, Unanswered):
        return None
    is_for_texts = refusal.status in (500, 502) if refusal.transient else refusal.status is not None
    return refusal if is_for_texts else None


def _parts(usage: Usage, count: int) -> list[Usage]:
    """Divide the usage of a request among its texts, so that the tokens add up to it."""
    tokens = usage.prompt_tokens
    return [Usage(prompt_tokens=None if tokens is None else tokens * (i + 1) // count - tokens * i // count,
                  latency_ms=usage.latency_ms / count) for i in range(count)]
