"""Answer accuracy: half of the judge's rating of 0, 1 or 2, and the shares behind the average."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.metrics.answer_accuracy import AnswerAccuracy
from tests.playing import kinds, played

METRIC = AnswerAccuracy()
SAMPLE = {"question": "When did it open?", "answer": "In May 1932.", "reference": "It opened in May 1932."}


@pytest.mark.parametrize(
    ("rating", "value", "outcome"),
    [(0, 0.0, "wrong"), (1, 0.5, "partly"), (2, 1.0, "right"), ("2", 1.0, "right"), (1.0, 0.5, "partly")],
)
def test_the_rating_is_halved(rating: Any, value: float, outcome: str) -> None:
    result, asked = played(METRIC, SAMPLE, judge_accuracy={"reason": "why", "rating": rating})
    assert (result.value, result.measures, result.reason) == (value, {outcome: 1}, "why")
    assert (kinds(asked), result.details) == (["judge_accuracy"], {"rating": int(value * 2)})


@pytest.mark.parametrize("reference", ["in  MAY 1932.", ["never", "In May\n1932."]])
def test_the_words_of_a_reference_are_right_unasked(reference: Any) -> None:
    result, asked = played(METRIC, {**SAMPLE, "reference": reference})
    assert (result.value, result.measures, asked) == (1.0, {"right": 1}, [])


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"answer": None}, "NO_ANSWER"),
        ({"reference": None}, "NO_REFERENCE"),
        ({"reference": " "}, "NO_REFERENCE"),
        ({"reference": ["", None]}, "NO_REFERENCE"),
        ({"reference": "", "answer": ""}, "NO_REFERENCE"),
        ({"question": None}, "NO_QUESTION"),
        ({"question": " "}, "NO_QUESTION"),
    ],
)
def test_skipped_without_a_prompt(fields: dict[str, Any], code: str) -> None:
    result, asked = played(METRIC, SAMPLE | fields)
    assert (result.value, result.status, result.code, asked) == (None, "skipped", code, [])


def test_a_blank_response_is_wrong_unasked() -> None:
    result, asked = played(METRIC, {**SAMPLE, "answer": " \n"})
    assert (result.value, result.flags, result.measures, asked) == (0.0, ("EMPTY_ANSWER",), {"wrong": 1}, [])


def test_what_is_put_to_the_judge() -> None:
    _, [one] = played(METRIC, SAMPLE, judge_accuracy={"rating": 2})
    assert one.data() == {"question": "When did it open?", "response": "In May 1932.", "reference": "It opened in May 1932."}
    sample = {**SAMPLE, "reference": ["A.", " ", "B."], "history": ["earlier"]}
    _, [several] = played(METRIC, sample, judge_accuracy={"rating": 2})
    assert several.data()["reference"] == ((1, "A."), (2, "B."))
    assert list(several.data()) == ["history", "question", "response", "reference"]


def test_a_fault_is_no_number() -> None:
    result, _ = played(METRIC, SAMPLE, judge_accuracy=JudgeFault("JUDGE_OUT_OF_RANGE", "rating: must be 0, 1 or 2"))
    assert (result.value, result.status, result.code) == (None, "failed", "JUDGE_OUT_OF_RANGE")


@pytest.mark.parametrize(
    ("sums", "extra"),
    [
        ({}, {}),
        ({"right": 3.0, "partly": 2.0, "wrong": 5.0}, {"share_right": 0.3, "share_partly": 0.2}),
        ({"partly": 4.0}, {"share_right": 0.0, "share_partly": 1.0}),
    ],
)
def test_shares_tell_halves_from_half_of_them(sums: dict[str, float], extra: dict[str, float]) -> None:
    assert METRIC.extra(sums) == extra
