"""From a prompt to an accepted reply: repairs, larger budgets, halves, and the fault at the end of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.judges.conversation import Answer, BudgetRefused, Completion, Turn, budget_refused, converse
from rageval_spark.judges.server_errors import Unanswered
from rageval_spark.prompts.claims import ListClaims, VerifyClaims
from rageval_spark.prompts.contexts import RateContexts1
from rageval_spark.prompts.items import Decision
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.score import Usage

REFUSAL = DetectRefusal("Where?", "I do not know.")
SPENT = Usage(prompt_tokens=100, completion_tokens=20, cached_tokens=0, latency_ms=5.0)


def verify(n: int) -> VerifyClaims:
    return VerifyClaims(tuple((id, f"claim {id}") for id in range(1, n + 1)), ((1, "context"),))


def verdicts(*pairs: tuple[int, Any]) -> str:
    return json.dumps({"verdicts": [{"id": id, "reason": "", "verdict": verdict} for id, verdict in pairs]})


def talk(
    prompt: Prompt,
    *texts: str | Completion | BudgetRefused,
    language: str = "en",
    budget: int | None = None,
) -> tuple[Answer | JudgeFault, list[Turn]]:
    """What comes of it when the judge writes these texts in turn (all of them), and the turns."""
    conversation = converse(prompt, language, budget)
    turns = [next(conversation)]
    try:
        for text in texts:
            turns.append(conversation.send(Completion(text, usage=SPENT) if isinstance(text, str) else text))
    except StopIteration as end:
        assert len(turns) == len(texts), "not all replies were asked for"
        answer: Answer = end.value
        return answer, turns
    except JudgeFault as fault:
        assert len(turns) == len(texts), "not all replies were asked for"
        return fault, turns
    raise AssertionError(f"asks on: {turns[-1]}")


def answered(prompt: Prompt, *texts: str | Completion | BudgetRefused, **how: Any) -> tuple[Any, Answer, list[Turn]]:
    answer, turns = talk(prompt, *texts, **how)
    assert isinstance(answer, Answer), answer
    return prompt.value(answer.reply), answer, turns


def failed(prompt: Prompt, *texts: str | Completion | BudgetRefused, **how: Any) -> tuple[JudgeFault, list[Turn]]:
    fault, turns = talk(prompt, *texts, **how)
    assert isinstance(fault, JudgeFault), fault
    return fault, turns


def cut(text: str = '{"verdicts": [', completion_tokens: int | None = 20, reason: str = "length") -> Completion:
    return Completion(text, reason, usage=Usage(prompt_tokens=100, completion_tokens=completion_tokens))


def test_a_good_reply_is_one_turn() -> None:
    completion = Completion('{"refused": "yes", "score": 9}', "stop", "judge-0613", "fp", SPENT)
    value, answer, turns = answered(REFUSAL, completion, budget=300)
    assert value is True
    assert turns == [Turn(REFUSAL, "", 300)]
    assert answer == Answer({"refused": 1}, (completion.text,), Usage(1, 0, 100, 20, 0, 5.0), "judge-0613", "fp", ())


@pytest.mark.parametrize("finish_reason", [None, "stop", "eos", "end_turn", "tool_calls", "COMPLETE", "anything", ""])
def test_a_reply_that_ended_by_itself_is_read(finish_reason: str | None) -> None:
    assert answered(REFUSAL, Completion('{"refused": 0}', finish_reason))[0] is False


def test_a_repair_asks_for_the_missing_ids_alone() -> None:
    value, answer, turns = answered(verify(5), verdicts((1, 1), (3, 0), (5, 1)), verdicts((4, 1), (2, 0)))
    assert {id: decision.value for id, decision in value.items()} == {1: 1, 2: 0, 3: 0, 4: 1, 5: 1}
    assert [id for id, _ in turns[1].prompt.items] == [2, 4]  # type: ignore[attr-defined]
    assert turns[1].note == "Your last reply could not be used: id 2: no answer. Reply again for these ids only: 2, 4."
    assert [one["id"] for one in answer.reply["verdicts"]] == [1, 2, 3, 4, 5]
    assert answer.flags == ("REPAIRED",)
    assert answer.usage == Usage(1, 0, 200, 40, 0, 10.0)
    assert len(answer.raw) == 2


def test_what_was_accepted_before_a_repair_stands() -> None:
    value, _, _ = answered(verify(2), verdicts((1, 1)), verdicts((1, 0), (2, 0)))
    assert {id: decision.value for id, decision in value.items()} == {1: 1, 2: 0}


@pytest.mark.parametrize(
    ("first", "fault", "asked"),
    [
        (verdicts((1, 1), (2, -1)), "id 2: verdict: must be 0 or 1", [2]),
        (verdicts((1, 1), (2, 1), (2, 0)), "id 2: id 2 has two different answers", [2]),
        ("I cannot judge this.", "the reply is not a JSON object", [1, 2]),
        ("", "the reply is not a JSON object", [1, 2]),
        (f"{verdicts((1, 1))} or {verdicts((1, 0))}", "the reply holds 2 different JSON objects", [1, 2]),
        ('{"results": []}', 'the reply has no list under "verdicts"', [1, 2]),
    ],
)
def test_a_repair_names_the_fault(first: str, fault: str, asked: list[int]) -> None:
    value, answer, turns = answered(verify(2), first, verdicts((1, 1), (2, 0)))
    assert {id: decision.value for id, decision in value.items()} == {1: 1, 2: 0}
    assert f"could not be used: {fault}." in turns[1].note
    assert [id for id, _ in turns[1].prompt.items] == asked  # type: ignore[attr-defined]
    assert answer.flags == ("REPAIRED",)


def test_a_repair_is_worded_in_the_language_of_the_prompt() -> None:
    _, _, turns = answered(verify(2), verdicts((1, 1)), "x", verdicts((2, 1)), language="zh")
    assert turns[1].note == "你上一次的回复无法使用：id 2: no answer。请只对以下编号重新回复：2。"
    assert turns[2].note.endswith("请按要求重新回复一个 JSON 对象。")


@pytest.mark.parametrize(
    ("prompt", "text", "code"),
    [
        (REFUSAL, "I cannot judge this.", "JUDGE_PARSE"),
        (REFUSAL, "", "JUDGE_PARSE"),
        (REFUSAL, '{"refused": 2}', "JUDGE_SCHEMA"),
        (REFUSAL, '{"refused": 0} {"refused": 1}', "JUDGE_AMBIGUOUS"),
        (ListClaims("?", "text"), '{"statements": ["a"]}', "JUDGE_SCHEMA"),
        (verify(2), verdicts((1, 1)), "JUDGE_COUNT_MISMATCH"),
        (verify(1), verdicts((1, "maybe")), "JUDGE_SCHEMA"),
        (RateContexts1(contexts=((1, "a"),), question="?"), '{"ratings": [{"id": 1, "rating": 7}]}', "JUDGE_OUT_OF_RANGE"),
    ],
)  # fmt: skip
def test_after_two_repairs_the_last_fault_is_the_code(prompt: Prompt, text: str, code: str) -> None:
    fault, turns = failed(prompt, *[text] * 3)
    assert fault.code == code
    assert len(turns) == 3
    assert fault.usage == Usage(1, 0, 300, 60, 0, 15.0)
    assert ("the reply is empty" if not text else "the judge wrote: ") in fault.reason


def test_what_was_accepted_is_kept_where_the_rest_is_missing() -> None:
    fault, turns = failed(verify(5), verdicts((3, 1)), verdicts(), verdicts((1, 0)))
    assert fault.code == "JUDGE_COUNT_MISMATCH"
    assert fault.partial == {1: Decision(0), 3: Decision(1)}
    assert [id for id, _ in turns[2].prompt.items] == [1, 2, 4, 5]  # type: ignore[attr-defined]


def test_an_item_that_is_decided_twice_alike_is_flagged() -> None:
    value, answer, turns = answered(verify(2), verdicts((1, 1), (2, 0), (2, 0)))
    assert {id: decision.value for id, decision in value.items()} == {1: 1, 2: 0}
    assert (answer.flags, len(turns)) == (("REPAIRED",), 1)


def test_ids_that_were_not_asked_make_the_reply_unacceptable() -> None:
    value, answer, turns = answered(verify(2), verdicts((1, 1), (2, 1), (9, 1)), verdicts((1, 0), (2, 0)))
    assert {id: decision.value for id, decision in value.items()} == {1: 0, 2: 0}
    assert turns[1].prompt == verify(2)
    assert "the reply answers ids that were not asked: 9." in turns[1].note
    assert answer.flags == ("REPAIRED",)
    fault, _ = failed(verify(2), *[verdicts((0, 1), (1, 1), (2, 1))] * 3)
    assert (fault.code, fault.partial) == ("JUDGE_COUNT_MISMATCH", {})


def test_ids_without_a_usable_decision_are_not_asked_for_either() -> None:
    fault, _ = failed(verify(2), *[verdicts((1, 1), (2, 1), (3, "maybe"))] * 3)
    assert fault.code == "JUDGE_COUNT_MISMATCH"
    assert "not asked: 3" in fault.reason


@pytest.mark.parametrize("id", ["x", None, 1.5, True])
def test_a_decision_too_many_whose_id_cannot_be_read_makes_the_reply_unacceptable(id: Any) -> None:
    fault, _ = failed(verify(2), *[verdicts((id, 0), (1, 1), (2, 1))] * 3)
    assert (fault.code, fault.partial) == ("JUDGE_SCHEMA", {})


def test_ids_that_a_repair_no_longer_asks_are_dropped() -> None:
    value, _, turns = answered(verify(3), verdicts((1, 1), (2, 0)), verdicts((1, 0), (2, 1), (3, 1)))
    assert {id: decision.value for id, decision in value.items()} == {1: 1, 2: 0, 3: 1}
    assert len(turns) == 2


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "max-tokens", "maxTokens", "FINISH_REASON_LENGTH",
                                    "max_tokens_exceeded"])
def test_a_cut_reply_is_asked_again_with_twice_the_budget(reason: str) -> None:
    whole = verdicts((1, 0), (2, 0))
    value, answer, turns = answered(verify(2), cut(verdicts((1, 1)), reason=reason), whole, budget=50)
    assert {id: decision.value for id, decision in value.items()} == {1: 0, 2: 0}  # nothing is taken from a cut reply
    assert [(turn.note, turn.max_output_tokens) for turn in turns] == [("", 50), ("", 100)]
    assert turns[1].prompt == verify(2)
    assert answer.flags == ()


@pytest.mark.parametrize(("budget", "told", "larger"), [(None, 300, 600), (None, None, 2048), (64, 300, 128)])
def test_the_larger_budget_is_twice_what_was_used(budget: int | None, told: int | None, larger: int) -> None:
    _, _, turns = answered(REFUSAL, cut(completion_tokens=told), '{"refused": 0}', budget=budget)
    assert turns[1].max_output_tokens == larger


def test_a_reply_cut_twice_is_asked_in_halves() -> None:
    value, answer, turns = answered(
        verify(5), cut(), cut(), verdicts((1, 1), (2, 0)), verdicts((3, 1), (4, 0), (5, 1)), budget=50
    )
    assert {id: decision.value for id, decision in value.items()} == {1: 1, 2: 0, 3: 1, 4: 0, 5: 1}
    assert [[id for id, _ in turn.prompt.items] for turn in turns[2:]] == [[1, 2], [3, 4, 5]]  # type: ignore[attr-defined]
    assert [turn.max_output_tokens for turn in turns] == [50, 100, 100, 100]
    assert len(answer.raw) == 4


def test_halves_are_halved_again() -> None:
    texts = (cut(), cut(), cut(), verdicts((1, 1)), verdicts((2, 0)), verdicts((3, 1), (4, 0)))
    value, _, turns = answered(verify(4), *texts)
    assert {id: decision.value for id, decision in value.items()} == {1: 1, 2: 0, 3: 1, 4: 0}
    assert [len(turn.prompt.items) for turn in turns] == [4, 4, 2, 1, 1, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS"])
@pytest.mark.parametrize(
    "text",
    [
        '{"refused": 1}',
        '{"refused": 1}  \n\n\n\n',
        '```json\n{"refused": 1}\n```\n',
        '<think>{"refused": 0}?</think>{"refused": 1}',
        'So: {"refused": 1}',
    ],
)
def test_a_reply_that_is_whole_is_accepted_though_it_is_said_to_be_cut(text: str, reason: str) -> None:
    value, answer, turns = answered(REFUSAL, Completion(text, reason))
    assert (value, answer.flags, len(turns)) == (True, (), 1)


@pytest.mark.parametrize(
    "text", ['{"refused": 0} Or rather', '<think>{"refused": 0}', '{"refused": 0} {"refused": 1', '{"refused": 3}', ""]
)
def test_a_cut_reply_that_goes_on_after_its_object_is_asked_again(text: str) -> None:
    value, _, turns = answered(REFUSAL, Completion(text, "length"), '{"refused": 1}')
    assert (value, len(turns), turns[1].note) == (True, 2, "")


def test_a_refused_budget_leads_to_halves() -> None:
    value, _, turns = answered(
        verify(4), cut(), BudgetRefused("HTTP 400: too large"), verdicts((1, 1), (2, 0)), verdicts((3, 1), (4, 0)), budget=50
    )
    assert {id: decision.value for id, decision in value.items()} == {1: 1, 2: 0, 3: 1, 4: 0}
    assert [(turn.max_output_tokens, turn.enlarged) for turn in turns] == [(50, False), (100, True), (50, False), (50, False)]
    fault, _ = failed(REFUSAL, cut(), BudgetRefused("HTTP 400: too large"))
    assert fault.code == "JUDGE_TRUNCATED"
    assert "a larger one was refused (HTTP 400: too large)" in fault.reason


def test_only_the_refusal_of_a_larger_budget_leads_to_halves() -> None:
    def fault_of(status: int | None, code: str = "JUDGE_HTTP") -> JudgeFault:
        fault = JudgeFault(code, "refused")
        fault.__cause__ = Unanswered(code, "refused", status=status)
        return fault

    larger = Turn(REFUSAL, max_output_tokens=100, enlarged=True)
    for status in (400, 413, 422):
        assert budget_refused(larger, fault_of(status)) == BudgetRefused("refused")
        with pytest.raises(JudgeFault):
            budget_refused(Turn(REFUSAL), fault_of(status))
    assert budget_refused(larger, fault_of(400, "CONTEXT_TOO_LONG")) == BudgetRefused("refused")
    for fault in (fault_of(403), fault_of(500), fault_of(None), fault_of(400, "JUDGE_CONTENT_FILTER"), JudgeFault("BUDGET", "")):
        with pytest.raises(JudgeFault):
            budget_refused(larger, fault)


def test_a_half_can_be_repaired() -> None:
    texts = (cut(), cut(), verdicts((1, 1)), verdicts((2, 1)), verdicts((3, 0), (4, 0)))
    value, answer, turns = answered(verify(4), *texts)
    assert {id: decision.value for id, decision in value.items()} == {1: 1, 2: 1, 3: 0, 4: 0}
    assert [id for id, _ in turns[3].prompt.items] == [2]  # type: ignore[attr-defined]
    assert answer.flags == ("REPAIRED",)


def test_a_reply_that_is_cut_for_ever_is_truncated() -> None:
    fault, turns = failed(verify(4), cut(), cut(), verdicts((1, 1), (2, 1)), cut(), cut())
    assert fault.code == "JUDGE_TRUNCATED"
    assert fault.partial == {1: Decision(1), 2: Decision(1)}
    assert [id for id, _ in turns[-1].prompt.items] == [3]  # type: ignore[attr-defined]
    fault, turns = failed(verify(20), *[cut()] * 6)  # 20, 20 with a larger budget, then 10, 5, 2, 1 items
    assert (fault.code, len(turns[-1].prompt.items)) == ("JUDGE_TRUNCATED", 1)  # type: ignore[attr-defined]
    fault, turns = failed(verify(1), cut(), cut())
    assert (fault.code, fault.partial, len(turns)) == ("JUDGE_TRUNCATED", {}, 2)
    fault, turns = failed(REFUSAL, cut(), cut(""))
    assert (fault.code, len(turns)) == ("JUDGE_TRUNCATED", 2)


def test_the_claims_of_a_long_text_are_listed_in_halves() -> None:
    prompt = ListClaims("?", "One. Two. Three.")
    halves = ('{"claims": [{"id": 1, "text": "One"}]}', '{"claims": [{"id": 1, "text": "Two"}, {"id": 2, "text": "Three"}]}')
    value, answer, turns = answered(prompt, cut(), cut(), *halves)
    assert value == ("One", "Two", "Three")
    assert [claim["id"] for claim in answer.reply["claims"]] == [1, 2, 3]
    assert [turn.prompt.text for turn in turns[2:]] == ["One.", "Two. Three."]  # type: ignore[attr-defined]
    assert not ListClaims("?", "One sentence").halves()


@pytest.mark.parametrize(
    "reason",
    ["content_filter", "safety", "SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "refusal", "sensitive",
     "content_filter: SAFETY", "FinishReason.SAFETY", "guardrail_intervened",
     "content-filter", "ContentFilter", "IMAGE_PROHIBITED_CONTENT", "ERROR_TOXIC"],
)
def test_a_filtered_reply_is_not_asked_again(reason: str) -> None:
    fault, turns = failed(REFUSAL, Completion('{"refused": 1}', reason, usage=SPENT))
    assert (fault.code, len(turns)) == ("JUDGE_CONTENT_FILTER", 1)
    assert fault.usage == Usage(1, 0, 100, 20, 0, 5.0)


def test_what_the_judge_wrote_is_shown_shortened() -> None:
    fault, _ = failed(REFUSAL, *["I  will\nnot " * 100] * 3)
    assert "'I will not I will" in fault.reason
    assert len(fault.reason) < 220


def test_unknown_tokens_stay_unknown() -> None:
    unknown = Completion('{"refused": 1}', usage=Usage(prompt_tokens=None, completion_tokens=None, cached_tokens=None))
    _, answer, _ = answered(REFUSAL, "no", unknown)
    assert answer.usage == Usage(1, 0, None, None, None, 5.0)


def items(pieces: Iterable[Prompt]) -> list[tuple[int, str]]:
    return [item for piece in pieces for item in piece.items]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "make",
    [
        lambda items: VerifyClaims(items, ((1, "context"),)),
        lambda items: RateContexts1(contexts=items, question="?"),
    ],
)
def test_pieces_of_a_prompt_ask_the_same_items(make: Callable[[tuple[tuple[int, str], ...]], Prompt]) -> None:
    whole = tuple((id, f"text {id}") for id in (2, 3, 5, 7, 11))
    assert tuple(items(make(whole).halves())) == whole
    assert items([make(whole).only([7, 3])]) == [(3, "text 3"), (7, "text 7")]
    assert not make(whole[:1]).halves()
