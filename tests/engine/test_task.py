"""A task against the real judge on loopback: every row scored, every reply paid once, every end clean."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest

from rageval_spark.engine import beats
from rageval_spark.engine.engine import Engine
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.task import Row, Task, Work
from rageval_spark.errors import ConfigError, Interrupted, JudgeFault
from rageval_spark.judges.http import Secret
from rageval_spark.judges.settings import Endpoint, HttpEmbeddings, HttpJudge
from rageval_spark.metric import Flow, Metric
from rageval_spark.metrics import CATALOGUE
from rageval_spark.metrics.answer_relevancy import AnswerRelevancy
from rageval_spark.metrics.context_precision import ContextPrecision
from rageval_spark.metrics.context_relevancy import ContextRelevancy
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.sample import Sample
from rageval_spark.score import Score
from tests.engine.scene import (
    EXPECTED,
    FIELDS,
    Background,
    embeddings_at,
    engine_threads,
    judge_at,
    plan_of,
    rows_of,
    run,
    until,
    values,
    work_of,
)
from tests.judge_server import Answer, JudgeServer, Request


@pytest.fixture(autouse=True)
def _no_thread_outlives_its_task() -> Iterator[None]:
    yield
    assert engine_threads() == []


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


# what is scored, and what it costs


def test_all_rows_are_scored_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    rows = rows_of(12, bucket=lambda i: i // 4)
    with JudgeServer(latency_ms=2) as judge:
        work = work_of(plan_of(judge_at(judge.url), embeddings_at(judge.url)), tmp_path)
        first = values(run(work, rows))
        asked = len(judge.requests)
        assert values(run(replace(work, run_id="next"), rows)) == first
        assert len(judge.requests) == asked
        assert judge.repeats_after_ok == 0
    assert len(first) == len(rows) * len(CATALOGUE)
    for row in rows:
        assert {name: first[row.sample_id, name] for name in EXPECTED} == EXPECTED
    assert judge.max_in_flight <= 8
    assert all(len(list(bucket.glob("*.parquet"))) == 1 for bucket in (tmp_path / "replies").iterdir())


def test_usage_is_counted_once_and_reuse_is_told(tmp_path: Path) -> None:
    with JudgeServer() as judge:
        work = refusals(judge, tmp_path)
        [first] = run(work, rows_of(1))
        [second] = run(work, rows_of(1))
    assert (first.score.usage.prompts, first.score.usage.reused) == (1, 0)
    assert first.score.usage.prompt_tokens
    assert (second.score.usage.prompts, second.score.usage.reused, second.score.usage.prompt_tokens) == (1, 1, 0)
    [beat, _] = beats.read(Folder(str(tmp_path / "beats")))
    assert beat["done"]


def test_equal_samples_are_judged_once_and_found_in_each_of_their_buckets(tmp_path: Path) -> None:
    [row] = rows_of(1)
    rows = [replace(row, sample_id=f"s{i}", bucket=i // 10) for i in range(30)]
    with JudgeServer(latency_ms=20) as judge:
        work = work_of(plan_of(judge_at(judge.url), embeddings_at(judge.url)), tmp_path)
        scores = values(run(work, rows))
        assert len(judge.chats()) == 8
        assert sum(len(request.texts) for request in judge.embeddings()) == 4
        for bucket in range(3):  # each may be another task's in the next run
            assert len(values(run(work, [one for one in rows if one.bucket == bucket]))) == 10 * len(CATALOGUE)
        assert len(judge.chats()) == 8
    assert len({value for (_, metric), value in scores.items() if metric == "faithfulness"}) == 1


def test_rows_may_come_in_any_order_of_buckets(tmp_path: Path) -> None:
    rows = rows_of(30, bucket=lambda i: i % 3)
    with JudgeServer() as judge:
        work = refusals(judge, tmp_path)
        assert len(values(run(work, rows))) == 30
        assert len(values(run(work, rows))) == 30
        assert len(judge.requests) == 30
    assert stored(tmp_path) == 30


def test_a_row_that_cannot_be_read_is_a_row_like_any_other() -> None:
    [row, *rest] = rows_of(4)
    rows = [replace(row, fault="the line is no JSON"), replace(rest[0], values={**rest[0].values, "contexts": 5}), *rest[1:]]
    with JudgeServer() as judge:
        scored = run(work_of(plan_of(judge_at(judge.url), metrics=[Refuses(), Faithfulness()])), rows)
    assert len(scored) == 8
    faulty = {one.row.sample_id: one.score for one in scored if one.score.code == "INVALID_INPUT"}
    assert faulty.keys() == {"s0", "s1"}
    assert faulty["s0"].reason == "the line is no JSON"
    assert "contexts" in str(faulty["s1"].reason)
    assert "column contexts" in str(faulty["s1"].reason)


def test_no_rows_and_no_metrics_are_no_work(tmp_path: Path) -> None:
    with JudgeServer() as judge:
        assert run(refusals(judge, tmp_path), []) == []
        assert run(Work(Plan((FieldGroup(FIELDS, ()),)), "run"), rows_of(20)) == []
        assert judge.requests == []


def test_every_kind_goes_to_its_judge_and_every_server_has_its_window() -> None:
    with JudgeServer(latency_ms=2) as one, JudgeServer(latency_ms=2) as other, JudgeServer() as third:
        judge = judge_at(one.url, kinds={"verify_claims": {"base_url": other.url, "model": "strict", "max_concurrency": 2}})
        scores = values(run(work_of(plan_of(judge, embeddings_at(third.url), [Faithfulness(), AnswerRelevancy()])), rows_of(20)))
        assert len(scores) == 40
        assert {request.kind for request in one.requests} == {"list_claims", "generate_questions"}
        assert {(request.kind, request.body["model"]) for request in other.requests} == {("verify_claims", "strict")}
        assert {request.kind for request in third.requests} == {"embeddings"}
        assert one.max_in_flight <= 8
        assert other.max_in_flight <= 2


def test_embeddings_go_in_few_requests() -> None:
    with JudgeServer(latency_ms=5) as judge:
        plan = plan_of(judge_at(judge.url, max_concurrency=32), embeddings_at(judge.url), [AnswerRelevancy()])
        assert len(values(run(work_of(plan), rows_of(60)))) == 60
        assert judge.stats.embedding_texts == 240
        assert len(judge.embeddings()) <= 24


def test_no_embedding_request_is_larger_than_allowed() -> None:
    with JudgeServer() as judge:
        plan = plan_of(judge_at(judge.url), embeddings_at(judge.url, batch_size=7), [Embeds()])
        assert len(values(run(work_of(plan), rows_of(60)))) == 60
        assert max(len(request.texts) for request in judge.embeddings()) == 7


def test_one_text_that_is_refused_costs_no_other_its_vector() -> None:
    def choose(request: Request) -> Answer:
        bad = any("River 13 " in text for text in request.texts)
        return Answer(400, {"error": {"message": "invalid input"}}) if bad else Answer()

    with JudgeServer() as judge:
        judge.always("embeddings", choose)
        plan = plan_of(judge_at(judge.url), embeddings_at(judge.url), [Embeds()])
        scores = values(run(work_of(plan), rows_of(30)))
    assert {sample for (sample, _), value in scores.items() if value != 1.0} == {"s13"}
    assert scores["s13", "embeds"] == "JUDGE_HTTP"


# faults of the judge


def test_faults_that_pass_change_no_score(tmp_path: Path) -> None:
    rows = rows_of(12)
    with JudgeServer(latency_ms=2) as judge:
        plan = plan_of(judge_at(judge.url, max_concurrency=32, max_attempts=12), embeddings_at(judge.url))
        expected = values(run(work_of(plan), rows))
        judge.update({"error_rate": 0.1, "malformed_rate": 0.1, "reset_rate": 0.1})
        judge.reset()
        assert values(run(work_of(plan, tmp_path), rows)) == expected
        assert judge.stats.statuses[500] > 0
        assert judge.repeats_after_ok == 0
        judge.reset()
        assert values(run(work_of(plan, tmp_path), rows)) == expected
        assert judge.requests == []


def test_a_server_that_takes_less_is_given_less_and_few_are_refused() -> None:
    with JudgeServer(latency_ms=50, max_in_flight_allowed=10, retry_after=0.2) as judge:
        assert len(values(run(refusals(judge, max_concurrency=40), rows_of(300)))) == 300
        assert judge.stats.statuses[200] == 300
        assert judge.stats.statuses[429] < 200


def test_under_a_permanent_429_all_ends_by_the_deadline_and_later_prompts_get_one_attempt() -> None:
    with JudgeServer() as judge:
        judge.always("*", Answer(429, headers={"retry-after": "0.3"}))
        began = time.monotonic()
        scores = values(run(refusals(judge, max_concurrency=4, deadline_s=2), rows_of(200)))
        assert time.monotonic() - began < 60
        assert set(scores.values()) == {"JUDGE_RATE_LIMIT"}
        tries = [judge.stats.seen[request.digest] for request in judge.requests]
        late = {request.digest for request in judge.requests} - {request.digest for request in judge.requests
                                                                 if request.at < judge.requests[0].at + 2}
    assert max(tries) > 1
    assert late
    assert all(judge.stats.seen[digest] == 1 for digest in late)


def test_it_recovers_when_the_server_does() -> None:
    with JudgeServer() as judge:
        judge.script("*", *[Answer(503, headers={"retry-after-ms": "100"})] * 30)
        assert set(values(run(refusals(judge), rows_of(40))).values()) == {0.0}


def test_when_the_key_is_refused_in_the_middle_the_rest_fails_without_a_call() -> None:
    with JudgeServer(latency_ms=2) as judge:
        def choose(request: Request) -> Answer:
            return Answer() if len(judge.requests) <= 20 else Answer(401, {"error": {"message": "bad key sk-top-secret"}})

        judge.always("*", choose)
        plan = plan_of(judge_at(judge.url, max_concurrency=4), metrics=[Refuses()])
        plan = plan.equipped({endpoint: Secret("sk-top-secret") for endpoint in plan.endpoints()}, {})
        scored = run(work_of(plan), rows_of(400))
        assert judge.requests[0].headers["authorization"] == "Bearer sk-top-secret"
        assert len(judge.requests) <= 20 + 4
    assert sum(one.score.status == "scored" for one in scored) == 20
    failed = [one.score for one in scored if one.score.status != "scored"]
    assert {score.code for score in failed} == {"JUDGE_HTTP"}
    assert len(failed) == 380
    assert not any("secret" in str(one) for one in scored)


@pytest.mark.parametrize("settings", [{"reject_parameters": {"temperature"}}, {"reject_formats": {"json_schema"}},
                                      {"reject_formats": {"json_schema", "json_object"}}])
def test_what_the_server_calls_unsupported_is_left_out_by_all_at_once(settings: dict[str, Any]) -> None:
    with JudgeServer(latency_ms=20, **settings) as judge:
        scores = values(run(refusals(judge, None, AsksTwice()), rows_of(30)))
        assert set(scores.values()) == {0.0}
        assert judge.stats.statuses[400] <= 8 * 2


def test_a_prompt_that_waits_long_in_our_own_queue_still_has_its_attempts() -> None:
    with JudgeServer(latency_ms=100) as judge:
        def choose(request: Request) -> Answer:
            first = judge.stats.seen[request.digest] == 1
            return Answer(500) if first and "river 9 " in request.prompt else Answer()

        judge.always("*", choose)
        scores = values(run(refusals(judge, max_concurrency=1, deadline_s=3, max_attempts=4), rows_of(10)))
    assert set(scores.values()) == {0.0}


# ends


def test_a_stop_ends_it_soon_with_every_reply_kept(tmp_path: Path) -> None:
    with JudgeServer(latency_ms=150) as judge:
        work = refusals(judge, tmp_path, AsksTwice(), max_concurrency=4)
        ended = list[float]()

        def play() -> None:
            try:
                run(work, rows_of(5000))
            finally:
                ended.append(time.monotonic())

        task = Background(play)
        until(lambda: len(judge.requests) > 10, "the tenth prompt")
        stopped = time.monotonic()
        assert work.beats
        beats.ask_to_stop(work.beats)
        with pytest.raises(Interrupted):
            task.result()
        assert ended[0] - stopped < 10  # two on a machine that is not this busy
        asked = len(judge.requests)
        assert asked < 5000
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
        scores = Task(refusals(judge, tmp_path)).run(rows_of(100_000))
        assert next(scores)
        scores.close()
        assert engine_threads() == []
        asked = len(judge.requests)
        assert stored(tmp_path) == judge.stats.statuses[200]
        time.sleep(0.3)
        assert len(judge.requests) == asked < 100_000


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
    with JudgeServer(latency_ms=20) as judge:
        with pytest.raises(OSError, match="bucket=000"):
            run(refusals(judge, tmp_path), rows_of(100_000))
        assert len(judge.requests) < 10_000
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


# threads that do not wait for each other


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
        for number, row in enumerate(rows_of(3000)):
            read.append(number)
            yield row

    with JudgeServer(latency_ms=20) as judge:
        scores = Task(refusals(judge)).run(rows())
        done = len(next(scores))
        assert len(read) - done <= 2 * 8 + 8 + 1
        scores.close()


# several tasks


def together(works: Sequence[tuple[Work, Sequence[Row]]]) -> list[dict[tuple[str, str], Any]]:
    tasks = [Background(partial(run, work, rows, index)) for index, (work, rows) in enumerate(works)]
    return [values(task.result()) for task in tasks]


def test_tasks_of_a_run_share_the_limit_and_the_last_one_has_all_of_it(tmp_path: Path) -> None:
    rows = rows_of(160, bucket=lambda i: int(i >= 20))
    with JudgeServer(latency_ms=100) as judge:
        work = replace(refusals(judge, tmp_path), planned_tasks=2)
        few, many = together([(work, rows[:20]), (work, rows[20:])])
        assert (len(few), len(many)) == (20, 140)
        assert judge.max_in_flight <= 8
        assert judge.max_in_flight > 4
        assert judge.repeats_after_ok == 0


def test_tasks_on_one_bucket_keep_all_replies(tmp_path: Path) -> None:
    rows = rows_of(60)
    with JudgeServer(latency_ms=10) as judge:
        work = replace(refusals(judge, tmp_path), planned_tasks=3)
        together([(work, rows[i::3]) for i in range(3)])
        assert len(judge.requests) == 60
        assert len(values(run(work, rows))) == 60
        assert len(judge.requests) == 60


def test_the_rate_is_kept_by_all_tasks_together(tmp_path: Path) -> None:
    rows = rows_of(40)
    with JudgeServer() as judge:
        work = replace(refusals(judge, tmp_path, requests_per_minute=600), planned_tasks=2)
        together([(work, rows[i::2]) for i in range(2)])
        span = judge.requests[-1].at - judge.requests[0].at
        assert span >= 3.5
    assert len(judge.requests) == 40


def test_settings_are_not_hashed_for_every_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    with JudgeServer() as judge:
        plan = plan_of(judge_at(judge.url), embeddings_at(judge.url), [AnswerRelevancy(), ContextRelevancy(), ContextPrecision()])
        work = work_of(plan)
        task = Task(work)
        hashed = list[Any]()

        def count(self: Endpoint) -> int:
            hashed.append(self)
            return original(self)

        original = Endpoint.__hash__
        for kind in (HttpJudge, HttpEmbeddings):
            monkeypatch.setattr(kind, "__hash__", count)
        assert len(values([one for batch in task.run(rows_of(30)) for one in batch])) == 90
    assert len(hashed) < 60


def test_an_engine_holds_nothing_of_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = list[Engine]()
    original = Engine.__init__

    def keep(self: Engine, *arguments: Any) -> None:
        original(self, *arguments)
        engines.append(self)

    monkeypatch.setattr(Engine, "__init__", keep)
    with JudgeServer() as judge:
        run(refusals(judge), rows_of(50))
    [engine] = engines
    assert engine._in_flight == {}
    assert all(window.in_flight == 0 and window.waiting == 0 for window in engine.windows.values())


def test_uses_of_one_metric_under_two_names_pay_once() -> None:
    with JudgeServer(latency_ms=5) as judge:
        there = judge_at(judge.url)
        uses = tuple(MetricUse(Refuses(), name, judge=there) for name in ("one", "two"))
        scores = values(run(Work(Plan((FieldGroup(FIELDS, uses),)), "run"), rows_of(20)))
        assert len(scores) == 40
        assert len(judge.requests) == 20
