"""How prompts over long data are divided, and how the answers to their parts are joined."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.prompts import length
from rageval_spark.prompts.claims import ListClaims, VerifyClaims
from rageval_spark.prompts.contexts import RateContexts1
from rageval_spark.prompts.items import Decision
from tests.test_prompts import PROMPTS

CONTEXTS = ((1, "one context"), (3, "another"))
CLAIMS = ((1, "a"), (2, "b"))
RATE = RateContexts1(contexts=CONTEXTS, question="Q?")


def texts(prompts: Any) -> list[list[int]]:
    return [[id for id, _ in prompt.contexts] for prompt in prompts]


def test_a_prompt_that_fits_is_itself() -> None:
    for prompt in PROMPTS:
        assert list(prompt.divide(100_000)) == [prompt]
        assert not any(part.context_split for part in prompt.divide(100_000))


def test_at_most_ten_contexts_a_prompt_and_one_where_isolated() -> None:
    contexts = tuple((id, f"chunk {id}") for id in range(1, 24))
    parts = replace(RATE, contexts=contexts).divide(100_000)
    assert texts(parts) == [list(range(1, 11)), list(range(11, 21)), [21, 22, 23]]
    assert not any(part.context_split for part in parts)
    assert texts(replace(RATE, contexts=contexts[:3], isolated=True).divide(100_000)) == [[1], [2], [3]]


def test_at_most_twenty_claims_a_prompt() -> None:
    parts = VerifyClaims(tuple((id, "c") for id in range(1, 46)), CONTEXTS).divide(100_000)
    assert [[id for id, _ in part.items] for part in parts] == [  # type: ignore[attr-defined]
        list(range(1, 21)), list(range(21, 41)), list(range(41, 46))]  # fmt: skip
    assert texts(parts) == [[1, 3]] * 3


def test_long_contexts_are_divided_between_chunks() -> None:
    contexts = tuple((id, f"{id} " * 600) for id in range(1, 6))  # 301 tokens each
    parts = VerifyClaims(CLAIMS, contexts).divide(900 + 620)
    assert texts(parts) == [[1, 2], [3, 4], [5]]
    assert all(part.context_split for part in parts)
    assert texts(replace(RATE, contexts=contexts).divide(900 + 620)) == [[1, 2], [3, 4], [5]]


def test_a_chunk_beyond_the_limit_is_cut_into_overlapping_pieces_under_its_id() -> None:
    words = [f"w{i}" for i in range(2000)]
    parts = VerifyClaims(CLAIMS, ((1, "short"), (2, " ".join(words)))).divide(900 + 500)
    assert texts(parts) == [[1], *[[2]] * (len(parts) - 1)]
    pieces = [text for part in parts for id, text in part.contexts if id == 2]  # type: ignore[attr-defined]
    assert len(pieces) > 4
    heard = [piece.split() for piece in pieces]
    assert all(set(piece) <= set(words) for piece in heard)  # no word is cut
    assert all(set(one) & set(next_) for one, next_ in pairwise(heard))
    assert list(dict.fromkeys(word for piece in heard for word in piece)) == words


def test_a_long_premise_is_divided_like_contexts() -> None:
    parts = VerifyClaims(CLAIMS, text="word " * 2000).divide(900 + 500)
    assert len(parts) > 4
    assert all(part.context_split and length.tokens(part.text) <= 500 for part in parts)  # type: ignore[attr-defined]


def test_the_claims_of_a_long_text_are_listed_by_parts() -> None:
    sentences = [f"This is sentence number {i}." for i in range(300)]
    prompt = ListClaims("Q?", " ".join(sentences))
    parts = prompt.divide(900 + 500)
    assert len(parts) > 2
    assert " ".join(part.text for part in parts) == prompt.text  # type: ignore[attr-defined]
    assert prompt.join(parts, [("a",), ("b", "c")]) == ("a", "b", "c")
    with pytest.raises(JudgeFault):
        prompt.join(parts, [("a",), JudgeFault("JUDGE_PARSE", "prose")])
    told = ListClaims("Q?", " ".join(sentences), (("user", "word " * 1000),))
    assert len(told.divide(900 + 500 + 1300)) > 1  # what else is in the prompt leaves less room


def given(**values: int) -> dict[int, Decision]:
    return {int(name[1:]): Decision(value, name) for name, value in values.items()}


FAULT = JudgeFault("JUDGE_TIMEOUT", "too late")


def test_a_claim_is_supported_when_one_group_supports_it() -> None:
    prompt = VerifyClaims(CLAIMS, CONTEXTS)
    parts = (prompt, prompt)
    assert prompt.join(parts, [given(c1=0, c2=1), given(c1=1, c2=0)]) == given(c1=1, c2=1)
    assert prompt.join(parts, [given(c1=0, c2=0), given(c1=0, c2=0)]) == given(c1=0, c2=0)


def test_a_failed_group_matters_where_no_other_group_settles_the_item() -> None:
    prompt = VerifyClaims(CLAIMS, CONTEXTS)
    parts = (prompt, prompt)
    assert prompt.join(parts, [FAULT, given(c1=1, c2=1)]) == given(c1=1, c2=1)
    with pytest.raises(JudgeFault) as fault:
        prompt.join(parts, [given(c1=1, c2=0), FAULT])
    assert (fault.value.code, fault.value.partial) == ("JUDGE_TIMEOUT", given(c1=1))
    missing_one = JudgeFault("JUDGE_COUNT_MISMATCH", "no answer", partial=given(c2=1))
    assert prompt.join(parts, [missing_one, given(c1=1, c2=0)]) == given(c1=1, c2=1)


def test_a_failed_part_takes_nothing_from_the_items_of_the_others() -> None:
    prompt = replace(RATE, contexts=tuple((id, "c") for id in range(1, 13)))
    parts = prompt.divide(100_000)
    with pytest.raises(JudgeFault) as fault:
        prompt.join(parts, [FAULT, given(c11=0, c12=1)])
    assert fault.value.partial == given(c11=0, c12=1)
    alone = replace(RATE, contexts=prompt.contexts[:3], isolated=True)
    with pytest.raises(JudgeFault) as fault:
        alone.join(alone.divide(100_000), [given(c1=0), FAULT, given(c3=1)])
    assert fault.value.partial == given(c1=0, c3=1)
