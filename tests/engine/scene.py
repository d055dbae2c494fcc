"""What the tests of the engine share: a plan over the five metrics, rows, a task run to its end, simulated time."""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.task import Row, Scored, Task, Work
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.metric import Metric
from rageval_spark.metrics import CATALOGUE

T = TypeVar("T")

FIELDS = {"user_input": "question", "response": "answer", "retrieved_contexts": "contexts", "reference": "truth"}
PATIENCE_S = 60.0
"""How long a test waits for what must happen: this machine may stand still for seconds."""


def judge_at(url: str, **settings: Any) -> HttpJudge:
    return HttpJudge(**{"model": "judge", "base_url": url, "max_concurrency": 8, **settings})


def embeddings_at(url: str, **settings: Any) -> HttpEmbeddings:
    return HttpEmbeddings(**{"model": "vectors", "base_url": url, **settings})


def plan_of(judge: HttpJudge, embeddings: HttpEmbeddings | None = None, metrics: Sequence[Metric] | None = None) -> Plan:
    """One field group with these metrics; without embeddings, all of the catalogue that need none."""
    if metrics is None:
        metrics = [made() for made in CATALOGUE.values() if embeddings or "embed" not in made.asks]
    uses = tuple(MetricUse(metric, metric.name, judge=judge, embeddings=embeddings) for metric in metrics)
    return Plan((FieldGroup(FIELDS, uses),))


def rows_of(count: int, bucket: Callable[[int], int] = lambda i: 0) -> list[Row]:
    """Samples of which the oracle supports one claim of two and finds the first context of two useful."""
    return [Row(f"s{i}", bucket(i), {
        "question": f"Where does river {i} flow?",
        "answer": f"River {i} flows through town {i}. It is deep.",
        "contexts": [f"River {i} flows through town {i}.", f"Nobody fishes there in winter {i}."],
        "truth": f"River {i} flows through town {i}.",
    }, {}) for i in range(count)]


EXPECTED = {"faithfulness": 0.5, "context_recall": 1.0, "context_precision": 1.0}
"""Scores of `rows_of` that are worked out by hand."""


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


def until(condition: Callable[[], Any], what: str = "the condition") -> None:
    """Wait until it holds; fail after a long time."""
    end = time.monotonic() + PATIENCE_S
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


class _Instant(selectors.BaseSelector):
    """A selector that does not wait: it moves the loop's clock on."""

    def __init__(self) -> None:
        self._inner = selectors.DefaultSelector()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "all wait for each other"
        self.now += timeout
        return self._inner.select(0)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def get_map(self) -> Any:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is simulated: sleeping takes none."""

    def __init__(self) -> None:
        self._instant = _Instant()
        super().__init__(self._instant)

    def time(self) -> float:
        return self._instant.now


def simulate(play: Callable[[Callable[[], float]], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine function, which is given the clock, in simulated time."""
    loop = SimulatedLoop()
    try:
        return loop.run_until_complete(play(loop.time))
    finally:
        loop.close()
