"""Aspect: a user's question answered by yes or no, and which of the two is good."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from rageval_spark.config.metrics import class_of, metric_of, use_of
from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.judges.settings import HttpJudge
from rageval_spark.metrics.aspect import Aspect
from tests.playing import played

METRIC = Aspect("Does the response name a price?")
BAD = Aspect("Is the response rude?", yes_is_good=False)
SAMPLE = {"question": "How much?", "answer": "20 euros.", "contexts": ["20 euros."], "reference": "20 euros."}


@pytest.mark.parametrize(("verdict", "value"), [(1, 1.0), (0, 0.0), ("yes", 1.0), ("no", 0.0), (True, 1.0)])
@pytest.mark.parametrize("metric", [METRIC, BAD])
def test_yes_is_1_and_no_is_0(metric: Aspect, verdict: Any, value: float) -> None:
    result, [prompt] = played(metric, SAMPLE, check_aspect={"verdict": verdict})
    assert (result.value, result.reason, result.details) == (value, "yes" if value else "no", {"verdict": int(value)})
    assert prompt.data() == {"question": "How much?", "response": "20 euros."}
    assert prompt.fill_in("en")["criterion"] == metric.question


def test_yes_passes_where_it_is_good_and_no_where_it_is_not() -> None:
    judge = HttpJudge(model="m", base_url="http://127.0.0.1:1/v1")
    for metric, direction, good in ((METRIC, "higher", 1), (BAD, "lower", 0), (pickle.loads(pickle.dumps(BAD)), "lower", 0)):
        use = use_of(metric, judge, None)
        for verdict in (0, 1):
            result, _ = played(metric, SAMPLE, check_aspect={"reason": "why", "verdict": verdict})
            assert use.passed(result) is (verdict == good)
            assert result.reason == "why"
        assert metric.direction == direction
    assert Aspect.direction == "higher"


@pytest.mark.parametrize(
    ("fields", "missing", "code"),
    [
        (("user_input", "response"), {"question": None}, "NO_QUESTION"),
        (("user_input", "response"), {"answer": None}, "NO_ANSWER"),
        (("response", "retrieved_contexts"), {"contexts": [" "]}, "NO_CONTEXT"),
        (("response", "reference"), {"reference": ""}, "NO_REFERENCE"),
        (("response", "reference"), {"reference": "", "answer": ""}, "NO_REFERENCE"),
    ],
)
def test_skipped_where_a_field_that_is_shown_is_missing(fields: tuple[str, ...], missing: dict[str, Any], code: str) -> None:
    result, asked = played(replace(METRIC, fields=fields), SAMPLE | missing)
    assert (result.value, result.status, result.code, asked) == (None, "skipped", code, [])


@pytest.mark.parametrize(("metric", "outcome"), [
    (METRIC, (0.0, "scored", None, ("EMPTY_ANSWER",))), (BAD, (None, "skipped", "NO_ANSWER", ())),
])
def test_a_blank_response_never_passes(metric: Aspect, outcome: tuple[Any, ...]) -> None:
    result, asked = played(metric, {**SAMPLE, "answer": ""})
    assert ((result.value, result.status, result.code, result.flags), asked) == (outcome, [])
    use = use_of(metric, HttpJudge(model="m", base_url="http://127.0.0.1:1/v1"), None)
    assert use.passed(result) is (False if metric is METRIC else None)
    unshown, [prompt] = played(replace(metric, fields=("retrieved_contexts",)), {**SAMPLE, "answer": ""},
                               check_aspect={"verdict": 1})
    assert (unshown.value, prompt.data()) == (1.0, {"contexts": ((1, "20 euros."),)})


def test_a_fault_is_no_number() -> None:
    result, _ = played(METRIC, SAMPLE, check_aspect=JudgeFault("JUDGE_SCHEMA", "verdict: must be 0 or 1"))
    assert (result.value, result.code) == (None, "JUDGE_SCHEMA")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "aspect needs question"),
        ({"question": " "}, "aspect needs question"),
        ({"question": "q?", "fields": ["response", "answer"]}, "user_input, response, retrieved_contexts, reference, history"),
        ({"question": "q?", "yes_is_good": "perhaps"}, "yes_is_good"),
        ({"question": "q?", "strict": 3}, "aspect has no parameter 'strict'; it has question, fields, yes_is_good"),
    ],
)
def test_what_is_missing_or_odd_in_a_config(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        metric_of("aspect", given)
    assert said in str(caught.value)
    assert class_of("aspect_critic") is Aspect
