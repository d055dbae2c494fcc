"""Noise sensitivity, worked out by hand: wrong claims that come from relevant, or only from irrelevant, chunks."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.metric import play as drive
from rageval_spark.metrics.noise_sensitivity import NoiseSensitivity
from rageval_spark.sample import Sample
from tests.playing import kinds, played

SAMPLE = {"question": "?", "answer": "A.", "reference": "R.", "contexts": ["first", "second"]}
CLAIMS = {"A.": ["a1", "a2", "a3"], "R.": ["r1"]}


def play(mode: Any, by_reference: list[int], by_chunk: dict[str, list[Any]], **fields: Any) -> Any:
    """`by_chunk`: verdicts on the claims of the response, then on those of the reference."""
    def verify(prompt: Any) -> Any:
        values = by_reference if prompt.text is not None else by_chunk[prompt.contexts[0][1]]
        if isinstance(values, JudgeFault):
            return values
        return {"verdicts": [{"id": id, "verdict": values[id - 1]} for id, _ in prompt.claims]}

    listed = lambda prompt: {"claims": [{"id": i, "text": text} for i, text in enumerate(CLAIMS[prompt.text], 1)]}  # noqa: E731
    return played(NoiseSensitivity(mode), {**SAMPLE, **fields}, list_claims=listed, verify_claims=verify)


@pytest.mark.parametrize(
    ("by_reference", "first", "second", "relevant", "irrelevant"),
    [
        ([1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 0], 1 / 3, 1 / 3),
        ([1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0], 0.0, 0.0),  # nothing is wrong
        ([0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0], 1.0, 0.0),  # a relevant chunk has it: not the irrelevant one's fault
        ([0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 0], 0.0, 1.0),
        ([0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], 0.0, 0.0),  # made up, not retrieved
        ([0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], 0.0, 2 / 3),  # no chunk is relevant
    ],
)
def test_vectors(by_reference: list[int], first: list[int], second: list[int], relevant: float, irrelevant: float) -> None:
    for mode, value in (("relevant", relevant), ("irrelevant", irrelevant), ("both", relevant + irrelevant)):
        score, asked = play(mode, by_reference, {"first": first, "second": second})
        assert score.value == pytest.approx(value)
        assert score.measures == pytest.approx({"relevant": relevant, "irrelevant": irrelevant, "samples": 1.0})
        assert kinds(asked) == ["list_claims"] * 2 + ["verify_claims"] * 3
        assert asked[2].text == "R."


def test_lower_is_better_and_the_modes_have_their_names() -> None:
    assert NoiseSensitivity.direction == "lower"
    assert [NoiseSensitivity(mode).suffix for mode in ("both", "relevant", "irrelevant")] == ["", "_relevant", "_irrelevant"]


def test_an_answer_that_repeats_a_wrong_chunk_is_noisy_by_default() -> None:
    """Of the only chunk that misleads the answer nothing is right, so it is no relevant one."""
    listed = lambda prompt: {"claims": [{"id": i, "text": text} for i, text in enumerate(CLAIMS[prompt.text], 1)]}  # noqa: E731
    verified = lambda prompt: {"verdicts": [  # noqa: E731
        {"id": id, "verdict": int(text.startswith("a") and prompt.text is None)} for id, text in prompt.claims]}
    score, _ = played(NoiseSensitivity(), {**SAMPLE, "contexts": ["wrong"]}, list_claims=listed, verify_claims=verified)
    assert (score.value, score.details["relevant"], score.details["irrelevant"]) == (1.0, 0.0, 1.0)


def test_the_parts_are_averaged_over_samples() -> None:
    assert NoiseSensitivity().extra({"relevant": 0.5, "irrelevant": 1.5, "samples": 4.0}) == {
        "relevant_noise": 0.125, "irrelevant_noise": 0.375}
    assert NoiseSensitivity().extra({}) == {}


def test_both_texts_are_listed_in_one_round() -> None:
    game = drive(NoiseSensitivity(), Sample.parse(SAMPLE))
    assert [prompt.text for prompt in next(game)] == ["A.", "R."]


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"answer": ""}, "NO_ANSWER"), ({"contexts": []}, "NO_CONTEXT"), ({"reference": None}, "NO_REFERENCE")],
)
def test_without_what_it_needs_nothing_is_asked(fields: dict[str, Any], code: str) -> None:
    score, asked = play("relevant", [], {}, **fields)
    assert (score.code, asked) == (code, [])


@pytest.mark.parametrize(("refuses", "code"), [("A.", "NO_CLAIMS"), ("R.", "NO_REFERENCE_CLAIMS")])
def test_one_that_declines(refuses: str, code: str) -> None:
    score, _ = played(NoiseSensitivity(), SAMPLE, detect_refusal={"refused": 1},
                      list_claims=lambda prompt: {"claims": [] if prompt.text == refuses else [{"id": 1, "text": "x"}]})
    assert (score.status, score.code, score.flags) == ("skipped", code, ("REFUSAL",))


@pytest.mark.parametrize("ragged", [[1, 1, None, 1], JudgeFault("JUDGE_PARSE", "prose")])
def test_a_missing_verdict_is_no_number(ragged: Any) -> None:
    score, _ = play("relevant", [1, 0, 0], {"first": ragged, "second": [0, 0, 0, 0]})
    assert score.value is None
    assert score.status == "failed"


def test_repeated_and_blank_chunks_are_not_judged() -> None:
    score, asked = play("relevant", [1, 0, 0], {"first": [1, 1, 0, 1]}, contexts=["first", " ", "First"])
    assert (score.value, score.flags) == (1 / 3, ("DUPLICATE_IDS", "BLANK_CHUNKS"))
    assert kinds(asked) == ["list_claims"] * 2 + ["verify_claims"] * 2


def test_a_short_reference_that_stands_for_its_claim_is_flagged() -> None:
    texts = {"answer": "This is a text with more words in it than a short answer has.", "reference": "R."}
    listed = lambda prompt: {"claims": [] if prompt.text == texts["reference"] else [{"id": 1, "text": "x"}]}  # noqa: E731
    score, _ = played(NoiseSensitivity(), {**SAMPLE, **texts}, detect_refusal={"refused": 0}, list_claims=listed,
                      verify_claims=lambda prompt: {"verdicts": [{"id": id, "verdict": 0} for id, _ in prompt.claims]})
    assert (score.value, score.flags) == (0.0, ("SINGLE_CLAIM_FALLBACK",))


def test_details_compute_the_score_again() -> None:
    score, _ = play("irrelevant", [1, 0, 0], {"first": [1, 1, 0, 1], "second": [0, 0, 1, 0]})
    wrong = [one for one in score.details["claims"] if not one["correct"] and one["chunks"]]
    mine = [one for one in wrong if not set(one["chunks"]) & set(score.details["relevant_chunks"])]
    assert (len(mine), score.details["denominator"]) == (score.details["numerator"], 3)


def test_only_a_short_answer_is_read_with_the_question() -> None:
    listed = lambda prompt: {"claims": [{"id": 1, "text": "r1"}, {"id": 2, "text": "r2"}] if prompt.text == "R." else []}  # noqa: E731

    def verify(prompt: Any) -> Any:
        verdict = int(prompt.contexts == ((1, "first"),))
        return {"verdicts": [{"id": id, "verdict": verdict} for id, _ in prompt.claims]}

    score, asked = played(NoiseSensitivity(), SAMPLE, detect_refusal={"refused": 0}, list_claims=listed, verify_claims=verify)
    assert (score.value, score.details["relevant_chunks"]) == (1.0, [1])
    verified = [(prompt.claims, prompt.question) for prompt in asked if prompt.kind == "verify_claims"]
    assert verified == [(((1, "A."),), "?"), *[(((1, "A."),), "?"), (((2, "r1"), (3, "r2")), None)] * 2]
