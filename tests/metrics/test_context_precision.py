"""Context precision, worked out by hand: average precision over the ranks of the useful chunks."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.context_precision import ContextPrecision
from rageval_spark.prompts.steps import average_precision
from tests.playing import kinds, played

METRIC = ContextPrecision()


def sample(n: int = 4, **fields: Any) -> dict[str, Any]:
    return {
        "question": "Who built it?",
        "contexts": [f"chunk {i}" for i in range(1, n + 1)],
        "reference": "Dorman Long.",
        **fields,
    }


@pytest.mark.parametrize(
    ("verdicts", "value", "flat"),
    [
        ([1], 1.0, 1.0),
        ([0], 0.0, 0.0),
        ([1, 1, 1], 1.0, 1.0),
        ([0, 1], 0.5, 0.5),
        ([1, 0, 1], 5 / 6, 2 / 3),
        ([1, 0, 0, 0], 1.0, 0.25),
        ([0, 0, 0, 1], 0.25, 0.25),
        ([0, 0, 0], 0.0, 0.0),
        ([0, 1, 1], (1 / 2 + 2 / 3) / 2, 2 / 3),
        (["true", "no", "1"], 5 / 6, 2 / 3),
    ],
)
def test_average_precision(verdicts: list[Any], value: float, flat: float) -> None:
    score, asked = played(METRIC, sample(len(verdicts)), judge_usefulness=verdicts)
    assert score.value == pytest.approx(value, abs=1e-12)
    if value in (0.0, 0.5, 1.0):
        assert score.value == value  # exactly: no epsilon
    assert (score.details["flat"], kinds(asked)) == (flat, ["judge_usefulness"])
    assert score.value == average_precision([bool(chunk["verdict"]) for chunk in score.details["chunks"]])


@pytest.mark.parametrize("n", range(1, 40))
def test_all_useful_is_exactly_1(n: int) -> None:
    assert average_precision([True] * n) == 1.0


def test_a_repeated_chunk_keeps_its_rank_and_counts_0() -> None:
    score, asked = played(METRIC, sample(contexts=["same", "Same ", "other"]), judge_usefulness=[1, 1, 1])
    assert score.value == pytest.approx((1 + 2 / 3) / 2)
    assert (score.flags, score.details["flat"]) == (("DUPLICATE_IDS",), 2 / 3)
    assert asked[0].contexts == ((1, "same"), (3, "other"))


def test_a_blank_chunk_keeps_its_rank_and_counts_0() -> None:
    score, asked = played(METRIC, sample(contexts=["", "good", None]), judge_usefulness=[0, 1, 0])
    assert (score.value, score.flags, score.details["denominator"]) == (0.5, ("BLANK_CHUNKS",), 3)
    assert asked[0].contexts == ((2, "good"),)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"contexts": None}, "NO_CONTEXT"),
        ({"contexts": []}, "NO_CONTEXT"),
        ({"contexts": ["", None]}, "NO_CONTEXT"),
        ({"reference": None, "response": "never taken for the reference"}, "NO_REFERENCE"),
        ({"reference": ["", " "]}, "NO_REFERENCE"),
        ({"question": None}, "NO_QUESTION"),
        ({"question": " "}, "NO_QUESTION"),
    ],
)
def test_skipped_without_a_prompt(fields: dict[str, Any], code: str) -> None:
    score, asked = played(METRIC, sample(**fields))
    assert (score.value, score.status, score.code, asked) == (None, "skipped", code, [])


def test_what_is_put_to_the_judge() -> None:
    _, [prompt] = played(METRIC, sample(2, reference=["One.", "Two."], history=["earlier"]), judge_usefulness=[1, 0])
    assert (prompt.question, prompt.reference, prompt.response) == ("Who built it?", "One.\nTwo.", None)
    assert prompt.history == (("", "earlier"),)


def test_ten_chunks_a_prompt_or_one_where_isolated() -> None:
    verdicts = [1] + [0] * 11
    together, asked = played(METRIC, sample(12), judge_usefulness=verdicts)
    assert [len(prompt.contexts) for prompt in asked] == [10, 2]
    alone, asked_alone = played(ContextPrecision(isolated=True), sample(12), judge_usefulness=verdicts)
    assert [len(prompt.contexts) for prompt in asked_alone] == [1] * 12
    assert together.value == alone.value == 1.0
    assert (together.usage.prompts, alone.usage.prompts) == (2, 12)


@pytest.mark.parametrize("isolated", [False, True])
def test_a_missing_verdict_is_no_number_and_the_others_are_kept(isolated: bool) -> None:
    verdicts = [0, 1, None, 0] + [1] * 8
    score, _ = played(ContextPrecision(isolated=isolated), sample(12), judge_usefulness=verdicts)
    assert (score.value, score.code) == (None, "JUDGE_COUNT_MISMATCH")
    assert [chunk["verdict"] for chunk in score.details["chunks"]] == verdicts


def test_a_piece_of_a_long_chunk_speaks_for_it() -> None:
    contexts = ["short", "filler " * 1500 + "the builder"]
    score, asked = played(
        METRIC,
        sample(contexts=contexts),
        token_limit=1500,
        judge_usefulness=lambda prompt: [0, int("builder" in prompt.contexts[-1][1])],
    )
    assert len(asked) > 3
    assert (score.value, score.flags) == (0.5, ("CONTEXT_SPLIT",))
