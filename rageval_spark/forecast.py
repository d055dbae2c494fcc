"""What a run will ask and cost, before it asks anything: its metrics played dry over a part of the rows.

Replies are those of the embedded judge, or of the usual length where it has none: how many claims a response makes decides
how many prompts follow, not what the judge thinks of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from rageval_spark.config import Config, planned
from rageval_spark.engine import store
from rageval_spark.engine.desk import Desk
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.replies import reply_of
from rageval_spark.engine.sampling import told
from rageval_spark.engine.store import RepliesStore
from rageval_spark.engine.window import Window
from rageval_spark.engine.work import Row, sample_of
from rageval_spark.judges import embedded
from rageval_spark.judges.refusals import declines
from rageval_spark.judges.settings import BATCH_DISCOUNT, EmbeddedJudge, HttpEmbeddings, HttpJudge
from rageval_spark.metric import Reply, played
from rageval_spark.prompts.claims import ListClaims
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.items import ItemPrompt
from rageval_spark.prompts.language import sentences
from rageval_spark.prompts.length import tokens
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.prompts.questions import GenerateQuestions
from rageval_spark.prompts.rendering import schema_of
from rageval_spark.sample import Sample
from rageval_spark.score import Usage
from rageval_spark.spark import session
from rageval_spark.spark.files import Source
from rageval_spark.spark.placing import count_by_bucket
from rageval_spark.spark.read import read, resolved
from rageval_spark.spark.samples import rows_of
from rageval_spark.spark.sampling import drawn

ROWS = 1000
"""Rows that are played at most; all of them where there are no more."""
REPLY_S = 2.0
"""What a reply is taken to need where nothing is known of the judge."""
EXAMPLES = 3
COUNTED = ("prompts", "reused", "embeddings", "prompt_tokens", "completion_tokens", "embedding_tokens", "cost")


@dataclass(frozen=True)
class Estimate:
    """A total over all rows, and half the width of its 95 % interval, which stems from the rows that were not played."""

    value: float
    error: float


@dataclass(frozen=True)
class Forecast:
    """What a run will take. `prompts` are those that no stored reply answers, `reused` those that one does; `cost` is
    live and None where a price is not known, `hours` the time at the limits. `rows` are those that are judged; `sample` tells
    of how many, where a part is chosen. `repeats` are the prompts that may be asked once more (judge.repeat), beside these."""

    rows: int
    played: int
    totals: Mapping[str, Estimate]
    cost: Estimate | None
    hours: float
    examples: Sequence[tuple[str, str]]
    sample: Mapping[str, Any] | None = None
    repeats: int = 0
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def short(self) -> list[str]:
        """The limits of the config that are less than what a run will take."""
        tokens = self.totals["prompt_tokens"].value + self.totals["completion_tokens"].value
        needed = {"max_prompts": self.totals["prompts"].value, "max_tokens": tokens, "max_hours": self.hours,
                  "max_cost": self.cost.value if self.cost else 0.0}
        return [name for name, limit in self.limits.items() if limit < needed[name]]

    @property
    def batch_cost(self) -> Estimate | None:
        """What it costs through the Batch API."""
        return self.cost and Estimate(self.cost.value * BATCH_DISCOUNT, self.cost.error * BATCH_DISCOUNT)


def forecast(config: Config) -> Forecast:
    """Play a config dry. Asks no judge. Raises RagevalError."""
    plan = planned(config)
    source = Source(**config.required_input().model_dump())
    spark = session.own_session(config.spark.master, config.spark.conf)
    frame = read(spark, source, plan.groups)
    plan = Plan(resolved(plan.groups, frame, source))
    samples, sample = drawn(frame, plan.groups, config.slices, config.sample)
    by_fine = count_by_bucket(samples)
    chosen = _chosen(by_fine)
    replies = Folder(config.output.path) / "replies"
    dry = DryRun(plan, replies)
    for fine, row in rows_of(samples, chosen, ROWS):
        dry.play(fine, row)
    rows = sum(by_fine.values())
    totals = {name: dry.estimated(name, rows) for name in COUNTED}
    known = all(endpoint.price is not None for endpoint in plan.endpoints())
    return Forecast(rows, dry.played, totals, totals["cost"] if known else None, _hours(plan, totals), dry.examples,
                    sample, plan.repeats, config.limits.by_name())


def _chosen(by_fine: Mapping[int, int]) -> list[int]:
    """Whole questions with about ROWS rows together, the same ones every time: rows of one question share prompts."""
    chosen, rows = [], 0
    for fine in sorted(by_fine, key=lambda fine: (fine * 2654435761) % 2**32):
        if rows and rows + by_fine[fine] > ROWS:
            continue
        chosen.append(fine)
        rows += by_fine[fine]
    return chosen


def _hours(plan: Plan, totals: Mapping[str, Estimate]) -> float:
    judges = plan.judges()
    prompts, sent = totals["prompts"].value, totals["prompt_tokens"].value
    seconds = [prompts * REPLY_S / plan.max_concurrency]
    seconds += [60 * prompts / judge.requests_per_minute for judge in judges if judge.requests_per_minute]
    seconds += [60 * sent / judge.tokens_per_minute for judge in judges if judge.tokens_per_minute]
    return max(seconds) / 3600 if judges else 0.0


@dataclass
class DryRun:
    """Metrics played without a judge; what they ask is counted once per question."""

    plan: Plan
    replies: Folder
    played: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._desks = {endpoint: Desk(endpoint, self.plan, Window(1)) for endpoint in self.plan.endpoints()}
        self._store = RepliesStore(self.replies, run_id="")
        self._buckets = store.layout(self.replies)
        self._seen: set[tuple[int, str]] = set()
        self._by_fine: dict[int, dict[str, float]] = {}

    def play(self, fine: int, row: Row) -> None:
        """Play all metrics over a row of this finest bucket."""
        self.played += 1
        spent = self._by_fine.setdefault(fine, dict.fromkeys(("rows", *COUNTED), 0.0))
        spent["rows"] += 1
        for group in self.plan.groups:
            sample = sample_of(row, group)
            if isinstance(sample, Sample):
                self._play(group, sample, fine, spent)

    def _play(self, group: FieldGroup, sample: Sample, fine: int, spent: dict[str, float]) -> None:
        for use in group.uses:
            if isinstance(use.judge, EmbeddedJudge):
                continue
            played(use.game(sample), partial(self._reply, use, sample, fine, spent))

    def _reply(self, use: MetricUse, sample: Sample, fine: int, spent: dict[str, float], prompt: Prompt | Embed) -> Reply:
        endpoint = use.endpoint(prompt.kind)
        assert endpoint is not None
        desk = self._desks[endpoint]
        if isinstance(prompt, Embed):
            key, text, said = desk.rendering.embedding_key(prompt), prompt.text, dict[str, Any]()
        else:
            rendered = desk.rendering.render(prompt, desk.rendering.language_of(*sample.spoken))
            key, said = rendered.key, answered(prompt)
            text = rendered.system + "\n" + rendered.user(schema_in_text=desk.transport.reply_format != "json_schema")
        stored = self._stored(fine, key)
        if self._is_new(fine, key):
            self._count(spent, prompt, endpoint, text, said, stored is not None)
        if stored is not None:
            return reply_of(stored, prompt, paid=False)
        return Reply(np.ones(8, dtype="<f4") if isinstance(prompt, Embed) else prompt.value(said))

    def _count(self, spent: dict[str, float], prompt: Prompt | Embed, endpoint: HttpJudge | HttpEmbeddings, text: str,
               said: Mapping[str, Any], stored: bool) -> None:
        embedding = isinstance(prompt, Embed)
        if stored:
            spent["reused"] += not embedding
            return
        usage = Usage(prompt_tokens=tokens(text), completion_tokens=tokens(json.dumps(said, ensure_ascii=False)) if said else 0)
        spent["embeddings" if embedding else "prompts"] += 1
        spent["embedding_tokens" if embedding else "prompt_tokens"] += usage.prompt_tokens or 0
        spent["completion_tokens"] += usage.completion_tokens or 0
        spent["cost"] += endpoint.cost(usage) or 0.0
        if not embedding and len(self.examples) < EXAMPLES and prompt.kind not in {kind for kind, _ in self.examples}:
            self.examples.append((prompt.kind, text))

    def _is_new(self, fine: int, key: str) -> bool:
        if (fine, key) in self._seen:
            return False
        self._seen.add((fine, key))
        return True

    def _stored(self, fine: int, key: str) -> Mapping[str, Any] | None:
        if self._buckets is None:
            return None
        bucket = fine % self._buckets
        self._store.open(bucket)
        return self._store.find(bucket, key)

    def estimated(self, name: str, rows: int) -> Estimate:
        """A total over so many rows, from the questions that were played (ratio estimator, clusters are questions)."""
        clusters = list(self._by_fine.values())
        played = sum(one["rows"] for one in clusters)
        if not played:
            return Estimate(0.0, 0.0)
        per_row = sum(one[name] for one in clusters) / played
        if played >= rows or len(clusters) < 2:
            return Estimate(per_row * rows, 0.0 if played >= rows else per_row * rows)
        k = len(clusters)
        residuals = sum((one[name] - per_row * one["rows"]) ** 2 for one in clusters) / (k - 1)
        error = 1.96 * rows * math.sqrt(residuals / k * (1 - played / rows)) / (played / k)
        return Estimate(per_row * rows, error)


def answered(prompt: Prompt) -> dict[str, Any]:
    """A reply of about the usual length."""
    if isinstance(prompt, GenerateQuestions):
        questions = [{"id": id, "question": f"{id}.{prompt.draw} {prompt.text[:60]}?"} for id in range(1, prompt.n + 1)]
        return {"noncommittal": 0, "questions": questions}
    if isinstance(prompt, ListClaims):  # a model finds a claim in an answer of one word too
        stated = [one for one in sentences(prompt.text) if not declines(one)]
        return {"claims": [{"id": id, "text": text} for id, text in enumerate(stated, 1)]}
    if isinstance(prompt, ItemPrompt) and prompt.kind not in embedded.ANSWERS:
        return {prompt.replies_in: [{**_usual(schema_of(prompt.element, "failed")), "id": id} for id, _ in prompt.items]}
    if prompt.kind not in embedded.ANSWERS:
        usual: dict[str, Any] = _usual(schema_of(prompt.model, "failed"))
        return usual
    return {name: value for name, value in embedded.answer(prompt).items() if name != "support"}


def _usual(schema: Mapping[str, Any]) -> Any:
    """A value of this schema: the best decision, no reason, one item."""
    if "properties" in schema:
        return {name: "" if name == "reason" else _usual(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        return [_usual(schema["items"])]
    return {"string": "what a judge may write", "number": 0.0}.get(schema["type"], max(schema.get("enum", (1,))))


def lines(found: Forecast) -> Iterator[str]:
    """The forecast for a person."""
    part = "all" if found.played >= found.rows else f"{found.played:,} of {found.rows:,}"
    rows = told(found.sample) if found.sample else f"{found.rows:,} rows"
    yield f"{rows}; played dry: {part}"
    for name, label in (("prompts", "prompts to ask"), ("reused", "prompts that stored replies answer"),
                        ("prompt_tokens", "tokens sent"), ("completion_tokens", "tokens written"),
                        ("embeddings", "texts to embed"), ("embedding_tokens", "tokens embedded")):
        yield f"{label}: {_about(found.totals[name])}"
    if found.cost is None or found.batch_cost is None:
        yield "cost: unknown (no price given)"
    else:
        yield f"cost: {_about(found.cost, 2)} live, {_about(found.batch_cost, 2)} in batches"
    if found.repeats:
        yield f"asked once more after the run, beside these: up to {found.repeats:,} prompts (judge.repeat)"
    minutes = f"{60 * found.hours:.1f} min" if found.hours < 1 else f"{found.hours:.1f} h"
    yield f"time at the limits, with {REPLY_S:g} s a reply: {minutes}"
    for name in found.short:
        yield (f"limits.{name} is {found.limits[name]:g}, less than this takes: what is left then fails with BUDGET. "
               f"Raise it, or judge a part of the rows (sample)")
    for kind, text in found.examples:
        yield f"\n--- {kind} ---\n{text}"


def _about(one: Estimate, digits: int = 0) -> str:
    error = f" ± {one.error:,.{digits}f}" if one.error else ""
    return f"{one.value:,.{digits}f}{error}"
