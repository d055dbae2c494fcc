"""chrF, worked out by hand and against sacreBLEU."""

from __future__ import annotations

from collections import Counter

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_spark.metrics.chrf import Chrf
from tests.metrics.wording import anything, compared

METRIC = Chrf()
solid = anything.filter(lambda text: bool(text.strip()))


@pytest.mark.parametrize(
    ("response", "reference", "value"),
    [
        ("abc", "abc", 1.0),
        ("a b c", "ab c", 1.0),
        ("abc", "abd", 7 / 18),
        ("Abc", "abc", 7 / 18),
        ("ab", "abcd", 5 * 5 / 12 / (4 + 5 / 12)),
        ("xyz", "abc", 0.0),
        ("", "abc", 0.0),
        ("สวัสดี", "สวัสดี", 1.0),
        ("🦊", "🦊🦊", 5 * 0.5 / 4.5),
    ],
)
def test_chrf(response: str, reference: str, value: float) -> None:
    assert compared(METRIC, response, reference).value == pytest.approx(value, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(anything, st.lists(solid, min_size=1, max_size=3))
def test_it_is_that_of_sacrebleu(response: str, references: list[str]) -> None:
    score = compared(METRIC, response, references)
    assert score.value == pytest.approx(sacrebleu.sentence_chrf(response, references).score / 100, abs=1e-9)
    precision, recall = score.details["precision"], score.details["recall"]
    assert score.value == pytest.approx(5 * precision * recall / (4 * precision + recall) if precision else 0.0, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(anything, solid, solid), min_size=1, max_size=8))
def test_the_corpus_value_comes_from_sums(rows: list[tuple[str, str, str]]) -> None:
    sums: Counter[str] = Counter()
    for response, *references in rows:
        sums.update(dict(compared(METRIC, response, references).measures))
    responses, first, second = map(list, zip(*rows, strict=True))
    expected = sacrebleu.corpus_chrf(responses, [first, second]).score / 100
    found = METRIC.extra({name: float(sums[name]) for name in METRIC.measured})
    assert found == {"corpus_chrf": pytest.approx(expected, abs=1e-9)}


def test_without_a_score_there_is_no_corpus() -> None:
    assert METRIC.extra({}) == {}


def test_the_details_are_enough_to_recompute_it() -> None:
    score = compared(METRIC, "abc", ["xyz", "abd"])
    assert score.details == {"precision": pytest.approx(7 / 18), "recall": pytest.approx(7 / 18), "reference": 2,
                             "matches": [2, 1, 0, 0, 0, 0], "totals": [3, 2, 1, 0, 0, 0], "reference_totals": [3, 2, 1, 0, 0, 0]}
