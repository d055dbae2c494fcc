"""Context recall, worked out by hand: claims of the reference that the contexts support."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.metrics.context_recall import ContextRecall
from tests.playing import kinds, played

CONTEXTS = ["The bridge opened in 1932.", "It is 1149 m long."]


def sample(**fields: Any) -> dict[str, Any]:
    return {
        "question": "Tell me of the bridge.",
        "contexts": CONTEXTS,
        "reference": "It opened in 1932 and cost 6 million.",
        **fields,
    }


@pytest.mark.parametrize(
    ("claims", "verdicts", "value"),
    [
        (["a"], [1], 1.0),
        (["a", "b"], [1, 0], 0.5),
        (["a", "b"], ["1", "false"], 0.5),
        (["a", "b", "c"], [0, 0, 0], 0.0),
        (["a", "b", "c", "d"], [1, 1, 1, 0], 0.75),
    ],
)
def test_share_of_the_references_claims(claims: list[str], verdicts: list[Any], value: float) -> None:
    score, asked = played(ContextRecall(), sample(), list_claims=claims, verify_claims=verdicts)
    assert score.value == value
    assert kinds(asked) == ["list_claims", "verify_claims"]
    assert (score.details["denominator"], score.usage.prompts) == (len(claims), 2)


def test_the_response_plays_no_part() -> None:
    answers: dict[str, Any] = {"list_claims": ["a", "b"], "verify_claims": [1, 1]}
    plain, asked = played(ContextRecall(), sample(), **answers)
    with_response, asked_with = played(ContextRecall(), sample(response="It opened in 1932. It is red. It is blue."), **answers)
    assert plain.value == with_response.value == 1.0
    assert asked == asked_with
    assert asked[0].text == "It opened in 1932 and cost 6 million."


def test_several_references_are_all_seen() -> None:
    _, asked = played(ContextRecall(), sample(reference=["One.", "", "Two."]), list_claims=["One.", "Two."], verify_claims=[1, 1])
    assert asked[0].text == "One.\nTwo."


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"reference": None, "response": "never taken for the reference"}, "NO_REFERENCE"),
        ({"reference": " "}, "NO_REFERENCE"),
        ({"reference": []}, "NO_REFERENCE"),
        ({"reference": None, "contexts": []}, "NO_REFERENCE"),
        ({"contexts": None}, "NO_CONTEXT"),
        ({"reference": "I don't know."}, "NO_REFERENCE_CLAIMS"),
    ],
)
def test_skipped_without_a_prompt(fields: dict[str, Any], code: str) -> None:
    score, asked = played(ContextRecall(), sample(**fields))
    assert (score.value, score.status, score.code, asked) == (None, "skipped", code, [])


@pytest.mark.parametrize("contexts", [[], [""], [None], [" ", "\n"]])
def test_nothing_retrieved_is_a_recall_of_0_without_a_prompt(contexts: list[Any]) -> None:
    score, asked = played(ContextRecall(), sample(contexts=contexts))
    assert (score.value, score.status, asked) == (0.0, "scored", [])


def test_a_reference_that_says_there_is_no_answer() -> None:
    score, asked = played(
        ContextRecall(), sample(reference="The documents do not say."), list_claims=[], detect_refusal={"refused": 1}
    )
    assert (score.status, score.code, score.flags) == ("skipped", "NO_REFERENCE_CLAIMS", ("REFUSAL",))
    assert len(asked) == 2


def test_a_short_reference_is_its_own_claim() -> None:
    score, asked = played(
        ContextRecall(), sample(reference="1932"), list_claims=[], detect_refusal={"refused": 0}, verify_claims=[1]
    )
    assert (score.value, score.flags) == (1.0, ("SINGLE_CLAIM_FALLBACK",))
    assert asked[-1].question == "Tell me of the bridge."


def test_a_missing_verdict_is_no_number() -> None:
    score, _ = played(ContextRecall(), sample(), list_claims=["a", "b"], verify_claims=[1, None])
    assert (score.value, score.code, score.details["lower_bound"]) == (None, "JUDGE_COUNT_MISMATCH", 0.5)


def test_a_failed_listing_is_no_number() -> None:
    score, _ = played(ContextRecall(), sample(), list_claims=JudgeFault("JUDGE_RATE_LIMIT", "429"))
    assert (score.value, score.status, score.code) == (None, "failed", "JUDGE_RATE_LIMIT")


def test_a_reference_of_one_pleasant_word_is_a_claim_if_the_judge_says_so() -> None:
    score, _ = played(ContextRecall(), sample(reference="OK"), list_claims=[], detect_refusal={"refused": 0}, verify_claims=[1])
    assert (score.value, score.code, score.flags) == (1.0, None, ("SINGLE_CLAIM_FALLBACK",))
