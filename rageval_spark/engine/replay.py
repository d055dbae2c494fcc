"""Metrics replayed over the replies there are. What is missing comes out as requests; nothing here does I/O."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from rageval_spark.engine.desk import Desk
from rageval_spark.engine.plan import MetricUse, Plan
from rageval_spark.engine.replies import answer_row, reply_of, vector_row
from rageval_spark.engine.window import Window
from rageval_spark.errors import JudgeFault
from rageval_spark.judges import embedded, wire
from rageval_spark.judges.conversation import budget_refused, converse
from rageval_spark.judges.server_errors import Unanswered
from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, HttpJudge
from rageval_spark.metric import Reply, played
from rageval_spark.prompts import length
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.prompts.rendering import Rendered
from rageval_spark.sample import Sample
from rageval_spark.score import Score, Usage

T = TypeVar("T")
UNANSWERED = ("JUDGE_TIMEOUT", "no batch brought an answer")


@dataclass(frozen=True)
class Request:
    """What a batch is to be asked. `id` is the key of a prompt and the number of the turn in its conversation,
    `endpoint` the place of its judge or embedding model in the plan, `tokens` an estimate of what is sent."""

    id: str
    endpoint: int
    path: str
    body: str
    tokens: int


class Replay:
    """One bucket's samples against one bucket's replies: `known` rows of the replies store by key, and `results`,
    lines of batch output by request id, the best one of each.

    After `score`, `requests` holds what is missing and `accepted` the rows that results became, each once a bucket; the
    caller takes them out. With `unanswered`, a code and a reason, what is missing is such a fault instead.
    """

    def __init__(self, plan: Plan, run_id: str, oldest: Mapping[str, float], *,
                 unanswered: tuple[str, str] | None = None):
        self._desks = {endpoint: (place, Desk(endpoint, plan, Window(1))) for place, endpoint in enumerate(plan.endpoints())}
        self._run_id, self._oldest, self._unanswered = run_id, oldest, unanswered
        self.known: dict[str, Mapping[str, Any]] = {}
        self.results: dict[str, bytes | Unanswered] = {}
        self._payers: dict[str, str] = {}
        self.requests: list[Request] = []
        self.accepted: list[dict[str, Any]] = []
        self._requested: set[str] = set()
        self._paid: set[str] = set()

    def begin(self) -> None:
        """Forget the last bucket."""
        self.known, self.results, self._payers, self._requested = {}, {}, {}, set()

    def know(self, row: Mapping[str, Any]) -> None:
        """A stored reply, as JSON-ready values; the newest of a key counts."""
        made = row.get("created_at") or 0.0
        if row.get("run_id") != self._run_id and made < self._oldest.get(row["model"], 0.0):
            return
        before = self.known.get(row["key"])
        if before is None or made >= (before.get("created_at") or 0.0):
            vector = row.get("vector")
            self.known[row["key"]] = {**row, "vector": base64.b64decode(vector) if vector else None}

    def learn(self, line: str, run_id: str | None = None) -> None:
        """Take in a line of a batch's output or error file, asked by `run_id` (None: this run). Of the lines for one request the
        first answer counts, or else the first error. Lines that cannot be read are left out."""
        try:
            id, result = wire.batch_result(line)
        except ValueError:
            return
        before = self.results.get(id)
        if before is None or (isinstance(result, bytes) and not isinstance(before, bytes)):
            self.results[id] = result
            self._payers[id] = run_id or self._run_id

    def score(self, use: MetricUse, sample: Sample) -> Score | None:
        """The score, or None where a reply is missing."""
        if isinstance(use.judge, EmbeddedJudge):
            return embedded.score(use.metric, sample)
        return played(use.game(sample), lambda prompt: self._reply(use, prompt, sample))

    def _reply(self, use: MetricUse, prompt: Prompt | Embed, sample: Sample) -> Reply | JudgeFault | None:
        endpoint = use.endpoint(prompt.kind)
        assert endpoint is not None
        place, desk = self._desks[endpoint]
        try:
            if isinstance(prompt, Embed):
                key = desk.rendering.embedding_key(prompt)
                row = self.known.get(key) or self._vector(place, desk, key, prompt)
            else:
                whole = desk.rendering.render(prompt, desk.rendering.language_of(*sample.spoken))
                key = whole.key
                row = self.known.get(key) or self._conversed(place, desk, prompt, whole)
        except JudgeFault as fault:
            return JudgeFault(fault.code, fault.reason, partial=fault.partial, usage=fault.usage or Usage(prompts=1))
        if row is None:
            return None
        paid = row.get("run_id") == self._run_id and key not in self._paid
        self._paid.add(key)
        return reply_of(row, prompt, paid)

    def _conversed(self, place: int, desk: Desk, prompt: Prompt, whole: Rendered) -> Mapping[str, Any] | None:
        """The row of an accepted reply, from results; None where a turn has none. Raises JudgeFault."""
        judge = desk.endpoint
        assert isinstance(judge, HttpJudge)
        talk = converse(prompt, whole.language, judge.max_output_tokens)
        turn, number = next(talk), 0
        try:
            while True:
                part = whole if turn.prompt is prompt else desk.rendering.render(turn.prompt, whole.language)
                body, tokens = desk.chat.body(part, turn.note, turn.max_output_tokens), length.tokens(part.data)
                request = Request(f"{whole.key}-{number}", place, "chat/completions", body.decode(),
                                  length.INSTRUCTION_TOKENS + tokens)
                try:
                    completion = self._result(request, lambda body: wire.completion(body, 0.0))
                except JudgeFault as fault:
                    turn, number = talk.send(budget_refused(turn, fault)), number + 1
                    continue
                if completion is None:
                    return None
                turn, number = talk.send(completion), number + 1
        except StopIteration as end:
            return self._accept(answer_row(whole, judge.model, end.value), request)

    def _vector(self, place: int, desk: Desk, key: str, prompt: Embed) -> Mapping[str, Any] | None:
        settings = desk.endpoint
        assert isinstance(settings, HttpEmbeddings)
        body = wire.embeddings_body(settings, desk.transport, [prompt.text]).decode()
        request = Request(f"{key}-0", place, "embeddings", body, length.tokens(prompt.text))
        answer = self._result(request, lambda body: wire.embeddings(body, 1, 0.0))
        if answer is None:
            return None
        [vector], usage, served = answer
        row = vector_row(key, prompt.kind, settings.model, vector, usage, served)
        return self._accept(row, request) if np.isfinite(vector).all() and vector.any() else row

    def _result(self, request: Request, parse: Callable[[bytes], T]) -> T | None:
        """What came for a request, parsed; None, and the request noted, if it is to be asked (again). Raises JudgeFault.

        A body that is no answer counts as what `parse` calls it: servers report errors with status 200, too.
        """
        result = self.results.get(request.id)
        if isinstance(result, bytes):
            try:
                return parse(result)
            except Unanswered as refusal:
                result = refusal
        if result is not None and (self._unanswered or not result.transient):
            raise JudgeFault(result.code, result.reason) from result
        if self._unanswered:
            raise JudgeFault(*self._unanswered)
        if request.id not in self._requested:
            self._requested.add(request.id)
            self.requests.append(request)
        return None

    def _accept(self, row: dict[str, Any], last: Request) -> Mapping[str, Any]:
        """The row to store. It belongs to the run that asked for it, so that no other counts what it took."""
        row = {**row, "created_at": time.time(), "run_id": self._payers.get(last.id, self._run_id)}
        self.known[row["key"]] = row
        self.accepted.append(row)
        return row


def as_json(row: Mapping[str, Any]) -> str:
    """A row of the replies store as one line of JSON, its vector in base64; `know` reads it."""
    vector = row.get("vector")
    return json.dumps({**row, "vector": base64.b64encode(vector).decode() if vector else None}, ensure_ascii=False)
