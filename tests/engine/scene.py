"""What the tests of the engine share: a plan over the judged metrics, rows, tasks run to their end."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq

from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.task import Task
from rageval_spark.engine.work import Row, Scored, Work
from rageval_spark.errors import JudgeFault
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.metric import Flow, Metric
from rageval_spark.metrics.answer_relevancy import AnswerRelevancy
from rageval_spark.metrics.context_precision import ContextPrecision
from rageval_spark.metrics.context_recall import ContextRecall
from rageval_spark.metrics.context_relevancy import ContextRelevancy
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.sample import Sample
from rageval_spark.score import Score
from tests.judge_server import JudgeServer

FIVE: list[type[Metric]] = [Faithfulness, AnswerRelevancy, ContextRelevancy, ContextRecall, ContextPrecision]
FIELDS = {"user_input": "question", "response": "answer", "retrieved_contexts": "contexts", "reference": "truth"}
PATIENCE_S = 180.0
"""How long a test waits for what must happen: this machine may stand still for seconds."""


def judge_at(url: str, **settings: Any) -> HttpJudge:
    return HttpJudge(**{"model": "judge", "base_url": url, "max_concurrency": 8, **settings})


def embeddings_at(url: str, **settings: Any) -> HttpEmbeddings:
    return HttpEmbeddings(**{"model": "vectors", "base_url": url, **settings})


def plan_of(judge: HttpJudge, embeddings: HttpEmbeddings | None = None, metrics: Sequence[Metric] | None = None) -> Plan:
    """One field group with these metrics; without embeddings, those of the five that need none."""
    if metrics is None:
        metrics = [made() for made in FIVE if embeddings or "embed" not in made.asks]
    uses = tuple(MetricUse(metric, metric.name, judge=judge, embeddings=embeddings) for metric in metrics)
    return Plan((FieldGroup(FIELDS, uses),))


def row_of(i: int, bucket: int = 0) -> Row:
    """A sample of which the oracle supports one claim of two and finds the first context of two useful."""
    return Row(f"s{i}", bucket, {
        "question": f"Where does river {i} flow?",
        "answer": f"River {i} flows through town {i}. It is deep.",
        "contexts": [f"River {i} flows through town {i}.", f"Nobody fishes there in winter {i}."],
        "truth": f"River {i} flows through town {i}.",
    }, {})


def rows_of(count: int, bucket: Callable[[int], int] = lambda i: 0) -> list[Row]:
    return [row_of(i, bucket(i)) for i in range(count)]


def endless_rows() -> Iterator[Row]:
    return map(row_of, itertools.count())


EXPECTED = {"faithfulness": 0.5, "context_recall": 1.0, "context_precision": 1.0}
"""Scores of these rows that are worked out by hand."""


def work_of(plan: Plan, tmp: Any = None, **settings: Any) -> Work:
    """Work with its store, and its beats, in a folder of the test."""
    if tmp is not None:
        settings = {"store": Folder(str(tmp / "replies")), "beats": Folder(str(tmp / "beats")), **settings}
    return Work(plan, **{"run_id": "run", **settings})


def run(work: Work, rows: Iterable[Row], index: int = 0) -> list[Scored]:
    return [one for batch in Task(work, index).run(rows) for one in batch]


def values(scored: Iterable[Scored]) -> dict[tuple[str, str], float | str | None]:
    """Score, or code, by sample and metric; each may come once only."""
    found: dict[tuple[str, str], float | str | None] = {}
    for one in scored:
        key = one.row.sample_id, one.use.name
        assert key not in found
        found[key] = one.score.value if one.score.status == "scored" else one.score.code
    return found


def together(works: Sequence[tuple[Work, Sequence[Row]]]) -> list[dict[tuple[str, str], Any]]:
    tasks = [Background(partial(run, work, rows, index)) for index, (work, rows) in enumerate(works)]
    return [values(task.result()) for task in tasks]


def until(condition: Callable[[], Any], what: str = "the condition", patience_s: float = PATIENCE_S) -> None:
    """Wait until it holds; fail after a long time."""
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)


def engine_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("rageval-")]


class Background:
    """A function on a thread of its own; `result` waits for it and raises what it raised."""

    def __init__(self, function: Callable[[], Any]):
        self._function = function
        self._outcome: list[Any] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome.append(self._function())
        except BaseException as error:
            self._error = error

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def result(self) -> Any:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "it hangs"
        if self._error:
            raise self._error
        return self._outcome[0]


@dataclass(frozen=True)
class Refuses(Metric):
    """One cheap prompt; 1 where the response declines."""

    name: ClassVar[str] = "refuses"
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response")
    asks: ClassVar[tuple[str, ...]] = ("detect_refusal",)

    def score(self, sample: Sample) -> Flow:
        return Score.of((yield DetectRefusal(sample.user_input or "", sample.response or "")))


@dataclass(frozen=True)
class AsksTwice(Refuses):
    """Two prompts at once."""

    def score(self, sample: Sample) -> Flow:
        prompts = [DetectRefusal(sample.user_input or "", sample.response or "", draw=draw) for draw in range(2)]
        one, two = yield prompts
        return Score.failed(one.code, one.reason) if isinstance(one, JudgeFault) else Score.of((one + two) / 2)


@dataclass(frozen=True)
class Embeds(Metric):
    """One embedding; 1 where it came."""

    name: ClassVar[str] = "embeds"
    reads: ClassVar[tuple[str, ...]] = ("response",)
    asks: ClassVar[tuple[str, ...]] = ("embed",)

    def score(self, sample: Sample) -> Flow:
        vector = yield Embed(sample.response or "")
        return Score.of(float(len(vector) > 0))


def refusals(judge: JudgeServer, tmp: Path | None = None, metric: Metric | None = None, /, **settings: Any) -> Work:
    return work_of(plan_of(judge_at(judge.url, **settings), metrics=[metric or Refuses()]), tmp)


def stored(tmp: Path) -> int:
    """How many replies are on disk."""
    return sum(pq.read_metadata(part).num_rows for part in (tmp / "replies").rglob("*.parquet"))
