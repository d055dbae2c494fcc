"""What holds for every metric that compares words: what is skipped, what is blank, texts of any script."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import lcs_ind

from rageval_spark.config import parse, planned
from rageval_spark.errors import ConfigError
from rageval_spark.measures.lexical import common_subsequence, maybe_english, squad, squad_tokens, stem, words
from rageval_spark.metric import Metric
from rageval_spark.metrics import CATALOGUE, NAMED
from rageval_spark.metrics.bleu import Bleu
from rageval_spark.metrics.chrf import Chrf
from rageval_spark.metrics.exact_match import ExactMatch
from rageval_spark.metrics.rouge import Rouge
from rageval_spark.metrics.token_f1 import TokenF1
from tests.metrics.wording import SCRIPTS, anything, compared

quick = settings(max_examples=150, deadline=None)
ROUGES = (Rouge("rouge1"), Rouge("rouge2"), Rouge("rougeL"), Rouge("rougeLsum"), Rouge("rouge1", stem=True))
WITH_BLANKS: tuple[Metric, ...] = (ExactMatch(), ExactMatch(squad=True), TokenF1())
WITHOUT: tuple[Metric, ...] = (*ROUGES, Bleu(), Chrf())
EVERY = (*WITH_BLANKS, *WITHOUT)


def named(metric: Metric) -> str:
    return repr(metric)


@pytest.mark.parametrize("metric", EVERY, ids=named)
@pytest.mark.parametrize(
    ("response", "reference", "code"),
    [(None, "Paris", "NO_ANSWER"), (None, None, "NO_ANSWER"), ("Paris", None, "NO_REFERENCE"), ("", None, "NO_REFERENCE"),
     ("Paris", [], "NO_REFERENCE"), ("Paris", [None], "NO_REFERENCE")],
)
def test_what_is_missing_is_skipped(metric: Metric, response: Any, reference: Any, code: str) -> None:
    score = compared(metric, response, reference)
    assert (score.value, score.status, score.code) == (None, "skipped", code)


@pytest.mark.parametrize("metric", EVERY, ids=named)
@pytest.mark.parametrize("response", ["", " \n\u3000"])
def test_a_blank_response_is_0(metric: Metric, response: str) -> None:
    score = compared(metric, response, "Paris in France")
    assert (score.value, score.flags) == (0.0, ("EMPTY_ANSWER",))


@pytest.mark.parametrize("reference", ["", " \n", ["", " "]])
@pytest.mark.parametrize("response", ["", "Paris"])
def test_a_blank_reference_is_an_answer_for_squad_only(reference: Any, response: str) -> None:
    for metric in WITH_BLANKS:
        assert compared(metric, response, reference).value == float(response == "")
    for metric in WITHOUT:
        assert compared(metric, response, reference).code == "NO_REFERENCE"


@pytest.mark.parametrize("metric", EVERY, ids=named)
def test_the_best_of_several_references_stands(metric: Metric) -> None:
    score = compared(metric, "the fox ran home", ["", "a dog slept", "the fox ran home", "the fox"])
    assert score.value == 1.0
    assert score.details.get("reference", 3) == 3  # BLEU takes all at once
    assert compared(metric, "", ["", "Paris in France"]).value == 0.0


@pytest.mark.parametrize("metric", EVERY, ids=named)
@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_a_text_in_any_script_equals_itself(metric: Metric, text: str) -> None:
    assert compared(metric, text, text).value == 1.0


@pytest.mark.parametrize("metric", EVERY, ids=named)
@quick
@given(response=anything, references=st.lists(anything, max_size=3))
def test_scores_lie_in_0_to_1_or_have_a_code(metric: Metric, response: str, references: list[str]) -> None:
    score = compared(metric, response, references)
    assert (score.value is None) is (score.code in ("NO_ANSWER", "NO_REFERENCE", "NO_NGRAMS"))  # "NaN" is no answer
    assert score.value is None or 0.0 <= score.value <= 1.0
    assert set(score.measures) == (set(metric.measured) if score.value is not None else set())
    same = compared(metric, response, response)
    assert same.value == 1.0 or same.code in ("NO_ANSWER", "NO_REFERENCE", "NO_NGRAMS")
    if isinstance(metric, (TokenF1, Rouge)) and score.value is not None:
        matched, a, b = (score.details[key] for key in ("matched", "in_response", "in_reference"))
        assert score.value == (2 * matched / (a + b) if a + b else 1.0)
        assert score.details["precision"] == (matched / a if a else None)
        assert score.details["recall"] == (matched / b if b else None)


@pytest.mark.parametrize(
    ("text", "of_squad", "of_rouge"),
    [
        ("The  Cat's “hat”!", ["cats", "hat"], ["the", "cat", "s", "hat"]),
        ("$5.50 an hour", ["$5.5", "hour"], ["5", "50", "an", "hour"]),
        ("Ｐａｒｉｓ ﬁne", ["paris", "fine"], ["paris", "fine"]),
        ("GRÖSSE Größe", ["grösse", "grösse"], ["grösse", "grösse"]),
        ("iPhone手机，好", ["iphone", "手", "机", "好"], ["iphone", "手", "机", "好"]),
        ("𠮷野 ไทย", ["𠮷", "野", "ไ", "ท", "ย"], ["𠮷", "野", "ไ", "ท", "ย"]),
        ("नमस्ते।", ["नमस्ते"], ["नमस्ते"]),
        ("ok🦊🦊", ["ok🦊🦊"], ["ok", "🦊", "🦊"]),
        ("co\u00adop ❤\ufe0f", ["coop", "❤"], ["coop", "❤"]),
        ("the a an — …", [], ["the", "a", "an"]),
    ],
)
def test_tokens(text: str, of_squad: list[str], of_rouge: list[str]) -> None:
    assert (squad_tokens(text), words(text)) == (of_squad, of_rouge)


def test_the_normalisation_of_squad_keeps_unspaced_text_together() -> None:
    assert squad(" The 北京、 city: Beijing. ") == "北京 city beijing"


def test_stems_are_those_of_rouge_score() -> None:
    porter = PorterStemmer()
    for word in ("refunds", "paying", "relational", "hopping", "ran", "cats", "flies", "agreed", "happily", "sky", "cries"):
        assert stem(word) == (porter.stem(word) if len(word) > 3 else word)


@pytest.mark.parametrize(
    ("text", "may_be"),
    [("The cat is in the house.", True), ("cats", True), ("Die Katze ist nicht im Haus.", False), ("Größe", False),
     ("猫", False)],
)
def test_what_may_be_english(text: str, may_be: bool) -> None:
    assert maybe_english(text) is may_be


@quick
@given(st.text(alphabet="abc", max_size=70), st.text(alphabet="abcd", max_size=70))
def test_the_common_subsequence_is_that_of_rouge_score(a: str, b: str) -> None:
    assert common_subsequence(a, b) == lcs_ind(a, b)


def test_a_config_names_them() -> None:
    metrics = ["exact_match", {"exact_match": {"squad": True}}, {"rouge": {"type": ["rouge1", "rouge2", "rougeLsum"]}},
               "rouge", "chrf", {"bleu": {"as": "words"}}]
    plan = planned(parse({"input": {"path": "x"}, "evaluate": [{"metrics": metrics}]}))
    assert [use.name for use in plan.groups[0].uses] == [
        "exact_match", "exact_match_squad", "rouge-1", "rouge-2", "rouge-Lsum", "rouge-L", "chrf", "words"]  # fmt: skip
    with pytest.raises(ConfigError, match="type"):
        planned(parse({"input": {"path": "x"}, "evaluate": [{"metrics": [{"rouge": {"type": "rouge3"}}]}]}))


def test_their_libraries_are_not_imported_before_they_are_needed() -> None:
    program = "import sys, rageval_spark.metrics; sys.exit(bool({'sacrebleu', 'snowballstemmer'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_they_ask_nothing_and_go_by_other_tools_names() -> None:
    for metric, other in product(CATALOGUE.values(), EVERY):
        if isinstance(other, metric):
            assert (metric.asks, metric.layer, metric.reads) == ((), "end_to_end", ("response", "reference"))
    for alias, name in {"rouge_score": "rouge", "bleu_score": "bleu", "chrf_score": "chrf", "f1_score": "token_f1"}.items():
        assert NAMED[alias] is CATALOGUE[name]
