"""Answer similarity: the cosine of two embeddings, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.metrics.answer_similarity import AnswerSimilarity
from tests.playing import played

SAMPLE = {"answer": "A.", "reference": "R."}


def play(*vectors: Any, at_least: float | None = None, **fields: Any) -> Any:
    return played(AnswerSimilarity(at_least), {**SAMPLE, **fields}, embed=iter(vectors))


@pytest.mark.parametrize(
    ("a", "b", "value", "flags"),
    [
        ([1, 0], [1, 0], 1.0, ()),
        ([1, 0], [0, 1], 0.0, ()),
        ([1, 0], [3, 4], 0.6, ()),
        ([1, 0], [-1, 0], 0.0, ("CLAMPED",)),
    ],
)
def test_cosine(a: list[float], b: list[float], value: float, flags: tuple[str, ...]) -> None:
    score, asked = play(a, b)
    assert score.value == pytest.approx(value)
    assert score.flags == flags
    assert [prompt.text for prompt in asked] == ["A.", "R."]
    assert score.usage.prompts == 0


@pytest.mark.parametrize(("at_least", "value"), [(0.0, 1.0), (0.6, 1.0), (0.61, 0.0), (1.0, 0.0)])
def test_a_cut_gives_0_or_1(at_least: float, value: float) -> None:
    assert play([1, 0], [0.6, 0.8], at_least=at_least)[0].value == value


def test_of_several_references_the_nearest_counts() -> None:
    score, _ = play([1, 0], [0, 1], [3, 4], reference=["far", "near", " "])
    assert score.value == pytest.approx(0.6)


def test_equal_texts_are_not_embedded() -> None:
    score, asked = play(answer="The  tower", reference="the tower")
    assert (score.value, asked) == (1.0, [])


@pytest.mark.parametrize(
    ("fields", "code", "value"),
    [({"answer": None}, "NO_ANSWER", None), ({"reference": ["", " "]}, "NO_REFERENCE", None), ({"answer": " "}, None, 0.0)],
)
def test_nothing_is_asked(fields: dict[str, Any], code: str | None, value: float | None) -> None:
    score, asked = play(**fields)
    assert (score.code, score.value, asked) == (code, value, [])


@pytest.mark.parametrize(
    ("vectors", "code"),
    [
        (([0, 0], [1, 0]), "ZERO_EMBEDDING"),
        (([float("nan"), 0], [1, 0]), "NONFINITE_EMBEDDING"),
        (([1], [1, 0]), "EMBEDDING_DIM"),
        ((JudgeFault("JUDGE_HTTP", "down"), [1, 0]), "JUDGE_HTTP"),
    ],
)
def test_embeddings_of_no_use(vectors: Any, code: str) -> None:
    score, _ = play(*vectors)
    assert (score.value, score.code) == (None, code)


def test_a_cut_beyond_the_scale() -> None:
    with pytest.raises(ConfigError, match="from 0 to 1"):
        AnswerSimilarity(2)


@pytest.mark.parametrize("reference", [None, "", []])
def test_a_reference_is_needed(reference: Any) -> None:
    score, asked = play(reference=reference, answer="")
    assert (score.code, asked) == ("NO_REFERENCE", [])
