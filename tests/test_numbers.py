"""Numbers and signs in compared texts: equal by value, whatever the script or language, and never without their sign."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_spark.measures.lexical import squad
from rageval_spark.measures.numbers import numbers_of
from rageval_spark.metrics.exact_match import ExactMatch
from rageval_spark.metrics.token_f1 import TokenF1
from rageval_spark.prompts.language import normalised, same_answer
from tests.metrics.wording import compared

SAME = [
    ("1.0", "1"), ("1.10", "1.1"), (".5", "0.5"), ("5.", "5"), ("+5", "5"), ("1,200", "1200"), ("1,234.50", "1234.5"),
    ("1.234,50", "1234.5"), ("1,234,567", "1234567"), ("1.234.567", "1234567"), ("12,34,567", "1234567"),
    ("1,00,000", "100000"),
    ("1'200", "1200"), ("1’200", "1200"), ("1\u202f200", "1200"), ("1\u00a0200", "1200"), ("3,5", "3.5"), ("0,5", "0.5"),
    ("٣٫٥", "3.5"), ("١٬٢٠٠", "1200"), ("३.५", "3.5"), ("５０", "50"), ("٥٠٪", "50%"), ("−5", "-5"), ("50 %", "50%"),
    ("½", "1/2"),
    ("3–5", "3-5"), ("1e5", "100000"), ("$1,200.00", "$1200"), ("(5)", "5"), ("10²", "10^2"), ("10⁻⁵", "10^-5"), ("H₂O", "H2O"),
    ("covid-19", "covid19"),
    ("5-year plan", "5year plan"), ("U.S.", "US"),
    ("Paris\u200b", "Paris"), ("Pa\u00adris", "Paris"), ("\ufeffParis", "Paris"),
    ("\u200ePa\u200fris", "Paris"), ("Paris\u00a0", "Paris"), ("Par\u2060is", "Paris"),
]  # fmt: skip
DIFFERENT = [
    ("3.14", "314"), ("10", "1.0"), ("-5", "5"), ("−5", "5"), ("50%", "50"), ("5‰", "5%"), ("C#", "C"), ("C++", "C"),
    ("F#", "F"),
    ("10/12", "1012"), ("10:30", "1030"), ("2024-01-05", "20240105"), ("3-5", "35"), ("$5", "€5"),
    ("$5", "5"), ("-$5", "$5"),
    ("007", "7"), ("10²", "102"), ("10⁻³", "103"), ("10^-5", "10^5"), ("1½", "11/2"), ("½", "12"), ("v1.2.3", "v123"),
    ("192.168.1.1", "19216811"),
    ("A-", "A"), ("A+", "A"), ("O-", "O+"), ("±5", "5"), ("5 °C", "5"), ("1,2,3", "123"), ("1.5x", "15x"),
    ("价格3.5元", "价格35元"),
    ("The answer is -5.", "The answer is 5."), (".5", "5"), ("1 200", "1200"), ("2^10", "210"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), SAME)
def test_texts_of_equal_value(a: str, b: str) -> None:
    assert compared(TokenF1(), a, b).value == compared(ExactMatch(squad=True), a, b).value == 1.0


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_texts_that_differ_by_a_sign(a: str, b: str) -> None:
    assert compared(ExactMatch(squad=True), a, b).value == compared(ExactMatch(squad=True), b, a).value == 0.0
    assert compared(TokenF1(), a, b).value < 1.0  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "others", "plain"),
    [
        ("Der Preis ist 1.200 Euro.", (), "der preis ist 1200 euro"),
        ("The price is 1.200 euros.", (), "price is 1.2 euros"),
        ("Der Preis ist 1,200 Euro.", (), "der preis ist 1.2 euro"),
        ("Le prix est de 1 200 euros et 3,5 pour cent.", (), "le prix est de 1200 euros et 3.5 pour cent"),
        ("The price was 1 200 euros.", (), "price was 1 200 euros"),
        ("1.200", ("Wie hoch ist der Preis?",), "1200"),
        ("1.200", ("What is the price of the car?",), "1.2"),
        ("1.200", (), "1.2"),
    ],
)
def test_separators_are_read_by_the_language(text: str, others: tuple[str, ...], plain: str) -> None:
    assert squad(text, *others) == plain


def test_the_question_says_how_a_bare_number_is_written() -> None:
    german = {"user_input": "Wie viele Teile hat das Lager in der Stadt?"}
    assert compared(TokenF1(), "1.200", "1200", **german).value == 1.0
    assert compared(TokenF1(), "1.200", "1200").value == 0.0


@given(st.decimals(-10**9, 10**9, places=3, allow_nan=False))
def test_every_number_is_read_as_it_was_written(value: Decimal) -> None:
    [english] = numbers_of(f"{value:,f}", "en")
    [german] = numbers_of(f"{value:,f}".translate(str.maketrans(",.", ".,")), "de")
    assert Decimal(english) == Decimal(german) == value


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("5 MW", "5 mW", False), ("5MW", "5mW", False), ("5 Mb", "5 MB", False), ("10²", "102", False), ("US", "us", False),
        ("MW", "mW", False), ("pH", "PH", False), ("5 K", "5 k", False), ("Paris", "paris", True), ("PARIS", "Paris", True),
        ("Paris\u200b", "Paris", True), ("½", "1/2", True), ("x²", "x2", False), ("CO₂", "CO2", True),
        ("Größe", "GRÖSSE", True), ("in MAY 1932.", "in May 1932.", True),
    ],
)  # fmt: skip
def test_what_is_the_same_answer_without_a_judge(a: str, b: str, same: bool) -> None:
    assert same_answer(a, b) is same_answer(b, a) is same


def test_chunks_that_differ_by_a_unit_or_a_power_are_two() -> None:
    assert normalised("The plant has 5 MW.") != normalised("The plant has 5 mW.")
    assert normalised("It holds 10² cells.") != normalised("It holds 102 cells.")
    assert normalised("It holds 10 Cells\u200b.") == normalised("it holds  10 Cells.")
