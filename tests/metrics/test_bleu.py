"""BLEU, worked out by hand and against sacreBLEU."""

from __future__ import annotations

from collections import Counter
from math import exp

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_spark.metrics.bleu import Bleu, tokenizer
from tests.metrics.wording import SCRIPTS, compared, english

METRIC = Bleu()
solid = english.filter(lambda text: bool(text.strip()))


@pytest.mark.parametrize(
    ("response", "reference", "value"),
    [
        ("Paris", "Paris", 1.0),
        ("the cat sat", "the cat ran", (2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3)),
        ("the cat", "the cat sat on", exp(-1)),
        ("dogs", "cats run", 0.0),
        ("", "Paris", 0.0),
        ("A cat sat here today. Nobody knew why.", "A cat sat here today. It rained all day.",
         exp(1 - 11 / 10) * (7 / 10 * 5 / 9 * 4 / 8 * 3 / 7) ** (1 / 4)),
        ("It rained all day. A cat sat here today.", "A cat sat here today. It rained all day.",
         (11 / 11 * 9 / 10 * 7 / 9 * 5 / 8) ** (1 / 4)),
        ("สวัสดี", "สวัสดี", 1.0),
    ],
)
def test_bleu(response: str, reference: str, value: float) -> None:
    assert compared(METRIC, response, reference).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("n", range(1, 40))
def test_the_same_text_is_exactly_1(n: int) -> None:
    text = " ".join(f"w{i}" for i in range(n))
    assert compared(METRIC, text, text).value == 1.0


@settings(max_examples=200, deadline=None)
@given(english, st.lists(solid, min_size=1, max_size=3))
def test_it_is_that_of_sacrebleu(response: str, references: list[str]) -> None:
    score = compared(METRIC, response, references)
    expected = sacrebleu.sentence_bleu(response, references, use_effective_order=True, smooth_method="exp")
    assert score.value == pytest.approx(expected.score / 100, abs=1e-9)
    assert (score.details["matches"], score.details["totals"]) == (expected.counts, expected.totals)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(english, solid, solid), min_size=1, max_size=8))
def test_the_corpus_value_comes_from_sums(rows: list[tuple[str, str, str]]) -> None:
    sums: Counter[str] = Counter()
    for response, *references in rows:
        sums.update(dict(compared(METRIC, response, references).measures))
    responses, first, second = map(list, zip(*rows, strict=True))
    expected = sacrebleu.corpus_bleu(responses, [first, second]).score / 100
    found = METRIC.extra({name: float(sums[name]) for name in METRIC.measured})
    assert found == {"corpus_bleu": pytest.approx(expected, abs=1e-9)}


def test_without_a_score_there_is_no_corpus() -> None:
    assert METRIC.extra({}) == {}


def test_the_tokenizer_is_that_of_the_script() -> None:
    chosen = {language: tokenizer(text) for language, text in SCRIPTS.items()}
    assert chosen == {**dict.fromkeys(SCRIPTS, "13a"), "Chinese": "zh", "Japanese": "char", "Thai": "char", "Lao": "char",
                      "Khmer": "char"}  # fmt: skip
    assert tokenizer("iPhone 15 发布会将于下周举行") == "zh"
    assert tokenizer("The word 湖 means lake.") == "13a"


def test_one_character_of_a_chinese_text_is_not_all_of_it() -> None:
    score = compared(METRIC, "蓝藻在七月大量繁殖", "蓝藻在八月大量繁殖")
    expected = sacrebleu.sentence_bleu("蓝藻在七月大量繁殖", ["蓝藻在八月大量繁殖"], tokenize="zh", use_effective_order=True)
    assert score.value == pytest.approx(expected.score / 100, abs=1e-9)
    assert 0.3 < expected.score / 100 < 0.7
    assert "tok:zh" in score.details["signature"]


def test_the_details_are_enough_to_recompute_it() -> None:
    score = compared(METRIC, "the cat sat", ["the cat", "a cat ran off"])
    signature = score.details["signature"].split("|version:")[0]
    assert signature == "nrefs:2|case:mixed|eff:yes|tok:13a|smooth:exp"
    assert {**score.details, "signature": ""} == {
        "matches": [2, 1, 0, 0], "totals": [3, 2, 1, 0], "brevity_penalty": 1.0, "response_length": 3, "reference_length": 2,
        "signature": ""}  # fmt: skip


def test_a_reference_without_words_has_no_ngrams() -> None:
    assert compared(METRIC, "<skipped>", "<skipped>").code == "NO_NGRAMS"  # which 13a takes out
