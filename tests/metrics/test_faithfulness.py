"""Faithfulness, worked out by hand: supported claims of all claims that were sent."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.metrics.faithfulness import Faithfulness
from tests.playing import kinds, played

QUESTION = "How tall is the tower?"
CONTEXTS = ["The tower is 300 m tall.", "It was built in 1889."]
PARSE = JudgeFault("JUDGE_PARSE", "prose")


def sample(**fields: Any) -> dict[str, Any]:
    return {"question": QUESTION, "answer": "It is 300 m tall, and made of iron.", "contexts": CONTEXTS, **fields}


@pytest.mark.parametrize(
    ("claims", "verdicts", "value"),
    [
        (["a"], [1], 1.0),
        (["a"], [0], 0.0),
        (["a", "b"], [1, 0], 0.5),
        (["a", "b", "c"], [1, 1, 0], 2 / 3),
        (["a", "b"], ["yes", "False"], 0.5),
        (["a", "A ", "ａ", "b"], [1, 0], 0.5),  # equal claims are one
        ([f"claim {i}" for i in range(25)], [1] * 20 + [0] * 5, 0.8),
    ],
)
def test_share_of_supported_claims(claims: list[str], verdicts: list[Any], value: float) -> None:
    score, asked = played(Faithfulness(), sample(), list_claims=claims, verify_claims=verdicts)
    assert score.value == value
    assert score.details["denominator"] == len(verdicts)
    assert score.details["numerator"] == sum(claim["verdict"] for claim in score.details["claims"])
    assert kinds(asked) == ["list_claims"] + ["verify_claims"] * (1 + len(verdicts) // 21)
    assert score.usage.prompts == len(asked)
    assert score.judge == "judge"


def test_what_is_put_to_the_judge() -> None:
    score, (listing, verifying) = played(
        Faithfulness(), sample(contexts=["a", "", "b", "A"], history=["earlier"]), list_claims=["x", "y"], verify_claims=[1, 0]
    )
    assert (listing.question, listing.text) == (QUESTION, "It is 300 m tall, and made of iron.")
    assert listing.history == (("", "earlier"),)
    assert verifying.claims == ((1, "x"), (2, "y"))
    assert verifying.contexts == ((1, "a"), (3, "b"))  # neither blank nor repeated chunks, the others by their rank
    assert verifying.question is None
    assert score.details["claims"] == [
        {"id": 1, "text": "x", "verdict": 1, "reason": "reason 1"},
        {"id": 2, "text": "y", "verdict": 0, "reason": "reason 2"},
    ]
    assert score.reason == "1 of 2 claims supported by the contexts; not: y"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"answer": None}, "NO_ANSWER"),
        ({"answer": ""}, "NO_ANSWER"),
        ({"answer": " \u3000\n"}, "NO_ANSWER"),
        ({"answer": "", "contexts": []}, "NO_ANSWER"),
        ({"contexts": None}, "NO_CONTEXT"),
        ({"contexts": []}, "NO_CONTEXT"),
        ({"contexts": [""]}, "NO_CONTEXT"),
        ({"contexts": [None]}, "NO_CONTEXT"),
        ({"contexts": ["  ", "\n"]}, "NO_CONTEXT"),
        ({"answer": "IDK"}, "NO_CLAIMS"),
        ({"answer": "I don’t know."}, "NO_CLAIMS"),
        ({"answer": "不知道。"}, "NO_CLAIMS"),
    ],
)
def test_skipped_without_a_prompt(fields: dict[str, Any], code: str) -> None:
    score, asked = played(Faithfulness(), sample(**fields))
    assert (score.value, score.status, score.code, asked) == (None, "skipped", code, [])


@pytest.mark.parametrize("answer", ["OK", "Hello", "Certainly.", "Sure!", "当然可以"])
@pytest.mark.parametrize(("refused", "value", "code"), [(0, 1.0, None), (1, None, "NO_CLAIMS")])
def test_the_judge_decides_whether_a_pleasantry_is_an_answer(
    answer: str, refused: int, value: float | None, code: str | None
) -> None:
    score, asked = played(
        Faithfulness(), sample(answer=answer), list_claims=[], detect_refusal={"refused": refused}, verify_claims=[1])
    assert (score.value, score.code) == (value, code)
    assert kinds(asked)[:2] == ["list_claims", "detect_refusal"]


def test_a_refusal_has_no_claims_and_is_told_from_a_failure() -> None:
    score, asked = played(
        Faithfulness(), sample(answer="I could not find that in the manual."), list_claims=[], detect_refusal={"refused": 1}
    )
    assert (score.value, score.status, score.code, score.flags) == (None, "skipped", "NO_CLAIMS", ("REFUSAL",))
    assert kinds(asked) == ["list_claims", "detect_refusal"]


def test_a_hedge_with_a_fact_is_scored_on_the_fact() -> None:
    score, _ = played(Faithfulness(), sample(answer="I am not sure, but it is 300 m."), list_claims=["300 m"], verify_claims=[1])
    assert score.value == 1.0


def test_a_short_answer_is_its_own_claim_and_read_with_the_question() -> None:
    score, asked = played(
        Faithfulness(), sample(answer=" 300 m "), list_claims=[], detect_refusal={"refused": 0}, verify_claims=[1]
    )
    assert (score.value, score.flags) == (1.0, ("SINGLE_CLAIM_FALLBACK",))
    assert kinds(asked) == ["list_claims", "detect_refusal", "verify_claims"]
    assert (asked[-1].claims, asked[-1].question) == (((1, "300 m"),), QUESTION)


def test_a_long_answer_without_claims_is_asked_again() -> None:
    answer = "The tower that you asked about is one of the tallest towers of its kind."
    listing = iter([[], ["It is tall."]])
    score, asked = played(
        Faithfulness(), sample(answer=answer), list_claims=listing, detect_refusal={"refused": 0}, verify_claims=[1]
    )
    assert (score.value, score.flags) == (1.0, ())
    assert kinds(asked) == ["list_claims", "detect_refusal", "list_claims", "verify_claims"]
    assert [prompt.insist for prompt in asked if prompt.kind == "list_claims"] == [False, True]


def test_the_sentences_are_taken_where_the_judge_finds_no_claims_in_them() -> None:
    score, asked = played(
        Faithfulness(),
        sample(answer="蓝藻在七月大量繁殖。湖水变绿。"),
        list_claims=[],
        detect_refusal={"refused": 0},
        verify_claims=[1, 0],
    )
    assert (score.value, score.flags) == (0.5, ("SENTENCE_FALLBACK",))
    assert asked[-1].claims == ((1, "蓝藻在七月大量繁殖。"), (2, "湖水变绿。"))


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ({"list_claims": PARSE}, "JUDGE_PARSE"),
        ({"list_claims": [], "detect_refusal": PARSE}, "JUDGE_PARSE"),
        ({"list_claims": ["a"], "verify_claims": JudgeFault("JUDGE_TIMEOUT", "late")}, "JUDGE_TIMEOUT"),
        ({"list_claims": ["a", "b"], "verify_claims": [1, -1]}, "JUDGE_SCHEMA"),
    ],
)
def test_what_the_judge_does_wrong_is_never_a_number(answers: dict[str, Any], code: str) -> None:
    score, _ = played(Faithfulness(), sample(), **answers)
    assert (score.value, score.status, score.code) == (None, "failed", code)


@pytest.mark.parametrize(("verdicts", "bound"), [([1, None, None, None, None], 0.2), ([0, 1, 1, 0, None], 0.4)])
def test_missing_verdicts_leave_a_lower_bound(verdicts: list[int | None], bound: float) -> None:
    score, _ = played(Faithfulness(), sample(), list_claims=["a", "b", "c", "d", "e"], verify_claims=verdicts)
    assert (score.value, score.code) == (None, "JUDGE_COUNT_MISMATCH")
    assert score.details["lower_bound"] == bound
    assert [claim["verdict"] for claim in score.details["claims"]] == verdicts
    assert score.usage.prompts == 2


def test_the_judges_own_number_is_ignored() -> None:
    reply = {"verdicts": [{"id": 1, "verdict": 0}, {"id": 2, "verdict": 0}], "score": 9}
    score, _ = played(Faithfulness(), sample(), list_claims=["a", "b"], verify_claims=reply)
    assert score.value == 0.0


def test_a_claim_is_supported_when_one_part_of_long_contexts_supports_it() -> None:
    contexts = ["filler " * 500, "filler " * 500 + "The last word is what counts."]

    def verify(prompt: Any) -> list[int]:
        last = any("last word" in text for _, text in prompt.contexts)
        return [int(last), 0]

    score, asked = played(
        Faithfulness(), sample(contexts=contexts), token_limit=1500, list_claims=["a", "b"], verify_claims=verify
    )
    assert len(asked) > 3
    assert (score.value, score.flags) == (0.5, ("CONTEXT_SPLIT",))


def test_the_id_of_a_claim_is_all_that_joins_it_to_its_verdict() -> None:
    reply = {"verdicts": [{"id": 2, "verdict": 0}, {"id": 1, "verdict": 1}]}
    score, _ = played(Faithfulness(), sample(), list_claims=["a", "b"], verify_claims=reply)
    assert [claim["verdict"] for claim in score.details["claims"]] == [1, 0]


def test_a_question_is_not_needed() -> None:
    score, asked = played(
        Faithfulness(), sample(question=None, answer="300 m"), list_claims=[], detect_refusal={"refused": 0}, verify_claims=[1]
    )
    assert (score.value, asked[-1].question) == (1.0, None)
