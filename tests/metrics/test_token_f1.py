"""Token F1, worked out by hand and against SQuAD's own rule."""

from __future__ import annotations

import re
import string
from collections import Counter

import pytest
from hypothesis import given, settings

from rageval_spark.metrics.token_f1 import TokenF1
from tests.metrics.wording import compared, english

METRIC = TokenF1()


def squad_normalised(text: str) -> str:
    """As SQuAD's script has it, for ASCII."""
    text = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def squad_f1(response: str, reference: str) -> float:
    a, b = squad_normalised(response).split(), squad_normalised(reference).split()
    same = sum((Counter(a) & Counter(b)).values())
    if not a or not b:
        return float(a == b)
    return 2 * (same / len(a)) * (same / len(b)) / (same / len(a) + same / len(b)) if same else 0.0


@pytest.mark.parametrize(
    ("response", "reference", "value"),
    [
        ("Paris", "Paris", 1.0),
        ("The Paris!", "paris", 1.0),
        ("in Paris", "Paris", 2 / 3),
        ("Paris is big", "big Paris is", 1.0),
        ("Paris Paris", "Paris", 2 / 3),
        ("Paris Paris Rome", "Paris Paris Lyon Lyon", 2 * 2 / 7),
        ("Lyon", "Paris", 0.0),
        ("湖水变绿。", "湖水变蓝", 3 / 4),
        ("สวัสดี", "สวัสดี", 1.0),
        ("Die Größe", "die GRÖSSE", 1.0),
        ("", "", 1.0),
        ("The", "a!", 1.0),
        ("!!!", "!!!", 1.0),
        ("", "Paris", 0.0),
        ("the", "Paris", 0.0),
        ("Paris", "", 0.0),
        ("Paris", "?", 0.0),
    ],
)
def test_token_f1(response: str, reference: str, value: float) -> None:
    assert compared(METRIC, response, reference).value == pytest.approx(value, abs=1e-12)


@settings(max_examples=300, deadline=None)
@given(english, english)
def test_it_is_that_of_squad(response: str, reference: str) -> None:
    gold = [text for text in (reference, "paris is") if text.strip()]
    score = compared(METRIC, response, [reference, "paris is"])
    assert score.value == pytest.approx(max(squad_f1(response, text) for text in gold), abs=1e-9)


def test_the_details_are_enough_to_recompute_it() -> None:
    score = compared(METRIC, "in Paris, France", ["Rome", "Paris"])
    assert score.details == {"precision": 1 / 3, "recall": 1.0, "matched": 1, "in_response": 3, "in_reference": 1, "reference": 2}
    assert score.reason == "1 shared, of 3 in the response and 1 in the reference"
