"""One judge or embedding model as a task asks it: how, whether at all, and what its refusals mean for the next try."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rageval_spark.engine.plan import Plan
from rageval_spark.engine.retry import Patience
from rageval_spark.engine.window import Window
from rageval_spark.errors import JudgeFault
from rageval_spark.judges import dialect, wire
from rageval_spark.judges.dialect import Transport
from rageval_spark.judges.http import Connection, Secret, connection_of, headers_of
from rageval_spark.judges.preflight import PROBE, first_form, render_probe
from rageval_spark.judges.server_errors import Unanswered
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.prompts.rendering import Rendering

REFUSALS_IN_A_ROW = 5
"""Samples whose requests are refused, with no answer in between, before the server is asked what it answered before."""
MOST_SEARCHES = 3
"""Prompts of a kind for which another form is searched. If none of them is answered in any, the prompts are the cause."""


@dataclass
class Search:
    """A search for the form in which a server answers a kind of prompt. One prompt searches while others wait for `ended`.

    `first` is the refusal that began it, `form` the form that is tried now.
    """

    kind: str
    first: Unanswered
    forms: Generator[Transport, Unanswered, None]
    form: Transport
    ended: asyncio.Future[None]


class Desk:
    """What all prompts to one endpoint share. Belongs to one event loop."""

    def __init__(self, endpoint: HttpJudge | HttpEmbeddings, plan: Plan, window: Window):
        self.endpoint = endpoint
        self.window = window
        self.key = plan.keys.get(endpoint, Secret())
        self.headers = headers_of(endpoint, self.key)
        self.transport = plan.transports.get(endpoint) or first_form(endpoint)
        self.answered_at = float("-inf")
        self._trouble_since: float | None = None
        self._given_up: Unanswered | None = None
        self._refused: set[int] = set()
        self._patience_with_refusals = REFUSALS_IN_A_ROW
        self._recheck: asyncio.Future[bool] | None = None
        self._proven: set[str] = set()
        self._search: Search | None = None
        self._searches: Counter[str] = Counter()
        if isinstance(endpoint, HttpJudge):
            self.rendering = Rendering(endpoint.signature(), endpoint.language, endpoint.reasons, endpoint.wording)
            self.chat = wire.ChatWire(endpoint, self.transport)
        else:
            self.rendering = Rendering(endpoint.signature())

    @cached_property
    def connection(self) -> Connection:
        return connection_of(self.endpoint, self.transport.roots)

    @property
    def silent_s(self) -> float:
        """Seconds since requests began to fail for passing reasons, with no answer in between; 0 if they do not."""
        return time.monotonic() - self._trouble_since if self._trouble_since else 0.0

    async def enter(self, order: int, tokens: int, prefix: str, kind: str, search: Search | None) -> None:
        """Wait for a place in the window. Raises JudgeFault, without a place, once no prompt can succeed.

        While another prompt searches for the form, prompts wait unless their kind was answered in the present form.
        """
        while True:
            self.fail_if_given_up()
            await self.window.acquire(order, tokens, prefix)
            try:
                if self._recheck is not None:  # it is known in a moment whether the server answers at all
                    await asyncio.shield(self._recheck)
                self.fail_if_given_up()
            except BaseException:
                self.window.release(prefix)
                raise
            if self._search is None or self._search is search or kind in self._proven:
                return
            ended = self._search.ended
            self.window.release(prefix)
            await asyncio.shield(ended)

    def answered(self, began: float, kind: str, form: Transport) -> None:
        self._trouble_since = None
        self.answered_at = time.monotonic()
        self._refused.clear()
        if form is self.transport:
            self._proven.add(kind)
        self.window.answered(self.answered_at - began)

    def wait_s(self, refusal: Unanswered, began: float, patience: Patience) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        if refusal.throttled:
            self.window.throttled(began)
        now = time.monotonic()
        self._trouble_since = (self._trouble_since or now) if refusal.transient else None
        return patience.wait_s(refusal, now, self._trouble_since)

    # what the server refuses for everybody

    def suspect(self, refusal: Unanswered, order: int) -> bool:
        """Note that a sample's request was refused for good. Returns whether it is time to recheck the server."""
        if refusal.transient or refusal.code != "JUDGE_HTTP" or refusal.budget_too_large:
            return False
        self._refused.add(order)
        return len(self._refused) >= self._patience_with_refusals and self._recheck is None

    async def recheck(self, ask: Callable[[bytes, str], Any]) -> bool:
        """Send a harmless request by `ask` (of a body and a path); return whether it is answered. If it is refused too, this
        endpoint is asked nothing more.

        Refused prompts say nothing of the others: the cause may be a firewall, a moderation or an odd text.
        """
        if self._recheck is not None:
            return await asyncio.shield(self._recheck)
        self._recheck = asyncio.get_running_loop().create_future()
        alive = False
        try:
            if isinstance(self.endpoint, HttpJudge):
                rendered = render_probe(self.endpoint)
                await ask(self.chat.body(rendered, budget=self.endpoint.max_output_tokens), "chat/completions")
            else:
                await ask(wire.embeddings_body(self.endpoint, self.transport, [PROBE.text]), "embeddings")
            alive = True
        except Unanswered as refusal:
            if not refusal.transient and self._refused:
                count = len(self._refused)
                refusal.reason += f" (in answer to a harmless prompt too, after {count} samples in a row: no more was asked)"
                self._given_up = refusal
        finally:
            if alive:
                self.answered_at = time.monotonic()
                self._patience_with_refusals *= 2  # the prompts are the cause: look again after more of them
            self._refused.clear()
            self._recheck.set_result(alive)
            self._recheck = None
        return alive

    def fail_if_given_up(self) -> None:
        if self._given_up:
            raise JudgeFault(self._given_up.code, self._given_up.reason) from self._given_up

    # how the server wants to be asked

    def may_search(self, kind: str, form: Transport, refusal: Unanswered, enlarged: bool) -> bool:
        """Return whether a refusal of a prompt of this kind may be about the form in which it was sent.

        If the server has answered the kind in this form before, or is asked for a larger output budget (`enlarged`), its words
        must say so.
        """
        if not dialect.may_be_about_the_form(refusal) or self._searches[kind] >= MOST_SEARCHES:
            return False
        if enlarged:
            return dialect.calls_unsupported(refusal)
        if form is self.transport and kind in self._proven:
            return dialect.names_a_form(refusal)
        return True

    def begin_search(self, kind: str, form: Transport, refusal: Unanswered, enlarged: bool,
                     sent: Callable[[Transport], Mapping[str, Any]]) -> Search | asyncio.Future[None] | None:
        """Return a new search for another form, the end of a search that is under way, or None if there is no other form."""
        if self._search is not None:
            return self._search.ended
        choices = dialect.budget_variations() if enlarged else dialect.variations(self.endpoint)
        forms = dialect.search(form, refusal, choices, sent)
        first = next(forms, None)
        if first is None:
            return None
        self._search = Search(kind, refusal, forms, first, asyncio.get_running_loop().create_future())
        return self._search

    def end_search(self, search: Search, *, answered: bool) -> None:
        """End a search. If its form was `answered`, all requests are sent in that form from now on."""
        if self._search is not search:
            return
        if answered:
            if search.form.dropped != self.transport.dropped:
                dialect.report_ignored(self.endpoint, search.form)
            self.transport = search.form
            self._proven = {search.kind}
            if isinstance(self.endpoint, HttpJudge):
                self.chat.transport = search.form
        else:
            self._searches[search.kind] += 1
        self._search = None
        search.ended.set_result(None)
