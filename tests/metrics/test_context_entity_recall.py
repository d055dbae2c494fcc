"""Context entity recall, worked out by hand: distinct entities of the reference that the contexts name."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.measures.entities import norm, occurs
from rageval_spark.metrics.context_entity_recall import ContextEntityRecall
from tests.playing import kinds, played

METRIC = ContextEntityRecall()


def entities(*names: str) -> dict[str, Any]:
    return {"entities": [{"id": id, "name": name} for id, name in enumerate(names, 1)]}


def sample(*contexts: str, reference: str | None = "Paris is in France.") -> dict[str, Any]:
    return {"question": "?", "contexts": list(contexts), "reference": reference}


@pytest.mark.parametrize(
    ("wanted", "context", "value"),
    [
        (["Paris", "FRANCE"], "paris and France", 1.0),
        (["Paris", "PARIS ", "France"], "Paris.", 0.5),  # variants are one
        (["the Eiffel Tower"], "The “Eiffel Tower” stands.", 1.0),
        (["1,000,000 euros"], "It cost 1000000 euros.", 1.0),
        (["٣٠٠ m"], "300 m tall", 1.0),
        (["1.000.000 Euro"], "Es kostete 1 000 000 Euro.", 1.0),
        (["1,000,000 euros"], "Costing 1\u202f000\u202f000 euros.", 1.0),
        (["3.142"], "It is 3142.", 0.0),  # may be decimals
        (["2024"], "In 2024 300 people came.", 1.0),
        (["Paris"], "Parisian life", 0.0),  # whole words
        (["巴黎"], "他住在巴黎市。", 1.0),
        (["50 %"], "50 % of all", 1.0),
        (["Ürümqi"], "ürümqi", 1.0),
    ],
)
def test_share_of_entities(wanted: list[str], context: str, value: float) -> None:
    score, asked = played(METRIC, sample(context), list_entities=iter([entities(*wanted), entities()]))
    assert score.value == value
    assert kinds(asked) == ["list_entities"] * (1 if value == 1.0 else 2)


def test_what_the_judge_lists_of_the_contexts_counts_too() -> None:
    replies = iter([entities("UN"), entities("the UN")])
    score, asked = played(METRIC, sample("U.N. troops"), list_entities=replies)
    assert (score.value, asked[1].contexts) == (1.0, ((1, "U.N. troops"),))


@pytest.mark.parametrize(
    ("row", "status", "code", "value"),
    [
        (sample("a", reference=None), "skipped", "NO_REFERENCE", None),
        (sample("a", reference=" "), "skipped", "NO_REFERENCE", None),
        ({**sample(), "contexts": None}, "skipped", "NO_CONTEXT", None),
        (sample(), "scored", None, 0.0),
        (sample("", " "), "scored", None, 0.0),
    ],
)
def test_nothing_is_asked(row: dict[str, Any], status: str, code: str | None, value: float | None) -> None:
    score, asked = played(METRIC, row)
    assert (score.status, score.code, score.value, asked) == (status, code, value, [])


def test_a_reference_without_entities() -> None:
    score, asked = played(METRIC, sample("a"), list_entities=entities())
    assert (score.code, len(asked)) == ("NO_ENTITIES", 1)


def test_long_contexts_are_listed_in_groups() -> None:
    contexts = [f"{'word ' * 2000}{i}" for i in range(4)]
    score, asked = played(METRIC, sample(*contexts), token_limit=6000, list_entities=lambda prompt: entities("Paris"))
    assert score.value == 1.0
    assert len(asked) > 2
    assert "CONTEXT_SPLIT" in score.flags


def test_forms() -> None:
    assert norm(" The  U.S.A. ") == "u.s.a"
    assert norm("A") == "a"
    assert norm("L’Oréal") == "l’oréal"
    assert not occurs("art", "party")
    assert occurs("art", "art, party")
