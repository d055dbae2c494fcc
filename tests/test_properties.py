"""What holds for any input: order, division, renaming, and texts in every script."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_spark.judges.reading import read, scan
from rageval_spark.metrics.context_precision import ContextPrecision
from rageval_spark.metrics.context_relevancy import ContextRelevancy
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.prompts import length
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.contexts import JudgeUsefulness, RateContexts1, RateContexts2
from rageval_spark.prompts.detection import language_name, prompt_language, script
from rageval_spark.prompts.language import normalised, sentences, word_tokens
from rageval_spark.prompts.prompt import Unacceptable
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.prompts.rendering import Rendering, disarm
from rageval_spark.prompts.steps import average_precision
from rageval_spark.values import well_formed
from tests.oracle import common_prefix
from tests.playing import played

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SCRIPTS = "aZ09 .!?\n\"'{}<>é ßΩж北京。？！かなカ한글ไทยمرحبا؟नमस्ते।🦊"
texts = st.text(alphabet=st.sampled_from(SCRIPTS), max_size=80) | st.text(max_size=40)


def prose(words: int, seed: int) -> str:
    """Words of several scripts: long texts, of which hypothesis only chooses two numbers."""
    chance = Random(seed)
    return " ".join("".join(chance.choices("abcdefgh北京é🦊", k=chance.randint(1, 12))) for _ in range(words))


useful = st.lists(st.booleans(), max_size=30)
verdict_lists = st.lists(st.integers(0, 1), min_size=1, max_size=25)


@quick
@given(useful, st.integers(0, 5))
def test_chunks_of_no_use_at_the_end_change_no_average_precision(verdicts: list[bool], more: int) -> None:
    value = average_precision(verdicts)
    assert average_precision(verdicts + [False] * more) == value
    assert 0.0 <= value <= 1.0
    assert (value == 1.0) is (any(verdicts) and verdicts == sorted(verdicts, reverse=True))


@quick
@given(useful.filter(any), st.randoms(use_true_random=False))
def test_a_useful_chunk_that_moves_up_never_lowers_average_precision(verdicts: list[bool], random: Any) -> None:
    at = random.choice([i for i, is_useful in enumerate(verdicts) if is_useful])
    if at > 0:
        moved = [*verdicts[: at - 1], True, verdicts[at - 1], *verdicts[at + 1 :]]
        assert average_precision(moved) >= average_precision(verdicts) - 1e-12


@quick
@given(verdict_lists, st.randoms(use_true_random=False))
def test_the_order_of_claims_changes_no_faithfulness(verdicts: list[int], random: Any) -> None:
    sample = {"user_input": "?", "response": "A text that is long enough.", "retrieved_contexts": ["c"]}
    ids = list(range(len(verdicts)))
    random.shuffle(ids)
    for order in (range(len(verdicts)), ids):
        score, _ = played(
            Faithfulness(), sample, list_claims=[f"claim {i}" for i in order], verify_claims=[verdicts[i] for i in order]
        )
        assert score.value == sum(verdicts) / len(verdicts)


@quick
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12), st.booleans())
def test_division_changes_no_score(ratings: list[tuple[int, int]], isolated: bool) -> None:
    sample = {"user_input": "?", "retrieved_contexts": [f"chunk {i}" for i in range(len(ratings))], "reference": "r"}
    first, second = ([pair[i] for pair in ratings] for i in (0, 1))
    relevancy, _ = played(ContextRelevancy(isolated=isolated), sample, rate_contexts_1=first, rate_contexts_2=second)
    assert relevancy.value == sum(a + b >= 2 for a, b in ratings) / len(ratings)
    verdicts = [int(a > 0) for a in first]
    precision, _ = played(ContextPrecision(isolated=isolated), sample, judge_usefulness=verdicts)
    assert precision.value == average_precision([bool(verdict) for verdict in verdicts])


@quick
@given(verdict_lists, st.integers(1, 10**9), st.randoms(use_true_random=False))
def test_ids_are_names_and_nothing_else(verdicts: list[int], offset: int, random: Any) -> None:
    prompt = VerifyClaims(tuple((offset + i, f"claim {i}") for i in range(len(verdicts))), ((1, "c"),))
    reply = [{"id": offset + i, "reason": "", "verdict": verdict} for i, verdict in enumerate(verdicts)]
    random.shuffle(reply)
    accepted = prompt.accept({"verdicts": reply})
    assert not accepted.missing
    assert [prompt.value(accepted.reply)[offset + i].value for i in range(len(verdicts))] == verdicts


chunk_texts = st.builds(prose, st.integers(0, 400), st.integers(0, 999)) | texts.map(lambda text: text * 20)


@quick
@given(st.lists(chunk_texts, max_size=6), st.integers(20, 300), st.none() | st.integers(1, 3))
def test_packing_loses_nothing_and_keeps_within_the_room(chunks: list[str], room: int, most: int | None) -> None:
    groups, forced = length.packed(list(enumerate(chunks, 1)), room, most)
    for group in groups:
        assert len({id for id, _ in group}) == len(group)
        assert sum(length.tokens(text) for _, text in group) <= room
        assert most is None or len(group) <= most
    for id, text in enumerate(chunks, 1):
        pieces = [piece for group in groups for other, piece in group if other == id]
        assert covered(text, pieces)
        if length.tokens(text) <= room:
            assert pieces == [text]
    ids = [id for group in groups for id, _ in group]
    assert ids == sorted(ids)
    if most is None:
        assert forced is (len(groups) > 1)


def covered(text: str, pieces: list[str]) -> bool:
    """Whether each piece begins within or right after the one before it, from the first character to the last."""
    reach = 0
    for piece in pieces:
        starts = [start for start in range(reach + 1) if text.startswith(piece, start) and start + len(piece) >= reach]
        if not starts:
            return False
        reach = max(starts) + len(piece)
    return reach == len(text)


@quick
@given(st.builds(prose, st.integers(300, 900), st.integers(0, 999)))
def test_pieces_of_a_chunk_cut_no_word(said: str) -> None:
    groups, _ = length.packed([(1, said)], 100)
    heard = [word for group in groups for _, text in group for word in text.split()]
    assert set(heard) == set(said.split())


@quick
@given(texts)
def test_sentences_lose_no_word(text: str) -> None:
    parts = sentences(text)
    assert [token for part in parts for token in word_tokens(part)] == word_tokens(text)
    assert all(part == part.strip() and word_tokens(part) for part in parts)


@quick
@given(texts)
def test_every_text_has_a_language_to_be_asked_in(text: str) -> None:
    assert prompt_language(text) in ("en", "zh")
    assert language_name(text) is None or language_name(text).isalpha()  # type: ignore[union-attr]
    assert script(text)
    assert normalised(normalised(text)) == normalised(normalised(normalised(text)))


@quick
@given(st.text(alphabet="北京天气今天怎么样这是中文问题", min_size=1), st.text(alphabet="， 。？0123456789", max_size=10))
def test_chinese_is_asked_in_chinese(han: str, rest: str) -> None:
    assert prompt_language(han + rest) == "zh"
    assert prompt_language(han + "は" + rest) == "en"


@quick
@given(st.lists(texts.filter(str.strip), min_size=1, max_size=4), texts, texts)
def test_prompts_over_the_same_contexts_share_all_of_them(contexts: list[str], question: str, target: str) -> None:
    items = tuple(enumerate(map(well_formed, contexts), 1))
    question, target = well_formed(question), well_formed(target)
    rendering = Rendering("judge")
    rendered = [
        rendering.render(prompt, "en")
        for prompt in (
            VerifyClaims(((1, target),), items),
            RateContexts1(contexts=items, question=question),
            RateContexts2(contexts=items, question=question),
            JudgeUsefulness(contexts=items, question=question, reference=target),
        )
    ]
    for one in rendered:
        assert "\n" not in one.data
        assert [item["text"] for item in json.loads(one.data)["contexts"]] == [text for _, text in items]
    first, *others = (one.user() for one in rendered)
    shared = first[: min(common_prefix(first, other) for other in others)]
    told = json.dumps([{"id": id, "text": text} for id, text in items], ensure_ascii=False)
    assert shared == f'<data-{rendered[0].fence}>\n{{"contexts": {disarm(told, rendered[0].fence)}, "'


controls = ["<|im_start|>", "</s>", "[INST]", "</data-", "<data-", "{tag}", "{TAG}", "\u2028", "\\", '"', "\x1b", "b", "\b"]
tags = ["1b234567", "0123abcd", "b0000000", "12345678"]


@quick
@given(st.lists(st.sampled_from(controls), max_size=8).map("".join), st.sampled_from(tags))
def test_disarmed_data_is_the_same_json_without_control_tokens(text: str, tag: str) -> None:
    text = text.replace("{tag}", tag).replace("{TAG}", tag.upper())
    line = json.dumps({"text": text, "number": 1}, ensure_ascii=False)
    disarmed = disarm(line, tag)
    assert json.loads(disarmed) == {"text": text, "number": 1}
    for token in ("<|", "</s", "[INST", "</data", "<data", tag, "\u2028"):
        assert token not in disarmed.casefold().replace("[inst", "[INST")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@quick
@given(
    st.lists(json_values.filter(lambda value: isinstance(value, dict)), max_size=3),
    st.sampled_from(["", " then ", "\n```json\n", "It is {thus}: ", "1 < 2 "]),
)
def test_objects_in_prose_are_found_whole(values: list[Any], between: str) -> None:
    told = [json.dumps(value) for value in values]
    written = scan(between.join(["", *told, ""])).objects
    assert [json.dumps(each.value) for each in written] == list(dict.fromkeys(told))


@quick
@given(texts | json_values.map(json.dumps) | st.text(alphabet='{}[]":, 01refusd\\<think/>', max_size=60))
def test_whatever_is_written_is_an_answer_or_a_fault(text: str) -> None:
    for prompt in (DetectRefusal("?", "a"), VerifyClaims(((1, "a"),), ((1, "c"),)), RateContexts1(contexts=((1, "c"),))):
        with suppress(Unacceptable):
            accepted = read(prompt, text)
            assert accepted.missing or prompt.value(accepted.reply) is not None


@quick
@given(st.lists(json_values, max_size=4))
def test_whatever_the_items_are_the_sent_ones_are_decided_or_missing(items: list[Any]) -> None:
    prompt = VerifyClaims(((1, "a"), (2, "b")), ((1, "c"),))
    accepted = prompt.accept({"verdicts": items})
    assert {one["id"] for one in accepted.reply["verdicts"]} | set(accepted.missing) == {1, 2}
