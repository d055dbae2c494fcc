"""Which answers decline, in each language whose phrases are known; and what is unknown stays unknown."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from rageval_spark import EmbeddedJudge, score
from rageval_spark.engine.plan import FieldGroup
from rageval_spark.engine.signals import UNKNOWN_REFUSALS, Sums, Watch
from rageval_spark.judges.refusals import LANGUAGES, LONGEST, declines, names, phrases, refused
from rageval_spark.metrics import CATALOGUE
from rageval_spark.prompts.detection import LANGUAGE_NAMES
from rageval_spark.report import watched

ANSWERS: dict[str, dict[str, list[str]]] = yaml.safe_load((Path(__file__).parent / "refusals.yaml").read_text(encoding="utf-8"))
DECLINING = [(language, text) for language, answers in ANSWERS.items() for text in answers["refused"]]
STATING = [(language, text) for language, answers in ANSWERS.items() for text in answers["answered"]]
WATCH = Watch(FieldGroup({"user_input": "q", "response": "a"}, ()))


def test_each_language_has_refusals_and_answers_that_look_like_them() -> None:
    assert set(ANSWERS) == set(LANGUAGES)
    assert all(len(answers["refused"]) >= 15 and len(answers["answered"]) >= 10 for answers in ANSWERS.values())
    assert set(LANGUAGES) <= set(LANGUAGE_NAMES)


@pytest.mark.parametrize(("language", "text"), DECLINING)
def test_an_answer_that_declines_is_a_refusal(language: str, text: str) -> None:
    assert refused(text) is True


@pytest.mark.parametrize(("language", "text"), STATING)
def test_an_answer_that_only_looks_like_a_refusal_is_none(language: str, text: str) -> None:
    assert not refused(text)


@pytest.mark.parametrize(("change", "languages"), [
    (lambda text: text.replace("'", "’"), "en fr it"), (lambda text: text.upper(), "en de es fr it pt nl pl ru"),
    (lambda text: f"**{text}**", "en de es fr it pt nl pl ru tr zh ja ko ar hi"),
    (lambda text: text.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss"), "de"),
    (lambda text: text.translate(str.maketrans("áéíóúàèìòùâêôãõçñ", "aeiouaeiouaeoaocn")), "es it pt fr"),
    (lambda text: text.translate(str.maketrans("ąćęłńóśźż", "acelnoszz")), "pl"), (lambda text: text.replace("ё", "е"), "ru"),
])  # fmt: skip
def test_people_type_a_refusal_in_many_ways(change: Callable[[str], str], languages: str) -> None:
    for language in languages.split():
        missed = [text for text in ANSWERS[language]["refused"] if not refused(change(text))]
        assert len(missed) <= len(ANSWERS[language]["refused"]) // 20, missed


@pytest.mark.parametrize(("text", "question", "is_refused"), [
    ("Nein, leider nicht.", "Ist das Museum am Montag geöffnet?", False), ("Nein, leider nicht.", "Was kostet die Karte?", True),
    ("Unfortunately not.", "Does it include breakfast?", False), ("Unfortunately not.", "Can you tell me the price?", True),
    ("Lamentablemente no.", "¿Cuánto cuesta?", True), ("Unfortunately not.", "", True),
    ("Paris.", "What is the capital of France?", False), ("42", "", False), ("330 m.", "", False),
    ("Jag vet inte.", "Vad kostar det?", None), ("Det framgår tyvärr inte av de dokument som jag har fått.", "", None),
    ("Biletten koster ni euro og gjelder i hele byen.", "", None), ("Tôi không biết câu trả lời cho câu hỏi này.", "", None),
    ("ผมไม่ทราบคำตอบ", "", None),
])  # fmt: skip
def test_the_question_helps_and_other_languages_stay_unknown(text: str, question: str, is_refused: bool | None) -> None:
    assert refused(text, question) is is_refused


SWEDISH = "Det framgår tyvärr inte av de dokument som jag har fått."


def test_the_embedded_judge_skips_what_it_may_take_for_an_answer() -> None:
    sample = {"question": "Vad kostar det?", "answer": SWEDISH, "should_refuse": True}
    result = score(CATALOGUE["refusal_accuracy"](), sample, EmbeddedJudge())
    assert (result.status, result.code, result.value) == ("skipped", "JUDGE_UNSUPPORTED", None)
    assert "refusals in Swedish" in str(result.reason)


@pytest.mark.parametrize("name", ["faithfulness", "context_recall", "citation_recall"])
def test_a_score_that_may_count_a_refusal_as_an_answer_is_flagged(name: str) -> None:
    sample = {"question": "Vad kostar det?", "answer": SWEDISH, "reference": SWEDISH, "contexts": ["Museet öppnar klockan nio."]}
    assert "REFUSALS_UNKNOWN" in score(CATALOGUE[name](), sample, EmbeddedJudge()).flags
    german = {**sample, "answer": "Das Museum öffnet um neun Uhr.", "reference": "Das Museum öffnet um neun Uhr."}
    assert "REFUSALS_UNKNOWN" not in score(CATALOGUE[name](), german, EmbeddedJudge()).flags


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_the_embedded_judge_tells_refusals_of_each_language_from_answers(language: str) -> None:
    for texts, declined in ((ANSWERS[language]["refused"], True), (ANSWERS[language]["answered"], False)):
        for text in texts:
            sample = {"question": "", "answer": text, "should_refuse": declined}
            result = score(CATALOGUE["refusal_accuracy"](), sample, EmbeddedJudge())
            assert result.value == 1.0, text
    for text in ANSWERS[language]["refused"]:
        result = score(CATALOGUE["faithfulness"](), {"question": "?", "answer": text, "contexts": ["Tickets cost 9 euros."]},
                       EmbeddedJudge())
        assert (result.code, "REFUSAL" in result.flags) == ("NO_CLAIMS", True), text


def counts_of(answers: list[str]) -> watched.Counts:
    sums = Sums(WATCH)
    for text in answers:
        sums.add("2026-11-29", {}, {"q": "", "a": text}, "", None)
    return watched.Counts(sums.rows())


def figure(answers: list[str]) -> dict[str, Any]:
    return next(row for row in watched.figures(counts_of(answers), "2026-11-29", {}) if row["figure"] == "refusal")


def test_the_refusal_rate_leaves_out_answers_of_other_languages_and_says_so() -> None:
    german = ["Das kann ich leider nicht beantworten.", "Dazu habe ich keine Informationen gefunden.",
              "Ich weiß es leider nicht.", "Das Museum öffnet um neun Uhr und schließt um fünf."]
    assert (figure(german)["value"], figure(german)["count"]) == (0.75, 4)
    swedish = ["Jag kan tyvärr inte svara på den frågan.", "Biljetten kostar nio euro och gäller hela dagen i staden."]
    assert (figure(swedish)["value"], figure(swedish)["count"]) == (None, 0)
    assert (figure(german + swedish)["value"], figure(german + swedish)["count"]) == (0.75, 4)
    [note] = [note for note in watched.notes(WATCH, counts_of(german + swedish), ["2026-11-29"], 0, "at") if "refusal: " in note]
    assert note.startswith("refusal: answers left out, since it is unknown whether they decline: 2 (2 in Swedish). ")
    assert "German" in note
    assert counts_of(german).mix(UNKNOWN_REFUSALS, ["2026-11-29"]) == {}
    assert not [note for note in watched.notes(WATCH, counts_of(german), ["2026-11-29"], 0, "at") if "refusal: " in note]


@pytest.mark.parametrize("text", [
    "I do not " * 2000, "I don't know. " * 1400, '"' * LONGEST, "'" * LONGEST, "‘a" * 9000, "„" * LONGEST, "nicht " * 3300,
    "if " * 6600, "kann ich " * 2200, "no " * 6600, "我无法" * 6600, "ない" * 9999, "지 않" * 6000, "!" * LONGEST, "but " * 5000,
    "je ne peux " * 1800, "нет " * 5000, "a" * LONGEST, "मुझे नहीं " * 2000, "لا " * 6600, "не могу " * 2500, "sorry, " * 2800,
    "said " * 4000, "x" * 1_000_000, "I do not know. " * 70_000, "[" * 1_000_000,
])  # fmt: skip
def test_hostile_texts_are_read_in_time_that_grows_with_their_length(text: str) -> None:
    for language in LANGUAGES:
        phrases(language)
    before = time.process_time()
    refused(text)
    declines(text)
    assert time.process_time() - before < 3


def test_the_guide_names_the_languages() -> None:
    guide = " ".join((Path(__file__).parents[1] / "docs" / "watch_production.md").read_text(encoding="utf-8").split())
    *most, last = names().split(", ")
    assert f"{', '.join(most)} and {last}" in guide
