"""The attempts at one request: when and in which form it is sent again, and when it is given up."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rageval_spark.engine.budget import Budget
from rageval_spark.engine.desk import Desk, Search
from rageval_spark.engine.retry import Patience
from rageval_spark.errors import JudgeFault
from rageval_spark.judges.dialect import Transport, may_be_about_the_form
from rageval_spark.judges.server_errors import THROTTLED, Unanswered
from rageval_spark.judges.settings import HttpJudge

T = TypeVar("T")


@dataclass(frozen=True)
class Asking(Generic[T]):
    """One request: how to send it in a form (`attempt`), and what a form sends beside the prompt (`sent`).

    `kind` is the kind of prompt, `order` the order of its sample, `tokens` an estimate of what is sent. `enlarged`: it asks for a
    larger output budget than the judge's settings.
    """

    kind: str
    attempt: Callable[[Transport], Awaitable[T]]
    sent: Callable[[Transport], Mapping[str, Any]]
    order: int
    tokens: int
    prefix: str = ""
    enlarged: bool = False


class Exhausted(Exception):
    """No form of a request is answered. `refusal` is the server's reason."""

    def __init__(self, refusal: Unanswered):
        super().__init__(refusal)
        self.refusal = refusal


class Attempts:
    """Sends the requests of an engine, and counts retries in `counts`. `recheck` returns whether an endpoint answers at all.

    `retrying_s` is the total of seconds spent waiting between attempts.
    """

    def __init__(self, budget: Budget, counts: Counter[str], recheck: Callable[[Desk], Awaitable[bool]]):
        self._budget, self._counts, self._recheck = budget, counts, recheck
        self.retrying_s = 0.0

    async def run(self, desk: Desk, asking: Asking[T], patience: Patience) -> T:
        """Try until it is answered. Each attempt holds a place in the window; waits between attempts hold none.

        Raises JudgeFault, caused by the server's refusal.
        """
        judge = isinstance(desk.endpoint, HttpJudge)
        search: Search | None = None
        try:
            while True:
                await desk.enter(asking.order, asking.tokens, asking.prefix, asking.kind, search)
                answered, wait, refused = False, 0.0, None
                try:
                    await self._budget.take(judge)
                    began = time.monotonic()
                    form = search.form if search else desk.transport
                    patience.begin(began)
                    done = await asking.attempt(form)
                    answered = True
                    if search:
                        desk.end_search(search, answered=True)
                    desk.answered(began, asking.kind, form)
                    return done
                except Unanswered as refusal:
                    self._budget.give_back(judge)
                    may_pass = refusal.transient and not may_be_about_the_form(refusal)
                    if search and not may_pass:
                        _next_form(search, refusal)
                    elif not search and form is not desk.transport and not may_pass:
                        pass  # the desk's form has changed since: sent again at once, in the new form
                    elif not search and desk.may_search(asking.kind, form, refusal, asking.enlarged):
                        refused = refusal
                    else:
                        wait = await self._retry_after(desk, asking, refusal, began, patience)
                finally:
                    desk.window.release(asking.prefix, answered)
                if refused is not None:
                    search = await _search(desk, asking, form, refused)
                self.retrying_s += wait
                await asyncio.sleep(wait)
        except Exhausted as exhausted:
            final = exhausted.refusal
            raise JudgeFault(final.code, final.reason) from final
        finally:
            if search:
                desk.end_search(search, answered=False)

    async def _retry_after(self, desk: Desk, asking: Asking[T], refusal: Unanswered, began: float, patience: Patience) -> float:
        """Seconds until the next attempt. Raises JudgeFault if there is none. The caller holds a place in the window."""
        wait = desk.wait_s(refusal, began, patience)
        if wait is None:
            if desk.suspect(refusal, asking.order):
                await self._recheck(desk)
            raise JudgeFault(refusal.code, refusal.reason) from refusal
        if refusal.status in THROTTLED:  # keep the place for a round trip, or the next is refused at once
            await asyncio.sleep(min(desk.window.round_trip_s, 1.0))
        if wait:
            cause = refusal.status or ("timeout" if refusal.code == "JUDGE_TIMEOUT" else "no connection")
            self._counts[f"retry_{cause}"] += 1
        return wait


def _next_form(search: Search, refusal: Unanswered) -> None:
    """Take the next form of a search. Raises Exhausted if there is none."""
    try:
        search.form = search.forms.send(refusal)
    except StopIteration:
        raise Exhausted(search.first if may_be_about_the_form(refusal) else refusal) from None


async def _search(desk: Desk, asking: Asking[T], form: Transport, refusal: Unanswered) -> Search | None:
    """Begin a search for another form, or wait for that of another prompt.

    Returns None if the desk's form has changed, or need not be searched any more. Raises Exhausted if there is no other form.
    """
    while desk.may_search(asking.kind, form, refusal, asking.enlarged):
        begun = desk.begin_search(asking.kind, form, refusal, asking.enlarged, asking.sent)
        if begun is None:
            break
        if isinstance(begun, Search):
            return begun
        await asyncio.shield(begun)
        if desk.transport is not form:
            return None
    desk.suspect(refusal, asking.order)
    raise Exhausted(refusal)
