"""Answer correctness, worked out by hand: claims both ways, weighed with similarity."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.metric import Reply
from rageval_spark.metric import play as drive
from rageval_spark.metrics.answer_correctness import AnswerCorrectness
from rageval_spark.sample import Sample
from tests.playing import kinds, played

SAMPLE = {"question": "Q?", "answer": "The answer is long enough to hold a claim, and then another one.",
          "reference": "The reference is long enough as well, and it holds three claims or four."}
F_ONLY = AnswerCorrectness(weights=(1.0, 0.0))


def play(metric: AnswerCorrectness, mine: list[Any], theirs: list[Any], cosine: float = 1.0, **fields: Any) -> Any:
    """`mine`: verdicts on the claims of the response by the reference; `theirs` the other way round."""
    row = {**SAMPLE, **fields}

    def listed(prompt: Any) -> Any:
        count = len(mine if prompt.text == row["answer"] else theirs)
        return {"claims": [{"id": i, "text": f"{prompt.text[:6]} {i}"} for i in range(1, 1 + count)]}

    def verified(prompt: Any) -> Any:
        values = mine if prompt.text == row["reference"] else theirs
        return {"verdicts": [{"id": i, "verdict": value} for i, value in enumerate(values, 1) if value is not None]}

    return played(metric, row, embed=iter([[1.0, 0.0], [cosine, math.sqrt(1 - cosine**2)]]), list_claims=listed,
                  verify_claims=verified)


@pytest.mark.parametrize(
    ("mine", "theirs", "beta", "f"),
    [
        ([1], [1, 1, 0], 1.0, 0.8),
        ([1, 1], [1, 1], 1.0, 1.0),
        ([0, 0], [0], 1.0, 0.0),
        ([1, 0], [1], 1.0, 2 / 3),
        ([1, 0], [1], 2.0, 5 * 0.5 / (4 * 0.5 + 1)),
    ],
)
def test_f_of_the_claims(mine: list[int], theirs: list[int], beta: float, f: float) -> None:
    score, asked = play(AnswerCorrectness(beta, (1.0, 0.0)), mine, theirs)
    assert score.value == pytest.approx(f)
    assert kinds(asked) == ["list_claims"] * 2 + ["verify_claims"] * 2


@pytest.mark.parametrize(("reference", "answer"), [
    ("OK", "The code is OK."), ("Hello", "It prints Hello"), ("Certainly", "The last word is certainly."),
    ("当然可以", "答案是当然可以。"),
])  # fmt: skip
def test_a_reference_of_one_pleasant_word_is_put_to_the_judge(reference: str, answer: str) -> None:
    score, asked = play(F_ONLY, [1], [1], answer=answer, reference=reference)
    assert (score.value, score.flags) == (1.0, ())
    assert kinds(asked) == ["list_claims"] * 2 + ["verify_claims"] * 2


def test_weighed_with_the_cosine() -> None:
    score, asked = play(AnswerCorrectness(), [1, 1, 1, 0, 0], [1, 1, 1, 0, 0], cosine=0.9)
    assert score.value == pytest.approx(0.75 * 0.6 + 0.25 * 0.9)
    assert score.value == pytest.approx(0.675)
    assert kinds(asked).count("embed") == 2
    assert 0.75 * score.details["f"] + 0.25 * score.details["cosine"] == pytest.approx(score.value)


def test_without_similarity_no_embeddings_are_needed() -> None:
    assert "embed" in AnswerCorrectness().asks
    assert "embed" not in F_ONLY.asks


@pytest.mark.parametrize(
    ("fields", "status", "code", "value"),
    [
        ({"answer": None}, "skipped", "NO_ANSWER", None),
        ({"reference": None}, "skipped", "NO_REFERENCE", None),
        ({"answer": " "}, "scored", None, 0.0),
        ({"answer": "Not stated in the document.", "reference": "not  stated in the document."}, "scored", None, 1.0),
    ],
)
def test_nothing_is_asked(fields: dict[str, Any], status: str, code: str | None, value: float | None) -> None:
    score, asked = played(AnswerCorrectness(), {**SAMPLE, **fields})
    assert (score.status, score.code, score.value, asked) == (status, code, value, [])


@pytest.mark.parametrize(
    ("declining", "status", "code", "value"),
    [
        (("answer",), "scored", None, 0.0),
        (("reference",), "scored", None, 0.0),
        (("answer", "reference"), "skipped", "BOTH_REFUSED", None),
    ],
)
def test_refusals(declining: tuple[str, ...], status: str, code: str | None, value: float | None) -> None:
    texts = [SAMPLE[name] for name in declining]
    score, _ = played(AnswerCorrectness(), SAMPLE, detect_refusal={"refused": 1},
                      list_claims=lambda prompt: {"claims": [] if prompt.text in texts else [{"id": 1, "text": "x"}]})
    assert (score.status, score.code, score.value) == (status, code, value)
    assert score.flags == (("REFUSAL",) if "answer" in declining else ()), "a flag is about the response"


def test_faults_are_no_numbers() -> None:
    score, _ = play(F_ONLY, [1, None], [1])
    assert (score.value, score.code) == (None, "JUDGE_COUNT_MISMATCH")
    score, _ = played(AnswerCorrectness(), SAMPLE, list_claims=["x"], verify_claims=[1], embed=JudgeFault("JUDGE_HTTP", "down"))
    assert (score.value, score.code) == (None, "JUDGE_HTTP")  # not the claims alone


@pytest.mark.parametrize("given", [{"weights": (0.0, 0.0)}, {"weights": (-1.0, 2.0)}, {"weights": (math.inf, 1.0)},
                                   {"weights": (math.nan, 1.0)}, {"beta": 0.0}, {"beta": math.inf}, {"beta": math.nan}])
def test_parameters_that_are_none(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        AnswerCorrectness(**given)


def test_a_negative_cosine_counts_0() -> None:
    score, _ = play(AnswerCorrectness(), [1], [1], cosine=-1.0)
    assert (score.value, score.flags, score.details["cosine"]) == (0.75, ("CLAMPED",), 0.0)


def test_similarity_alone_is_all_where_claims_weigh_nothing() -> None:
    score, _ = play(AnswerCorrectness(weights=(0.0, 2.0)), [0], [0], cosine=0.5)
    assert score.value == pytest.approx(0.5)


def test_a_short_answer_and_a_short_reference_are_read_with_the_question() -> None:
    score, asked = played(F_ONLY, {"question": "Which river?", "answer": "Seine", "reference": "the Seine"}, list_claims=[],
                          detect_refusal={"refused": 0}, verify_claims=[1])
    assert (score.value, score.flags) == (1.0, ("SINGLE_CLAIM_FALLBACK",))
    assert [(one.claims, one.text, one.question) for one in asked if one.kind == "verify_claims"] == [
        (((1, "Seine"),), "the Seine", "Which river?"), (((1, "the Seine"),), "Seine", "Which river?")]


@pytest.mark.parametrize("references", [["Bern", "Zurich"], ["Zurich", " bern "], ["", "Bern"]])
def test_a_response_that_equals_one_of_several_references_is_right_without_a_prompt(references: list[str]) -> None:
    score, asked = played(AnswerCorrectness(), {"question": "Capital?", "answer": "Bern", "reference": references})
    assert (score.value, asked) == (1.0, [])


def test_the_best_of_several_references_counts() -> None:
    """By the second: precision 1/1, recall 1/2, F 2/3, cosine 1; by the first: nothing at all, cosine 0."""
    row = {"question": "?", "answer": "This is the answer.", "reference": ["This is something else.", "This is the reference."]}
    claims = {"This is the answer.": ["x"], "This is something else.": ["y", "z"], "This is the reference.": ["x", "w"]}

    def verified(prompt: Any) -> Any:
        return {"verdicts": [{"id": id, "verdict": int(text in claims[prompt.text])} for id, text in prompt.claims]}

    vectors = {"This is the answer.": [1.0, 0.0], "This is something else.": [0.0, 1.0], "This is the reference.": [1.0, 0.0]}
    score, asked = played(AnswerCorrectness(), row, list_claims=lambda prompt: {"claims": [
        {"id": id, "text": text} for id, text in enumerate(claims[prompt.text], 1)]}, verify_claims=verified,
        embed=lambda prompt: vectors[prompt.text])
    assert score.value == pytest.approx(0.75 * 2 / 3 + 0.25)
    assert score.details["reference"] == 2
    assert kinds(asked).count("list_claims") == 3


def test_a_response_that_declines_is_held_against_the_references_that_do_not() -> None:
    row = {**SAMPLE, "reference": ["It is not known.", "It is five metres, and that was measured."]}
    score, _ = played(AnswerCorrectness(), row, detect_refusal={"refused": 1},
                      list_claims=lambda prompt: {"claims": [{"id": 1, "text": "x"}] if "five" in prompt.text else []})
    assert score.code == "BOTH_REFUSED"
    score, _ = played(AnswerCorrectness(), {**row, "reference": row["reference"][1:]}, detect_refusal={"refused": 1},
                      list_claims=lambda prompt: {"claims": [{"id": 1, "text": "x"}] if "five" in prompt.text else []})
    assert (score.value, score.flags) == (0.0, ("REFUSAL",))


def test_two_rounds_are_enough() -> None:
    game = drive(AnswerCorrectness(), Sample.parse(SAMPLE))
    assert kinds(next(game)) == ["list_claims"] * 2
    listed = [Reply(value=["one", "two"])] * 2
    assert kinds(game.send(listed)) == ["verify_claims"] * 2 + ["embed"] * 2
