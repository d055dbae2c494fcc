"""Goal achievement: which goal is asked about, and what is made of the judge's steps."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.metrics.goal_achievement import GoalAchievement
from rageval_spark.prompts.goals import CheckGoal, InferGoal
from rageval_spark.prompts.prompt import Unacceptable
from tests.playing import kinds, played

METRIC = GoalAchievement()
MESSAGES = [
    {"role": "user", "content": "Book a table and invite Ana."},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "book", "arguments": '{"people": 2}'}}]},
    {"role": "tool", "content": "confirmed"},
    {"role": "assistant", "content": "Booked."},
]
SAID = (("user", "Book a table and invite Ana.", ()), ("assistant", "", ('book({"people": 2})',)), ("tool", "confirmed", ()),
        ("assistant", "Booked.", ()))  # fmt: skip
GOAL = {"goal": "Book a table and invite Ana.", "end_state": "A table is booked and Ana is invited."}


def check(*done: Any, achieved: Any = None, **fields: Any) -> dict[str, Any]:
    steps = [{"id": id, "text": f"step {id}", "done": one} for id, one in enumerate(done, 1)]
    return {"steps": steps, "reason": "why", "achieved": int(all(done)) if achieved is None else achieved, "notes": "", **fields}


@pytest.mark.parametrize(
    ("reply", "achieved", "partial"),
    [
        (check(1), 1.0, 1.0),
        (check(0), 0.0, 0.0),
        (check(1, 0), 0.0, 0.5),
        (check(1, 1, 0, 1), 0.0, 0.75),
        (check(1, 1, 1), 1.0, 1.0),
        (check("yes", "false", achieved="no"), 0.0, 0.5),
        (check(1, 0, achieved=1), 1.0, 0.5),
    ],
)
def test_achieved_or_the_steps_done(reply: dict[str, Any], achieved: float, partial: float) -> None:
    sample = {"messages": MESSAGES, "reference_goal": "Book a table."}
    whole, asked = played(METRIC, sample, check_goal=reply)
    assert (whole.value, kinds(asked), whole.usage.prompts) == (achieved, ["check_goal"], 1)
    parts, again = played(GoalAchievement(partial=True), sample, check_goal=reply)
    assert (parts.value, again) == (partial, asked)
    for score in (whole, parts):
        assert (score.details["achieved"], score.details["partial"]) == (achieved, partial)
        assert score.measures == {"achieved": achieved, "partial": partial, "samples": 1.0}
    assert set(whole.measures) == set(METRIC.measured)


def test_details_name_what_is_missing() -> None:
    sample = {"messages": MESSAGES, "reference_goal": "Book a table."}
    score, _ = played(METRIC, sample, check_goal=check(1, 0, notes="It never asked when."))
    assert score.details == {
        "goal": "Book a table.", "end_state": None, "inferred": False, "achieved": 0, "partial": 0.5, "missing": ["step 2"],
        "steps": [{"id": 1, "text": "step 1", "done": 1}, {"id": 2, "text": "step 2", "done": 0}],
        "why": "why", "notes": "It never asked when.",
    }  # fmt: skip
    assert score.reason == "not achieved, 1 of 2 steps done; missing: step 2"


def test_without_a_reference_the_goal_is_inferred_first() -> None:
    for goal in (None, " "):
        score, asked = played(METRIC, {"messages": MESSAGES, "reference_goal": goal}, infer_goal=GOAL, check_goal=check(1))
        assert asked == [InferGoal(SAID), CheckGoal(SAID, GOAL["goal"], GOAL["end_state"])]
        assert (score.value, score.details["inferred"], score.details["goal"]) == (1.0, True, GOAL["goal"])
    _, [prompt] = played(METRIC, {"messages": MESSAGES, "reference_goal": "Book a table."}, check_goal=check(1))
    assert prompt == CheckGoal(SAID, "Book a table.")


def test_without_messages_question_and_response_are_the_conversation() -> None:
    sample = {"question": "Q?", "answer": "A.", "history": [{"role": "user", "content": "Hi"}], "reference_goal": "G"}
    _, [prompt] = played(METRIC, sample, check_goal=check(1))
    assert prompt.messages == (("user", "Hi", ()), ("user", "Q?", ()), ("assistant", "A.", ()))


@pytest.mark.parametrize("fields", [
    {}, {"messages": []}, {"messages": [{"role": "user", "content": "Hi"}]}, {"messages": [{"role": "tool", "content": "x"}]},
    {"question": "Q?"}, {"question": "Q?", "answer": " "},
])  # fmt: skip
def test_skipped_where_the_assistant_says_nothing(fields: dict[str, Any]) -> None:
    score, asked = played(METRIC, {"reference_goal": "G", **fields})
    assert (score.value, score.status, score.code, asked) == (None, "skipped", "NO_TURNS", [])


@pytest.mark.parametrize("goal", [None, "G"])
def test_a_conversation_that_is_too_long_is_not_cut(goal: str | None) -> None:
    messages = [*MESSAGES, {"role": "assistant", "content": "word " * 2000}]
    score, asked = played(METRIC, {"messages": messages, "reference_goal": goal}, token_limit=3000)
    assert (score.value, score.code, asked) == (None, "CONTEXT_TOO_LONG", [])
    assert "judge.prompt_token_limit" in str(score.reason)
    fits, _ = played(METRIC, {"messages": messages, "reference_goal": "G"}, token_limit=4000, check_goal=check(1))
    assert fits.value == 1.0


@pytest.mark.parametrize("kind", ["infer_goal", "check_goal"])
def test_without_a_reply_there_is_no_number(kind: str) -> None:
    answers: dict[str, Any] = {"infer_goal": GOAL, "check_goal": check(1), kind: JudgeFault("JUDGE_TIMEOUT", "late")}
    score, _ = played(METRIC, {"messages": MESSAGES}, **answers)
    assert (score.value, score.status, score.code) == (None, "failed", "JUDGE_TIMEOUT")


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (check(achieved=1), "JUDGE_SCHEMA"),
        (check(1, steps=[{"id": 1, "text": " ", "done": 1}]), "JUDGE_SCHEMA"),
        (check(1, achieved=2), "JUDGE_SCHEMA"),
        (check("partly", achieved=0), "JUDGE_SCHEMA"),
        (check(1, steps=[{"id": 1, "text": "book", "done": 1}, {"id": 1, "text": "Book ", "done": 0}]), "JUDGE_AMBIGUOUS"),
        (check(0, 0, achieved=1), "JUDGE_AMBIGUOUS"),
        (check(0, achieved="yes"), "JUDGE_AMBIGUOUS"),
        ({"achieved": 1}, "JUDGE_SCHEMA"),
    ],
)
def test_a_check_that_is_not_accepted(reply: dict[str, Any], code: str) -> None:
    with pytest.raises(Unacceptable) as found:
        CheckGoal(SAID, "G").accept(reply)
    assert found.value.code == code


@pytest.mark.parametrize("reply", [{"goal": " ", "end_state": "x"}, {"goal": "x", "end_state": ""}, {"goal": "x"}])
def test_a_goal_that_is_not_accepted(reply: dict[str, Any]) -> None:
    with pytest.raises(Unacceptable) as found:
        InferGoal(SAID).accept(reply)
    assert found.value.code == "JUDGE_SCHEMA"


def test_a_step_that_is_told_twice_counts_once() -> None:
    steps = [{"id": 1, "text": "book", "done": 1}, {"id": 2, "text": "invite", "done": 0}, {"id": 3, "text": "Book", "done": 1}]
    sample = {"messages": MESSAGES, "reference_goal": "G"}
    score, _ = played(GoalAchievement(partial=True), sample, check_goal=check(0, steps=steps))
    assert score.value == 0.5


def test_over_samples() -> None:
    assert METRIC.extra({"achieved": 1.0, "partial": 2.5, "samples": 4.0}) == {"achieved_rate": 0.25, "average_partial": 0.625}
    assert METRIC.extra({}) == {}
    assert (METRIC.binary, METRIC.suffix) == (True, "")
    assert (GoalAchievement(partial=True).binary, GoalAchievement(partial=True).suffix) == (False, "@partial")


def test_an_odd_message_is_named() -> None:
    score, _ = played(METRIC, {"messages": ["hello"], "reference_goal": "G"})
    assert (score.status, score.code) == ("failed", "INVALID_INPUT")
    assert str(score.reason).startswith("messages")
