"""What characters and common words tell of a text: its language, its script, its sentences."""

from __future__ import annotations

import pytest

from rageval_spark.prompts.language import language_name, normalised, prompt_language, script, sentences, word_tokens
from rageval_spark.prompts.rendering import Rendering


@pytest.mark.parametrize(
    ("text", "worded_in", "named", "written_in"),
    [
        ("What is the capital of France?", "en", "English", "Latin"),
        ("Wie hoch ist der Turm?", "en", "German", "Latin"),
        ("Quelle est la capitale de la France ?", "en", "French", "Latin"),
        ("¿Cuál es la capital de España?", "en", "Spanish", "Latin"),
        ("法国的首都是哪里？", "zh", "Chinese", "Han"),
        ("iPhone 15 的价格是多少？", "zh", "Chinese", "Han"),
        ("首都はどこですか？", "en", "Japanese", "Kana"),
        ("수도는 어디입니까?", "en", "Korean", "Hangul"),
        ("เมืองหลวงคือที่ไหน", "en", "Thai", "Thai"),
        ("ما هي عاصمة فرنسا؟", "en", "Arabic", "Arabic"),
        ("Какая столица Франции?", "en", "Russian", "Russian"),
        ("Яка столиця Франції?", "en", None, "Russian"),
        ("پایتخت فرانسه کجاست؟", "en", None, "Arabic"),
        ("Explain 人工智能 in one short sentence, please", "en", None, "Latin"),
        ("DNS TTL", "en", None, "Latin"),
        ("🦊 42", "en", None, "Latin"),
        ("", "en", None, "Latin"),
    ],
)
def test_what_a_text_tells_of_its_language(text: str, worded_in: str, named: str | None, written_in: str) -> None:
    assert (prompt_language(text), language_name(text), script(text)) == (worded_in, named, written_in)


def test_the_first_text_that_is_not_blank_chooses_the_language() -> None:
    assert Rendering("m").language_of("法国的首都是哪里？", "Paris") == "zh"
    assert Rendering("m").language_of("Where?", "巴黎是首都。") == "en"
    assert Rendering("m").language_of(None, " ", "巴黎是首都。") == "zh"
    assert Rendering("m").language_of(None) == "en"
    assert Rendering("m", "en").language_of("法国的首都是哪里？") == "en"
    assert Rendering("m", "zh").language_of("Where?") == "zh"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It costs 3.5 euros. See example.com for v1.2.", ["It costs 3.5 euros.", "See example.com for v1.2."]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("蓝藻在七月大量繁殖。湖水变绿！", ["蓝藻在七月大量繁殖。", "湖水变绿！"]),
        ("هل هذا صحيح؟ نعم.", ["هل هذا صحيح؟", "نعم."]),
        ("यह सही है। हाँ।", ["यह सही है।", "हाँ।"]),
        ("one line\nanother line", ["one line", "another line"]),
        ("... !!! \n", []),
        ("", []),
    ],
)
def test_where_sentences_end(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.parametrize(
    ("text", "count"),
    [("It's 3.5 km", 3), ("state-of-the-art", 1), ("北京很大", 4), ("ไทย", 3), ("iPhone 15 价格", 4), ("!?", 0)],
)
def test_words_and_characters_are_counted(text: str, count: int) -> None:
    assert len(word_tokens(text)) == count


def test_texts_that_are_equal_but_for_their_form() -> None:
    assert normalised(" Ｐaris\n\tIS  big ") == normalised("paris is big")
    assert normalised("STRASSE") == normalised("straße")
    assert normalised("paris") != normalised("paris!")
