"""Exact match, worked out by hand and against SQuAD's own rule."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from rageval_spark.metrics.exact_match import ExactMatch
from tests.metrics.test_token_f1 import squad_normalised
from tests.metrics.wording import compared, english


@pytest.mark.parametrize(
    ("response", "reference", "exact", "as_squad"),
    [
        ("Paris", "Paris", 1, 1),
        (" Paris\n", "Paris", 1, 1),
        ("Ｐａｒｉｓ", "Paris", 1, 1),
        ("u\u0308ber", "über", 1, 1),
        ("paris", "Paris", 0, 1),
        ("The Paris!", "paris", 0, 1),
        ("“Paris”。", "Paris", 0, 1),
        ("PARIS  in the spring", "Paris in spring", 0, 1),
        ("STRASSE", "Straße", 0, 1),
        ("Paris, France", "Paris", 0, 0),
        ("$5", "5", 0, 0),
        ("5.5", "55", 0, 0),
        ("北京。", "北京", 0, 1),
        ("!!!", "!!!", 1, 1),
        ("The", "a", 0, 1),
        ("", "", 1, 1),
        (" ", "", 1, 1),
        ("", "Paris", 0, 0),
        ("Paris", "", 0, 0),
    ],
)
def test_exact_match(response: str, reference: str, exact: int, as_squad: int) -> None:
    assert compared(ExactMatch(), response, reference).value == exact
    assert compared(ExactMatch(squad=True), response, reference).value == as_squad


@settings(max_examples=200, deadline=None)
@given(english, english)
def test_it_is_that_of_squad(response: str, reference: str) -> None:
    score = compared(ExactMatch(squad=True), response, [reference, "the refund"])
    gold = [text for text in (reference, "the refund") if text.strip()]
    assert score.value == max(squad_normalised(response) == squad_normalised(text) for text in gold)


def test_the_details_say_which_reference() -> None:
    score = compared(ExactMatch(), "Lyon", ["Paris", "", "Lyon"])
    assert (score.details, score.reason) == ({"reference": 3, "references": 2}, "equal to the reference")
    assert compared(ExactMatch(), "Rome", ["Paris", "Lyon"]).details == {"reference": None, "references": 2}
    assert ExactMatch.binary
