"""Rubric: a rating of 1 to 5 on a user's scale, moved to [0, 1]; what the judge is shown; what a config must say."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from rageval_spark.config.load import parse
from rageval_spark.config.metrics import metric_of, planned
from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.metrics.rubric import Rubric
from tests.playing import played

LEVELS = {1: "rude", 2: "curt", 3: "neutral", 4: "polite", 5: "warm"}
GIVEN: dict[str, Any] = {"question": "How kind is the response?", "levels": LEVELS}
METRIC = Rubric(**GIVEN)
SAMPLE = {"question": "May I?", "answer": "Gladly.", "contexts": ["a", " ", "b", "a"], "reference": ["Yes.", "Sure."],
          "history": ["Hi"]}  # fmt: skip


@pytest.mark.parametrize(("rating", "value"), [(1, 0.0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1.0), ("4", 0.75), (5.0, 1.0)])
def test_levels_are_steps_of_a_quarter(rating: Any, value: float) -> None:
    result, [prompt] = played(METRIC, SAMPLE, score_rubric={"reason": "why", "rating": rating})
    assert (result.value, result.reason, result.details) == (value, "why", {"rating": int(rating)})
    assert prompt.data() == {"question": "May I?", "response": "Gladly."}
    unreasoned, _ = played(METRIC, SAMPLE, score_rubric={"rating": rating})
    assert unreasoned.reason == f"{int(rating)}: {LEVELS[int(rating)]}"


def test_the_words_of_the_config_stand_in_the_instruction() -> None:
    _, [prompt] = played(METRIC, SAMPLE, score_rubric={"rating": 3})
    assert prompt.fill_in("en")["levels"] == "1 = rude\n2 = curt\n3 = neutral\n4 = polite\n5 = warm"
    assert prompt.fill_in("zh")["criterion"] == "How kind is the response?"


def test_the_judge_is_shown_the_fields_that_are_chosen() -> None:
    every = replace(METRIC, fields=("reference", "user_input", "history", "retrieved_contexts", "response"))
    _, [prompt] = played(every, SAMPLE, score_rubric={"rating": 3})
    assert prompt.data() == {
        "contexts": ((1, "a"), (3, "b"), (4, "a")), "history": [{"role": "", "text": "Hi"}], "question": "May I?",
        "response": "Gladly.", "reference": "Yes.\nSure.",
    }  # fmt: skip
    assert list(prompt.data()) == ["contexts", "history", "question", "response", "reference"]
    assert (every.reads, every.reads_too) == (("reference", "user_input", "retrieved_contexts", "response"), ("history",))
    assert METRIC.reads == ("user_input", "response")
    assert pickle.loads(pickle.dumps(every)).reads == every.reads


@pytest.mark.parametrize(
    ("field", "values", "code"),
    [
        ("user_input", [None, " "], "NO_QUESTION"),
        ("response", [None], "NO_ANSWER"),
        ("retrieved_contexts", [None, [], ["", None]], "NO_CONTEXT"),
        ("reference", [None, "", [" "]], "NO_REFERENCE"),
    ],
)
def test_skipped_where_a_field_that_is_shown_is_missing(field: str, values: list[Any], code: str) -> None:
    names = {"user_input": "question", "response": "answer", "retrieved_contexts": "contexts"}
    for value in values:
        sample = {**SAMPLE, names.get(field, field): value}
        result, asked = played(replace(METRIC, fields=(field,)), sample)
        assert (result.value, result.status, result.code, asked) == (None, "skipped", code, [])
        others = tuple({"response", "user_input"} - {field})
        assert played(replace(METRIC, fields=others), sample, score_rubric={"rating": 5})[0].value == 1.0


def test_a_blank_response_is_on_level_1_and_a_first_turn_has_no_history() -> None:
    result, asked = played(METRIC, {**SAMPLE, "answer": " "})
    assert (result.value, result.flags, result.details, asked) == (0.0, ("EMPTY_ANSWER",), {"rating": 1}, [])
    first, [prompt] = played(replace(METRIC, fields=("response", "history")), {"answer": "A."}, score_rubric={"rating": 5})
    assert (first.value, prompt.data()) == (1.0, {"response": "A."})


@pytest.mark.parametrize("code", ["JUDGE_OUT_OF_RANGE", "CONTEXT_TOO_LONG"])
def test_a_fault_is_no_number(code: str) -> None:
    result, _ = played(METRIC, SAMPLE, score_rubric=JudgeFault(code, "why"))
    assert (result.value, result.code) == (None, code)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question": ""}, ["rubric needs question"]),
        ({"levels": {}}, ["rubric needs levels: {1: …", "5: …}"]),
        ({"levels": {**LEVELS, 6: "six"}}, ["rubric needs levels", "six"]),
        ({"levels": {**LEVELS, 3: " "}}, ["rubric needs levels"]),
        ({"levels": ["a", "b"]}, ["levels"]),
        ({"fields": ["answer"]}, ["user_input, response, retrieved_contexts, reference, history", "answer"]),
        ({"fields": []}, ["user_input, response"]),
        ({"fields": ["history"]}, ["not history alone"]),
        ({"scale": 5}, ["rubric has no parameter 'scale'", "question, levels, fields", "as"]),
    ],
)
def test_what_is_missing_or_odd_in_a_config(changes: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        metric_of("rubric", {**GIVEN, **changes})
    assert all(part in str(caught.value) for part in said), caught.value


def test_several_in_one_config_have_names_of_their_own() -> None:
    judge = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    entries = [{"rubric": {**GIVEN, "as": "kind"}}, {"rubrics_score": {**GIVEN, "question": "Else?", "as": "else"}}]
    uses = planned(parse({"input": {"path": "x.jsonl"}, "judge": judge, "evaluate": [{"metrics": entries}]})).groups[0].uses
    assert [(use.name, use.metric.question) for use in uses if isinstance(use.metric, Rubric)] == [
        ("kind", "How kind is the response?"), ("else", "Else?")]  # fmt: skip
    texts = metric_of("rubric", {**GIVEN, "levels": {str(level): words for level, words in LEVELS.items()}})
    assert texts == METRIC  # keys as JSON has them
