"""Refusal accuracy: what should be refused against what was, and the rates from the sums of outcomes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from rageval_spark import EmbeddedJudge, score
from rageval_spark.errors import JudgeFault
from rageval_spark.metrics.refusal_accuracy import RefusalAccuracy
from tests.playing import kinds, played

METRIC, DERIVING = RefusalAccuracy(), RefusalAccuracy(derive=True)
SAMPLE = {"question": "How long is the warranty?", "answer": "Two years.", "contexts": ["Batteries: two years."]}


@pytest.mark.parametrize(
    ("refused", "should_refuse", "value", "outcome"),
    [
        (1, True, 1.0, "refused_unanswerable"),
        (1, False, 0.0, "refused_answerable"),
        (0, True, 0.0, "answered_unanswerable"),
        (0, False, 1.0, "answered_answerable"),
        ("yes", "true", 1.0, "refused_unanswerable"),
        ("false", 0, 1.0, "answered_answerable"),
    ],
)
def test_the_four_outcomes(refused: Any, should_refuse: Any, value: float, outcome: str) -> None:
    for metric in (METRIC, DERIVING):  # a label that is there needs no deriving
        result, asked = played(metric, {**SAMPLE, "should_refuse": should_refuse}, detect_refusal={"refused": refused})
        assert (result.value, result.measures, kinds(asked)) == (value, {outcome: 1}, ["detect_refusal"])
        assert ("REFUSAL" in result.flags) is bool(result.details["refused"])
        assert (result.details["should_refuse"], result.details["derived"]) == (int("un" in outcome), 0)


@pytest.mark.parametrize(
    ("metric", "fields", "code"),
    [
        (METRIC, {"answer": None, "should_refuse": True}, "NO_ANSWER"),
        (METRIC, {}, "NO_LABEL"),
        (METRIC, {"answer": " "}, "NO_LABEL"),
        (DERIVING, {"answer": None}, "NO_ANSWER"),
        (DERIVING, {"question": " "}, "NO_QUESTION"),
        (DERIVING, {"contexts": None}, "NO_CONTEXT"),
    ],
)
def test_skipped_without_a_prompt(metric: RefusalAccuracy, fields: dict[str, Any], code: str) -> None:
    result, asked = played(metric, SAMPLE | fields)
    assert (result.value, result.status, result.code, asked) == (None, "skipped", code, [])


@pytest.mark.parametrize(("metric", "label"), [(METRIC, True), (METRIC, False), (DERIVING, None)])
@pytest.mark.parametrize("answer", ["", " \u3000\n"])
def test_a_blank_response_neither_answers_nor_declines(metric: RefusalAccuracy, label: bool | None, answer: str) -> None:
    result, asked = played(metric, {**SAMPLE, "answer": answer, "should_refuse": label})
    assert (result.value, result.flags, result.measures, asked) == (0.0, ("EMPTY_ANSWER",), {}, [])


@pytest.mark.parametrize(("refused", "answerable", "value"), [(1, 0, 1.0), (1, 1, 0.0), (0, 0, 0.0), (0, 1, 1.0)])
def test_the_label_is_derived_where_there_is_none(refused: int, answerable: int, value: float) -> None:
    result, asked = played(DERIVING, SAMPLE, detect_refusal={"refused": refused},
                           judge_answerable={"reason": "batteries only", "answerable": answerable})
    assert (result.value, kinds(asked)) == (value, ["detect_refusal", "judge_answerable"])
    assert (result.details["derived"], result.details["why"]) == (1, "batteries only")
    assert result.usage.prompts == 2


@pytest.mark.parametrize("contexts", [[], ["", None]])
def test_where_nothing_was_retrieved_nothing_can_be_answered(contexts: Any) -> None:
    for refused, value in ((1, 1.0), (0, 0.0)):
        result, asked = played(DERIVING, {**SAMPLE, "contexts": contexts}, detect_refusal={"refused": refused})
        assert (result.value, kinds(asked)) == (value, ["detect_refusal"])


@pytest.mark.parametrize("faulty", ["detect_refusal", "judge_answerable"])
def test_a_fault_is_no_number(faulty: str) -> None:
    answers: dict[str, Any] = {"detect_refusal": {"refused": 0}, "judge_answerable": {"answerable": 1}}
    result, _ = played(DERIVING, SAMPLE, **{**answers, faulty: JudgeFault("JUDGE_PARSE", "no JSON")})
    assert (result.value, result.code) == (None, "JUDGE_PARSE")


def test_one_group_of_long_contexts_with_the_answer_is_enough() -> None:
    contexts = ["filler " * 800, "filler " * 800 + "two years"]

    def answerable(prompt: Any) -> Any:
        return {"answerable": int("two years" in prompt.contexts[-1][1])}

    result, asked = played(DERIVING, {**SAMPLE, "contexts": contexts}, token_limit=2400, detect_refusal={"refused": 0},
                           judge_answerable=answerable)
    assert len(asked) > 2
    assert (result.value, result.flags) == (1.0, ("CONTEXT_SPLIT",))


def test_a_group_without_a_verdict_matters_where_no_other_has_the_answer() -> None:
    contexts = ["one " * 1500, "two " * 1500]
    fault = JudgeFault("JUDGE_PARSE", "no JSON")
    for other, value, code in ((1, 1.0, None), (0, None, "JUDGE_PARSE")):
        replies = iter([fault, *[{"answerable": other}] * 9])
        result, _ = played(DERIVING, {**SAMPLE, "contexts": contexts}, token_limit=2600, detect_refusal={"refused": 0},
                           judge_answerable=replies)
        assert (result.value, result.code) == (value, code)


def test_the_earlier_turns_are_shown() -> None:
    _, asked = played(DERIVING, {**SAMPLE, "history": ["earlier"]}, detect_refusal={"refused": 0},
                      judge_answerable={"answerable": 1})
    assert [prompt.history for prompt in asked] == [(("", "earlier"),)] * 2


RU, RA, AU, AA = METRIC.measured


@pytest.mark.parametrize(
    ("sums", "extra"),
    [
        ({}, {}),
        ({RU: 6, RA: 2, AU: 3, AA: 8}, {"over_refusal_rate": 2 / 10, "missed_refusal_rate": 3 / 9, "refusal_precision": 6 / 8,
                                        "refusal_recall": 6 / 9, "refusal_f1": 12 / 17}),
        ({AA: 5}, {"over_refusal_rate": 0.0}),
        ({RU: 4}, {"missed_refusal_rate": 0.0, "refusal_precision": 1.0, "refusal_recall": 1.0, "refusal_f1": 1.0}),
        ({AU: 4}, {"missed_refusal_rate": 1.0, "refusal_recall": 0.0, "refusal_f1": 0.0}),
        ({RA: 1}, {"over_refusal_rate": 1.0, "refusal_precision": 0.0, "refusal_f1": 0.0}),
    ],
)  # fmt: skip
def test_the_rates_of_the_sums(sums: dict[str, float], extra: dict[str, float]) -> None:
    assert METRIC.extra(sums) == pytest.approx(extra)


def test_the_measures_of_samples_add_up_to_the_rates() -> None:
    sums: Counter[str] = Counter()
    for refused, should_refuse in ((1, True), (1, True), (0, True), (1, False), (0, False)):
        result, _ = played(METRIC, {**SAMPLE, "should_refuse": should_refuse}, detect_refusal={"refused": refused})
        sums.update(result.measures)
    assert METRIC.extra(sums) == pytest.approx({"over_refusal_rate": 1 / 2, "missed_refusal_rate": 1 / 3,
                                                "refusal_precision": 2 / 3, "refusal_recall": 2 / 3, "refusal_f1": 2 / 3})


def test_what_is_read_and_asked_follows_the_parameter() -> None:
    assert (METRIC.asks, METRIC.reads) == (("detect_refusal",), ("user_input", "response", "should_refuse"))
    assert set(DERIVING.asks) == {"detect_refusal", "judge_answerable"}
    assert "should_refuse" not in DERIVING.reads  # the data need not have it
    assert DERIVING.reads_too == ("should_refuse",)


def test_the_embedded_judge_screens_refusals() -> None:
    answer = "I could not find that in the manual."
    for label, value in ((True, 1.0), (False, 0.0)):
        result = score(METRIC, {**SAMPLE, "answer": answer, "should_refuse": label}, EmbeddedJudge())
        assert (result.value, set(result.flags)) == (value, {"REFUSAL", "HEURISTIC"})
