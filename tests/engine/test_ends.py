"""How a task ends, and that none of its threads waits for another: nothing lost, nothing asked afterwards, no hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rageval_spark.engine import beats
from rageval_spark.engine.files import Folder
from rageval_spark.engine.task import Task
from rageval_spark.engine.work import Row
from rageval_spark.errors import ConfigError, Interrupted
from rageval_spark.metric import Flow
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.sample import Sample
from tests.engine.scene import (
    AsksTwice,
    Background,
    Refuses,
    endless_rows,
    engine_threads,
    judge_at,
    plan_of,
    refusals,
    rows_of,
    run,
    stored,
    until,
    values,
    work_of,
)
from tests.judge_server import Answer, JudgeServer


@pytest.mark.parametrize("limit", [1, 4])  # of one, the second prompt of a sample waits while the first is on its way
def test_a_stop_ends_it_soon_with_every_reply_kept(tmp_path: Path, limit: int) -> None:
    with JudgeServer(latency_ms=150) as judge:
        work = refusals(judge, tmp_path, AsksTwice(), max_concurrency=limit)
        ended = list[float]()

        def play() -> None:
            try:
                run(work, endless_rows())
            finally:
                ended.append(time.monotonic())

        task = Background(play)
        until(lambda: len(judge.requests) > 4, "the fifth prompt")
        stopped = time.monotonic()
        assert work.beats
        beats.ask_to_stop(work.beats)
        with pytest.raises(Interrupted):
            task.result()
        assert ended[0] - stopped < 10  # two on a machine that is not this busy
        asked = len(judge.requests)
        assert stored(tmp_path) == judge.stats.statuses[200] == asked
        time.sleep(0.5)
        assert len(judge.requests) == asked
        [beat] = beats.read(work.beats)
        assert (beat["done"], beat["in_flight"]) == (True, {})
        with pytest.raises(Interrupted):
            run(work, rows_of(10))
        assert len(judge.requests) == asked


def test_a_stop_does_not_wait_for_a_judge_that_hangs(tmp_path: Path) -> None:
    with JudgeServer(hang_rate=1.0) as judge:
        work = refusals(judge, tmp_path)
        task = Background(lambda: run(work, rows_of(100)))
        until(lambda: judge.max_in_flight == 8, "a full window")
        assert work.beats
        beats.ask_to_stop(work.beats)
        with pytest.raises(Interrupted):
            task.result()


def test_a_reader_that_has_enough_ends_it(tmp_path: Path) -> None:
    with JudgeServer(latency_ms=20) as judge:
        scores = Task(refusals(judge, tmp_path)).run(endless_rows())
        assert next(scores)
        scores.close()
        assert engine_threads() == []
        asked = len(judge.requests)
        assert stored(tmp_path) == judge.stats.statuses[200]
        time.sleep(0.3)
        assert len(judge.requests) == asked


def test_rows_that_cannot_be_read_end_it(tmp_path: Path) -> None:
    def rows() -> Iterator[Row]:
        yield from rows_of(5)
        raise OSError("the source is gone")

    with JudgeServer() as judge, pytest.raises(OSError, match="the source is gone"):
        run(refusals(judge, tmp_path), rows())
    assert [beat["done"] for beat in beats.read(Folder(str(tmp_path / "beats")))] == [True]


def test_a_store_that_cannot_be_written_ends_it(tmp_path: Path) -> None:
    (tmp_path / "replies").mkdir()
    (tmp_path / "replies" / "bucket=000").write_text("in the way")
    with JudgeServer(latency_ms=20) as judge, pytest.raises(OSError, match="bucket=000"):
        run(refusals(judge, tmp_path), endless_rows())
    assert [beat["done"] for beat in beats.read(Folder(str(tmp_path / "beats")))] == [True]


def test_beats_that_cannot_be_written_end_it(tmp_path: Path) -> None:
    (tmp_path / "beats").write_text("in the way")
    with JudgeServer() as judge:
        with pytest.raises(OSError, match="beats"):
            run(refusals(judge, tmp_path), rows_of(10))
        assert judge.requests == []


def test_a_metric_that_asks_what_it_does_not_name_is_told_so() -> None:
    @dataclass(frozen=True)
    class Wrong(Faithfulness):
        asks: ClassVar[tuple[str, ...]] = ("detect_refusal",)

    with JudgeServer() as judge:
        kinds = {"list_claims": {"model": "another"}}
        with pytest.raises(ConfigError, match=r"faithfulness asks list_claims.*`asks`"):
            run(work_of(plan_of(judge_at(judge.url, kinds=kinds), metrics=[Wrong()])), rows_of(50))


def test_a_bug_while_a_row_is_read_surfaces() -> None:
    class Broken(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            raise RuntimeError("a bug")

    [row] = rows_of(1)
    with JudgeServer() as judge, pytest.raises(RuntimeError, match="a bug"):
        run(refusals(judge), [replace(row, values=Broken())])


def test_a_loop_that_cannot_start_surfaces() -> None:
    with JudgeServer() as judge:
        work = refusals(judge)
        task = Task(work)
        task._windows = {}  # the engine finds no window for its judge
        with pytest.raises(KeyError):
            list(task.run(rows_of(3)))


def test_an_error_of_the_metric_is_a_score_of_the_row() -> None:
    class Raises(Refuses):
        def score(self, sample: Sample) -> Flow:
            yield DetectRefusal("a", "b")
            raise ZeroDivisionError("oops")

    with JudgeServer() as judge:
        assert set(values(run(refusals(judge, None, Raises()), rows_of(5))).values()) == {"METRIC_ERROR"}


def test_replies_are_durable_while_the_rows_are_slow_to_come(tmp_path: Path) -> None:
    more = threading.Event()

    def rows() -> Iterator[Row]:
        yield from rows_of(5)
        more.wait()

    with JudgeServer() as judge:
        task = Background(lambda: run(refusals(judge, tmp_path), rows()))
        try:
            until(lambda: stored(tmp_path) == 5, "the flush")
            assert task.running
        finally:
            more.set()
        assert len(task.result()) == 5


def test_replies_are_durable_while_the_scores_are_slow_to_go(tmp_path: Path) -> None:
    with JudgeServer(latency_ms=50) as judge:
        scores = Task(refusals(judge, tmp_path)).run(rows_of(1000))
        next(scores)
        before = stored(tmp_path)
        until(lambda: stored(tmp_path) == len(judge.requests) > before, "the flush of all that is in play")
        scores.close()


def test_scores_are_handed_on_while_others_are_still_awaited() -> None:
    with JudgeServer() as judge:
        judge.always("*", lambda request: Answer(delay_s=6.0) if "river 0 " in request.prompt else Answer())
        scores = Task(refusals(judge)).run(rows_of(20))
        early = next(scores)
        assert 0 < len(early) < 20
        assert len(early) + sum(map(len, scores)) == 20


def test_memory_does_not_grow_with_the_rows() -> None:
    read = list[int]()

    def rows() -> Iterator[Row]:
        for row in endless_rows():
            read.append(row.bucket)
            yield row

    with JudgeServer(latency_ms=20) as judge:
        scores = Task(refusals(judge)).run(rows())
        done = len(next(scores))
        assert len(read) - done <= 2 * 8 + 8 + 1
        scores.close()
