"""One judge or embedding model as a task asks it: how, whether at all, and what its refusals mean for the next try."""

from __future__ import annotations

import time

from rageval_spark.engine.plan import Plan
from rageval_spark.engine.retry import Patience
from rageval_spark.engine.window import Window
from rageval_spark.errors import JudgeFault
from rageval_spark.judges import wire
from rageval_spark.judges.http import Secret, headers_of, proxy_of
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.prompts.rendering import Rendering


class Desk:
    """What all prompts to one endpoint share. Belongs to one event loop."""

    def __init__(self, endpoint: HttpJudge | HttpEmbeddings, plan: Plan, window: Window):
        self.endpoint = endpoint
        self.window = window
        self.key = plan.keys.get(endpoint, Secret())
        self.headers = headers_of(endpoint, self.key)
        self.proxy = proxy_of(endpoint)
        self.transport = plan.transports.get(endpoint, wire.Transport())
        self._trouble_since: float | None = None
        self._fatal: wire.Unanswered | None = None
        if isinstance(endpoint, HttpJudge):
            self.rendering = Rendering(endpoint.signature(), endpoint.language, endpoint.reasons, endpoint.wording)
            self.chat = wire.ChatWire(endpoint, self.transport)
        else:
            self.rendering = Rendering(endpoint.signature())

    @property
    def silent_s(self) -> float:
        """For how many seconds nothing was answered though it was asked."""
        return time.monotonic() - self._trouble_since if self._trouble_since else 0.0

    async def enter(self, order: int, tokens: int, prefix: str) -> None:
        """Wait for a place in the window. Raises JudgeFault, without a place, once no prompt can succeed."""
        self._fail_if_fatal()
        await self.window.acquire(order, tokens, prefix)
        if self._fatal:
            self.window.release(prefix)
        self._fail_if_fatal()

    def answered(self, began: float) -> None:
        self._trouble_since = None
        self.window.answered(time.monotonic() - began)

    def refused(self, refusal: wire.Unanswered, sent: wire.Transport, began: float, patience: Patience) -> float | None:
        """Seconds until the next attempt; None where there is none. `sent` is the transport that was refused."""
        if refusal.throttled:
            self.window.throttled(began)
        if self._learn(refusal, sent):
            return 0.0
        if refusal.fatal:
            self._fatal = refusal
        now = time.monotonic()
        self._trouble_since = (self._trouble_since or now) if refusal.transient else None
        return patience.wait_s(refusal, now, self._trouble_since)

    def _learn(self, refusal: wire.Unanswered, sent: wire.Transport) -> bool:
        """Whether the refusal was about a parameter or format that is left out from now on, or is already."""
        if sent is not self.transport:
            return not refusal.transient and not refusal.fatal
        learnt = wire.adapted(sent, refusal)
        if learnt is None:
            return False
        self.transport = learnt
        if isinstance(self.endpoint, HttpJudge):
            self.chat.transport = learnt
        return True

    def _fail_if_fatal(self) -> None:
        if self._fatal:
            raise JudgeFault(self._fatal.code, self._fatal.reason) from self._fatal
