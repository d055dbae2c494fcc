"""A task against the real judge on loopback: every row scored, every reply paid once, limits kept by all together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rageval_spark.engine import beats
from rageval_spark.engine.engine import Engine
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.task import Task
from rageval_spark.engine.work import Work
from rageval_spark.judges.settings import Endpoint, HttpEmbeddings, HttpJudge
from rageval_spark.metrics.answer_relevancy import AnswerRelevancy
from rageval_spark.metrics.context_precision import ContextPrecision
from rageval_spark.metrics.context_relevancy import ContextRelevancy
from rageval_spark.metrics.faithfulness import Faithfulness
from tests.engine.scene import (
    EXPECTED,
    FIELDS,
    FIVE,
    Embeds,
    Refuses,
    embeddings_at,
    judge_at,
    plan_of,
    refusals,
    rows_of,
    run,
    stored,
    together,
    values,
    work_of,
)
from tests.judge_server import Answer, JudgeServer, Request


def test_all_rows_are_scored_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    rows = rows_of(12, bucket=lambda i: i // 4)
    with JudgeServer(latency_ms=2) as judge:
        work = work_of(plan_of(judge_at(judge.url), embeddings_at(judge.url)), tmp_path)
        first = values(run(work, rows))
        asked = len(judge.requests)
        assert values(run(replace(work, run_id="next"), rows)) == first
        assert len(judge.requests) == asked
        assert judge.repeats_after_ok == 0
    assert len(first) == len(rows) * len(FIVE)
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
            assert len(values(run(work, [one for one in rows if one.bucket == bucket]))) == 10 * len(FIVE)
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


def test_without_beats_a_task_keeps_to_its_even_share(tmp_path: Path) -> None:
    rows = rows_of(12)
    with JudgeServer(latency_ms=400) as judge:
        work = replace(refusals(judge, tmp_path, requests_per_minute=1200), beats=None, planned_tasks=3)
        run(work, rows)
        span = judge.requests[-1].at - judge.requests[0].at
        assert judge.max_in_flight == 2, "8 // 3"
        assert span >= 1.5, "a third of 20 a second"
    assert len(judge.requests) == 12


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
