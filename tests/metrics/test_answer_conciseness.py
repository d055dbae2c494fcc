"""Answer conciseness, worked out by hand: needed claims of all claims."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.answer_conciseness import AnswerConciseness
from tests.playing import kinds, played

METRIC = AnswerConciseness()
SAMPLE = {"question": "What does it cost?", "answer": "90 euros. It began in 1998."}


@pytest.mark.parametrize(
    ("claims", "needed", "value"),
    [(["a"], [1], 1.0), (["a", "b"], [1, 0], 0.5), (["a", "b", "c"], [0, 0, 0], 0.0), (["a", "A"], [1], 1.0)],
)
def test_share_of_needed_claims(claims: list[str], needed: list[int], value: float) -> None:
    score, asked = played(METRIC, SAMPLE, list_claims=claims, judge_needed=needed)
    assert (score.value, kinds(asked)) == (value, ["list_claims", "judge_needed"])
    assert "length_ratio" not in score.details


def test_the_ratio_of_lengths() -> None:
    score, _ = played(METRIC, {**SAMPLE, "reference": "90 euros."}, list_claims=["a", "b"], judge_needed=[1, 0])
    assert score.details["length_ratio"] == 3.0


@pytest.mark.parametrize(
    ("fields", "code"), [({"answer": None}, "NO_ANSWER"), ({"answer": " "}, "NO_ANSWER"), ({"question": None}, "NO_QUESTION")]
)
def test_without_what_it_needs_nothing_is_asked(fields: dict[str, Any], code: str) -> None:
    score, asked = played(METRIC, {**SAMPLE, **fields})
    assert (score.code, asked) == (code, [])


def test_a_refusal() -> None:
    score, _ = played(METRIC, SAMPLE, list_claims=[], detect_refusal={"refused": 1})
    assert (score.code, score.flags) == ("NO_CLAIMS", ("REFUSAL",))


def test_missing_verdicts_leave_a_lower_bound() -> None:
    score, _ = played(METRIC, SAMPLE, list_claims=["a", "b"], judge_needed=[1, None])
    assert (score.value, score.code, score.details["lower_bound"]) == (None, "JUDGE_COUNT_MISMATCH", 0.5)


@pytest.mark.parametrize("answer", ["I don’t know.", "IDK"])
def test_what_claims_nothing_is_not_put_to_a_judge(answer: str) -> None:
    score, asked = played(METRIC, {**SAMPLE, "answer": answer})
    assert (score.value, score.code, asked) == (None, "NO_CLAIMS", [])


def test_one_prompt_per_twenty_claims() -> None:
    score, asked = played(METRIC, SAMPLE, list_claims=[f"claim {i}" for i in range(25)], judge_needed=[1] * 20 + [0] * 5)
    assert (score.value, kinds(asked)) == (0.8, ["list_claims", "judge_needed", "judge_needed"])
