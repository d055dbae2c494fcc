"""The engine: plays metrics in one event loop, asking each prompt once. The loop's side; `task` has the threads."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, cast

import aiohttp
import numpy as np

from rageval_spark.engine.attempts import Asking, Attempts
from rageval_spark.engine.budget import Budget
from rageval_spark.engine.desk import Desk
from rageval_spark.engine.embeddings import Gatherer
from rageval_spark.engine.plan import MetricUse, Plan
from rageval_spark.engine.replies import answer_row, reply_of, vector_row
from rageval_spark.engine.retry import Patience
from rageval_spark.engine.store import RepliesStore
from rageval_spark.engine.window import Window
from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.judges import embedded, wire
from rageval_spark.judges.conversation import Answer, Completion, Turn, budget_refused, converse
from rageval_spark.judges.dialect import Transport
from rageval_spark.judges.http import post
from rageval_spark.judges.server_errors import Unanswered
from rageval_spark.judges.settings import EmbeddedJudge, Endpoint, HttpEmbeddings, HttpJudge
from rageval_spark.metric import Reply
from rageval_spark.prompts import length
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.prompts.rendering import Rendered
from rageval_spark.sample import Sample
from rageval_spark.score import Score, Usage


@dataclass(frozen=True)
class Place:
    """Where a prompt stands: the order of its sample, which decides who is served first, and its bucket."""

    order: int
    bucket: int


class Engine:
    """Answers prompts from the store, from a prompt already in flight, or from the judge. Lives in one event loop.

    `counts` is what beats and progress show: prompts, reused, failed, retries by cause. `spent` is what the server
    reported by model, repairs and prompts that failed in the end included. `served` names, by the model that was asked
    for, those that the servers say replied, reused replies included.
    """

    def __init__(self, plan: Plan, store: RepliesStore, session: aiohttp.ClientSession, windows: Mapping[str, Window],
                 budget: Budget | None = None):
        self._store = store
        self._session = session
        self.windows = windows
        self._budget = budget or Budget({})
        self.counts: Counter[str] = Counter()
        self.spent: dict[str, Usage] = {}
        self.served: defaultdict[str, set[str]] = defaultdict(set)
        self._attempts = Attempts(self._budget, self.counts, self._recheck)
        self._in_flight: dict[str, asyncio.Future[Mapping[str, Any] | JudgeFault]] = {}
        self._desks = {endpoint: Desk(endpoint, plan, windows[endpoint.base_url]) for endpoint in plan.endpoints()}
        self._gatherers = {id(desk): Gatherer(endpoint.batch_size, desk.window, partial(self._embed, desk),
                                              partial(self._is_alive, desk))
                           for endpoint, desk in self._desks.items() if isinstance(endpoint, HttpEmbeddings)}
        self._by_use: dict[tuple[int, str], Desk] = {}  # by id: settings are dear to hash

    def state(self) -> dict[str, Any]:
        """What it did so far, as JSON-ready values. Safe to call from another thread."""
        spent = {model: asdict(usage) for model, usage in dict(self.spent).items()}
        windows = self.windows.values()
        return {
            "counts": dict(self.counts), "usage": spent,
            "silent_s": round(max((desk.silent_s for desk in self._desks.values()), default=0.0), 1),
            "served": {model: sorted(served.copy()) for model, served in dict(self.served).items()},
            "waits": {"window_s": round(sum(window.waited_s for window in windows), 1),
                      "rate_s": round(sum(window.paced_s for window in windows), 1),
                      "retry_s": round(self._attempts.retrying_s, 1)},
        }

    def forms(self) -> dict[Endpoint, Transport]:
        """The forms in which the endpoints are asked by now."""
        return {endpoint: desk.transport for endpoint, desk in self._desks.items()}

    async def score(self, use: MetricUse, sample: Sample, place: Place) -> Score:
        """Play one metric over one sample. Raises window.Closed where the run is stopped meanwhile."""
        if isinstance(use.judge, EmbeddedJudge):
            return embedded.score(use.metric, sample)
        game = use.game(sample)
        try:
            prompts = next(game)
            while True:
                prompts = game.send(await self._replies(use, prompts, sample, place))
        except StopIteration as end:
            score: Score = end.value
            return score
        finally:
            game.close()

    async def _replies(self, use: MetricUse, prompts: Sequence[Any], sample: Sample, place: Place,
                       ) -> Sequence[Reply | JudgeFault]:
        if len(prompts) == 1:
            return [await self._reply(use, prompts[0], sample, place)]
        asked = (self._reply(use, prompt, sample, place) for prompt in prompts)
        # where one is turned away, those on their way are awaited all the same: they are paid for
        replies = await asyncio.gather(*asked, return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException) and not isinstance(reply, JudgeFault):
                raise reply
        return cast("list[Reply | JudgeFault]", replies)

    async def _reply(self, use: MetricUse, prompt: Prompt | Embed, sample: Sample, place: Place) -> Reply | JudgeFault:
        desk = self._desk(use, prompt.kind)
        if isinstance(prompt, Embed):
            key = desk.rendering.embedding_key(prompt)
            row, paid = await self._once(key, place, lambda: self._vector(desk, key, prompt, place))
            if not paid:
                self.counts["embeddings_reused"] += 1
        else:
            rendered = desk.rendering.render(prompt, desk.rendering.language_of(*sample.spoken))
            key = rendered.key
            row, paid = await self._once(key, place, lambda: self._ask(desk, prompt, rendered, place))
            if not paid:
                self.counts["reused"] += 1
        if isinstance(row, JudgeFault):
            counted = 0 if isinstance(prompt, Embed) else 1
            return row if paid else JudgeFault(row.code, row.reason, partial=row.partial, usage=Usage(counted, counted))
        if row["served_model"]:
            self.served[row["model"]].add(row["served_model"])
        return reply_of(row, prompt, paid)

    def _desk(self, use: MetricUse, kind: str) -> Desk:
        known = self._by_use.get((id(use), kind))
        if known is None:
            endpoint = use.endpoint(kind)
            if endpoint is None or endpoint not in self._desks:
                raise ConfigError(f"{use.name} asks {kind}, for which there is no judge; "
                                  f"does its class name it in `asks`?")
            known = self._by_use[id(use), kind] = self._desks[endpoint]
        return known

    async def _once(self, key: str, place: Place, ask: Callable[[], Awaitable[dict[str, Any]]],
                    ) -> tuple[Mapping[str, Any] | JudgeFault, bool]:
        """The stored row for a key, and whether this call paid for it. Asked once however many want it at a time."""
        if (row := self._store.find(place.bucket, key)) is not None:
            return row, False
        if (shared := self._in_flight.get(key)) is not None:
            reply = await asyncio.shield(shared)
            if not isinstance(reply, JudgeFault):
                self._store.keep(place.bucket, reply)
            return reply, False
        future = self._in_flight[key] = asyncio.get_running_loop().create_future()
        try:
            outcome: Mapping[str, Any] | JudgeFault = await ask()
        except JudgeFault as fault:
            self.counts["failed"] += 1
            outcome = fault
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # it is raised here; a follower gets its own copy
            raise
        finally:
            del self._in_flight[key]
        future.set_result(outcome)
        return outcome, True

    async def _ask(self, desk: Desk, prompt: Prompt, rendered: Rendered, place: Place) -> dict[str, Any]:
        judge = desk.endpoint
        assert isinstance(judge, HttpJudge)
        talk = converse(prompt, rendered.language, judge.max_output_tokens)
        patience = Patience(judge.max_attempts, judge.deadline_s)
        self.counts["prompts"] += 1
        spent = Usage(prompts=1)
        try:
            turn = next(talk)
            while True:
                try:
                    completion = await self._complete(desk, turn, prompt, rendered, place, patience)
                except JudgeFault as fault:
                    turn = talk.send(budget_refused(turn, fault))
                    continue
                spent += completion.usage
                self._spend(desk, completion.usage)
                turn = talk.send(completion)
        except StopIteration as end:
            answer: Answer = end.value
        except JudgeFault as fault:
            if fault.code == "BUDGET" and spent == Usage(prompts=1):  # it was never sent
                self.counts["prompts"] -= 1
                spent = Usage()
            raise JudgeFault(fault.code, fault.reason, partial=fault.partial, usage=fault.usage or spent) from None
        row = answer_row(rendered, judge.model, answer)
        self._store.put(place.bucket, row)
        return row

    async def _complete(self, desk: Desk, turn: Turn, prompt: Prompt, rendered: Rendered, place: Place,
                        patience: Patience) -> Completion:
        part = rendered if turn.prompt is prompt else desk.rendering.render(turn.prompt, rendered.language)

        async def attempt(form: Transport) -> Completion:
            body = desk.chat.body(part, turn.note, turn.max_output_tokens, form)
            return wire.completion(*await self._post(desk, "chat/completions", body))

        def sent(form: Transport) -> Mapping[str, Any]:
            return desk.chat.sent(part, turn.max_output_tokens, form)

        tokens = length.INSTRUCTION_TOKENS + length.tokens(part.data) if desk.window.tokens_per_minute else 0
        assert isinstance(desk.endpoint, HttpJudge)
        asking = Asking(part.kind, attempt, sent, place.order, tokens, prefix=rendered.fence,
                        enlarged=turn.max_output_tokens != desk.endpoint.max_output_tokens)
        return await self._attempts.run(desk, asking, patience)

    async def _post(self, desk: Desk, path: str, body: bytes) -> tuple[bytes, float]:
        return await post(self._session, desk.endpoint, path, desk.headers, body, desk.key, desk.connection)

    async def _vector(self, desk: Desk, key: str, prompt: Embed, place: Place) -> dict[str, Any]:
        vector, usage, served = await self._gatherers[id(desk)].embed(prompt.text, place.order)
        row = vector_row(key, prompt.kind, desk.endpoint.model, vector, usage, served)
        if np.isfinite(vector).all() and vector.any():  # an unusable vector fails its score, and is asked again
            self._store.put(place.bucket, row)
        return row

    async def _embed(self, desk: Desk, texts: list[str], order: int, most_attempts: int | None = None,
                     ) -> tuple[list[Any], Usage, str | None]:
        settings = desk.endpoint
        assert isinstance(settings, HttpEmbeddings)

        async def attempt(form: Transport) -> tuple[list[Any], Usage, str | None]:
            body = wire.embeddings_body(settings, form, texts)
            answer, ms = await self._post(desk, "embeddings", body)
            return wire.embeddings(answer, len(texts), ms)

        self.counts["embedding_requests"] += 1
        tokens = sum(map(length.tokens, texts)) if desk.window.tokens_per_minute else 0
        patience = Patience(min(most_attempts or settings.max_attempts, settings.max_attempts), settings.deadline_s)
        asking = Asking("embed", attempt, partial(wire.embeddings_parameters, settings), order, tokens)
        vectors = await self._attempts.run(desk, asking, patience)
        self._spend(desk, vectors[1])
        return vectors

    async def _is_alive(self, desk: Desk, order: int, began: float) -> bool:
        """Whether an endpoint has answered anything since then, or else answers a harmless request."""
        if desk.answered_at > began:
            return True
        try:
            await desk.enter(order, 0, "", "embed", None)
        except JudgeFault:
            return False
        try:
            return desk.answered_at > began or await self._recheck(desk)
        finally:
            desk.window.release("")

    async def _recheck(self, desk: Desk) -> bool:
        """Whether an endpoint answers a harmless request. The caller holds a place in the window."""
        judge = isinstance(desk.endpoint, HttpJudge)

        async def ask(body: bytes, path: str) -> None:
            await self._budget.take(judge)
            try:
                answer, ms = await self._post(desk, path, body)
                usage = wire.completion(answer, ms).usage if judge else wire.embeddings(answer, 1, ms)[1]
            except Unanswered:
                self._budget.give_back(judge)
                raise
            self._spend(desk, usage)

        try:
            return await desk.recheck(ask)
        except JudgeFault:  # a budget does not allow it
            return False

    def _spend(self, desk: Desk, usage: Usage) -> None:
        model = desk.endpoint.label
        self.spent[model] = self.spent.get(model, Usage()) + usage
        self._budget.paid(usage, desk.endpoint.cost(usage) or 0.0)
