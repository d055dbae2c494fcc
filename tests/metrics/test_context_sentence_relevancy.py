"""Context sentence relevancy, worked out by hand: helpful sentences of all sentences."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.metrics.context_sentence_relevancy import ContextSentenceRelevancy
from tests.playing import kinds, played

METRIC = ContextSentenceRelevancy()


def sample(*contexts: str | None) -> dict[str, Any]:
    return {"question": "When is it closed?", "contexts": list(contexts)}


@pytest.mark.parametrize(
    ("contexts", "verdicts", "value"),
    [
        (["On Mondays."], [1], 1.0),
        (["On Mondays. It shows glass."], [1, 0], 0.5),
        (["One. Two.", "Three. Four."], [0, 0, 0, 1], 0.25),
        (["博物馆周一闭馆。展出玻璃。"], [1, 0], 0.5),
        (["On Mondays.", "On mondays."], [1], 0.5),  # what stands there twice helps once
        (["On Mondays.", ""], [1], 1.0),
        (["***"], [0], 0.0),  # no words: still something to read
    ],
)
def test_share_of_helpful_sentences(contexts: list[str], verdicts: list[int], value: float) -> None:
    score, asked = played(METRIC, sample(*contexts), judge_sentences=verdicts)
    assert score.value == value
    assert (kinds(asked), score.usage.prompts) == (["judge_sentences"], 1)


def test_one_prompt_per_twenty_sentences() -> None:
    score, asked = played(METRIC, sample(*(f"Sentence {i}." for i in range(45))), judge_sentences=[1] * 45)
    assert (score.value, len(asked)) == (1.0, 3)


@pytest.mark.parametrize(
    ("row", "code"),
    [(sample(), "NO_CONTEXT"), (sample("", None), "NO_CONTEXT"), ({**sample("a"), "question": None}, "NO_QUESTION")],
)
def test_skipped(row: dict[str, Any], code: str) -> None:
    score, asked = played(METRIC, row)
    assert (score.code, asked) == (code, [])


def test_a_missing_verdict_is_no_number() -> None:
    score, _ = played(METRIC, sample("One. Two."), judge_sentences=[1, None])
    assert (score.value, score.code) == (None, "JUDGE_COUNT_MISMATCH")


def test_blank_chunks_are_nothing_to_read_and_repeated_ones_are_flagged() -> None:
    score, asked = played(METRIC, sample("On Mondays.", " ", "on mondays."), judge_sentences=[1])
    assert (score.value, score.flags) == (0.5, ("DUPLICATE_IDS", "BLANK_CHUNKS"))
    assert asked[0].sentences == ((1, "On Mondays."),)
