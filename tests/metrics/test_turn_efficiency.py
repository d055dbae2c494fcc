"""Turn efficiency, and the turns of conversations, counted by hand."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pyspark.sql import Row

from rageval_spark import EmbeddedJudge
from rageval_spark import score as score_one
from rageval_spark.config.metrics import metric_of
from rageval_spark.engine.plan import MetricUse
from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.metrics.goal_achievement import GoalAchievement
from rageval_spark.metrics.turn_efficiency import TurnEfficiency
from rageval_spark.spark.stats import _stat
from tests.playing import kinds, played

GOAL = {"goal": "Book a table.", "end_state": "A table is booked."}


def check(achieved: int) -> dict[str, Any]:
    return {"steps": [{"id": 1, "text": "book", "done": achieved}], "reason": "", "achieved": achieved, "notes": ""}


def conversation(turns: int) -> list[dict[str, Any]]:
    return [{"role": role, "content": role} for _ in range(turns) for role in ("user", "assistant", "tool")]


@pytest.mark.parametrize(("turns", "optimal", "value"), [(4, 2, 0.5), (2, 2, 1.0), (1, 3, 1.0), (3, 1, 1 / 3), (1, 1, 1.0)])
def test_the_turns_that_would_do_of_those_taken(turns: int, optimal: int, value: float) -> None:
    score, asked = played(TurnEfficiency(), {"messages": conversation(turns), "reference_turns": optimal})
    assert score.value == pytest.approx(value)
    assert asked == []
    assert score.reason == f"{turns} turns, {optimal} would do"
    assert score.details["roles"] == {"user": turns, "assistant": turns, "tool": turns}


@pytest.mark.parametrize(
    ("fields", "turns"),
    [
        ({"question": "Q?", "answer": "A."}, 1),
        ({"question": "Q?", "answer": "A.", "history": [{"role": "assistant", "content": "a"}]}, 2),
        ({"question": "Q?", "answer": "A.", "history": ["q", "a", "q", "a"]}, 3),
        ({"question": "Q?", "answer": "A.", "history": ["a"]}, 2),
        ({"messages": [{"type": "human", "content": "q"}, {"type": "ai", "content": [{"type": "text", "text": "a"}]}]}, 1),
        ({"messages": conversation(2), "question": "Q?", "answer": "A."}, 2),
    ],
)  # fmt: skip
def test_what_a_turn_is(fields: dict[str, Any], turns: int) -> None:
    score, _ = played(TurnEfficiency(), {**fields, "reference_turns": 1})
    assert (score.details["turns"], score.value) == (turns, 1 / turns)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"messages": [], "reference_turns": 1}, "NO_TURNS"),
        ({"messages": [{"role": "user", "content": "Hi"}], "reference_turns": 1}, "NO_TURNS"),
        ({"reference_turns": 1}, "NO_TURNS"),
        ({"question": "Q?", "answer": " ", "reference_turns": 1}, "NO_TURNS"),
        ({"messages": conversation(1)}, "NO_REFERENCE_TURNS"),
    ],
)
@pytest.mark.parametrize("goal", ["assumed", "judged"])
def test_skipped_without_a_prompt(fields: dict[str, Any], code: str, goal: Any) -> None:
    score, asked = played(TurnEfficiency(goal=goal), fields)
    assert (score.value, score.status, score.code, asked) == (None, "skipped", code, [])


@pytest.mark.parametrize("optimal", [0, -1])
def test_no_turn_at_all_would_never_do(optimal: int) -> None:
    score, _ = played(TurnEfficiency(), {"messages": conversation(1), "reference_turns": optimal})
    assert (score.status, score.code) == ("failed", "INVALID_INPUT")


def test_where_the_goal_is_judged_it_must_be_achieved() -> None:
    sample = {"messages": conversation(2), "reference_turns": 1}
    metric = TurnEfficiency(goal="judged")
    good, asked = played(metric, sample, infer_goal=GOAL, check_goal=check(1))
    assert (good.value, kinds(asked)) == (0.5, ["infer_goal", "check_goal"])
    _, same = played(GoalAchievement(), sample, infer_goal=GOAL, check_goal=check(1))
    assert asked == same  # so that both metrics pay once
    bad, _ = played(metric, sample, infer_goal=GOAL, check_goal=check(0))
    assert (bad.value, bad.reason) == (0.0, "the goal is not achieved; 2 turns, 1 would do")
    unknown, _ = played(metric, sample, infer_goal=GOAL, check_goal=JudgeFault("JUDGE_TIMEOUT", "late"))
    assert (unknown.value, unknown.code) == (None, "JUDGE_TIMEOUT")


def test_only_where_the_goal_is_judged_a_judge_is_asked() -> None:
    assumed, judged = TurnEfficiency(), pickle.loads(pickle.dumps(metric_of("turn_efficiency", {"goal": "judged"})))
    assert (assumed.asks, judged.asks) == ((), ("infer_goal", "check_goal"))
    assert (assumed.suffix, judged.suffix) == ("", "@judged")
    assert judged == TurnEfficiency(goal="judged")
    sample = {"messages": conversation(1), "reference_turns": 1}
    assert score_one(assumed, sample).value == 1.0
    assert score_one(judged, sample, EmbeddedJudge()).code == "JUDGE_UNSUPPORTED"
    with pytest.raises(ConfigError, match="asks a judge"):
        score_one(judged, sample)


def test_turns_are_counted_without_a_reference_too() -> None:
    call = {"function": {"name": "look", "arguments": '{"n": 1}'}}
    messages = [{"role": "assistant", "tool_calls": [call, call]}, {"role": "assistant", "tool_calls": [call], "content": "x"}]
    score, _ = played(TurnEfficiency(), {"messages": messages})
    assert score.measures == {"conversations": 1.0, "turns": 2.0, "single_turn": 0.0, "calls": 3.0, "distinct_calls": 1.0}
    assert score.details["distinct_call_share"] == 1 / 3  # 1 - duplicates / calls
    assert set(score.measures) == set(TurnEfficiency.measured) > set(TurnEfficiency.extremes)


@pytest.mark.parametrize(("turns", "rate", "mostly"), [([1, 1, 1, 1, 6], 0.8, 0.0), ([1] * 9 + [2], 0.9, 1.0), ([3], 0.0, 0.0)])
def test_over_conversations(turns: list[int], rate: float, mostly: float) -> None:
    measures = [played(TurnEfficiency(), {"messages": conversation(one)})[0].measures for one in turns]
    sums = {name: sum(one[name] for one in measures) for name in TurnEfficiency.measured}
    found = TurnEfficiency().extra(sums | {"least turns": min(turns), "greatest turns": max(turns)})
    assert found == {"average_turns": pytest.approx(sum(turns) / len(turns)), "max_turns": max(turns), "min_turns": min(turns),
                     "single_turn_rate": pytest.approx(rate), "mostly_single_turn": mostly}
    assert TurnEfficiency().extra({}) == {}


def test_the_statistics_hand_over_the_extremes() -> None:
    sums = {"measure:turns": 7.0, "measure:conversations": 2.0, "measure:least turns": 2.0, "measure:greatest turns": 5.0,
            "measure:partial": None}
    row = Row(slice=None, slice_value=None, field_group="messages", metric="turn_efficiency", total=2, count=0, n_skipped=2,
              n_failed=0, average=None, min=None, max=None, std_dev=None, pass_rate=None, quantiles=None,
              scored=0.0, failed=0.0, effective=0, n_answered=0, n_unanswered=0, **sums)
    extra = _stat(row, MetricUse(TurnEfficiency(), "turn_efficiency"), "run")["extra"]
    assert extra == {"average_turns": 3.5, "max_turns": 5.0, "min_turns": 2.0, "single_turn_rate": 0.0, "mostly_single_turn": 0.0}
