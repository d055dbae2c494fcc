"""The engine: plays metrics in one event loop, asking each prompt once. The loop's side; `task` has the threads."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
import numpy as np

from rageval_spark.engine.embeddings import Gatherer
from rageval_spark.engine.plan import MetricUse, Plan
from rageval_spark.engine.retry import Patience
from rageval_spark.engine.store import RepliesStore
from rageval_spark.engine.window import Window
from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.judges import wire
from rageval_spark.judges.conversation import Answer, Completion, Turn, converse
from rageval_spark.judges.http import Secret, headers_of, post
from rageval_spark.judges.settings import Endpoint, HttpEmbeddings, HttpJudge
from rageval_spark.metric import Reply, play
from rageval_spark.prompts import length
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.prompts.rendering import Rendered, Rendering
from rageval_spark.sample import Sample
from rageval_spark.score import Score, Usage

T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """Where a prompt stands: the order of its sample, which decides who is served first, and its bucket."""

    order: int
    bucket: int


class Desk:
    """One judge or embedding model as a task asks it."""

    def __init__(self, endpoint: Endpoint, plan: Plan, window: Window):
        self.endpoint = endpoint
        self.window = window
        self.key = plan.keys.get(endpoint, Secret())
        self.headers = headers_of(endpoint, self.key)
        self.transport = plan.transports.get(endpoint, wire.Transport())
        self.trouble_since: float | None = None
        self.fatal: wire.Unanswered | None = None
        if isinstance(endpoint, HttpJudge):
            self.rendering = Rendering(endpoint.signature(), endpoint.language, endpoint.reasons)
            self.chat = wire.ChatWire(endpoint, self.transport)
        elif isinstance(endpoint, HttpEmbeddings):
            self.rendering = Rendering(endpoint.signature())

    def learn(self, refusal: wire.Unanswered) -> bool:
        """Whether the refusal was about a parameter or format that is left out from now on."""
        learnt = wire.adapted(self.transport, refusal)
        if learnt is None:
            return False
        self.transport = learnt
        if isinstance(self.endpoint, HttpJudge):
            self.chat.transport = learnt
        return True


class Engine:
    """Answers prompts from the store, from a prompt already in flight, or from the judge. Lives in one event loop.

    `counts` is what beats and progress show: prompts, reused, failed, retries by cause.
    """

    def __init__(self, plan: Plan, store: RepliesStore, session: aiohttp.ClientSession, windows: Mapping[str, Window]):
        self._store = store
        self._session = session
        self.windows = windows
        self.counts: Counter[str] = Counter()
        self._in_flight: dict[str, asyncio.Future[Mapping[str, Any] | JudgeFault]] = {}
        self._desks = {endpoint: Desk(endpoint, plan, windows[endpoint.base_url]) for endpoint in plan.endpoints()}
        self._gatherers = {
            endpoint: Gatherer(endpoint.batch_size, desk.window, lambda texts, order, desk=desk: self._embed(desk, texts, order))
            for endpoint, desk in self._desks.items() if isinstance(endpoint, HttpEmbeddings)
        }
        self._by_use: dict[tuple[int, str], Desk] = {}

    async def score(self, use: MetricUse, sample: Sample, place: Place) -> Score:
        """Play one metric over one sample. Raises window.Closed where the run is stopped meanwhile."""
        limit = use.judge.prompt_token_limit if use.judge else 10**9
        game = play(use.metric, sample, limit)
        try:
            prompts = next(game)
            while True:
                if len(prompts) == 1:
                    replies = [await self._reply(use, prompts[0], sample, place)]
                else:
                    replies = await asyncio.gather(*(self._reply(use, prompt, sample, place) for prompt in prompts))
                prompts = game.send(replies)
        except StopIteration as end:
            score: Score = end.value
            return score
        finally:
            game.close()

    async def _reply(self, use: MetricUse, prompt: Prompt | Embed, sample: Sample, place: Place) -> Reply | JudgeFault:
        desk = self._desk(use, prompt.kind)
        if isinstance(prompt, Embed):
            key = desk.rendering.embedding_key(prompt)
            row, paid = await self._once(key, lambda: self._vector(desk, key, prompt, place))
        else:
            rendered = desk.rendering.render(prompt, desk.rendering.language_of(sample.user_input, sample.response))
            key = rendered.key
            row, paid = await self._once(key, lambda: self._ask(desk, prompt, rendered, place))
        counted = 0 if isinstance(prompt, Embed) else 1
        if isinstance(row, JudgeFault):
            return row if paid else JudgeFault(row.code, row.reason, partial=row.partial, usage=Usage(counted, counted))
        if isinstance(prompt, Embed):
            value: Any = np.frombuffer(row["vector"], dtype="<f4")
        else:
            value = prompt.value(json.loads(row["reply"]))
        usage = Usage(counted, counted) if not paid else Usage(
            counted, 0, row["prompt_tokens"], row["completion_tokens"], row["cached_tokens"], row["latency_ms"])
        return Reply(value, usage, row["model"], tuple(row["flags"] or ()))

    def _desk(self, use: MetricUse, kind: str) -> Desk:
        known = self._by_use.get((id(use), kind))
        if known is None:
            endpoint = use.embeddings if kind == "embed" else use.judge.for_kind(kind) if use.judge else None
            if endpoint is None or endpoint not in self._desks:
                raise ConfigError(f"{use.name} asks {kind}, for which there is no judge; does its class name it in `asks`?")
            known = self._by_use[id(use), kind] = self._desks[endpoint]
        return known

    async def _once(self, key: str, ask: Callable[[], Awaitable[dict[str, Any]]],
                    ) -> tuple[Mapping[str, Any] | JudgeFault, bool]:
        """The stored row for a key, and whether this call paid for it. Asked once however many want it at a time."""
        if (row := self._store.find(key)) is not None:
            self.counts["reused"] += 1
            return row, False
        if (shared := self._in_flight.get(key)) is not None:
            self.counts["reused"] += 1
            return await asyncio.shield(shared), False
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
        give_up = time.monotonic() + judge.deadline_s
        self.counts["prompts"] += 1
        spent = Usage(prompts=1)
        try:
            turn = next(talk)
            while True:
                completion = await self._complete(desk, turn, prompt, rendered, place, give_up)
                spent += completion.usage
                turn = talk.send(completion)
        except StopIteration as end:
            answer: Answer = end.value
        except JudgeFault as fault:
            raise JudgeFault(fault.code, fault.reason, partial=fault.partial, usage=fault.usage or spent) from None
        row = {
            "key": rendered.key, "kind": rendered.kind, "model": judge.model, "served_model": answer.served_model,
            "fingerprint": answer.fingerprint, "reply": json.dumps(answer.reply, ensure_ascii=False),
            "raw": list(answer.raw), "flags": list(answer.flags), "vector": None, "prompt_tokens": answer.usage.prompt_tokens,
            "completion_tokens": answer.usage.completion_tokens, "cached_tokens": answer.usage.cached_tokens,
            "latency_ms": answer.usage.latency_ms,
        }
        self._store.put(place.bucket, row)
        return row

    async def _complete(self, desk: Desk, turn: Turn, prompt: Prompt, rendered: Rendered, place: Place,
                        give_up: float) -> Completion:
        part = rendered if turn.prompt is prompt else desk.rendering.render(turn.prompt, rendered.language)

        async def attempt() -> Completion:
            body = desk.chat.body(part, turn.note, turn.max_output_tokens)
            return wire.completion(*await post(self._session, desk.endpoint, "chat/completions", desk.headers, body, desk.key))

        tokens = length.INSTRUCTION_TOKENS + length.tokens(part.data) if desk.window.tokens_per_minute else 0
        return await self._attempts(desk, attempt, place.order, tokens, give_up)

    async def _vector(self, desk: Desk, key: str, prompt: Embed, place: Place) -> dict[str, Any]:
        vector, usage, served = await self._gatherers[desk.endpoint].embed(prompt.text, place.order)
        row = {
            "key": key, "kind": prompt.kind, "model": desk.endpoint.model, "served_model": served, "fingerprint": None,
            "reply": None, "raw": None, "flags": None, "vector": vector.astype("<f4").tobytes(), "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": 0, "cached_tokens": 0, "latency_ms": usage.latency_ms,
        }
        self._store.put(place.bucket, row)
        return row

    async def _embed(self, desk: Desk, texts: list[str], order: int) -> tuple[list[Any], Usage, str | None]:
        settings = desk.endpoint
        assert isinstance(settings, HttpEmbeddings)

        async def attempt() -> tuple[list[Any], Usage, str | None]:
            body = wire.embeddings_body(settings, desk.transport, texts)
            answer, ms = await post(self._session, settings, "embeddings", desk.headers, body, desk.key)
            return wire.embeddings(answer, len(texts), ms)

        self.counts["embedding_requests"] += 1
        return await self._attempts(desk, attempt, order, 0, time.monotonic() + settings.deadline_s)

    async def _attempts(self, desk: Desk, attempt: Callable[[], Awaitable[T]], order: int, tokens: int,
                        give_up: float) -> T:
        """Try until it is answered. Each attempt holds a place in the window; waits between attempts hold none.

        Where nothing has succeeded for a whole deadline, a prompt gets one attempt only.
        """
        settings: Any = desk.endpoint
        patience = Patience(settings.max_attempts, give_up)
        while True:
            await desk.window.acquire(order, tokens)
            refusal: wire.Unanswered
            try:
                if desk.fatal:
                    raise desk.fatal
                began = time.monotonic()
                done = await attempt()
                desk.trouble_since = None
                desk.window.answered(time.monotonic() - began)
                return done
            except wire.Unanswered as error:
                refusal = error
                if error.throttled:
                    desk.window.throttled()
                if error.status in wire.THROTTLED:  # keep the place for a round trip, or the next is refused at once
                    await asyncio.sleep(min(desk.window.round_trip_s, 1.0))
            finally:
                desk.window.release()
            if desk.learn(refusal):
                continue
            if refusal.fatal:
                desk.fatal = refusal
            now = time.monotonic()
            desk.trouble_since = desk.trouble_since or now
            patience.give_up_at = min(give_up, desk.trouble_since + settings.deadline_s)
            wait = patience.wait_s(refusal, now)
            if wait is None:
                raise JudgeFault(refusal.code, refusal.reason)
            self.counts[f"retry_{refusal.status or refusal.code.removeprefix('JUDGE_').lower()}"] += 1
            await asyncio.sleep(wait)

