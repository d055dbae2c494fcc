"""The embedded judge: words held against words, the same prompts and metrics, no request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rageval_spark
from rageval_spark import EmbeddedJudge, Score, score
from rageval_spark.judges.embedded import ANSWERS, answer
from rageval_spark.judges.lexical import found, premise, support
from rageval_spark.metrics import CATALOGUE
from rageval_spark.prompts.claims import ListClaims, VerifyClaims
from rageval_spark.prompts.kinds import KINDS
from rageval_spark.prompts.refusal import DetectRefusal
from tests.playing import built

TOWER = "The tower in Lund was finished in 1894 and is 330 m tall."
QUICKSTART = Path(rageval_spark.__file__).parent / "quickstart" / "samples.jsonl"


def judged(metric: str, **sample: Any) -> Score:
    return score(CATALOGUE[metric](), sample, EmbeddedJudge())


def verdicts(claims: list[str], *contexts: str) -> list[tuple[int, str]]:
    prompt = VerifyClaims(tuple(enumerate(claims, 1)), tuple(enumerate(contexts, 1)))
    return [(one["verdict"], one["reason"]) for one in answer(prompt)["verdicts"]]


def test_a_claim_is_supported_when_its_words_numbers_and_names_are_found() -> None:
    assert verdicts(["The tower is 330 m tall.", "It is 331 m tall.", "The tower in Oslo is 330 m tall.", "Bees make honey."],
                    TOWER) == [(1, ""), (0, "numbers not found: 331"), (0, "names not found: Oslo"),
                               (0, "words not found: bee, make, honey")]


@pytest.mark.parametrize(
    ("response", "context", "value"),
    [
        ("Der Zinssatz beträgt 35 Prozent.", "Der Zinssatz beträgt 3,5 Prozent.", 0.0),
        ("Der Zinssatz beträgt 3,5 Prozent.", "Der Zinssatz beträgt 3,50 Prozent.", 1.0),
        ("Das Lager hat 1200 Teile.", "Das Lager hat 1.200 Teile.", 1.0),
        ("Das Lager hat 1,2 Teile.", "Das Lager hat 1.200 Teile.", 0.0),
        ("The store has 1200 parts.", "The store has 1,200 parts in all.", 1.0),
        ("The rate is 3.5 percent.", "The rate is 35 percent.", 0.0),
        ("Le prix de la voiture est de 1200 euros.", "Le prix de la voiture est de 1 200 euros.", 1.0),
        ("The temperature is 5 degrees.", "The temperature is -5 degrees.", 0.0),
        ("الدخول بسعر 35 دينار للكبار.", "الدخول بسعر ٣٥ دينار للكبار.", 1.0),
        ("دفتر صبح نو بجے کھلتا ہے۔ کینٹین میں مچھلی اور چاول مفت ملتے ہیں۔", "دفتر صبح نو بجے کھلتا ہے۔", 0.5),
        ("Für Studierende ist der Eintritt in das Museum kostenlos.", "Der Eintritt in das Museum kostet"
         " Studierende nichts: er ist kostenlos.", 1.0),
        ("Die Bibliothek öffnet um neun Uhr und schließt um achtzehn Uhr.", "Montags ist die Bibliothek von neun"
         " Uhr bis achtzehn Uhr geöffnet. Samstags schließt sie früher.", 1.0),
        ("Das Museum zeigt alte Gemälde aus Spanien.", "Der Eintritt in das Museum ist für Studierende kostenlos.", 0.0),
        ("Muzeum sprzedaje bilety po dziewięć euro.", "Bilet do muzeum sprzedaje się za dziewięć euro.", 1.0),
        ("Билеты в музей стоят девять евро.", "Билет в музей стоит девять евро.", 1.0),
    ],
)
def test_numbers_and_words_are_compared_as_the_language_writes_them(response: str, context: str, value: float) -> None:
    assert judged("faithfulness", response=response, retrieved_contexts=[context]).value == value


@pytest.mark.parametrize(
    ("question", "contexts", "value"),
    [
        ("Ile kosztują bilety do muzeum?", ["Bilet do muzeum kosztuje dziewięć euro.", "Cena biletów do muzeów rośnie.",
                                            "Psy nie mogą wchodzić do parku."], 2 / 3),
        ("Сколько стоят билеты в музей?", ["Билет в музей стоит девять евро.", "Собакам вход в парк запрещён."], 1 / 2),
        ("Wie viel kosten die Karten für das Museum?", ["Eine Karte für das Museum kostet neun Euro.", "Hunde sind im Park"
                                                        " verboten."], 1 / 2),
    ],
)
def test_inflected_words_are_the_same_word(question: str, contexts: list[str], value: float) -> None:
    assert judged("context_relevancy", user_input=question, retrieved_contexts=contexts).value == pytest.approx(value)


@pytest.mark.parametrize("text", ["...", "…", "— !?", "👍"])
def test_signs_alone_claim_nothing(text: str) -> None:
    score = judged("faithfulness", response=text, retrieved_contexts=[TOWER])
    assert (score.value, score.code) == (None, "NO_CLAIMS")


@pytest.mark.parametrize(("context", "response"), [
    ("The office opens at nine in the morning.",
     "Sure! Here it is: The office opens at nine in the morning. I hope this helps! Let me know if you have questions."),
    ("Das Büro öffnet morgens um neun Uhr.", "Gerne! Das Büro öffnet morgens um neun Uhr. Ich hoffe, das hilft Ihnen weiter."),
    ("L'ufficio apre alle nove del mattino.", "Certo! L'ufficio apre alle nove del mattino. Spero di esserti stato utile."),
])
def test_pleasantries_are_no_claims(context: str, response: str) -> None:
    result = judged("faithfulness", user_input="When?", response=response, retrieved_contexts=[context])
    assert (result.value, result.details["denominator"]) == (1.0, 1)


def test_chinese_goes_by_pairs_of_characters() -> None:
    assert verdicts(["退款需要7天。", "退款需要5天。", "员工可以带狗上班。"], "退款将在7天内完成，退款需要提供发票。") == [
        (1, ""), (0, "未找到数字：5"), (0, "未找到词语：员工, 工可, 可以, 以带, 带狗, 狗上, 上班")]


def test_claims_are_the_sentences_that_state_something() -> None:
    text = "Sure! The tower is 330 m tall. Would you like more? I could not find its architect. It opened in 1894."
    claims = answer(ListClaims("How tall?", text))["claims"]
    assert [claim["text"] for claim in claims] == ["The tower is 330 m tall.", "It opened in 1894."]


@pytest.mark.parametrize("marker", [" [1].", ".[1]", " [1, 3].", "[^2].", "【1】。", ". [1-3]"])
def test_a_citation_marker_is_no_number_that_a_context_must_have(marker: str) -> None:
    text = f"The tower in Lund is 330 m tall{marker}"
    assert judged("faithfulness", response=text, retrieved_contexts=[TOWER]).value == 1.0
    assert judged("context_recall", reference=text, retrieved_contexts=[TOWER]).value == 1.0
    assert judged("context_precision", user_input="How tall?", reference=text, retrieved_contexts=[TOWER]).value == 1.0


@pytest.mark.parametrize(("text", "refused"), [
    ("I'm sorry, the documents do not mention the price.", 1), ("I do not know.", 1), ("There is no information on this.", 1),
    ("I cannot answer that. Please contact support.", 1), ("抱歉，资料中没有提到价格。", 1), ("无法确定。", 1),
    ("The price is 30 euros.", 0), ("The tower does not open on Mondays.", 0), ("价格是30元。", 0),
    ("I could not find the price of the pass. A single ticket costs 3 euros.", 0),
    # the first person and any verb of telling; a typeset apostrophe; no verb at all; passive; "sorry" alone says nothing
    ("Sorry, but I can not confirm that.", 1), ("I don’t have that.", 1), ("Not mentioned in the context.", 1),
    ("The answer cannot be determined from the passages.", 1), ("It is unclear from the text who won.", 1),
    ("I'm not sure.", 1), ("I must decline to comment.", 1), ("N/A", 1), ("The documents are silent on this.", 1),
    ("The handbook mentions the pass, but it does not say what it costs.", 1),
    ("文档信息不足，因此我无法基于提供的文档回答该问题。", 1), ("我不太清楚。", 1),
    ("资料里并未明确说明。", 1), ("我无法为您提供医疗建议。", 1),
    # an attempt after the caveat
    ("I am not certain, but the handbook mentions two years for batteries.", 0), ("我不确定，但手册提到电池保修两年。", 0),
    # a "no" as the answer: what a thing lacks, not what a source leaves open
    ("The plan does not include a trial.", 0), ("Breakfast is not provided.", 0), ("We do not have a store in Lund.", 0),
    ("套餐不包含早餐。", 0), ("周末无法提供送货。", 0), ("文档未提供价格。", 1), ("The handbook does not cover prices.", 1),
])  # fmt: skip
def test_a_refusal_says_nothing_else(text: str, refused: int) -> None:
    assert answer(DetectRefusal("What does it cost?", text))["refused"] == refused


def test_support_falls_with_what_is_missing() -> None:
    given = premise((TOWER,))
    right, number, name, nothing = ([found(text, given)] for text in (
        TOWER, "The tower in Lund was finished in 1895 and is 330 m tall.",
        "The tower in Oslo was finished in 1894 and is 330 m tall.", "Bees make honey."))
    assert 1 > support(right) > support(number) > support(nothing) > 0
    assert support(right) > support(name) > support(nothing)
    assert support(right) == pytest.approx(0.96597, abs=1e-5)  # 1 / (1 + e^(0.742 − 0.555 − 1.251 − 0.574 − 1.708))


def test_faithfulness_keeps_the_support_of_the_whole_answer() -> None:
    contexts = [TOWER]
    long = " ".join(f"The tower has {number} floors." for number in range(40))
    for answered, value in ((TOWER, 1.0), (f"{TOWER} It is made of gold.", 0.5), (long, 0.0)):
        result = judged("faithfulness", question="How tall?", answer=answered, contexts=contexts)
        assert result.value == value
        assert 0 < result.details["support"] < 1
        assert result.flags == ("HEURISTIC",)
        assert (result.judge, result.usage.prompts) == ("embedded", 0)


def test_what_needs_a_model_is_skipped() -> None:
    result = judged("answer_relevancy", question="How tall?", answer="330 m.", contexts=[TOWER])
    assert (result.status, result.code) == ("skipped", "JUDGE_UNSUPPORTED")
    assert "generate_questions" in str(result.reason)
    assert set(KINDS) - set(ANSWERS) == {
        "generate_questions", "infer_goal", "check_goal", "list_entities", "judge_needed", "rate_answer", "list_intents",
        "rate_intents", "judge_answerable", "judge_accuracy", "score_rubric", "check_aspect"}
    for name in ("answer_accuracy", "rubric", "aspect", "refusal_accuracy"):
        asked = score(built(name), {"question": "How tall?", "answer": "330 m."}, EmbeddedJudge())
        assert (asked.status, asked.code) == ("skipped", "JUDGE_UNSUPPORTED"), name


def test_every_other_metric_is_scored() -> None:
    sample = {"question": "How tall is the tower in Lund?", "answer": TOWER, "reference": TOWER,
              "contexts": ["Bees make honey.", TOWER]}
    expected = {
        "faithfulness": 1.0, "context_relevancy": 0.5, "context_recall": 1.0, "context_precision": 0.5, "refusal_accuracy": 1.0,
        "context_utilization": 0.5, "noise_sensitivity": 0.0, "context_sentence_relevancy": 0.5, "citation_recall": 0.0,
        "citation_precision": None, "citation_f1": 0.0}
    assert {name: judged(name, should_refuse=False, **sample).value for name in expected} == expected


def test_the_same_sample_gets_the_same_score() -> None:
    sample = {"question": "How tall?", "answer": f"{TOWER} It is made of gold.", "contexts": [TOWER]}
    assert judged("faithfulness", **sample) == judged("faithfulness", **sample)


def test_the_quickstart_shows_what_its_labels_say() -> None:
    """Of the answers that people would call unfaithful nearly all are found, of the faithful ones nearly none."""
    rows = [json.loads(line) for line in QUICKSTART.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 60
    assert {row["language"] for row in rows} == {"en", "zh"}
    values = {row["id"]: judged("faithfulness", **{key: row[key] for key in ("question", "answer", "contexts")}) for row in rows}
    unfaithful = [row["id"] for row in rows if row["faithful"] is False]
    faithful = [row["id"] for row in rows if row["faithful"] is True]
    assert sum((values[id].value or 0) < 1 for id in unfaithful) >= 0.9 * len(unfaithful)
    assert sum(values[id].value == 1 for id in faithful) >= 0.9 * len(faithful)
    for row in rows:
        if row["label"].startswith("refused") and row["contexts"]:
            assert values[row["id"]].code == "NO_CLAIMS"
        if not row["contexts"]:
            assert values[row["id"]].code == "NO_CONTEXT"
