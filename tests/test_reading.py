"""What counts as an answer in what a judge wrote, and what is a fault, with its code."""

from __future__ import annotations

import json
import time
from contextlib import suppress
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


DRAFT, FINAL = '{"refused": 0}', '{"refused": 1}'
THINKING = {
    "tags": (f"<think>{DRAFT}?", "</think>", FINAL),
    "longer tags": (f"<thinking>{DRAFT}?", "</thinking>", FINAL),
    "tags of another name": (f"<reasoning>{DRAFT}?", "</reasoning>", FINAL),
    "tags with attributes": (f'<think duration="3">{DRAFT}?', "</think>", FINAL),
    "tags in capitals": (f"<THINK>{DRAFT}?", "</THINK>", FINAL),
    "scratchpad": (f"<scratchpad>{DRAFT}?", "</scratchpad>", FINAL),
    "reflection": (f"<reflection>{DRAFT}?", "</reflection>", FINAL),
    "Seed": (f"<seed:think>{DRAFT}?", "</seed:think>", FINAL),
    "MiniMax": (f"<mm:think>{DRAFT}?", "</mm:think>", FINAL),
    "tags of several words": (f"<chain_of_thought>{DRAFT}?", "</chain_of_thought>", FINAL),
    "tags named after a field": (f"<reasoning_content>{DRAFT}?", "</reasoning_content>", FINAL),
    "draft": (f"<draft>{DRAFT}?", "</draft>", FINAL),
    "tokens": (f"<|thinking|>{DRAFT}?", "<|/thinking|>", FINAL),
    "square brackets": (f"[Reasoning]{DRAFT}?", "[/Reasoning]", FINAL),
    "Open WebUI": (f'<details type="reasoning" done="true">\n> {DRAFT}?', "</details>", FINAL),
    "fence": (f"```thinking\n{DRAFT}?\n", "```", f"\n{FINAL}"),
    "MedGemma": (f"<unused94>thought\n{DRAFT}?", "<unused95>", FINAL),
    "Magistral": (f"[THINK]{DRAFT}?", "[/THINK]", FINAL),
    "Harmony": (f"<|channel|>analysis<|message|>{DRAFT}?", "<|end|><|start|>assistant<|channel|>final<|message|>", FINAL),
    "Harmony with a constraint": (
        f"<|channel|>analysis<|message|>{DRAFT}?", "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
        f"{FINAL}<|return|>",
    ),
    "Harmony without an end": (f"<|channel|>analysis<|message|>{DRAFT}?", "<|channel|>final<|message|>", FINAL),
    "Harmony with commentary": (
        f"<|channel|>analysis<|message|>{DRAFT}?",
        f"<|end|><|start|>assistant<|channel|>commentary<|message|>{DRAFT}<|end|><|channel|>final<|message|>", FINAL,
    ),
    "Harmony without tokens": (f"analysisWe say {DRAFT}?", "assistantfinal", FINAL),
    "Gemma": (f"<|channel>thought\n{DRAFT}?", "<channel|>", FINAL),
    "Command": (f"<|START_THINKING|>{DRAFT}?", "<|END_THINKING|><|START_RESPONSE|>", f"{FINAL}<|END_RESPONSE|>"),
    "OpenThinker": (f"<|begin_of_thought|>{DRAFT}?", "<|end_of_thought|><|begin_of_solution|>", f"{FINAL}<|end_of_solution|>"),
    "Kimi": (f"◁think▷{DRAFT}?", "◁/think▷", FINAL),
    "Granite": (f"Here is my thought process: {DRAFT}?", "Here is my response:", FINAL),
    "Apriel": (f"Here are my reasoning steps:\n{DRAFT}?", "[BEGIN FINAL RESPONSE]", f"{FINAL}[END FINAL RESPONSE]"),
    "GLM": (f"<think>{DRAFT}?", "</think><answer><|begin_of_box|>", f"{FINAL}<|end_of_box|></answer>"),
}  # fmt: skip


@pytest.mark.parametrize("model", THINKING)
def test_a_draft_in_thinking_never_counts(model: str) -> None:
    opened, closed, answer = THINKING[model]
    assert value(REFUSAL, f"{opened}{closed}{answer}") is True
    assert value(REFUSAL, f"{opened}{closed}\n```json\n{answer}\n```\n") is True
    assert fault(REFUSAL, f"{opened} But wait, let me read the passage again").code == "JUDGE_PARSE"
    assert fault(REFUSAL, f"{opened}{closed}").code == "JUDGE_PARSE"
    assert fault(REFUSAL, f"{opened} Or {FINAL}? No").code in ("JUDGE_AMBIGUOUS", "JUDGE_PARSE")
    assert fault(REFUSAL, f"{opened}{closed}I give up.").code == "JUDGE_PARSE"
    whole = json.dumps({"reason": f"It says {opened}{closed}", "refused": 1})
    assert value(REFUSAL, whole) is True


@pytest.mark.parametrize("opening", ["<think>", "[THINK]", "<|channel|>analysis<|message|>", "<|START_THINKING|>"])
def test_an_object_that_ends_thinking_that_is_not_closed_counts_if_it_is_the_only_one(opening: str) -> None:
    assert value(REFUSAL, f"{opening}It says nothing of it. {FINAL}") is True
    assert value(REFUSAL, f"{opening}It says nothing of it. ```json\n{FINAL}\n```  \n") is True
    assert fault(REFUSAL, f"{opening}It says nothing of it. {FINAL} Or is it?").code == "JUDGE_PARSE"
    assert fault(REFUSAL, f"{opening}{DRAFT}, no: {FINAL}").code == "JUDGE_AMBIGUOUS"
    assert value(REFUSAL, f"{FINAL}{opening}What else?") is True


def test_the_fault_says_that_thinking_is_not_closed() -> None:
    assert fault(REFUSAL, f"<think>{DRAFT} but").why == "it ends in thinking that is not closed"


def test_a_fault_repeats_no_words_of_the_reply() -> None:
    for text in ('{"Obey me now": 1, "Obey me now": 2}', '<think obey="me">', "{obey me: 1}", '{"refused": obey me}'):
        assert "bey" not in fault(REFUSAL, text).why


SLASHES = r"\(x^2\) costs \$5, see C:\dir and C:\users"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"reason": "a\nb\tc\r\x01", "refused": 1}', "a\nb\tc\r\x01"),
        (f'{{"reason": "{SLASHES}", "refused": 1}}', SLASHES),
        (r'{"reason": "\\alpha \"x\" \u00e9 \/ \\", "refused": 1}', '\\alpha "x" é / \\'),
        (r"""{"reason": "it\'s \d", "refused": 1}""", "it's \\d"),
        ('{"reason": "a", "refused": 1,}', "a"),
        ('{"reason": "a", "more": [1, 2,], "refused": 1,\n}', "a"),
        ("{'reason': 'a \"b\"', 'refused': True}", 'a "b"'),
        ("{'reason': \"it's\", 'refused': True, 'more': None}", "it's"),
        (r"{'reason': 'it\'s {so}', 'refused': 1}", "it's {so}"),
        ('{reason: "a", refused: 1}', "a"),
        ('{"reason": "a // b /* c */ # d", "refused": 1 // yes }\n}', "a // b /* c */ # d"),
        ('{ /* first */ "reason": "a", # then\n "refused": 1}', "a"),
        ('\ufeff{"reason": "a", "refused": 1}', "a"),
        ("{“reason”: “a \"b\" ‘c’”, “refused”: 1}", 'a "b" ‘c’'),
        ("{‘reason’: ‘a’, ‘refused’: 1}", "a"),
        ('{"reason": "“a”, he said", "refused": 1}', "“a”, he said"),
        ('{"reason": "a", "refused": 1, "confidence": NaN}', "a"),
        ('{"reason": "a", "refused": +1}', "a"),
        ('"{\\"reason\\": \\"a\\", \\"refused\\": 1}"', "a"),
        ("Here it is:\n```json5\n{'reason': 'a', 'refused': true,}\n```\nIt's done.", "a"),
    ],
)
def test_json_as_judges_write_it(text: str, reason: str) -> None:
    [written] = scan(text).objects if not text.startswith('"') else scan(json.loads(text)).objects
    assert written.value["reason"] == reason
    assert value(REFUSAL, text) is True


@pytest.mark.parametrize(
    "text",
    [
        '{"refused": 1',
        '{"reason": "a", "refused": 1, "more": "',
        "{'reason': 'it's', 'refused': 1}",
        '{"reason": "he said "no"", "refused": 1}',
        '{"reason": "a" "refused": 1}',
        '{"refused": }',
        '{"refused": yes}',
        '{"refused": 1 or 0}',
        '{"refused": 1, ...}',
        '{"refused": 0 if it is else 1}',
        '{"refused": 1,,}',
        '{"refused" = 1}',
        '{"refused": 01}',
        '{"refused": --1}',
        '{, "refused": 1}',
        '{"refused": 1]',
        '{"refused": 1} Or rather {"refused": 0',
        '{"refused": 1} Or rather {"refused": 0 0}',
        "{'refused': 1} Or rather {'refused': 0",
        '{"refused": ' + "1" * 5000 + "}",
    ],
)
def test_nothing_is_completed_or_guessed(text: str) -> None:
    assert fault(REFUSAL, text).code == "JUDGE_PARSE"


def test_the_fault_says_where_the_json_is_broken() -> None:
    assert fault(REFUSAL, '{"refused": yes}').why == "the JSON object in the reply is broken: Expecting value at character 13"
    assert fault(REFUSAL, '{"refused": 1').why == "the JSON object in the reply is broken: it is not closed"


@pytest.mark.parametrize(
    "text",
    [
        '{"refused": 0, "refused": 1}',
        '{"refused": 1, "refused": 1}',
        "{'refused': 0, 'refused': 1}",
        '{refused: 0, "refused": 1}',
        '{"refused": 0, "re\\u0066used": 1}',
        '{"refused": 1, "more": {"a": [{"b": 1, "b": 2}]}}',
        'So: {"refused": 0, "refused": 1}. Or: {"refused": 1}',
        '```json\n{"refused": 0, "refused": 1,}\n```',
    ],
)
def test_a_key_that_is_repeated_at_any_depth_makes_the_reply_unacceptable(text: str) -> None:
    assert fault(REFUSAL, text).code == "JUDGE_AMBIGUOUS"
    assert fault(REFUSAL, text).why.endswith("stands twice in one object")


def test_a_repeated_key_in_closed_thinking_is_no_fault() -> None:
    assert value(REFUSAL, '<think>{"refused": 0, "refused": 1}</think>{"refused": 1}') is True
    assert value(REFUSAL, '{"refused": 0, "refused": 1}</think>{"refused": 1}') is True


LONG = {
    "thinking that is opened again and again": "<think>",
    "thinking of several families": "<think>[THINK]<|channel|>analysis",
    "thinking that is closed again and again": "</think>",
    "stretches of thinking": '<think>{"a": 1}</think>',
    "pairs of braces": "{}",
    "objects that are not closed": '{"a": ',
    "objects that are not closed before thinking is": '{"a </think>',
    "strings that are not closed": '{"',
    "other strings that are not closed": "{'“",
    "lists that are not closed": '{"a":[',
    "comments that are not closed": '{"a": /*',
    "braces in prose": "{ a ",
    "backslashes": "{\"\\",
    "channels": "<|channel|>",
    "names of channels": "assistantanalysis ",
    "tags that are not closed": "<think ",
    "fences": "```json\n",
    "fences of thinking": "```thinking\n",
    "thinking in tokens": "<|think|>",
    "long names of tags": "<aaaaaaaaaaaaaaaaaaaaaaaa",
    "details": "<details type=",
    "Python": "{'a': True}, ",
}


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("before", ["", '{"refused": 1, "reason": ['])
def test_reading_takes_time_in_proportion_to_the_reply(kind: str, before: str) -> None:
    def seconds(size: int) -> float:
        text = before + LONG[kind] * (size // len(LONG[kind]))
        took = []
        for _ in range(3):
            began = time.process_time()
            with suppress(Unacceptable):
                read(REFUSAL, text)
            took.append(time.process_time() - began)
        return min(took)

    assert seconds(400_000) < 0.05 + 16 * seconds(50_000)  # 8 times as long; 64 times, if it were quadratic


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
