"""ROUGE, worked out by hand and against rouge-score."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from rageval_spark.measures.lexical import stem, words
from rageval_spark.metrics.rouge import Rouge
from tests.metrics.wording import anything, compared, english

STEMS = ("pay", "play", "refund", "die", "tie", "sky", "fl", "cr", "agree", "log", "hope", "happ", "enjoy", "rel", "new",
         "inning", "exceed")
SUFFIXES = ("", "s", "es", "ies", "ied", "ing", "ed", "y", "ly", "fully", "ically", "ation", "ational", "ness", "ment", "ying",
            "eed", "er")
english_words = st.lists(st.builds(str.__add__, st.sampled_from(STEMS), st.sampled_from(SUFFIXES)), min_size=1, max_size=12).map(
    lambda words: " ".join(["the", *words]))
TYPES: tuple[Any, ...] = ("rouge1", "rouge2", "rougeL", "rougeLsum")


@pytest.mark.parametrize(
    ("response", "reference", "values"),
    [
        ("the cat sat", "the cat sat", (1, 1, 1, 1)),
        ("The cat sat!", "the, cat; sat", (1, 1, 1, 1)),
        ("sat cat the", "the cat sat", (1, 0, 1 / 3, 1 / 3)),
        ("the cat", "the cat sat on", (2 / 3, 1 / 2, 2 / 3, 2 / 3)),
        ("the the the", "the cat", (2 / 5, 0, 2 / 5, 2 / 5)),
        ("blue owl\nred fox", "red fox\nblue owl", (1, 2 / 3, 1 / 2, 1)),
        ("red fox blue owl", "red fox\nblue owl", (1, 1, 1, 1)),
        ("w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5", (8 / 15, 2 / 13, 8 / 15, 8 / 15)),
        ("dogs", "cats run", (0, 0, 0, 0)),
        ("Paris", "Paris", (1, None, 1, 1)),
        ("Paris in France", "Paris", (1 / 2, None, 1 / 2, 1 / 2)),
        ("Paris", "Paris in France", (1 / 2, 0, 1 / 2, 1 / 2)),
        ("!!!", "!!!", (None, None, None, None)),
        ("", "!!!", (None, None, None, None)),
        ("", "Paris", (0, None, 0, 0)),
        ("สวัสดี", "สวัสดี", (1, 1, 1, 1)),
        ("湖水变绿", "湖水变蓝", (3 / 4, 2 / 3, 3 / 4, 3 / 4)),
    ],
)
def test_rouge(response: str, reference: str, values: tuple[float | None, ...]) -> None:
    for type, value in zip(TYPES, values, strict=True):
        score = compared(Rouge(type), response, reference)
        assert score.value == (None if value is None else pytest.approx(value, abs=1e-12)), type
        assert score.code == ("NO_NGRAMS" if value is None else None)


@settings(max_examples=300, deadline=None)
@given(english, st.lists(english.filter(lambda text: len(words(text)) > 1), min_size=1, max_size=3))
def test_it_is_that_of_rouge_score(response: str, references: list[str]) -> None:
    expected = RougeScorer(TYPES).score_multi(references, response)
    for type in TYPES:
        score = compared(Rouge(type), response, references)
        assert score.value == pytest.approx(expected[type].fmeasure, abs=1e-9)
        one = compared(Rouge(type), response, references[0])
        alone = RougeScorer([type]).score(references[0], response)[type]
        assert (one.details["precision"] or 0.0) == pytest.approx(alone.precision, abs=1e-9)
        assert one.details["recall"] == pytest.approx(alone.recall, abs=1e-9)


class Stems:
    def tokenize(self, text: str) -> list[str]:
        return [stem(word) for word in words(text)]


class Words:
    def tokenize(self, text: str) -> list[str]:
        return words(text)


@settings(max_examples=150, deadline=None)
@given(anything, anything.filter(lambda text: len(words(text)) > 1))
def test_it_is_that_of_rouge_score_with_words_of_any_script(response: str, reference: str) -> None:
    expected = RougeScorer(TYPES, tokenizer=Words()).score(reference, response)
    for type in TYPES:
        assert compared(Rouge(type), response, reference).value == pytest.approx(expected[type].fmeasure, abs=1e-9)


def test_stems_are_for_english_only() -> None:
    assert compared(Rouge("rouge1"), "He refunds it to the cats", "He refunded it to the cat").value == 4 / 6
    assert compared(Rouge("rouge1", stem=True), "He refunds it to the cats", "He refunded it to the cat").value == 1.0
    german = "Die Katzen mit der Größe", "Die Katze mit der Größe"
    assert compared(Rouge("rouge1", stem=True), *german).value == compared(Rouge("rouge1"), *german).value == 4 / 5
    expected = RougeScorer(["rougeL"], tokenizer=Stems()).score("the paying cats were paid", "cats are paying and paid")
    score = compared(Rouge(stem=True), "cats are paying and paid", "the paying cats were paid")
    assert score.value == pytest.approx(expected["rougeL"].fmeasure, abs=1e-9)


def test_a_reference_that_is_too_short_is_left_out() -> None:
    score = compared(Rouge("rouge2"), "the cat sat", ["cat", "", "the cat ran"])
    assert score.details == {"precision": 1 / 2, "recall": 1 / 2, "matched": 1, "in_response": 2, "in_reference": 2,
                             "reference": 3}


@settings(max_examples=300, deadline=None)
@given(english_words, english_words)
def test_stemmed_it_is_that_of_rouge_score(response: str, reference: str) -> None:
    expected = RougeScorer(TYPES, use_stemmer=True).score(reference, response)
    for type in TYPES:
        value = compared(Rouge(type, stem=True), response, reference).value
        assert value is None or value == pytest.approx(expected[type].fmeasure, abs=1e-9)
