"""Numbers that are equal however they are written, and numbers that are not."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_spark.measures.lexical import squad
from rageval_spark.metrics.answer_accuracy import AnswerAccuracy
from rageval_spark.metrics.answer_similarity import AnswerSimilarity
from rageval_spark.metrics.exact_match import ExactMatch
from rageval_spark.metrics.token_f1 import TokenF1
from rageval_spark.prompts.language import normalised
from rageval_spark.prompts.numbers import compatible, unify_numbers
from tests.metrics.wording import compared
from tests.playing import played


@pytest.mark.parametrize(
    ("text", "language", "unified"),
    [
        ("3.14", "en", "3.14"),
        ("3,14", "de", "3.14"),
        ("3,14", "en", "3.14"),
        (".5", "en", "0.5"),
        ("0.500", "de", "0.5"),
        ("1.200", "de", "1200"),
        ("1.200", "en", "1.2"),
        ("1.200", None, "1.2"),
        ("1,200", "en", "1200"),
        ("1,200", None, "1200"),
        ("1,200", "fr", "1.2"),
        ("1.234.567,89", "de", "1234567.89"),
        ("1,234,567.89", "en", "1234567.89"),
        ("1.000.000", "en", "1000000"),
        ("12,34,567", "hi", "1234567"),
        ("1'200.50", "de", "1200.5"),
        ("1’200", "de", "1200"),
        ("1 200 000 euros", "fr", "1200000 euros"),
        ("1\u202f200 euros", None, "1200 euros"),
        ("in 2026 300 left", "fr", "in 2026 300 left"),
        ("-5", "en", "-5"),
        ("\u22125 °C", "en", "-5 °C"),
        ("(-5)", "en", "(-5)"),
        ("covid-19", "en", "covid-19"),
        ("+5", "en", "5"),
        ("50%", "en", "50%"),
        ("50 %", "de", "50%"),
        ("5‰", "en", "5‰"),
        ("$5.50", "en", "$5.5"),
        ("-$5", "en", "-$5"),
        ("€1.200,00", "de", "€1200"),
        ("10/12", "en", "10/12"),
        ("10:30", "en", "10:30"),
        ("10.12.2026", "de", "10.12.2026"),
        ("2026-01-15", "en", "2026–01–15"),
        ("5–10", "en", "5–10"),
        ("5 - 10", "en", "5–10"),
        ("5 -3", "en", "5 -3"),
        ("v2.0.1", "en", "v2.0.1"),
        ("1,2,3", "en", "1,2,3"),
        ("007", "en", "007"),
        ("10²", "en", "10^2"),
        ("m²", "en", "m2"),
        ("5½", "en", "5 1/2"),
        ("३.५", "hi", "3.5"),
        ("٣٫٥", "ar", "3.5"),
        ("３．５", "ja", "3.5"),
        ("It is 5. Then 6, 7.", "en", "It is 5. Then 6, 7."),
        ("Paris\u200b", "en", "Paris"),
    ],
)
def test_each_number_is_written_in_one_way(text: str, language: str | None, unified: str) -> None:
    assert unify_numbers(compatible(text), language) == unified


@pytest.mark.parametrize(
    ("response", "reference", "value"),
    [
        ("3.14", "314", 0),
        ("10", "1.0", 0),
        ("-5", "5", 0),
        ("50%", "50", 0),
        ("C#", "C", 0),
        ("C++", "C", 0),
        ("10/12", "1012", 0),
        ("10²", "102", 0),
        ("5½", "51/2", 0),
        ("v2.0.1", "v201", 0),
        ("10:30", "1030", 0),
        ("2026-01-15", "20260115", 0),
        ("5-10", "510", 0),
        ("1.0", "1", 1),
        ("1,200", "1200", 1),
        ("50 %", "50%", 1),
        ("\u22125", "-5", 1),
        ("5–10", "5-10", 1),
        ("F#!", "f#", 1),
        ("Paris\u200b", "Paris", 1),
        ("co\u00adop", "coop", 1),
        ("\ufeffParis", "Paris", 1),
        ("٣٠", "30", 1),
        ("Der Preis ist 1.200 Euro", "der Preis ist 1200 Euro", 1),
        ("Le prix est de 1 200,50 euros", "le prix est de 1200.5 euros", 1),
        ("The price is 1.200 euros", "the price is 1200 euros", 0),
        ("#hashtag", "hashtag", 1),
        ("50%.", "50%", 1),
        ("It is 5.", "it is 5", 1),
    ],
)
def test_a_number_keeps_its_sign_its_point_and_its_per_cent(response: str, reference: str, value: int) -> None:
    assert compared(ExactMatch(squad=True), response, reference).value == value
    f1 = compared(TokenF1(), response, reference).value
    assert f1 == 1.0 if value else f1 is not None and f1 < 1.0


@pytest.mark.parametrize(
    ("response", "reference", "value"),
    [
        ("Paris\u200b", "Paris", 1),
        ("Paris\u00a0France", "Paris France", 1),
        ("\u200fParis\u200e", "Paris", 1),
        ("10²", "102", 0),
    ],
)
def test_characters_that_nobody_sees_do_not_count(response: str, reference: str, value: int) -> None:
    assert compared(ExactMatch(), response, reference).value == value


@pytest.mark.parametrize(
    ("response", "reference"),
    [("5 MW", "5 mW"), ("10²", "102"), ("5MB", "5mb"), ("3 kWh", "3 KWH"), ("2 Pa", "2 pa"), ("x⁻²", "x2")],
)
def test_texts_that_differ_in_a_unit_or_a_power_are_put_to_the_judge(response: str, reference: str) -> None:
    for metric in (AnswerAccuracy(), AnswerSimilarity()):
        sample = {"user_input": "How much?", "response": response, "reference": reference}
        _, asked = played(
            metric, sample, judge_accuracy={"reason": "another", "rating": 0}, embed=lambda prompt: np.ones(3, "f4")
        )
        assert asked


@pytest.mark.parametrize(
    ("a", "b"), [("Paris", "paris"), ("30 Days", "30 days"), ("It Is 5", "it is 5"), ("5\u200b MW", "5 MW")]
)
def test_texts_that_differ_in_case_alone_are_equal(a: str, b: str) -> None:
    assert normalised(a) == normalised(b)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30) | st.text(alphabet="0123456789.,'’ -–%/:½²$€aA\u200b\u00a0", max_size=30))
def test_a_compatible_text_stays_as_it_is(text: str) -> None:
    assert compatible(compatible(text)) == compatible(text)


@pytest.mark.parametrize("part", ["1,", "1 000 ", "-", "1.2.3,4", "½", "1", "1 ", "1-", "1 - ", "1'", "10²", "\u00a01"])
def test_a_long_text_takes_as_long_as_it_is(part: str) -> None:
    def seconds(size: int) -> float:
        began = time.process_time()
        squad(part * (size // len(part)), "fr")
        return time.process_time() - began

    assert min(seconds(80_000) for _ in range(2)) < 6 * max(seconds(20_000), 0.01)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 99))
def test_a_number_is_the_same_in_every_notation(whole: int, cents: int) -> None:
    english = f"{whole:,}.{cents:02}"
    german, french = (english.translate(str.maketrans(".,", marks)) for marks in (",.", ", "))
    unified = {unify_numbers(english, "en"), unify_numbers(german, "de"), unify_numbers(french, "fr")}
    assert len(unified) == 1
    assert float(unified.pop()) == float(f"{whole}.{cents:02}")
