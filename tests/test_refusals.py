"""Which answers decline, in each language whose phrases are known; and what is unknown stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rageval_spark.judges.refusals import LANGUAGES, refused

ANSWERS = yaml.safe_load((Path(__file__).parent / "refusals.yaml").read_text(encoding="utf-8"))
DECLINING = [(language, text) for language, answers in ANSWERS.items() for text in answers["refused"]]
STATING = [(language, text) for language, answers in ANSWERS.items() for text in answers["answered"]]


def test_each_language_has_its_table() -> None:
    assert set(ANSWERS) == set(LANGUAGES)


@pytest.mark.parametrize(("language", "text"), DECLINING)
def test_an_answer_that_declines_is_a_refusal(language: str, text: str) -> None:
    assert refused(text) is True


@pytest.mark.parametrize(("language", "text"), STATING)
def test_an_answer_that_states_something_is_none(language: str, text: str) -> None:
    assert not refused(text)
