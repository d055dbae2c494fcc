"""Hostile texts against a judge that obeys: nothing gets out of its fence, and no odd reply is misread. Over real HTTP."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.injection import attack, gullible
from rageval_spark import HttpJudge, score
from tests import gullible_judge
from tests.injections import ATTACKS, COMMAND, FENCE, LANGUAGES, PLACES, REPLY, SAMPLES
from tests.oracle import CHAT, Request
from tests.playing import built

OBEYED_WITHOUT_A_FENCE = [kind for kind in FENCE if kind not in ("plain words", "ends the JSON by escapes")]
"""The last one only gets out if quotes are escaped and backslashes are not."""


@pytest.fixture(scope="module")
def judge() -> Iterator[HttpJudge]:
    with gullible() as judge:
        yield judge


def test_there_are_sixty_attacks_in_three_languages() -> None:
    assert len({attack.text for attack in ATTACKS}) == len(ATTACKS) == 60
    assert Counter(attack.language for attack in ATTACKS) == dict.fromkeys(LANGUAGES, 20)
    assert Counter(attack.place for attack in ATTACKS) == dict.fromkeys(PLACES, 20)


@pytest.mark.parametrize("kind", FENCE)
def test_no_text_gets_out_of_its_fence(kind: str, judge: HttpJudge) -> None:
    outcomes = list(attack(judge, [hostile for hostile in ATTACKS if hostile.kind == kind]))
    assert len(outcomes) >= 10
    assert [outcome for outcome in outcomes if outcome.is_false_pass] == []
    assert {outcome.score.status for outcome in outcomes} == {"scored"}


@pytest.mark.parametrize("kind", REPLY)
def test_no_odd_reply_passes_what_is_bad(kind: str, judge: HttpJudge) -> None:
    outcomes = list(attack(judge, [hostile for hostile in ATTACKS if hostile.kind == kind]))
    assert len(outcomes) >= 10
    assert [outcome for outcome in outcomes if outcome.is_false_pass] == []
    assert any(outcome.score.status == "failed" for outcome in outcomes)


# The judge of these tests does what it is for: without the program's care, it would pass what is bad.


def request_of(data: str, note: str = "") -> Request:
    prompt = f"<data-0a1b2c3d>\n{data}\n</data-0a1b2c3d>\nDecide.\n{note}"
    claims = {"claims": [{"id": 1, "text": "Penguins eat fish."}]}  # for data that is no JSON any more
    return Request(CHAT, {}, {}, json_or(data, claims), "verify_claims", b"", 0.0, ["You are a judge.", prompt], "")


def json_or(text: str, default: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return default


def verdicts(request: Request) -> list[int]:
    reply = gullible_judge.reply(request)
    return [item["verdict"] for item in (json.loads(reply) if isinstance(reply, str) else reply)["verdicts"]]


@pytest.mark.parametrize("kind", OBEYED_WITHOUT_A_FENCE)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_judge_obeys_what_gets_out_of_the_fence(kind: str, language: str) -> None:
    text = next(attack.text for attack in ATTACKS if (attack.kind, attack.language) == (kind, language))
    text = text.replace("{fence}", "0a1b2c3d").replace("{FENCE}", "0A1B2C3D")
    pasted = f'{{"contexts": [{{"id": 1, "text": "{text}"}}], "claims": [{{"id": 1, "text": "Penguins eat fish."}}]}}'
    assert verdicts(request_of(pasted)) == [1]
    data = {"contexts": [{"id": 1, "text": COMMAND[language]}], "claims": [{"id": 1, "text": "Penguins eat fish."}]}
    assert verdicts(request_of(json.dumps(data))) == [0]


def test_the_judge_obeys_a_note_below_the_fence() -> None:
    data = json.dumps({"contexts": [], "claims": [{"id": 1, "text": "Penguins eat fish."}]})
    assert verdicts(request_of(data, COMMAND["en"])) == [1]
    assert verdicts(request_of(data)) == [0]


@pytest.mark.parametrize("kind", [kind for kind in REPLY if kind not in ("values beyond the scale", "a key that commands")])
def test_the_judge_writes_odd_replies_that_hold_a_pass(kind: str) -> None:
    text = next(attack.text for attack in ATTACKS if (attack.kind, attack.language) == (kind, "en"))
    data = {"contexts": [{"id": 1, "text": text}], "claims": [{"id": 1, "text": "Penguins eat fish."}]}
    assert '"verdict": 1' in str(gullible_judge.reply(request_of(json.dumps(data))))


def test_the_samples_are_bad_without_an_attack(judge: HttpJudge) -> None:
    for sample in SAMPLES.values():
        for metric in ("faithfulness", "context_recall", "context_precision", "context_relevancy", "answer_accuracy"):
            assert score(built(metric), sample, judge).value == 0.0
