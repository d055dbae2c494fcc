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
"""Whether the server answers anybody, asked for a sample of an order by a request that began then (`time.monotonic`)."""


class Gatherer:
    """Sends texts in batches: when one is full, when the oldest text has waited a second, and soon where the window
    has little else to do. Belongs to one event loop.

    A batch that is refused is sent in halves, so that a text which the server does not take fails alone; first `is_alive` says
    whether the server answers anybody at all.
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
        """Deliver the vectors of a batch, in halves if it is refused. `split_for` is why it is a half itself.

        Returns the refusal if the halves of the batch brought all vectors all the same, else None.
        """
        first, began = min(order for _, order, _ in batch), time.monotonic()
        # a half of a batch at which the server fails is either good, or known to be bad soon
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
    """The refusal, if one of the texts may be what the server refuses or fails at, rather than when or how much it was asked."""
    refusal = error.__cause__
    if not isinstance(refusal, Unanswered):
        return None
    may_be = refusal.status in (500, 502) if refusal.transient else refusal.status is not None
    return refusal if may_be else None


def _parts(usage: Usage, count: int) -> list[Usage]:
    """What a request took, dealt out to its texts so that the tokens add up to it."""
    tokens = usage.prompt_tokens
    return [Usage(prompt_tokens=None if tokens is None else tokens * (i + 1) // count - tokens * i // count,
                  latency_ms=usage.latency_ms / count) for i in range(count)]
