"""Votes: a metric played several times at once with replies of its own, and the score that the votes elect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.replay import Replay, as_json
from rageval_spark.engine.single import score
from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, HttpJudge
from rageval_spark.metric import Flow, Metric, play
from rageval_spark.metrics import CATALOGUE
from rageval_spark.metrics.answer_relevancy import AnswerRelevancy
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.contexts import RateContexts1
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.prompt import DRAWS, Prompt
from rageval_spark.prompts.questions import GenerateQuestions
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.prompts.rendering import Rendering
from rageval_spark.sample import Sample
from rageval_spark.score import Score, Usage
from rageval_spark.votes import elected
from tests.judge_server import JudgeServer
from tests.playing import built, kinds, played
from tests.test_commands import rageval

SAMPLE = {
    "question": "Which river runs through Paris?",
    "answer": "Paris lies on the Seine. It is the capital of Spain.",
    "contexts": ["Paris lies on the Seine.", "Madrid is the capital of Spain.", "Lyon is big."],
    "ground_truth": "The Seine runs through Paris. Lyon lies on the Rhône.",
}
FAULT = JudgeFault("JUDGE_HTTP", "no")
PRECISION, FAITHFULNESS = (CATALOGUE[name] for name in ("context_precision", "faithfulness"))


@dataclass(frozen=True)
class Answered(Metric):
    """Share of responses that decline nothing."""

    name: ClassVar[str] = "answered"
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response")
    asks: ClassVar[tuple[str, ...]] = ("detect_refusal",)
    binary: ClassVar[bool] = True

    def score(self, sample: Sample) -> Flow:
        refused = yield DetectRefusal(sample.user_input or "", sample.response or "")
        return Score.of(0.0 if refused else 1.0, "refused" if refused else "answered", refused=refused)


def refusals(*said: Any) -> Iterator[Any]:
    return iter([one if isinstance(one, JudgeFault) else {"refused": one} for one in said])


# what is asked


def test_one_vote_is_the_metric_as_it_is() -> None:
    once = played(PRECISION(), SAMPLE, judge_usefulness=[1, 0, 0])
    assert played(PRECISION(), SAMPLE, votes=1, judge_usefulness=[1, 0, 0]) == once
    assert "votes" not in once[0].details


def test_the_first_vote_asks_what_is_asked_without_votes_and_the_others_draw_anew() -> None:
    _, [alone] = played(PRECISION(), SAMPLE, judge_usefulness=[1, 0, 0])
    found, asked = played(PRECISION(), SAMPLE, votes=5, judge_usefulness=[1, 0, 0])
    assert asked[0] == alone
    rendering = Rendering("m")
    assert len({rendering.render(prompt, "en").key for prompt in asked}) == 5
    assert found.usage == Usage(5, 0, 50, 10)
    assert found.value == 1.0
    assert [chunk["id"] for chunk in found.details["chunks"]] == [1, 2, 3]


def test_all_votes_are_in_play_at_once() -> None:
    game = play(FAITHFULNESS(), Sample.parse(SAMPLE), votes=3)
    assert kinds(next(game)) == ["list_claims"] * 3
    game.close()


def test_votes_that_need_more_prompts_go_on_alone() -> None:
    claims = iter([["a", "b"], [], ["a", "b", "c"]])
    found, asked = played(FAITHFULNESS(), SAMPLE, votes=3, list_claims=lambda prompt: next(claims),
                          detect_refusal={"refused": 1}, verify_claims=[1, 0, 0])  # fmt: skip
    assert kinds(asked) == [*["list_claims"] * 3, "verify_claims", "detect_refusal", "verify_claims"]
    assert found.details["votes"]["values"] == [0.5, None, pytest.approx(1 / 3)]
    assert found.details["votes"]["codes"] == [None, "NO_CLAIMS", None]
    assert found.value == pytest.approx(5 / 12)
    assert found.flags == ("REFUSAL",)


@pytest.mark.parametrize("count", [2, 3, 7, 25])
@pytest.mark.parametrize("kind", ["claims", "contexts"])
def test_items_come_in_another_order_for_each_further_vote(count: int, kind: str) -> None:
    items = tuple((id, f"text {id}") for id in range(1, count + 1))
    prompt = VerifyClaims(items, text="x") if kind == "claims" else RateContexts1(contexts=items, question="Q?")
    for vote in range(1, 9):
        other = prompt.for_vote(vote)
        assert other == prompt.for_vote(vote)
        assert other.items != items
        assert sorted(other.items) == list(items)
    if count > 5:
        assert len({prompt.for_vote(vote).items for vote in range(1, 9)}) == 8
    assert replace(prompt, draw=2).for_vote(3).draw == 2 + 3 * DRAWS


def test_a_division_is_joined_in_every_vote() -> None:
    sample = {**SAMPLE, "contexts": [f"Text {i}, " + "word " * 700 for i in range(5)]}
    found, asked = played(PRECISION(), sample, token_limit=2000, votes=3, judge_usefulness=[1, 0, 0, 0, 0])
    assert len(asked) > 3
    assert found.value == 1.0
    assert found.flags == ("CONTEXT_SPLIT",)


def test_draws_of_a_metric_never_meet_those_of_votes() -> None:
    answers: dict[str, Any] = {"generate_questions": {"noncommittal": 0, "questions": [{"id": 1, "question": "Which?"}]},
                               "embed": [1.0, 0.0]}
    found, asked = played(AnswerRelevancy(isolated=True, strictness=20), SAMPLE, votes=5, **answers)
    drawn = [prompt for prompt in asked if isinstance(prompt, Prompt)]
    assert len(drawn) == len(set(drawn)) == 100
    embedded = {prompt for prompt in asked if isinstance(prompt, Embed)}
    assert len(embedded) == 2  # a text has one embedding, whoever asks
    assert found.value == 1.0


# what is elected


@pytest.mark.parametrize(("said", "value"), [
    ((0, 0, 1), 1.0), ((1, 0, 1), 0.0), ((1, 1, 1), 0.0), ((0, 0, FAULT), 1.0), ((1, 0, FAULT), 0.0), ((0, 1, FAULT), 1.0),
])  # fmt: skip
def test_a_binary_metric_goes_by_the_majority(said: tuple[Any, ...], value: float) -> None:
    found, _ = played(Answered(), SAMPLE, votes=3, detect_refusal=refusals(*said))
    assert (found.status, found.value) == ("scored", value)
    assert found.details["refused"] is (value == 0.0)
    valid = [1.0 - one for one in said if one is not FAULT]
    assert found.reason
    assert found.reason.startswith(f"{sum(valid):g} of {len(valid)} votes say 1")


def of(*values: float | str) -> list[Score]:
    """Votes: a value, or a code."""
    return [Score.of(one, f"is {one}", mine=one) if isinstance(one, float)
            else Score.skipped(one) if one.startswith("NO_") else Score.failed(one) for one in values]


def test_others_have_the_mean_and_the_details_of_the_nearest() -> None:
    found = elected(of(0.0, 1.0, 0.5), binary=False)
    assert (found.value, found.details["mine"]) == (0.5, 0.5)
    votes = found.details["votes"]
    assert votes["spread"] == 1.0
    assert votes["std_dev"] == pytest.approx((1 / 6) ** 0.5)
    assert found.reason == "mean of 3 votes from 0 to 1; the nearest: is 0.5"


@pytest.mark.parametrize(("votes", "status", "code"), [
    ((0.2, "JUDGE_HTTP", 0.4), "scored", None),
    ((0.2, "JUDGE_HTTP", "JUDGE_PARSE"), "failed", "JUDGE_HTTP"),
    (("NO_CLAIMS", "NO_CLAIMS", 0.4), "skipped", "NO_CLAIMS"),
    (("NO_CLAIMS", "JUDGE_PARSE", 0.4), "failed", "JUDGE_PARSE"),
    (("NO_CLAIMS", "NO_CLAIMS", "JUDGE_PARSE"), "skipped", "NO_CLAIMS"),
    (("NO_CLAIMS", "NO_ANSWER", "NO_ANSWER"), "skipped", "NO_ANSWER"),
])  # fmt: skip
def test_more_than_half_must_have_scored(votes: tuple[Any, ...], status: str, code: str | None) -> None:
    found = elected(of(*votes), binary=False)
    assert (found.status, found.code) == (status, code)
    assert len(found.details["votes"]["values"]) == 3
    if status == "scored":
        assert found.value == pytest.approx(0.3)
    assert found.reason


def test_usage_is_the_sum_and_flags_and_judges_are_united() -> None:
    told = zip(of(1.0, "JUDGE_HTTP", 1.0), ("REPAIRED", "REFUSAL", "REPAIRED"), ("a", "b, a", "a"), strict=True)
    votes = [replace(vote, usage=Usage(1, 0, 5, 2), flags=(flag,), judge=judge) for vote, flag, judge in told]
    found = elected(votes, binary=False)
    assert (found.usage, found.flags, found.judge) == (Usage(3, 0, 15, 6), ("REPAIRED", "REFUSAL"), "a, b")


# through the engine


@pytest.mark.parametrize("name", [name for name, metric in CATALOGUE.items() if set(metric.asks) - {"embed"}])
def test_every_judged_metric_scores_the_same_where_the_judge_always_says_the_same(name: str) -> None:
    with JudgeServer() as judge:
        asked = HttpJudge(model="judge", base_url=judge.url)
        vectors = HttpEmbeddings(model="vectors", base_url=judge.url)
        alone = score(built(name), SAMPLE, asked, vectors)
        prompts = len(judge.chats())
        voted = score(built(name), SAMPLE, asked, vectors, votes=3)
        assert voted.status == alone.status
        assert voted.value == pytest.approx(alone.value)
        assert voted.usage.prompts == len(judge.chats()) - prompts == 3 * prompts
        assert json.loads(json.dumps(voted.to_dict(), allow_nan=False))


def test_batch_rounds_ask_all_votes_together_and_a_run_without_votes_is_paid_already() -> None:
    judge, asked = JudgeServer(), HttpJudge(model="judge", base_url="http://127.0.0.1:1/v1")
    sample = Sample.parse(SAMPLE)

    def replay_of(votes: int) -> tuple[Replay, MetricUse]:
        use = MetricUse(FAITHFULNESS(), "faithfulness", judge=asked, votes=votes)
        return Replay(Plan((FieldGroup({}, (use,)),)), "run", {}), use

    lines: list[str] = []
    for expected in (3, 3, 0):
        replay, use = replay_of(3)
        for line in lines:
            replay.learn(line)
        found = replay.score(use, sample)
        assert len(replay.requests) == expected
        for one in replay.requests:
            _, body = judge.answer_in_batch(f"/v1/{one.path}", one.body.encode())
            lines.append(json.dumps({"custom_id": one.id, "response": {"status_code": 200, "body": json.loads(body)}}))
    assert found is not None
    assert (found.value, found.usage.prompts, found.usage.reused) == (0.5, 6, 0)

    without, use = replay_of(1)
    for row in replay.accepted:
        without.know(json.loads(as_json(row)))
    again = without.score(use, sample)
    assert again is not None
    assert (again.value, without.requests) == (0.5, [])


def test_a_forecast_counts_the_prompts_of_all_votes(tmp_path: Path) -> None:
    from rageval_spark.engine.files import Folder
    from rageval_spark.engine.work import Row
    from rageval_spark.forecast import DryRun

    asked = HttpJudge(model="judge", base_url="http://127.0.0.1:1/v1")
    vectors = HttpEmbeddings(model="vectors", base_url="http://127.0.0.1:1/v1")
    fields = {"user_input": "question", "response": "answer", "retrieved_contexts": "contexts"}

    def forecast(votes: int) -> tuple[float, float]:
        uses = tuple(MetricUse(metric(), metric.name, 0.5, asked, vectors, votes) for metric in (FAITHFULNESS, AnswerRelevancy))
        dry = DryRun(Plan((FieldGroup(fields, uses),)), Folder(str(tmp_path)))
        dry.play(0, Row("s", 0, SAMPLE, {}))
        return dry.estimated("prompts", 1).value, dry.estimated("embeddings", 1).value

    assert forecast(1) == (3, 1 + 3)
    assert forecast(3) == (9, 1 + 9)  # the question has one embedding


def test_the_command_takes_votes() -> None:
    with JudgeServer() as judge:
        done = rageval("score", "--metric", "faithfulness", "--sample", json.dumps(SAMPLE), "--base-url", judge.url,
                       "--model", "judge", "--votes", "3")
    found = json.loads(done.stdout)
    assert (found["score"], found["n_prompts"], found["details"]["votes"]["values"]) == (0.5, 6, [0.5, 0.5, 0.5])
    assert rageval("score", "--metric", "faithfulness", "--sample", "{}", "--votes", "2").returncode == 2


def test_votes_of_no_use_are_refused() -> None:
    with pytest.raises(ConfigError, match="votes is an odd whole number"):
        MetricUse(FAITHFULNESS(), "faithfulness", judge=EmbeddedJudge(), votes=2)
    unjudged = type("Unjudged", (Answered,), {"asks": ()})
    with pytest.raises(ConfigError, match="asks no judge"):
        MetricUse(unjudged(), "unjudged", votes=3)


def test_the_embedded_judge_votes_once() -> None:
    found = score(FAITHFULNESS(), SAMPLE, EmbeddedJudge(), votes=3)
    assert found == score(FAITHFULNESS(), SAMPLE, EmbeddedJudge())


def test_questions_are_drawn_anew_by_each_vote() -> None:
    prompt = GenerateQuestions("A.", 3, "English")
    assert [prompt.for_vote(vote).draw for vote in (1, 2)] == [DRAWS, 2 * DRAWS]
