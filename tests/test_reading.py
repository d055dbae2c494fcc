"""What counts as an answer in what a judge wrote, and what is a fault, with its code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rageval_spark.judges.reading import read, scan
from rageval_spark.prompts.claims import ListClaims, VerifyClaims
from rageval_spark.prompts.contexts import RateContexts1
from rageval_spark.prompts.items import Decision
from rageval_spark.prompts.prompt import Prompt, Unacceptable
from rageval_spark.prompts.questions import Generated, GenerateQuestions
from rageval_spark.prompts.refusal import DetectRefusal

REFUSAL = DetectRefusal("Where?", "I do not know.")
CLAIMS = ListClaims("Where?", "In Paris.")
VERIFY = VerifyClaims(((1, "a"), (2, "b"), (3, "c")), ((1, "a b"),))
RATE = RateContexts1(contexts=((1, "a"), (4, "d")), question="?")
QUESTIONS = GenerateQuestions("text", n=2)


def value(prompt: Prompt, text: str) -> Any:
    return prompt.value(read(prompt, text).reply)


def fault(prompt: Prompt, text: str) -> Unacceptable:
    with pytest.raises(Unacceptable) as refused:
        read(prompt, text)
    return refused.value


@pytest.mark.parametrize(
    "text",
    [
        '{"refused": 1}',
        ' \n{"refused": 1}\n ',
        '```json\n{"refused": 1}\n```',
        '```\n{"refused": 1}```',
        'Here you are:\n```json\n{"refused": 1}\n```\nAnything else?',
        '<think>{maybe}</think>{"refused": 1}',
        '<think>It says {"refused": 0}, but no.</think>\n{"refused": 1}',
        '<thinking>\n{"refused": 0}\n</thinking>\n```json\n{"refused": 1}\n```',
        '{"refused": 0} is wrong, so</think>{"refused": 1}',
        'first </think> second {"refused": 0} </think>{"refused": 1}',
        '<think>{"refused": 0, "broken</think>{"refused": 1}',
        'Broken {"refused": 0 so far</think>{"refused": 1}',
        '{"refused": 1}<think>{"refused": 0}</think>',
        '{"refused": 1} and once more {"refused":1}',
        'In {curly} braces: {"refused": 1}',
        'The set { 1, 2 } is no answer. {"refused": 1}',
        'A stray { before {"refused": 1}',
        'Broken: {"refused": 0 0} Mended: {"refused": 1}',
        '{"note": "no answer"} {"refused": 1}',
        '{"reason": "it says {\\"refused\\": 0}", "refused": 1}',
        'So: {"reason": "it says {\\"refused\\": 0} </think>", "refused": 1}',
        '[{"refused": 1}]',
        '{"refused": 1, "confidence": 0.2, "score": 9}',
    ],
)  # fmt: skip
def test_the_one_object_of_the_right_shape_is_the_answer(text: str) -> None:
    assert value(REFUSAL, text) is True


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "JUDGE_PARSE"),
        ("  ", "JUDGE_PARSE"),
        ("I cannot judge this.", "JUDGE_PARSE"),
        ("1", "JUDGE_PARSE"),
        ("On a scale of 0 to 1 I give 1: refused", "JUDGE_PARSE"),
        ("[1]", "JUDGE_PARSE"),
        ('"refused"', "JUDGE_PARSE"),
        ('{"refused": ', "JUDGE_PARSE"),
        ('{"refused": 1}</think>', "JUDGE_PARSE"),
        ('{"draft": {"refused": 0}, "final": {"refused": 1', "JUDGE_PARSE"),
        ('{"note": "{\\"refused\\": 0}", "refused" 1}', "JUDGE_PARSE"),
        ('{"a":' * 5000, "JUDGE_PARSE"),
        ('draft {"refused": 0} final {"refused": 1}', "JUDGE_AMBIGUOUS"),
        ('```json\n{"refused": 1}\n```\n```json\n{"refused": 0}\n```', "JUDGE_AMBIGUOUS"),
        ("{}", "JUDGE_SCHEMA"),
        ('{"answer": {"refused": 1}}', "JUDGE_SCHEMA"),
        ('{"refusal": 1}', "JUDGE_SCHEMA"),
        ('{"refused": null}', "JUDGE_SCHEMA"),
    ],
)
def test_anything_else_is_a_fault(text: str, code: str) -> None:
    assert fault(REFUSAL, text).code == code


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("0", 0), ("1", 1), ("true", 1), ("false", 0), ("1.0", 1), ('"0"', 0), ('"1"', 1), ('"yes"', 1), ('"no"', 0),
        ('"true"', 1), ('"False "', 0), ('" YES"', 1),
    ],
)  # fmt: skip
def test_the_words_of_a_verdict(said: str, meant: int) -> None:
    assert value(REFUSAL, f'{{"refused": {said}}}') is bool(meant)


@pytest.mark.parametrize(
    "said",
    ["2", "-1", "0.7", "3", "NaN", "Infinity", '"maybe"', '"relevant"', '"irrelevant"', '""', "[1]", '{"value": 1}', "null",
     "1" * 400],
)  # fmt: skip
def test_a_verdict_is_never_truthy(said: str) -> None:
    assert fault(REFUSAL, f'{{"refused": {said}}}').code == "JUDGE_SCHEMA"
    accepted = read(VERIFY.only([2]), f'{{"verdicts": [{{"id": 2, "reason": "", "verdict": {said}}}]}}')
    assert accepted.missing[2][0] == "JUDGE_SCHEMA"
    assert accepted.reply == {"verdicts": []}


@pytest.mark.parametrize(("said", "meant"), [("0", 0), ("1", 1), ("2", 2), ("2.0", 2), ('"2"', 2)])
def test_the_words_of_a_rating(said: str, meant: int) -> None:
    assert value(RATE.only([4]), f'{{"ratings": [{{"id": 4, "rating": {said}}}]}}') == {4: Decision(meant)}


@pytest.mark.parametrize(
    ("said", "code"),
    [("7", "JUDGE_OUT_OF_RANGE"), ("-1", "JUDGE_OUT_OF_RANGE"), ("42", "JUDGE_OUT_OF_RANGE"), ('"3"', "JUDGE_OUT_OF_RANGE"),
     ("1.5", "JUDGE_SCHEMA"), ("true", "JUDGE_SCHEMA"), ('"high"', "JUDGE_SCHEMA"), ("null", "JUDGE_SCHEMA")],
)  # fmt: skip
def test_a_rating_outside_the_scale(said: str, code: str) -> None:
    accepted = read(RATE, f'{{"ratings": [{{"id": 1, "rating": 1}}, {{"id": 4, "rating": {said}}}]}}')
    assert accepted.missing[4][0] == code
    assert RATE.value(accepted.reply) == {1: Decision(1)}


def verdicts(*pairs: tuple[Any, Any]) -> str:
    return json.dumps({"verdicts": [{"id": id, "reason": "because", "verdict": verdict} for id, verdict in pairs]})


@pytest.mark.parametrize(
    ("pairs", "good", "missing", "surplus"),
    [
        ([(1, 1), (2, 0), (3, 1)], {1: 1, 2: 0, 3: 1}, {}, False),
        ([(3, 1), (1, 0), (2, 1)], {1: 0, 2: 1, 3: 1}, {}, False),  # by id, never by position
        ([("1", 1), (2.0, 0), (" 3 ", 1)], {1: 1, 2: 0, 3: 1}, {}, False),
        ([(1, 1)], {1: 1}, {2: "JUDGE_COUNT_MISMATCH", 3: "JUDGE_COUNT_MISMATCH"}, False),
        ([], {}, dict.fromkeys((1, 2, 3), "JUDGE_COUNT_MISMATCH"), False),
        ([(1, 1), (2, 0), (3, 1), (4, 1), (0, 0)], {1: 1, 2: 0, 3: 1}, {}, True),
        ([(1, 1), (2, 0), (3, 1), (3, "yes")], {1: 1, 2: 0, 3: 1}, {}, True),
        ([(1, 1), (2, 0), (3, 1), (3, 0)], {1: 1, 2: 0}, {3: "JUDGE_COUNT_MISMATCH"}, True),
        ([(1, 1), (2, 2), (3, -1)], {1: 1}, {2: "JUDGE_SCHEMA", 3: "JUDGE_SCHEMA"}, False),
        ([(1, 1), (2, 1), (3, 1), (3, 5)], {1: 1, 2: 1}, {3: "JUDGE_SCHEMA"}, False),
        ([("one", 1), (2, 0)], {2: 0}, {1: "JUDGE_SCHEMA", 3: "JUDGE_SCHEMA"}, False),  # some item lost its id
        ([(10**400, 1), (2, 0), (3, 0)], {2: 0, 3: 0}, {1: "JUDGE_COUNT_MISMATCH"}, True),
        ([("9" * 5000, 7), (2, 0), (3, 0)], {2: 0, 3: 0}, {1: "JUDGE_SCHEMA"}, False),
    ],
)  # fmt: skip
def test_items_are_matched_by_id(pairs: Any, good: Any, missing: Any, surplus: bool) -> None:
    accepted = read(VERIFY, verdicts(*pairs))
    assert {id: decision.value for id, decision in VERIFY.value(accepted.reply).items()} == good
    assert {id: code for id, (code, _) in accepted.missing.items()} == missing
    assert accepted.surplus is surplus


@pytest.mark.parametrize("text", ['{"verdicts": {"1": 1}}', '{"verdicts": 3}', '{"ratings": []}', '{"statements": []}'])
def test_a_reply_without_its_list_is_of_another_shape(text: str) -> None:
    assert fault(VERIFY, text).code == "JUDGE_SCHEMA"
    assert "verdicts" in fault(VERIFY, text).why


@pytest.mark.parametrize(("reason", "kept"), [(None, ""), (5, ""), (["a"], ""), ("so", "so"), ("cut \ud83d", "cut \ufffd")])
def test_a_reason_is_never_a_fault(reason: Any, kept: str) -> None:
    text = json.dumps({"verdicts": [{"id": 1, "reason": reason, "verdict": 1}]})
    assert value(VERIFY.only([1]), text) == {1: Decision(1, kept)}
    assert value(VERIFY.only([1]), '{"verdicts": [{"id": 1, "verdict": 0}]}') == {1: Decision(0, "")}


def test_tags_and_braces_within_a_string_are_text() -> None:
    said = 'Write <think> to open, </think> to close, {"claims": []} for none.'
    reply = json.dumps({"claims": [{"id": 1, "text": said}]})
    for text in (reply, f"```json\n{reply}\n```", f"<think>{{</think>{reply}", f'{{"claims": []}} no</think>{reply}'):
        assert value(CLAIMS, text) == (said,)


def test_the_claims_of_a_reply() -> None:
    assert value(CLAIMS, '{"claims": [{"id": 2, "text": "a"}, {"id": 2, "text": " "}, {"id": 1, "text": "b"}]}') == ("a", "b")
    assert value(CLAIMS, '{"claims": []}') == ()
    assert value(CLAIMS, '{"claims": [{"id": 1, "text": "half \\ud83d"}]}') == ("half \ufffd",)
    assert fault(CLAIMS, '{"statements": ["a"]}').code == "JUDGE_SCHEMA"
    assert fault(CLAIMS, '{"claims": [{"id": 1, "text": null}]}').why == "claims.0.text: Input should be a valid string"


def test_the_questions_of_a_reply() -> None:
    for written in ([" ", "A?", "B?"], ["A?", "B?", "C?"]):
        questions = [{"id": id, "question": question} for id, question in enumerate(written, 1)]
        assert value(QUESTIONS, json.dumps({"noncommittal": "no", "questions": questions})) == Generated(False, ("A?", "B?"))
    assert value(QUESTIONS, '{"noncommittal": 1, "questions": []}') == Generated(True, ())
    assert fault(QUESTIONS, '{"questions": []}').code == "JUDGE_SCHEMA"


def test_only_outermost_objects_are_found() -> None:
    assert values('x {"a": {"b": 1}} y {"c": 2}') == [{"a": {"b": 1}}, {"c": 2}]
    assert values('{"a": {"b": 1} 2} {"c": 2}') == [{}, {"c": 2}]
    assert values("{} { }") == [{}, {}]


def values(text: str) -> list[dict[str, Any]]:
    return [written.value for written in scan(text).objects]
