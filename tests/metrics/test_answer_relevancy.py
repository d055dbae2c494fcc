"""Answer relevancy, worked out by hand: mean cosine of the question with questions made from the response."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.measures.vectors import cosine
from rageval_spark.metrics.answer_relevancy import AnswerRelevancy
from tests.playing import kinds, played

QUESTION = "What is the capital of France?"
METRIC = AnswerRelevancy()
ISOLATED = AnswerRelevancy(isolated=True)
LATE = JudgeFault("JUDGE_TIMEOUT", "late")


def sample(**fields: Any) -> dict[str, Any]:
    return {"question": QUESTION, "answer": "The capital is Paris.", **fields}


def written(*questions: str, noncommittal: Any = 0) -> dict[str, Any]:
    return {"noncommittal": noncommittal, "questions": [{"id": i, "question": text} for i, text in enumerate(questions, 1)]}


THREE = written("Q1?", "Q2?", "Q3?")


def at(*cosines: float) -> Callable[[Any], Sequence[float]]:
    """Vectors of length 2 at these cosines from the question's, by the number in the text."""

    def embed(prompt: Any) -> Sequence[float]:
        c = 1.0 if prompt.text == QUESTION else cosines[int(prompt.text[1]) - 1]
        return (2 * c, 2 * math.sqrt(1 - c * c))

    return embed


@pytest.mark.parametrize(
    ("cosines", "value", "flags"),
    [
        ((0.9, 0.9, 0.9), 0.9, ()),
        ((1.0, 0.5, 0.0), 0.5, ()),
        ((0.6, -0.6, 0.3), 0.1, ()),
        ((-1.0, -0.5, 0.0), 0.0, ("CLAMPED",)),
        ((0.0, 0.0, 0.0), 0.0, ()),
    ],
)
def test_mean_cosine(cosines: tuple[float, ...], value: float, flags: tuple[str, ...]) -> None:
    score, asked = played(METRIC, sample(), generate_questions=THREE, embed=at(*cosines))
    assert score.value == pytest.approx(value, abs=1e-6)
    assert score.flags == flags
    assert score.details["cosines"] == pytest.approx(cosines, abs=1e-6)
    assert (score.details["questions"], score.details["noncommittal"]) == (["Q1?", "Q2?", "Q3?"], 0)
    assert kinds(asked) == ["generate_questions"] + ["embed"] * 4
    assert (score.usage.prompts, score.judge) == (1, "judge, embedder")


def test_the_same_question_is_exactly_1() -> None:
    vector = [0.1, 0.2, 0.7, 1e-3]
    score, _ = played(METRIC, sample(), generate_questions=THREE, embed=vector)
    assert (score.value, score.flags) == (1.0, ())
    assert cosine(np.float32(vector), np.float32(vector)) == 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"answer": None}, "NO_ANSWER"),
        ({"question": None}, "NO_QUESTION"),
        ({"question": " "}, "NO_QUESTION"),
        ({"question": None, "answer": None}, "NO_ANSWER"),
    ],
)
def test_skipped_without_a_prompt(fields: dict[str, Any], code: str) -> None:
    score, asked = played(METRIC, sample(**fields))
    assert (score.value, score.status, score.code, asked) == (None, "skipped", code, [])


@pytest.mark.parametrize("answer", ["", " ", "\n\u3000"])
def test_a_blank_answer_is_0_without_a_prompt(answer: str) -> None:
    score, asked = played(METRIC, sample(answer=answer))
    assert (score.value, score.flags, asked) == (0.0, ("EMPTY_ANSWER",), [])


def test_a_noncommittal_answer_is_0_and_embeds_nothing() -> None:
    score, asked = played(METRIC, sample(), generate_questions=written("Q1?", noncommittal="yes"))
    assert (score.value, score.flags) == (0.0, ("REFUSAL",))
    assert kinds(asked) == ["generate_questions"]


@pytest.mark.parametrize(
    ("noncommittal", "value"),
    [((1, 0, 0), 0.9), ((0, 0, 0), 0.9), ((1, 1, 0), 0.0), ((1, 1, 1), 0.0), ((1, 0), 0.9), ((1, 1), 0.0)],
)
def test_the_majority_of_isolated_replies_says_what_is_noncommittal(noncommittal: tuple[int, ...], value: float) -> None:
    replies = iter([written(f"Q{i}?", noncommittal=flag) for i, flag in enumerate(noncommittal, 1)])
    metric = AnswerRelevancy(strictness=len(noncommittal), isolated=True)
    score, asked = played(metric, sample(), generate_questions=replies, embed=at(0.9, 0.9, 0.9))
    assert score.value == pytest.approx(value, abs=1e-6)
    asking = [prompt for prompt in asked if prompt.kind == "generate_questions"]
    assert [(prompt.n, prompt.draw) for prompt in asking] == [(1, i) for i in range(len(noncommittal))]


def test_isolated_replies_that_failed_are_left_out_while_half_remain() -> None:
    score, _ = played(ISOLATED, sample(), generate_questions=iter([written("Q1?"), LATE, written("Q2?")]), embed=at(0.5, 0.7))
    assert score.value == pytest.approx(0.6, abs=1e-6)
    one_left = iter([written("Q1?", noncommittal=1), LATE, LATE])
    score, asked = played(ISOLATED, sample(), generate_questions=one_left)
    assert (score.value, score.status, score.code) == (None, "failed", "JUDGE_TIMEOUT")
    assert kinds(asked) == ["generate_questions"] * 3


def test_blank_questions_are_asked_for_once_more() -> None:
    replies = iter([written("Q1?", " "), written("Q2?", "Q3?")])
    score, asked = played(METRIC, sample(), generate_questions=replies, embed=at(0.5, 0.6, 0.7))
    assert score.value == pytest.approx(0.6, abs=1e-6)
    asking = [prompt for prompt in asked if prompt.kind == "generate_questions"]
    assert [(prompt.n, prompt.draw) for prompt in asking] == [(3, 0), (2, 1)]


@pytest.mark.parametrize(
    ("more", "value"),
    [(written(), 0.55), (LATE, 0.55), (written("Q3?", "Q9?"), 0.6)],
)
def test_half_of_the_questions_are_enough(more: Any, value: float) -> None:
    score, _ = played(METRIC, sample(), generate_questions=iter([written("Q1?", "Q2?"), more]), embed=at(0.5, 0.6, 0.7))
    assert score.value == pytest.approx(value, abs=1e-6)


def test_fewer_than_half_of_the_questions_are_not() -> None:
    score, asked = played(METRIC, sample(), generate_questions=iter([written("Q1?"), written(" ")]))
    assert (score.value, score.status, score.code) == (None, "failed", "JUDGE_NO_QUESTION")
    assert (len(asked), score.details["questions"]) == (2, ["Q1?"])


@pytest.mark.parametrize(
    ("vector", "code"),
    [
        ([0.0, 0.0], "ZERO_EMBEDDING"),
        ([math.nan, 1.0], "NONFINITE_EMBEDDING"),
        ([math.inf, 1.0], "NONFINITE_EMBEDDING"),
        ([1.0, 0.0, 0.0], "EMBEDDING_DIM"),
        ([], "EMBEDDING_DIM"),
        (JudgeFault("JUDGE_HTTP", "500"), "JUDGE_HTTP"),
    ],
)
@pytest.mark.parametrize("which", [QUESTION, "Q2?"])
def test_an_embedding_of_no_use_is_no_number(vector: Any, code: str, which: str) -> None:
    score, _ = played(
        METRIC, sample(), generate_questions=THREE, embed=lambda prompt: vector if prompt.text == which else [1.0, 0.0]
    )
    assert (score.value, score.status, score.code) == (None, "failed", code)
    assert score.details["questions"] == ["Q1?", "Q2?", "Q3?"]


def test_a_failed_prompt_is_no_number() -> None:
    score, _ = played(METRIC, sample(), generate_questions=LATE)
    assert (score.value, score.status, score.code) == (None, "failed", "JUDGE_TIMEOUT")


@pytest.mark.parametrize(
    ("question", "language"),
    [("首都はどこですか？", "Japanese"), ("法国的首都是哪里？", "Chinese"), (QUESTION, "English"), ("Paris?", None)],
)
def test_questions_are_asked_for_in_the_language_of_the_users(question: str, language: str | None) -> None:
    score, asked = played(METRIC, sample(question=question), generate_questions=written(*[question] * 3), embed=[1.0])
    assert (asked[0].language, score.flags) == (language, ())


def test_a_question_in_another_script_is_flagged() -> None:
    score, _ = played(METRIC, sample(question="首都はどこですか？"), generate_questions=THREE, embed=[1.0])
    assert score.flags == ("LANGUAGE_MISMATCH",)


@pytest.mark.parametrize("strictness", [0, -1, 21])
def test_strictness_out_of_range_is_refused(strictness: int) -> None:
    with pytest.raises(ConfigError, match="strictness"):
        AnswerRelevancy(strictness)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_strictness_is_the_number_of_questions(n: int) -> None:
    score, asked = played(
        AnswerRelevancy(n), sample(), generate_questions=lambda prompt: written(*["Q1?"] * prompt.n), embed=at(0.5)
    )
    assert (asked[0].n, len(asked)) == (n, 1 + 1 + n)
    assert score.value == pytest.approx(0.5, abs=1e-6)


def test_blank_questions_of_isolated_replies_are_asked_for_once_more() -> None:
    replies = iter([written("Q1?"), written(" "), written(), written("Q2?"), written("Q3?")])
    score, asked = played(ISOLATED, sample(), generate_questions=replies, embed=at(0.5, 0.6, 0.7))
    assert score.value == pytest.approx(0.6, abs=1e-6)
    assert [prompt.draw for prompt in asked if prompt.kind == "generate_questions"] == [0, 1, 2, 3, 4]
    score, asked = played(ISOLATED, sample(), generate_questions=iter([written("Q1?"), *[written(" ")] * 3, LATE]))
    assert (score.value, score.code, len(asked)) == (None, "JUDGE_NO_QUESTION", 5)
    noncommittal = iter([written(" ", noncommittal=1), written("Q?", noncommittal=1), written("Q?")])
    score, asked = played(ISOLATED, sample(), generate_questions=noncommittal)
    assert (score.value, len(asked)) == (0.0, 3)  # which needs no more questions
