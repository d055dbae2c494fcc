"""What holds for every metric of the catalogue, whatever the sample is and whatever a judge says. Played by hand."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_spark.errors import JudgeFault
from rageval_spark.metric import Metric
from rageval_spark.metrics import CATALOGUE, NAMED
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.items import ItemPrompt
from rageval_spark.prompts.kinds import KINDS
from rageval_spark.prompts.prompt import Unacceptable
from rageval_spark.prompts.rendering import schema_of
from rageval_spark.report.catalogue import parts
from rageval_spark.sample import FIELDS
from rageval_spark.score import FAILED, FLAGS, SKIPPED, Score
from tests.playing import PARAMETERS, built, played

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

OPTIONS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "answer_relevancy": ({"isolated": True}, {"strictness": 1}),
    "context_relevancy": ({"isolated": True}, {"relevant_from": 2.0}),
    "context_precision": ({"isolated": True},),
    "context_utilization": ({"isolated": True},),
    "noise_sensitivity": ({"mode": "relevant"}, {"mode": "irrelevant"}),
    "answer_correctness": ({"weights": (1.0, 0.0)}, {"weights": (0.0, 1.0), "beta": 2.0}),
    "answer_similarity": ({"at_least": 0.0}, {"at_least": 0.5}),
    "citation_f1": ({"first": 0},),
    "recall": ({"k": 2}, {"capped": True}),
    "precision": ({"k": 2}, {"retrieved": True}),
    "hit_rate": ({"k": 1},),
    "mrr": ({"k": 2},),
    "ndcg": ({"k": 2}, {"gain": "exponential"}),
    "map": ({"k": 2}, {"norm": "capped"}),
    "exact_match": ({"squad": True},),
    "rouge": ({"type": "rouge2"}, {"type": "rougeLsum", "stem": True}),
    "tool_call_precision": ({"match": "arg_credit"},),
    "tool_call_recall": ({"order": "ordered", "lenient": True},),
    "tool_call_f1": ({"match": "name_only", "order": "sequence"}, {"accepted_values": True}),
    "goal_achievement": ({"partial": True},),
    "turn_efficiency": ({"goal": "judged"},),
    "refusal_accuracy": ({"derive": False},),
    "aspect": ({"yes_is_good": False, "fields": ("retrieved_contexts", "reference")},),
}
"""Parameters other than those that a metric has unless set."""
EVERY: list[Metric] = [metric for name in CATALOGUE for metric in (
    built(name), *(CATALOGUE[name](**{**PARAMETERS.get(name, {}), **given}) for given in OPTIONS.get(name, ())))]
JUDGED = [metric for metric in EVERY if metric.asks]


def called(metric: Metric) -> str:
    return metric.name + metric.suffix


# what a sample holds

CALLS: list[Any] = [{"name": "a", "args": {}}, {"name": "b", "args": {"x": 1}}, {"name": "b", "args": {"x": [2, ""], "y": None}}]
texts = st.sampled_from([
    None, "", " \n", "IDK", "Sure!", "Paris", "***", "Paris lies on the Seine [1]. It is big [2][9].",
    "蓝藻在七月大量繁殖。湖水变绿。",
    "This sentence has more words in it than a short answer has [1, 2]. Another one [0].", "🦊 {0} %s\nmore",
])  # fmt: skip
chunks = st.sampled_from([None, "", " ", "one", "One", "two and 1,000 more. Also Paris.", "Paris", "湖水变绿。", "***"])
ids = st.sampled_from(["a", "b", "c", "d", 7])
messages = st.sampled_from([
    {"role": "user", "content": "Do it."}, {"role": "assistant", "content": "Done."}, {"role": "tool", "content": "ok"},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]},
    {"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": "odd"}, {"content": "nobody"},
])  # fmt: skip
samples = st.fixed_dictionaries({}, optional={
    "user_input": texts, "response": texts, "retrieved_contexts": st.none() | st.lists(chunks, max_size=12),
    "reference": texts | st.lists(texts, max_size=3), "history": st.none() | st.just(["earlier", "later"]),
    "retrieved_ids": st.none() | st.lists(ids, max_size=6),
    "relevant_ids": st.none() | st.lists(ids, max_size=4) | st.dictionaries(ids, st.integers(-1, 3), max_size=4),
    "should_refuse": st.none() | st.booleans(), "messages": st.none() | st.lists(messages, max_size=5),
    "tool_calls": st.none() | st.lists(st.sampled_from([*CALLS, "odd"]), max_size=4),
    "reference_tool_calls": st.none() | st.lists(st.sampled_from(CALLS), max_size=4),
    "reference_goal": texts, "reference_turns": st.none() | st.integers(-1, 4),
})  # fmt: skip

WHOLE: dict[str, Any] = {
    "user_input": "Which river, and how long?", "response": "The Seine [1]. It is 777 km long [2][3].",
    "retrieved_contexts": ["The Seine.", "777 km.", "Long."], "reference": "The Seine, 777 km.", "should_refuse": False,
    "retrieved_ids": ["a", "x", "b"], "relevant_ids": ["a", "b"], "tool_calls": CALLS[:2], "reference_tool_calls": CALLS[:1],
    "messages": [{"role": "user", "content": "Do it."}, {"role": "assistant", "content": "Done."}], "reference_turns": 1,
}  # fmt: skip
"""A sample with all that any metric reads."""

# what a judge says


def well_formed(prompt: Any, chance: Random) -> Any:
    """A reply of the prompt's schema, which decides each of its items; a vector of two numbers for a text."""
    if prompt.kind == "embed":
        return [chance.uniform(-1, 1), 1.0]
    reply = of_schema(schema_of(prompt.model, "all"), chance)
    if isinstance(prompt, ItemPrompt):
        element = schema_of(prompt.element, "all")
        reply[prompt.replies_in] = [{**of_schema(element, chance), "id": id} for id, _ in prompt.items]
    return reply


def of_schema(schema: Mapping[str, Any], chance: Random) -> Any:
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if schema["type"] == "object":
        return {name: of_schema(one, chance) for name, one in schema["properties"].items()}
    if schema["type"] == "array":
        return [of_schema(schema["items"], chance) for _ in range(chance.randint(0, 4))]
    return chance.randint(1, 9) if schema["type"] == "integer" else chance.choice(["", "Paris", "It is so.", "为何", " x "])


ODD: tuple[Any, ...] = (None, True, -1, 2, 7, 0.7, math.inf, "", "yes", "maybe", "1", [], {}, [[]], {"id": 1}, "\ud83d")


def malformed(prompt: Any, chance: Random) -> Any:
    """A reply that is often none: with parts lost, repeated or replaced by something odd, a fault, a vector of no use."""
    if chance.random() < 0.05:
        return JudgeFault(chance.choice(["JUDGE_PARSE", "JUDGE_TIMEOUT", "JUDGE_TRUNCATED"]), "no reply")
    if prompt.kind == "embed" and chance.random() < 0.2:
        return chance.choice([[0.0, 0.0], [math.nan, 1.0], [1.0], [], [1.0, 0.0], [-1.0, 0.0], [3e38, 3e38]])
    reply = well_formed(prompt, chance)
    return reply if prompt.kind == "embed" else spoiled(reply, chance)


def spoiled(value: Any, chance: Random) -> Any:
    if chance.random() < 0.03:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {name: spoiled(one, chance) for name, one in value.items() if chance.random() < 0.98}
    if isinstance(value, list):
        return [spoiled(one, chance) for one in value for _ in range(chance.choice([0, *[1] * 12, 2]))]
    return value


Says = Callable[[Any, Random], Any]


def played_with(says: Says, metric: Metric, sample: Mapping[str, Any], seed: int) -> tuple[Score, list[Any]]:
    chance = Random(seed)

    def answer(prompt: Any) -> Any:
        reply = says(prompt, chance)
        if prompt.kind == "embed" or isinstance(reply, JudgeFault):
            return reply
        try:
            prompt.accept(reply)
        except Unacceptable as why:
            return JudgeFault(why.code, why.why)
        return reply

    answers: dict[str, Any] = dict.fromkeys([*KINDS, "embed"], answer)
    return played(metric, sample, **answers)


def assert_sound(score: Score, metric: Metric) -> None:
    if score.status == "scored":
        assert score.value is not None
        assert 0.0 <= score.value <= 1.0
        assert score.code is None
        assert not metric.binary or score.value in (0.0, 1.0)
        assert set(score.measures) <= set(metric.measured)
    else:
        assert score.value is None
        assert score.code in (SKIPPED if score.status == "skipped" else FAILED)
        assert score.code != "METRIC_ERROR", score.reason
    assert score.reason
    assert set(score.flags) <= set(FLAGS)
    assert len(set(score.flags)) == len(score.flags)
    assert_plain(score.details)
    assert json.loads(json.dumps(score.to_dict(), allow_nan=False))


def assert_plain(value: Any) -> None:
    """JSON and nothing that json.dumps only takes for it, such as keys that are numbers or numbers of numpy."""
    if isinstance(value, Mapping):
        assert all(type(name) is str for name in value)
        for one in value.values():
            assert_plain(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            assert_plain(one)
    else:
        assert value is None or type(value) in (str, int, float, bool)


@pytest.mark.parametrize("metric", EVERY, ids=called)
@quick
@given(samples, st.integers(0, 9999))
def test_a_number_or_a_code_whatever_the_sample_is(metric: Metric, sample: dict[str, Any], seed: int) -> None:
    for sampled in (sample, {**WHOLE, **sample}):
        score, asked = played_with(well_formed, metric, sampled, seed)
        assert_sound(score, metric)
        assert {prompt.kind for prompt in asked} <= set(metric.asks)
        seen = {name: value for name, value in sampled.items() if name in metric.takes() or name == "history"}
        assert played_with(well_formed, metric, seen, seed) == (score, asked)  # it reads what it says that it reads


@pytest.mark.parametrize("metric", JUDGED, ids=called)
@quick
@given(samples, st.integers(0, 9999))
def test_a_number_or_a_code_whatever_the_judge_says(metric: Metric, sample: dict[str, Any], seed: int) -> None:
    for sampled in (sample, {**WHOLE, **sample}):
        score, _ = played_with(malformed, metric, sampled, seed)
        assert_sound(score, metric)


@pytest.mark.parametrize("metric", EVERY, ids=called)
@quick
@given(st.integers(0, 9999), st.text(max_size=5))
def test_the_name_of_a_sample_changes_nothing(metric: Metric, seed: int, name: str) -> None:
    score, asked = played_with(well_formed, metric, WHOLE, seed)
    assert played_with(well_formed, metric, {**WHOLE, "sample_id": name}, seed) == (score, asked)


# prompts, counted by hand

LONG = "This text has more words in it than any short answer has, whatever was asked."
MANY = {
    **WHOLE, "response": " ".join(f"Fact {i}." for i in range(45)), "reference": LONG,
    "retrieved_contexts": [f"Chunk {i}. It has two sentences." for i in range(12)] + ["chunk 1. It has two sentences.", " "],
}  # fmt: skip
UNLISTED = {**WHOLE, "response": LONG + " One more.", "reference": LONG}
FEW_PROMPTS = {
    "faithfulness": 2, "answer_relevancy": 1, "context_relevancy": 2, "context_recall": 2, "context_precision": 1,
    "context_utilization": 2, "context_sentence_relevancy": 1, "context_entity_recall": 2, "noise_sensitivity": 6,
    "answer_conciseness": 2, "answer_relevance": 1, "intent_coverage": 3, "answer_correctness": 4, "citation_recall": 5,
    "citation_precision": 5, "citation_f1": 5, "goal_achievement": 2, "refusal_accuracy": 1, "answer_accuracy": 1, "rubric": 1,
    "aspect": 1,
}  # fmt: skip
"""3 chunks, 2 claims, a statement with one citation and one with two, which do not support it alone; a label."""
MANY_PROMPTS = {
    **FEW_PROMPTS, "faithfulness": 1 + 2, "context_relevancy": 2 * 2, "context_recall": 1 + 2, "context_precision": 2,
    "context_utilization": 1 + 2, "context_sentence_relevancy": 1, "noise_sensitivity": 2 + 2 + 12 * 3,
    "answer_conciseness": 1 + 2, "answer_correctness": 2 + 2 + 2, "citation_recall": 3, "citation_precision": 3,
    "citation_f1": 3,
}  # fmt: skip
"""12 distinct chunks of 13 different sentences, 25 claims in either text, 45 sentences that cite nothing."""
UNLISTED_PROMPTS = {
    **FEW_PROMPTS, "faithfulness": 2 + 2, "context_recall": 2 + 2, "answer_conciseness": 2 + 2, "noise_sensitivity": 6 + 4,
    "answer_correctness": 4 + 4, "citation_recall": 1, "citation_precision": 1, "citation_f1": 1,
}  # fmt: skip
"""Texts of which the judge lists no claim, and which do not decline; nothing cited."""


@pytest.mark.parametrize(("sample", "claims", "most"), [
    (WHOLE, 2, FEW_PROMPTS), (MANY, 25, MANY_PROMPTS), (UNLISTED, 0, UNLISTED_PROMPTS)], ids=["few", "many", "unlisted"])
@pytest.mark.parametrize("name", CATALOGUE)
def test_no_more_prompts_than_the_docstring_says(name: str, sample: dict[str, Any], claims: int, most: dict[str, int]) -> None:
    def nothing_holds(prompt: Any, chance: Random) -> Any:
        """What leads to most prompts: nothing is supported, but by several contexts together; nothing declines."""
        reply = well_formed(prompt, chance)
        if prompt.kind == "list_claims":
            return {"claims": [{"id": i, "text": f"claim {i} of {prompt.text}"} for i in range(1, claims + 1)]}
        if prompt.kind == "verify_claims":
            return {"verdicts": [{"id": id, "verdict": int(len(prompt.contexts) == 2)} for id, _ in prompt.items]}
        if prompt.kind == "find_statements":
            return {"verdicts": [{"id": id, "verdict": 1} for id, _ in prompt.items]}
        if prompt.kind == "generate_questions":
            return {"noncommittal": 0, "questions": [{"id": i, "question": f"Q{i}?"} for i in range(1, prompt.n + 1)]}
        if prompt.kind == "list_entities":
            return {"entities": [{"id": 1, "name": "Nowhere"}]}
        if prompt.kind == "infer_goal":
            return {"goal": "Do it.", "end_state": "It is done."}
        if prompt.kind == "check_goal":
            return {"steps": [{"id": 1, "text": "do it", "done": 0}], "achieved": 0}
        return {"refused": 0} if prompt.kind == "detect_refusal" else reply

    score, asked = played_with(nothing_holds, built(name), sample, 0)
    assert score.status == "scored" or name == "citation_precision", score
    judged = [prompt for prompt in asked if prompt.kind != "embed"]
    assert (len(judged), score.usage.prompts) == (most.get(name, 0),) * 2
    assert len(asked) - len(judged) == {"answer_relevancy": 4, "answer_correctness": 2, "answer_similarity": 2}.get(name, 0)
    assert ("none" in parts(CATALOGUE[name])["prompts"].split(";")[0]) is (most.get(name, 0) == 0)


# retrieval


def by_text(prompt: Any, chance: Random) -> Any:
    """Decisions that depend on an item's text alone: "good …" is 1 or 2, anything else 0."""
    if isinstance(prompt, VerifyClaims):
        supported = int(any("good" in text for _, text in prompt.contexts))
        return {"verdicts": [{"id": id, "verdict": supported} for id, _ in prompt.items]}
    if isinstance(prompt, ItemPrompt):
        good = [(id, int(text.casefold().startswith("good")) * prompt.best) for id, text in prompt.items]
        return {prompt.replies_in: [{"id": id, prompt.decides: value} for id, value in good]}
    if prompt.kind == "list_claims":
        return {"claims": [{"id": 1, "text": "claim"}]}
    if prompt.kind == "list_entities":
        return {"entities": [{"id": 1, "name": "good"}] if prompt.text else []}
    return {"refused": 0} if prompt.kind == "detect_refusal" else well_formed(prompt, chance)


retrieved = st.lists(st.sampled_from(["good a", "good b", "bad a", "bad b", " "]), min_size=1, max_size=12)
PRECISIONS = ("context_precision", "context_utilization", "map")
RETRIEVAL = [metric for metric in EVERY if metric.layer == "retrieval"]


def of_ranking(metric: Metric, ranking: list[str]) -> float | None:
    sample = {"user_input": "Q?", "response": "A.", "reference": "R.", "retrieved_contexts": ranking,
              "retrieved_ids": ranking, "relevant_ids": ["good a", "good b"]}  # fmt: skip
    return played_with(by_text, metric, sample, 0)[0].value


@pytest.mark.parametrize("metric", [metric for metric in EVERY if metric.name in PRECISIONS and "capped" not in metric.suffix],
                         ids=called)  # fmt: skip
@quick
@given(retrieved)
def test_an_irrelevant_chunk_at_the_end_changes_no_average_precision(metric: Metric, ranking: list[str]) -> None:
    if any(map(str.strip, ranking)):
        assert of_ranking(metric, [*ranking, "never of use"]) == of_ranking(metric, ranking)


@pytest.mark.parametrize("metric", [metric for metric in RETRIEVAL if metric.name != "context_relevancy"], ids=called)
@quick
@given(retrieved, st.integers(0, 99), st.integers(0, 99))
def test_a_repeated_chunk_never_raises_a_score(metric: Metric, ranking: list[str], which: int, where: int) -> None:
    before = of_ranking(metric, ranking)
    which %= len(ranking)
    where = which + 1 + where % (len(ranking) - which)
    after = of_ranking(metric, [*ranking[:where], ranking[which], *ranking[where:]])
    if before is None:
        assert after is None
    else:
        assert after is not None
        assert after <= before + 1e-12


def test_context_relevancy_counts_a_repeated_chunk_as_often_as_it_occurs() -> None:
    assert [of_ranking(built("context_relevancy"), ranking) for ranking in (["good a", "bad a"], ["good a", "bad a", "good a"])] \
        == [1 / 2, 2 / 3]


# the catalogue itself


def test_lower_is_better_for_noise_alone_and_where_yes_is_bad() -> None:
    assert {called(metric) for metric in EVERY if metric.direction == "lower"} == {
        "noise_sensitivity", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant", "aspect"}
    assert all(metric.yes_is_good is (metric.direction == "higher") for metric in EVERY if metric.name == "aspect")  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_docstring_has_its_parts(name: str) -> None:
    said, text = parts(CATALOGUE[name]), CATALOGUE[name].__doc__ or ""
    assert all(said[part].endswith(".") for part in ("what", "prompts", "source"))
    body, direction = text.split("\n\n", 1)[1].strip(), CATALOGUE[name].direction
    assert body.startswith(("In [0, 1], ", "0 or 1", "0, ")), "the range comes first"
    assert f"{direction} is better" in body.casefold()[:80]
    assert "Skipped " in body
    assert body.index("Skipped ") < body.index("Prompts:") < body.index("Source:")


def test_every_code_that_a_docstring_names_is_one() -> None:
    for metric in CATALOGUE.values():
        named = set(re.findall(r"\(([A-Z]+_[A-Z_]+)(?:\)|, )|, ([A-Z]+_[A-Z_]+)\)", metric.__doc__ or ""))
        assert {code for pair in named for code in pair if code} <= {*SKIPPED, *FAILED}


def test_names_and_aliases_do_not_collide() -> None:
    aliases = [alias for metric in CATALOGUE.values() for alias in metric.aliases]
    assert len(set(aliases)) == len(aliases)
    assert not set(aliases) & set(CATALOGUE)
    assert NAMED.keys() == {*aliases, *CATALOGUE}
    assert all(name == metric.name for name, metric in CATALOGUE.items())


def test_what_a_metric_says_of_itself_exists() -> None:
    for metric in EVERY:
        assert set(metric.takes()) <= set(FIELDS)
        assert set(metric.asks) <= {*KINDS, "embed"}
        assert set(metric.several) <= set(metric.__dataclass_fields__)
        assert set(metric.extremes) <= set(metric.measured)


def test_every_kind_of_prompt_is_asked_by_some_metric() -> None:
    assert {kind for metric in EVERY for kind in metric.asks} == {*KINDS, "embed"}
