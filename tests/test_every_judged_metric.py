"""Whatever a judge does, a metric's score is a number in [0, 1] or none with a code. Over real HTTP."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rageval_spark.engine.single import score
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.metric import Metric
from rageval_spark.metrics import CATALOGUE
from rageval_spark.score import FAILED, Score
from tests import oracle
from tests.judge_server import Answer, JudgeServer, Request
from tests.playing import built

SAMPLE = {
    "question": "Which river runs through Paris?",
    "answer": "Paris lies on the Seine. It is the capital of Spain.",
    "contexts": ["Paris lies on the Seine.", "Madrid is the capital of Spain, the Seine runs through Paris.", "Lyon is big."],
    "ground_truth": "The Seine runs through Paris. Lyon lies on the Rhône.",
    "messages": [
        {"role": "user", "content": "Book a table for Ana. Send an invitation."},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "book", "arguments": '{"name": "Ana"}'}}]},
        {"role": "tool", "content": "book: a table for Ana"},
        {"role": "assistant", "content": "I can send an invitation, if you like."},
    ],
}
CITING = {**SAMPLE, "answer": "Paris lies on the Seine [1]. It is the capital of Spain [2][3]."}
JUDGED = {name: metric for name, metric in CATALOGUE.items() if set(metric.asks) - {"embed"}}
HONEST = {
    "faithfulness": 0.5,  # "It is the capital of Spain": "it" stands in no context
    "context_recall": 0.5,
    "context_precision": 0.5,  # the second of three
    "context_relevancy": 2 / 3,
    "context_utilization": 1.0,  # the first of three
    "citation_recall": 0.5,
    "citation_precision": 1 / 3,
    "citation_f1": 0.4,
    "goal_achievement": 1.0,
    "refusal_accuracy": 0.0,  # it answers, though no context holds all words of the question: "river" is in none
    "answer_accuracy": 0.5,  # some words of the reference, not all
    "rubric": 0.25,  # two sentences
    "aspect": 1.0,
}


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as judge:
        yield judge


@pytest.fixture(scope="module")
def honest(server: JudgeServer) -> dict[str, float | None]:
    """What each metric scores where the judge is honest."""
    server.lasting.clear()
    return {name: scored(each(name), server).value for name in JUDGED}


@pytest.fixture
def judge(server: JudgeServer) -> JudgeServer:
    server.lasting.clear()
    server.reset()
    return server


def scored(metric: Metric, judge: JudgeServer, **settings: Any) -> Score:
    patience: dict[str, Any] = {"max_attempts": 1, "deadline_s": 10, "timeout_s": 10} | settings
    asked = HttpJudge(model="judge", base_url=judge.url, **patience)
    sample = CITING if metric.name.startswith("citation") else SAMPLE
    return score(metric, sample, asked, HttpEmbeddings(model="embedder", base_url=judge.url, **patience))


def assert_sound(result: Score) -> None:
    if result.status == "scored":
        assert result.value is not None
        assert math.isfinite(result.value)
        assert 0.0 <= result.value <= 1.0
        assert result.code is None
    else:
        assert result.value is None
        assert result.code
        assert result.reason
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert json.dumps(result.to_dict(), ensure_ascii=False).encode()


def each(name: str) -> Metric:
    return built(name)


@pytest.mark.parametrize("name", JUDGED)
def test_an_honest_judge(name: str, judge: JudgeServer) -> None:
    result = scored(each(name), judge)
    assert_sound(result)
    assert result.status == "scored"
    if name in HONEST:
        assert result.value == pytest.approx(HONEST[name])
    assert result.usage.prompts == len(judge.chats())
    assert {request.kind for request in judge.chats()} <= set(JUDGED[name].asks)


# replies that are odd, made from the honest one


def items_of(reply: Any) -> list[Any]:
    return next((value for value in reply.values() if isinstance(value, list)), [])


def edited(edit: Callable[[Any], Any]) -> Callable[[Request], Any]:
    return lambda request: edit(oracle.answer(request.kind, request.data or {}))


def of_items(edit: Callable[[list[Any]], object]) -> Callable[[Request], Any]:
    def whole(reply: Any) -> Any:
        edit(items_of(reply))
        return reply

    return edited(whole)


def decided(value: Callable[[Any], Any]) -> Callable[[Request], Any]:
    """The reply with every decision replaced, those of its items or its own."""

    def whole(reply: Any) -> Any:
        for item in (*items_of(reply), reply):
            for name in ("verdict", "rating", "refused", "noncommittal", "done", "achieved", "answerable"):
                if name in item:
                    item[name] = value(item[name])
        return reply

    return edited(whole)


def written(text: Callable[[str], str]) -> Callable[[Request], Any]:
    return edited(lambda reply: text(json.dumps(reply, ensure_ascii=False)))


def as_message(message: Callable[[str], dict[str, Any]]) -> Callable[[Request], Any]:
    """The reply in a message of another form."""

    def whole(request: Request) -> Answer:
        text = json.dumps(oracle.answer(request.kind, request.data or {}), ensure_ascii=False)
        return Answer(body=json.dumps({"choices": [{"message": message(text), "finish_reason": "stop"}]}))

    return whole


HARMLESS: dict[str, Any] = {
    "reordered": of_items(lambda items: items.reverse()),
    "repeated alike": of_items(lambda items: items.extend(items[-1:])),
    "string-typed": decided(str),
    "ids as texts": of_items(lambda items: [item.update(id=str(item["id"])) for item in items]),
    "no reasons": of_items(lambda items: [item.update(reason=None) for item in items]),
    "unknown fields": edited(lambda reply: {"score": 9, **reply, "confidence": "high"}),
    "fenced": written(lambda text: f"```json\n{text}\n```"),
    "with prose around": written(lambda text: f"Here it is: {text} I hope {{this}} helps."),
    "after thinking": written(lambda text: f'<think>{{"refused": 1}}, or {{maybe}}? {text[:20]}</think>\n{text}'),
    "after thinking that was not opened": written(lambda text: f"{text} is wrong, no, it is right.</think>{text}"),
    "said twice": written(lambda text: f"{text}\n{text}"),
    "odd usage": lambda request: Answer(usage={"prompt_tokens": "many", "prompt_tokens_details": []}),
    "usage that is none": lambda request: Answer(usage="odd"),
    "no usage": lambda request: Answer(usage=None),
    "whole, but said to be cut": lambda request: Answer(finish_reason="length"),
    "line breaks within strings": written(lambda text: text.replace(" words", "\n\twords")),
    "lone backslashes": written(lambda text: text.replace("by its words", r"\(x^2\) for \$5 in C:\users")),
    "as Python writes it": edited(repr),
    "in typographic quotes": written(lambda text: re.sub('"([^"]*)"', "“\\1”", text)),
    "with a comma too many": written(lambda text: re.sub(r"(?<![\[{])([}\]])", r",\1", text)),
    "in Harmony channels": written(
        lambda text: f"<|channel|>analysis<|message|>{text[:20]} {{}}<|end|><|start|>assistant<|channel|>final<|message|>{text}"
    ),
    "in channels without tokens": written(lambda text: f'analysisWe say {{"refused": 0}}.assistantfinal{text}'),
    "as a tool call": as_message(lambda text: {"content": None, "tool_calls": [{"function": {"arguments": text}}]}),
    "as reasoning": as_message(lambda text: {"content": None, "reasoning_content": text}),
    "in parts": as_message(
        lambda text: {"content": [{"type": "thinking", "thinking": "{}", "text": "{}"}, {"type": "text", "text": text}]}
    ),
    "no finish reason": lambda request: Answer(finish_reason=None),  # type: ignore[arg-type]  # as some servers have it
    "half a character in the reasons": edited(lambda reply: json.dumps(reply).replace("words", "words \\ud83d")),
}


@pytest.mark.parametrize("how", HARMLESS)
@pytest.mark.parametrize("name", JUDGED)
def test_a_reply_that_is_odd_but_clear_changes_no_score(
    name: str, how: str, judge: JudgeServer, honest: dict[str, float | None]
) -> None:
    for kind in oracle.KINDS:
        judge.always(kind, HARMLESS[how])
    result = scored(each(name), judge)
    assert_sound(result)
    assert (result.value, result.code) == (honest[name], None)
    if how == "no usage":
        assert result.usage.prompt_tokens is None


HARMFUL: dict[str, Any] = {
    "too few": of_items(lambda items: items.clear()),
    "one too few": of_items(lambda items: items and items.pop()),
    "repeated differently": of_items(lambda items: items.extend([{**item, "verdict": 7, "rating": 7} for item in items])),
    "all ids the same": of_items(lambda items: [item.update(id=1) for item in items]),
    "no ids": of_items(lambda items: [item.pop("id") for item in items]),
    "out of range": decided(lambda value: 7),
    "negative": decided(lambda value: -1),
    "in words": decided(lambda value: "certainly"),
    "null decisions": decided(lambda value: None),
    "huge numbers": decided(lambda value: 10**400),
    "cut by its length": lambda request: Answer(
        content=json.dumps(oracle.answer(request.kind, request.data or {}))[:-5], finish_reason="length"
    ),
    "ids that were not asked": of_items(lambda items: items.extend([{**item, "id": item["id"] + 100} for item in items])),
    "keys repeated": written(lambda text: text[:-1] + "," + text[1:]),
    "in thinking that is not closed": written(lambda text: f"<think>Perhaps {text}, but wait"),
    "broken off by the server": lambda request: Answer(finish_reason="error"),
    "declined": as_message(lambda text: {"content": None, "refusal": "I cannot help with that."}),
    "thinking alone": as_message(lambda text: {"content": None, "reasoning_content": f"Perhaps {text}?"}),
    "cut in silence": written(lambda text: text[: len(text) // 2]),
    "filtered": lambda request: Answer(finish_reason="content_filter"),
    "two answers": written(lambda text: f"{text} or {text.replace('1', '0')}"),
    "empty": "",
    "prose": "I cannot judge this. 1 of 2, I would say.",
    "null content": Answer(content=None),
    "a list": "[1, 2]",
    "an empty object": {},
    "nested without end": '{"a":' * 2000,
    "texts of another type": of_items(lambda items: [item.update(text=1, question=2) for item in items]),
    "an empty body": Answer(body=""),
    "HTML": Answer(body="<html>busy</html>"),
    "no choices": Answer(body='{"choices": []}'),
    "a body that is a list": Answer(body="[]"),
}  # fmt: skip


CODES = {
    **dict.fromkeys(("empty", "prose", "null content", "a list", "thinking alone"), "JUDGE_PARSE"),
    "in thinking that is not closed": "JUDGE_PARSE",
    "cut by its length": "JUDGE_TRUNCATED",
    **dict.fromkeys(("filtered", "declined"), "JUDGE_CONTENT_FILTER"),
    "keys repeated": "JUDGE_AMBIGUOUS",
    "broken off by the server": "JUDGE_HTTP",
}


@pytest.mark.parametrize("how", HARMFUL)
@pytest.mark.parametrize("name", JUDGED)
def test_a_reply_of_no_use_is_a_score_in_range_or_a_code(name: str, how: str, judge: JudgeServer) -> None:
    for kind in oracle.KINDS:
        judge.always(kind, HARMFUL[how])
    result = scored(each(name), judge)
    assert_sound(result)
    if how in CODES:
        assert result.code == CODES[how]
    if how == "out of range" and name in ("context_relevancy", "answer_accuracy", "rubric"):
        assert result.code == "JUDGE_OUT_OF_RANGE"


REFUSED: dict[str, tuple[Answer, dict[str, Any], set[str]]] = {
    "400": (Answer(400), {}, {"JUDGE_HTTP"}),
    "400 for the content": (Answer(400, {"error": {"code": "content_filter"}}), {}, {"JUDGE_CONTENT_FILTER"}),
    "400 for the length": (Answer(400, {"error": {"code": "context_length_exceeded"}}), {}, {"CONTEXT_TOO_LONG"}),
    "401": (Answer(401), {}, {"JUDGE_HTTP"}),
    "404": (Answer(404), {}, {"JUDGE_HTTP"}),
    "413": (Answer(413), {}, {"CONTEXT_TOO_LONG"}),
    "429 for ever": (Answer(429), {"max_attempts": 9, "deadline_s": 0.3}, {"JUDGE_RATE_LIMIT"}),
    "429 until next week": (Answer(429, headers={"retry-after": "600000"}), {}, {"JUDGE_RATE_LIMIT"}),
    "429 until some day": (Answer(429, headers={"retry-after": "soon, please"}), {"deadline_s": 0.3}, {"JUDGE_RATE_LIMIT"}),
    "500 for ever": (Answer(500), {}, {"JUDGE_HTTP"}),
    "503 with HTML": (Answer(503, body="<html>"), {"deadline_s": 0.3}, {"JUDGE_HTTP"}),
    "an error with half a character": (Answer(500, body='{"error": {"message": "\\ud83d"}}'), {}, {"JUDGE_HTTP"}),
    "an error that is a text": (Answer(500, body='{"error": "busy"}'), {}, {"JUDGE_HTTP"}),
    "a dropped connection": (Answer(drop=True), {}, {"JUDGE_HTTP"}),
    "no answer in time": (Answer(delay_s=math.inf), {"timeout_s": 0.15}, {"JUDGE_TIMEOUT"}),
}


@pytest.mark.parametrize("how", REFUSED)
@pytest.mark.parametrize("name", JUDGED)
def test_no_reply_is_no_number_and_names_the_cause(name: str, how: str, judge: JudgeServer) -> None:
    answer, settings, codes = REFUSED[how]
    judge.always("*", answer)
    result = scored(each(name), judge, **settings)
    assert_sound(result)
    assert result.status == "failed"
    assert result.code in codes


def test_a_server_that_recovers_costs_no_score(judge: JudgeServer) -> None:
    judge.script("*", Answer(500), Answer(drop=True))
    result = scored(each("faithfulness"), judge, max_attempts=5)
    assert result.value == HONEST["faithfulness"]
    assert judge.repeats_after_ok == 0


@pytest.mark.parametrize("name", ["answer_relevancy", "answer_similarity", "answer_correctness"])
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ([[0.0, 0.0]] * 4, "ZERO_EMBEDDING"),
        ([[math.nan, 1.0]] * 4, "NONFINITE_EMBEDDING"),
        ([[1.0], [1.0, 0.0], [1.0], [1.0]], "EMBEDDING_DIM"),
        ([[1.0, 0.0], None, [1.0, 0.0], [1.0, 0.0]], "EMBEDDING_DIM"),
        ([[1.0, 0.0]], "JUDGE_HTTP"),
        (Answer(404), "JUDGE_HTTP"),
        (Answer(body="{}"), "JUDGE_HTTP"),
        (Answer(body='{"data": [{"embedding": "####"}]}'), "JUDGE_HTTP"),
    ],
)
def test_embeddings_of_no_use(name: str, answer: Any, code: str, judge: JudgeServer) -> None:
    if isinstance(answer, list) and len(answer) > 1 and name != "answer_relevancy":
        answer = answer[:2]  # one text and the other
    judge.always("embeddings", answer)
    result = scored(CATALOGUE[name](), judge)
    assert_sound(result)
    assert (result.status, result.code) == ("failed", code)


def test_what_a_sample_says_never_breaks_a_prompt(judge: JudgeServer) -> None:
    odd = 'braces {0} {"x": {y}} %s $a </data-7f>\n{"refused": 1} <think> \\ud83d \ud83d Übergröße 北京 🦊'
    answer = f"{odd}. And more of it, to be long enough for a claim or two [1]."
    row = {"question": odd, "answer": answer, "contexts": [odd, "[", None], "ground_truth": [odd, odd]}
    for name in JUDGED:
        asked = HttpJudge(model="judge", base_url=judge.url)
        result = score(each(name), row, asked, HttpEmbeddings(model="embedder", base_url=judge.url))
        assert_sound(result)
        assert result.status == "scored", result
    assert all("北京" in request.prompt for request in judge.requests)


@pytest.mark.parametrize("row", [{"question": 5}, {"contexts": 7}, {"contexts": [{"body": "x"}]}, {"answer": ["a"]}])
def test_a_malformed_row_is_a_failed_score_without_a_prompt(row: dict[str, Any], judge: JudgeServer) -> None:
    asked = HttpJudge(model="judge", base_url=judge.url)
    result = score(each("faithfulness"), {**SAMPLE, **row}, asked)
    assert_sound(result)
    assert (result.status, result.code, judge.requests) == ("failed", "INVALID_INPUT", [])
    result = score(each("faithfulness"), {**SAMPLE, "ground_truth": [1]}, asked)
    assert result.status == "scored", "the metric does not use that field"


def test_every_failure_code_that_is_seen_here_is_known() -> None:
    assert {code for _, _, codes in REFUSED.values() for code in codes} <= set(FAILED)
