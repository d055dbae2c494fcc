"""Intent coverage, worked out by hand: levels of the intents, of two for each."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.metrics.intent_coverage import IntentCoverage
from tests.playing import kinds, played

SAMPLE = {"question": "What does it cost, and since when?", "answer": "90 euros."}


def intents(*texts: str) -> dict[str, Any]:
    return {"intents": [{"id": id, "text": text} for id, text in enumerate(texts, 1)]}


def play(listed: Any, levels: Any, refused: int = 0, **fields: Any) -> Any:
    return played(IntentCoverage(), {**SAMPLE, **fields}, list_intents=listed, rate_intents=levels,
                  detect_refusal={"refused": refused})


@pytest.mark.parametrize(
    ("texts", "levels", "value"),
    [(["cost"], [2], 1.0), (["cost", "since"], [2, 0], 0.5), (["cost", "since"], [2, 1], 0.75), (["cost"], [0], 0.0),
     ([], [1], 0.5), (["Cost", "cost "], [2], 1.0)],
)  # fmt: skip
def test_share_of_what_was_asked(texts: list[str], levels: list[int], value: float) -> None:
    score, asked = play(intents(*texts), levels)
    assert score.value == value
    assert kinds(asked) == ["list_intents", "detect_refusal", "rate_intents"]
    assert len(score.details["missing"]) == levels.count(0)


def test_what_nobody_asked_for_is_named() -> None:
    reply = {"ratings": [{"id": 1, "rating": 2}], "redundant": ["the weather", " ", 5]}
    score, _ = play(intents("cost"), reply)
    assert score.details["redundant"] == ["the weather"]


def test_beyond_eight_the_first_eight_count() -> None:
    score, asked = play(intents(*(f"thing {i}" for i in range(11))), [2] * 8)
    assert (score.value, score.flags, len(asked[-1].intents)) == (1.0, ("TOO_MANY_INTENTS",), 8)


def test_a_refusal_covers_nothing() -> None:
    score, asked = play(intents("cost"), None, refused=1)
    assert (score.value, score.flags, len(asked)) == (0.0, ("REFUSAL",), 2)


@pytest.mark.parametrize(
    ("fields", "code", "value"),
    [({"answer": None}, "NO_ANSWER", None), ({"answer": ""}, None, 0.0), ({"question": ""}, "NO_QUESTION", None)],
)
def test_nothing_is_asked(fields: dict[str, Any], code: str | None, value: float | None) -> None:
    score, asked = play(None, None, **fields)
    assert (score.code, score.value, asked) == (code, value, [])


@pytest.mark.parametrize(
    ("listed", "levels", "code"),
    [(JudgeFault("JUDGE_HTTP", "down"), [2], "JUDGE_HTTP"), (intents("a", "b"), [2, None], "JUDGE_COUNT_MISMATCH")],
)
def test_a_fault_is_no_number(listed: Any, levels: Any, code: str) -> None:
    score, _ = play(listed, levels)
    assert (score.value, score.code) == (None, code)


def test_the_intents_of_a_question_are_the_same_prompt_for_all_responses() -> None:
    (_, one), (_, other) = (play(intents("cost"), [2], answer=answer) for answer in ("90 euros.", "100 euros."))
    assert one[0] == other[0]
    assert one[1:] != other[1:]


def test_the_judge_is_shown_a_question_without_intents_as_the_one_intent() -> None:
    _, asked = play(intents(" "), [2])
    assert asked[-1].intents == ((1, SAMPLE["question"]),)


def test_details_compute_the_score_again() -> None:
    score, _ = play(intents("cost", "since", "why"), [2, 1, 0])
    levels = [one["level"] for one in score.details["intents"]]
    assert (levels, score.value) == ([2, 1, 0], sum(levels) / (2 * len(levels)))
