"""One metric over one sample, wherever it is called from."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from rageval_spark.engine.single import score
from rageval_spark.errors import ConfigError
from rageval_spark.metrics.answer_relevancy import AnswerRelevancy
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.sample import Sample
from tests.engine.scene import embeddings_at, judge_at
from tests.judge_server import Answer, JudgeServer

SAMPLE = {"question": "Where does the Rhine flow?", "answer": "The Rhine flows north. It is deep.",
          "contexts": ["The Rhine flows north."]}


def test_a_sample_is_scored_as_a_mapping_with_aliases_and_as_a_sample() -> None:
    with JudgeServer() as judge:
        there = judge_at(judge.url)
        for sample in (SAMPLE, Sample.parse(SAMPLE)):
            scored = score(Faithfulness(), sample, there)
            assert (scored.status, scored.value, scored.judge) == ("scored", 0.5, "judge")
            assert scored.usage.prompts == 2
        assert len(judge.requests) == 4


def test_embeddings_too() -> None:
    with JudgeServer() as judge:
        scored = score(AnswerRelevancy(), SAMPLE, judge_at(judge.url), embeddings_at(judge.url))
    assert scored.value == pytest.approx(0.8, abs=0.07)


def test_it_works_where_a_loop_runs_already() -> None:
    with JudgeServer() as judge:
        async def notebook() -> Any:
            return score(Faithfulness(), SAMPLE, judge_at(judge.url))

        assert asyncio.run(notebook()).value == 0.5


def test_it_leaves_no_thread() -> None:
    with JudgeServer() as judge:
        before = set(threading.enumerate())
        score(Faithfulness(), SAMPLE, judge_at(judge.url))
        assert set(threading.enumerate()) <= before


def test_what_the_judge_does_wrong_is_a_failed_score() -> None:
    with JudgeServer() as judge:
        judge.always("*", Answer(401, {"error": {"message": "no such key"}}))
        scored = score(Faithfulness(), SAMPLE, judge_at(judge.url))
    assert (scored.status, scored.code, scored.value) == ("failed", "JUDGE_HTTP", None)
    assert "no such key" in str(scored.reason)


def test_a_judge_that_is_not_there_is_a_failed_score() -> None:
    scored = score(Faithfulness(), SAMPLE, judge_at("http://127.0.0.1:9/v1", max_attempts=2))
    assert (scored.status, scored.code) == ("failed", "JUDGE_HTTP")


def test_a_malformed_sample_is_a_failed_score() -> None:
    scored = score(Faithfulness(), {**SAMPLE, "contexts": 5}, judge_at("http://127.0.0.1:9/v1"))
    assert (scored.status, scored.code) == ("failed", "INVALID_INPUT")


def test_what_is_not_asked_is_not_needed() -> None:
    scored = score(Faithfulness(), {"question": "Where?", "answer": " "}, judge_at("http://127.0.0.1:9/v1"))
    assert (scored.status, scored.code) == ("skipped", "NO_ANSWER")


def test_without_a_judge_or_embeddings_it_says_what_to_give() -> None:
    with pytest.raises(ConfigError, match="judge=HttpJudge"):
        score(Faithfulness(), SAMPLE)
    with pytest.raises(ConfigError, match="embeddings=HttpEmbeddings"):
        score(AnswerRelevancy(), SAMPLE, judge_at("http://127.0.0.1:9/v1"))


def test_the_key_comes_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with JudgeServer(require_key="sk-1") as judge:
        there = judge_at(judge.url, api_key_env="RAGEVAL_TEST_KEY")
        monkeypatch.delenv("RAGEVAL_TEST_KEY", raising=False)
        with pytest.raises(ConfigError, match="RAGEVAL_TEST_KEY"):
            score(Faithfulness(), SAMPLE, there)
        monkeypatch.setenv("RAGEVAL_TEST_KEY", "sk-1")
        assert score(Faithfulness(), SAMPLE, there).value == 0.5


def test_what_the_server_does_not_support_is_left_out_without_a_preflight() -> None:
    with JudgeServer(reject_formats={"json_schema"}, reject_parameters={"temperature"}) as judge:
        assert score(Faithfulness(), SAMPLE, judge_at(judge.url)).value == 0.5
