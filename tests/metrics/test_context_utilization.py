"""Context utilization, worked out by hand: average precision over the chunks of use to the response."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.context_utilization import ContextUtilization
from tests.playing import kinds, played

METRIC = ContextUtilization()
SAMPLE = {"question": "Who built it?", "answer": "Dorman Long.", "contexts": ["a", "b", "c"]}
ANSWERS: dict[str, Any] = {"detect_refusal": {"refused": 0}, "judge_usefulness": [1, 0, 1]}


def test_average_precision_of_the_chunks_of_use() -> None:
    score, asked = played(METRIC, SAMPLE, **ANSWERS)
    assert score.value == pytest.approx(5 / 6)
    assert score.details["flat"] == 2 / 3
    assert kinds(asked) == ["detect_refusal", "judge_usefulness"]
    assert (asked[1].response, asked[1].reference) == ("Dorman Long.", None)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"answer": None}, "NO_ANSWER"),
        ({"answer": " "}, "NO_ANSWER"),
        ({"contexts": None}, "NO_CONTEXT"),
        ({"contexts": ["", None]}, "NO_CONTEXT"),
        ({"question": ""}, "NO_QUESTION"),
    ],
)
def test_without_what_it_needs_nothing_is_asked(fields: dict[str, Any], code: str) -> None:
    score, asked = played(METRIC, {**SAMPLE, **fields}, **ANSWERS)
    assert (score.status, score.code, asked) == ("skipped", code, [])


def test_a_response_that_declines_uses_nothing() -> None:
    score, asked = played(METRIC, SAMPLE, detect_refusal={"refused": 1})
    assert (score.code, score.flags, kinds(asked)) == ("NO_CLAIMS", ("REFUSAL",), ["detect_refusal"])


def test_a_missing_verdict_would_shift_the_ranks() -> None:
    score, _ = played(METRIC, SAMPLE, **{**ANSWERS, "judge_usefulness": [1, None, 1]})
    assert (score.value, score.code) == (None, "JUDGE_COUNT_MISMATCH")


def test_a_repeated_chunk_keeps_its_rank_and_counts_0() -> None:
    score, asked = played(METRIC, {**SAMPLE, "contexts": ["same", "Same", " ", "other"]}, detect_refusal={"refused": 0},
                          judge_usefulness=[1, 1, 1, 1])
    assert (score.value, score.flags) == ((1 + 2 / 4) / 2, ("DUPLICATE_IDS", "BLANK_CHUNKS"))
    assert asked[1].contexts == ((1, "same"), (4, "other"))


def test_ten_chunks_a_prompt_or_one_where_isolated() -> None:
    row = {**SAMPLE, "contexts": [f"chunk {i}" for i in range(12)]}
    for isolated, prompts in ((False, 3), (True, 13)):
        score, asked = played(ContextUtilization(isolated=isolated), row, detect_refusal={"refused": 0},
                              judge_usefulness=[1] * 12)
        assert (score.value, len(asked)) == (1.0, prompts)
