"""What a row of a log tells without a judge, and what is summed of rows."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.engine.signals import LANGUAGE, UNKNOWN, WORDS, Sums, Watch, word
from rageval_spark.sample import Sample

FIELDS = {"user_input": "q", "response": "a", "retrieved_contexts": "c", "retrieved_ids": "ids"}
ALL = Watch(FieldGroup(FIELDS, ()), feedback=True)


@pytest.mark.parametrize(("given", "is_compared_as"), [
    (-1, "-1"), ("-1.0", "-1"), (1.0, "1"), (True, "true"), (" DOWN ", "down"), ("0.5", "0.5"), ("v1.0", "v1.0"), (None, "none"),
])  # fmt: skip
def test_a_value_of_feedback(given: Any, is_compared_as: str) -> None:
    assert word(given) == is_compared_as


@pytest.mark.parametrize(("fields", "found"), [
    ({"retrieved_contexts": ("c",), "response": "Yes [1]."}, {"empty_retrieval": False, "cited": True, "citation_hit": True}),
    ({"retrieved_contexts": ("c",), "response": "Yes [1][2]."}, {"empty_retrieval": False, "cited": True, "citation_hit": False}),
    ({"retrieved_contexts": ("c",), "response": "Yes [0]."}, {"empty_retrieval": False, "cited": True, "citation_hit": False}),
    ({"retrieved_contexts": ("c",), "response": "Yes."}, {"empty_retrieval": False, "cited": False}),
    ({"retrieved_ids": ("7", "8"), "response": "Yes [2]."}, {"empty_retrieval": False, "cited": True, "citation_hit": True}),
    ({"retrieved_contexts": ("", " "), "response": "Yes [1]."}, {"empty_retrieval": True, "cited": True, "citation_hit": True}),
    ({"retrieved_contexts": (), "response": "Yes [1]."}, {"empty_retrieval": True, "cited": True, "citation_hit": False}),
    ({"retrieved_contexts": (), "retrieved_ids": ("7",), "response": "Yes"}, {"empty_retrieval": False, "cited": False}),
    ({"response": "Yes [1]."}, {}),
])  # fmt: skip
def test_retrieval_and_citations(fields: dict[str, Any], found: dict[str, bool]) -> None:
    assert ALL.signals(Sample(**fields), "") == {"empty_answer": False, "refusal": False, **found}


def test_a_null_tells_nothing_and_a_blank_answer_is_empty() -> None:
    assert ALL.signals(Sample(), "null") == {}
    assert ALL.signals(Sample(response=" "), "0") == {"empty_answer": True}
    assert ALL.signals(Sample(response="I do not know."), "down") == {
        "empty_answer": False, "refusal": True, "negative_feedback": True}
    assert Watch(ALL.group, first=0).signals(Sample(response="So [0].", retrieved_contexts=("c",)), "")["citation_hit"]


def test_what_is_told_depends_on_the_columns() -> None:
    assert Watch(FieldGroup({"user_input": "q"}, ())).rates() == ["malformed"]
    assert Watch(FieldGroup({"response": "a"}, ())).rates() == ["malformed", "empty_answer", "refusal"]
    assert "citation_hit" in Watch(FieldGroup({"response": "a", "retrieved_ids": "ids"}, ())).rates()


def test_rows_are_summed_by_day_and_slice() -> None:
    sums = Sums(ALL)
    sums.add("d", {"t": "x"}, {"q": "Wie ist das und wer kann es?", "a": "So.", "c": []}, "meh", None)
    sums.add("d", {"t": "y"}, {"q": "w " * 5000, "a": None, "c": ["c"]}, "0", None)
    sums.add("d", {"t": "y"}, {"q": 5}, "down", None)
    sums.add("d", {"t": "y"}, {}, "", "the row cannot be read")
    assert sums.counts["d", None, None, "malformed", ""] == [4, 2]
    assert sums.counts["d", "t", "y", "malformed", ""] == [3, 2]
    assert sums.counts["d", None, None, "empty_retrieval", ""] == [2, 1]
    assert sums.counts["d", "t", "y", "refusal", ""] == [0, 0], "no row tells it, which is kept apart from no row"
    assert sums.counts["d", None, None, WORDS, "1000"] == [1, 0]
    assert sums.counts["d", None, None, LANGUAGE, "German"] == [1, 0]
    assert {key[4] for key in sums.counts if key[3] == UNKNOWN} == {"meh", "0"}


def test_unknown_values_of_feedback_are_bounded() -> None:
    sums = Sums(ALL)
    for i in range(200):
        sums.add("d", {}, {}, f"{'x' * 90}{i}" if i % 2 else f"comment {i}", None)
    unknown = [key[4] for key in sums.counts if key[3] == UNKNOWN]
    assert len(unknown) == 20
    assert max(map(len, unknown)) == 40
