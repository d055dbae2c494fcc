"""Answer relevance, judged on five steps."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.metrics.answer_relevance import AnswerRelevance
from rageval_spark.prompts.answers import RateAnswer
from rageval_spark.prompts.prompt import Unacceptable
from tests.playing import kinds, played

SAMPLE = {"question": "Q?", "answer": "A."}


@pytest.mark.parametrize(
    ("rating", "refused", "value", "flags"),
    [(1, 0, 0.0, ()), (2, 0, 0.25, ()), (3, 0, 0.5, ()), (4, 0, 0.75, ()), (5, 0, 1.0, ()), (5, 1, 0.0, ("REFUSAL",)),
     ("4", "no", 0.75, ()), (4.0, False, 0.75, ())],
)  # fmt: skip
def test_the_rating_on_a_scale_from_0_to_1(rating: Any, refused: Any, value: float, flags: tuple[str, ...]) -> None:
    score, asked = played(AnswerRelevance(), SAMPLE, rate_answer={"rating": rating, "refused": refused, "reason": "so"})
    assert (score.value, score.flags, score.reason, kinds(asked)) == (value, flags, "so", ["rate_answer"])


@pytest.mark.parametrize("rating", [0, 6, -1, 42])
def test_beyond_the_scale(rating: int) -> None:
    with pytest.raises(Unacceptable) as refused:
        RateAnswer("Q?", "A.").accept({"rating": rating, "refused": 0})
    assert refused.value.code == "JUDGE_OUT_OF_RANGE"


@pytest.mark.parametrize(
    ("fields", "code", "value", "flags"),
    [
        ({"answer": None}, "NO_ANSWER", None, ()),
        ({"answer": " "}, None, 0.0, ("EMPTY_ANSWER",)),
        ({"question": " "}, "NO_QUESTION", None, ()),
    ],
)
def test_nothing_is_asked(fields: dict[str, Any], code: str | None, value: float | None, flags: tuple[str, ...]) -> None:
    score, asked = played(AnswerRelevance(), {**SAMPLE, **fields})
    assert (score.code, score.value, score.flags, asked) == (code, value, flags, [])


def test_a_fault_is_no_number() -> None:
    score, _ = played(AnswerRelevance(), SAMPLE, rate_answer=JudgeFault("JUDGE_PARSE", "prose"))
    assert (score.value, score.code) == (None, "JUDGE_PARSE")
