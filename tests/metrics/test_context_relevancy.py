"""Context relevancy, worked out by hand: chunks whose two ratings have a mean of at least 1 of 2."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.metrics.context_relevancy import ContextRelevancy
from tests.playing import kinds, played

METRIC = ContextRelevancy()
LATE = JudgeFault("JUDGE_TIMEOUT", "late")


def sample(n: int = 2, **fields: Any) -> dict[str, Any]:
    return {"question": "What does it cost?", "contexts": [f"chunk {i}" for i in range(1, n + 1)], **fields}


@pytest.mark.parametrize(
    ("first", "second", "value", "graded", "best", "disagreement"),
    [
        ([2], [2], 1.0, 1.0, 1.0, 0),
        ([0], [0], 0.0, 0.0, 0.0, 0),
        ([1], [1], 1.0, 0.5, 0.5, 0),
        ([0], [2], 1.0, 0.5, 0.5, 2),
        ([0], [1], 0.0, 0.25, 0.25, 1),
        ([2, 1, 0, 0], [2, 1, 1, 0], 0.5, (2 + 1 + 0.5) / 8, 1.0, 0.25),
        ([2] + [0] * 9, [2] + [0] * 9, 0.1, 0.1, 1.0, 0),  # one good chunk of ten is a tenth
        (["2"], [1.0], 1.0, 0.75, 0.75, 1),
    ],
)
def test_share_of_relevant_chunks(
    first: list[Any], second: list[Any], value: float, graded: float, best: float, disagreement: float
) -> None:
    score, asked = played(METRIC, sample(len(first)), rate_contexts_1=first, rate_contexts_2=second)
    assert score.value == value
    found = score.details
    assert (found["graded"], found["best"], found["disagreement"]) == pytest.approx((graded, best, disagreement))
    assert kinds(asked) == ["rate_contexts_1", "rate_contexts_2"]
    assert (found["numerator"] / found["denominator"], score.usage.prompts) == (value, 2)


@pytest.mark.parametrize(("relevant_from", "value"), [(0.5, 1.0), (1.0, 0.5), (1.5, 0.5), (2, 0.0)])
def test_from_which_mean_a_chunk_is_relevant(relevant_from: float, value: float) -> None:
    score, _ = played(ContextRelevancy(relevant_from), sample(), rate_contexts_1=[2, 1], rate_contexts_2=[1, 0])
    assert score.value == value


@pytest.mark.parametrize("relevant_from", [0, -1, 2.1])
def test_a_threshold_outside_the_scale_is_refused(relevant_from: float) -> None:
    with pytest.raises(ConfigError, match="relevant_from"):
        ContextRelevancy(relevant_from)


def test_a_repeated_chunk_is_rated_once_and_counts_as_often_as_it_occurs() -> None:
    score, asked = played(METRIC, sample(contexts=["good", "bad", "Good"]), rate_contexts_1=[2, 0], rate_contexts_2=[2, 0])
    assert (score.value, score.flags) == (2 / 3, ("DUPLICATE_IDS",))
    assert asked[0].contexts == asked[1].contexts == ((1, "good"), (2, "bad"))


def test_a_blank_chunk_counts_0_unrated() -> None:
    score, asked = played(METRIC, sample(contexts=[" ", "good"]), rate_contexts_1=[0, 2], rate_contexts_2=[0, 2])
    assert (score.value, score.details["graded"], score.flags) == (0.5, 0.5, ("BLANK_CHUNKS",))
    assert asked[0].contexts == ((2, "good"),)


def test_a_chunk_that_repeats_the_question_counts_0_unrated() -> None:
    contexts = ["What does  it cost?", "What does it cost? 90 euros."]
    score, asked = played(METRIC, sample(contexts=contexts), rate_contexts_1=[0, 2], rate_contexts_2=[0, 2])
    assert (score.value, score.details["graded"]) == (0.5, 0.5)
    assert asked[0].contexts == ((2, contexts[1]),)  # what merely holds the question is rated
    score, asked = played(METRIC, sample(contexts=contexts[:1]))
    assert (score.value, score.details["best"], asked) == (0.0, 0.0, [])


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"contexts": None}, "NO_CONTEXT"),
        ({"contexts": []}, "NO_CONTEXT"),
        ({"contexts": ["", None]}, "NO_CONTEXT"),
        ({"question": None}, "NO_QUESTION"),
        ({"question": "\n"}, "NO_QUESTION"),
    ],
)
def test_skipped_without_a_prompt(fields: dict[str, Any], code: str) -> None:
    score, asked = played(METRIC, sample(**fields))
    assert (score.value, score.status, score.code, asked) == (None, "skipped", code, [])


def test_one_rating_stands_alone_where_the_other_failed() -> None:
    score, _ = played(METRIC, sample(), rate_contexts_1=LATE, rate_contexts_2=[2, 0])
    assert (score.value, score.flags) == (0.5, ("SINGLE_JUDGE",))
    assert [chunk["ratings"] for chunk in score.details["chunks"]] == [[None, 2], [None, 0]]
    assert score.details["disagreement"] is None


def test_a_rating_outside_the_scale_is_none() -> None:
    score, _ = played(METRIC, sample(), rate_contexts_1=[7, 1], rate_contexts_2=[0, 1])
    assert (score.value, score.flags) == (0.5, ("SINGLE_JUDGE",))
    assert [chunk["mean"] for chunk in score.details["chunks"]] == [0, 1]
    score, _ = played(METRIC, sample(), rate_contexts_1=[7, 1], rate_contexts_2=[7, 1])
    assert (score.value, score.code) == (None, "JUDGE_OUT_OF_RANGE")
    assert [chunk["mean"] for chunk in score.details["chunks"]] == [None, 1]


def test_no_number_where_a_chunk_has_no_rating_at_all() -> None:
    score, _ = played(METRIC, sample(), rate_contexts_1=[None, 1], rate_contexts_2=LATE)
    assert (score.value, score.status, score.code) == (None, "failed", "JUDGE_COUNT_MISMATCH")


def test_ten_chunks_a_prompt_or_one_where_isolated() -> None:
    ratings = [2] * 3 + [0] * 9
    together, asked = played(METRIC, sample(12), rate_contexts_1=ratings, rate_contexts_2=ratings)
    assert [(prompt.kind[-1], len(prompt.contexts)) for prompt in asked] == [("1", 10), ("1", 2), ("2", 10), ("2", 2)]
    alone, asked_alone = played(ContextRelevancy(isolated=True), sample(12), rate_contexts_1=ratings, rate_contexts_2=ratings)
    assert [len(prompt.contexts) for prompt in asked_alone] == [1] * 24
    assert together.value == alone.value == 0.25


def test_a_failed_part_leaves_the_ratings_of_the_others() -> None:
    def rate(prompt: Any) -> Any:
        return LATE if prompt.contexts[0][0] == 1 else [None] * 10 + [1, 0]

    score, _ = played(METRIC, sample(12), rate_contexts_1=rate, rate_contexts_2=[1] * 12)
    assert [chunk["ratings"] for chunk in score.details["chunks"]][9:] == [[None, 1], [1, 1], [0, 1]]
    assert (score.value, score.flags) == (11 / 12, ("SINGLE_JUDGE",))


def test_a_chunk_fails_alone_where_isolated() -> None:
    def rate(prompt: Any) -> Any:
        return LATE if prompt.contexts[0][0] == 1 else [0, 1]

    score, _ = played(ContextRelevancy(isolated=True), sample(), rate_contexts_1=rate, rate_contexts_2=[2, 0])
    assert [chunk["ratings"] for chunk in score.details["chunks"]] == [[None, 2], [1, 0]]
    assert (score.value, score.flags) == (0.5, ("SINGLE_JUDGE",))


def test_the_best_piece_of_a_long_chunk_rates_it() -> None:
    contexts = ["short", "filler " * 1500 + "the price"]
    score, _ = played(
        METRIC,
        sample(contexts=contexts),
        token_limit=1500,
        rate_contexts_1=lambda prompt: [1, 2 if "price" in prompt.contexts[-1][1] else 0],
        rate_contexts_2=[1, 0],
    )
    assert [chunk["ratings"] for chunk in score.details["chunks"]] == [[1, 1], [2, 0]]
    assert (score.value, score.flags) == (1.0, ("CONTEXT_SPLIT",))
