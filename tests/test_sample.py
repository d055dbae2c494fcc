"""Reading a sample: what each field takes, under which names, and what is said of a value that is of no use."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import SampleFault
from rageval_spark.prompts.rendering import Rendering
from rageval_spark.sample import ALIASES, FIELDS, Sample, blank, fields_found
from rageval_spark.values import well_formed


@pytest.mark.parametrize(
    ("field", "given", "read"),
    [
        ("sample_id", "a-1", "a-1"),
        ("sample_id", 7, "7"),
        ("user_input", "Who?", "Who?"),
        ("user_input", "", ""),
        ("response", " \n", " \n"),
        ("response", "北京 Übergröße 🦊", "北京 Übergröße 🦊"),
        ("response", "cut \ud83d here", "cut \ufffd here"),
        ("response", "whole \ud83e\udd8a", "whole 🦊"),
        ("retrieved_contexts", ["a", "b"], ("a", "b")),
        ("retrieved_contexts", ("a",), ("a",)),
        ("retrieved_contexts", [], ()),
        ("retrieved_contexts", "one text", ("one text",)),
        ("retrieved_contexts", "", ("",)),
        ("retrieved_contexts", ' ["a", null, "c"]', ("a", "", "c")),
        ("retrieved_contexts", '[{"content": "a"}]', ("a",)),
        ("retrieved_contexts", "[1] Not JSON, but a footnote.", ("[1] Not JSON, but a footnote.",)),
        ("retrieved_contexts", "[broken", ("[broken",)),
        ("retrieved_contexts", '{"text": "no list"}', ('{"text": "no list"}',)),
        ("retrieved_contexts", ["a", None, " ", "d"], ("a", "", " ", "d")),
        ("retrieved_contexts", [{"text": "a"}, {"content": "b"}, {"page_content": "c", "metadata": {}}], ("a", "b", "c")),
        ("retrieved_contexts", [{"text": None, "content": "b"}], ("b",)),
        ("retrieved_contexts", ["\ud800"], ("\ufffd",)),
        ("reference", "one", ("one",)),
        ("reference", ["one", None, "two"], ("one", "two")),
        ("reference", [], ()),
        ("history", [{"role": "user", "content": "Hi"}, {"speaker": "bot", "text": "Yes?"}],
         (("user", "Hi"), ("assistant", "Yes?"))),
        ("history", '[{"role": "user", "content": "Hi"}]', (("user", "Hi"),)),
        ("history", ["Hi"], (("", "Hi"),)),
        ("retrieved_ids", ["a", 2], ("a", "2")),
        ("retrieved_ids", "[1, 2]", ("1", "2")),
        ("relevant_ids", [" A"], (" A",)),
        ("retrieved_scores", [1, 0.5], (1.0, 0.5)),
        ("retrieved_scores", ["Infinity", "-Infinity"], (float("inf"), float("-inf"))),
        ("relevant_ids", {"a": 2, "b": 0, 7: 0.5}, ("a", "7")),
        ("relevant_ids", ' {"a": 1}', ("a",)),
        ("relevance", {"a": 2, "b": None}, {"a": 2.0}),
        ("relevance", {"a": 2, 7: 0.5}, {"a": 2.0, "7": 0.5}),
        ("relevance", '{"a": 1}', {"a": 1.0}),
        ("should_refuse", True, True),
        ("should_refuse", " False ", False),
        ("should_refuse", 1, True),
        ("should_refuse", 0, False),
        ("messages", [{"role": "user"}], [{"role": "user"}]),
        ("tools", '[{"name": "f"}]', [{"name": "f"}]),
        ("tool_calls", [], []),
        ("reference_tool_calls", [{"name": "f", "args": {}}], [{"name": "f", "args": {}}]),
        ("reference_goal", "booked", "booked"),
        ("reference_turns", 3.0, 3),
        ("reference_turns", "3", 3),
        ("history", [{"role": "user", "content": ["x"]}], (("user", "x"),)),
        ("tools", {}, []),
    ],
)
def test_what_a_field_takes(field: str, given: Any, read: Any) -> None:
    assert getattr(Sample.parse({field: given}), field) == read


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("sample_id", 1.5, "sample_id: expected a text or a whole number, found a number 1.5"),
        ("sample_id", True, "sample_id: expected a text or a whole number, found a boolean true"),
        ("user_input", 5, "user_input: expected a text, found a number 5"),
        ("user_input", ["a"], 'user_input: expected a text, found a list ["a"]'),
        ("response", {"a": "ö"}, 'response: expected a text, found an object {"a": "ö"}'),
        ("response", b"x", "response: expected a text, found bytes"),
        ("retrieved_contexts", 5, "retrieved_contexts: expected a list of texts, found a number 5"),
        ("retrieved_contexts", {"text": "a"}, "retrieved_contexts: expected a list of texts, found an object"),
        ("retrieved_contexts", ["a", 2], "retrieved_contexts: expected a text, found a number 2"),
        ("retrieved_contexts", [["a"]], "retrieved_contexts: expected a text, found a list"),
        ("retrieved_contexts", [{"body": "a"}], "expected objects with a text under text, content or page_content"),
        ("retrieved_contexts", [{"text": 3}], "expected objects with a text under text, content or page_content"),
        ("reference", 5, "reference: expected a text, found a number 5"),
        ("reference", ["a", 5], "reference: expected a text, found a number 5"),
        ("history", "Hi", "history: expected a list of turns, found a text"),
        ("history", [5], "history: item 1: expected objects with role and content, found 5"),
        ("history", ["Hi", {"role": "user"}],
         'history: item 2: expected a message with content or tool calls, found {"role": "user"}'),
        ("history", [{"role": "user", "content": [5]}],
         "history: item 1: expected a message's content as text or parts, found 5"),
        ("retrieved_ids", "a", "retrieved_ids: expected a list of ids, found a text"),
        ("retrieved_ids", "[007, 008]", "that cannot be read (unexpected '007')"),
        ("retrieved_ids", "[broken", "retrieved_ids: expected a list of ids, found a text"),
        ("retrieved_ids", [1.0], "retrieved_ids: expected a text or a whole number, found a number 1.0"),
        ("relevant_ids", [None], "relevant_ids: expected a text or a whole number, found nothing: null"),
        ("retrieved_scores", ["0.5"], 'retrieved_scores: expected a number, found a text "0.5"'),
        ("retrieved_scores", [True], "retrieved_scores: expected a number, found a boolean"),
        ("relevant_ids", "{broken", "relevant_ids: expected an object of id and grade, found a text"),
        ("relevance", {"a": float("inf")}, "relevance: expected a finite grade, found a number Infinity"),
        ("relevance", ["a"], "relevance: expected an object of id and grade, found a list"),
        ("relevance", "{broken", "relevance: expected an object of id and grade, found a text"),
        ("relevance", {"a": "high"}, 'relevance: expected a number, found a text "high"'),
        ("should_refuse", "maybe", 'should_refuse: expected true or false, found a text "maybe"'),
        ("should_refuse", 2, "should_refuse: expected true or false, found a number 2"),
        ("messages", "hello", "messages: expected a list of objects"),
        ("tools", {"a": 1}, "tools: expected a list of objects, found an object"),
        ("reference_goal", 1, "reference_goal: expected a text"),
        ("reference_turns", 2.5, "reference_turns: expected a whole number, found a number 2.5"),
        ("reference_turns", float("inf"), "reference_turns: expected a whole number"),
        ("reference_turns", "three", "reference_turns: expected a number, found a text"),
        # what no message was worded for is a fault of the sample all the same
        ("retrieved_scores", [10**400], "retrieved_scores: cannot be read"),
        ("tool_calls", "[" * 100_000, "that cannot be read (it is nested too deeply)"),
        ("response", {(1, 2): "x"}, "response: expected a text, found an object"),
    ],
)
def test_what_is_said_of_a_value_of_no_use(field: str, given: Any, said: str) -> None:
    with pytest.raises(SampleFault) as fault:
        Sample.parse({field: given})
    assert said in str(fault.value)


@pytest.mark.parametrize(
    ("field", "given", "code"),
    [
        ("retrieved_ids", [1.0], "INVALID_ID"),
        ("relevant_ids", [None], "INVALID_ID"),
        ("relevance", {2.5: 1}, "INVALID_ID"),
        ("retrieved_ids", "a", "INVALID_INPUT"),
        ("retrieved_scores", ["high"], "INVALID_SCORE"),
        ("reference_turns", "three", "INVALID_INPUT"),
    ],
)
def test_a_fault_has_a_code_also_after_a_journey(field: str, given: Any, code: str) -> None:
    with pytest.raises(SampleFault) as fault:
        Sample.parse({field: given})
    travelled = pickle.loads(pickle.dumps(fault.value))
    assert (fault.value.code, travelled.code, str(travelled)) == (code, code, str(fault.value))
    with pytest.raises(SampleFault, match=r"\(column given\)") as fault:
        FieldGroup({field: "given"}, ()).sample("1", {"given": given})
    assert fault.value.code == code


def test_grades_under_relevant_ids_are_read_as_relevance_unless_that_is_there_too() -> None:
    assert Sample.parse({"relevant_ids": {"a": 2, "b": -1}}).relevance == {"a": 2.0, "b": -1.0}
    assert Sample.parse({"relevant_ids": {"a": 2}, "relevance": {"c": 1}}).relevance == {"c": 1.0}
    assert Sample.parse({"relevant_ids": ["a"]}).relevance is None


def test_a_fault_shows_the_beginning_of_a_long_value_and_can_be_written_down() -> None:
    with pytest.raises(SampleFault) as fault:
        Sample.parse({"response": ["\ud800" + "x" * 500]})
    assert str(fault.value).endswith("x...")
    assert len(str(fault.value)) < 150
    assert str(fault.value).encode()


@pytest.mark.parametrize(("field", "alias"), [(field, alias) for field, names in ALIASES.items() for alias in names])
def test_an_alias_is_read_as_its_field(field: str, alias: str) -> None:
    given = ["a"] if field.endswith(("_ids", "_contexts")) else "a"
    read = Sample.parse({alias: given, "language": "en"})
    assert read == Sample.parse({field: given})
    assert getattr(read, field) in ("a", ("a",))


def test_a_field_goes_by_its_own_name_first_and_then_by_its_aliases_in_order() -> None:
    names = ["output", "content", "answer", "query", "language"]
    assert fields_found(names) == {"user_input": "query", "response": "answer"}
    assert fields_found([*names, "response"])["response"] == "response"
    assert list(fields_found(["reference", "question", "id"])) == ["sample_id", "user_input", "reference"]


def test_null_is_no_data_and_blank_is_data() -> None:
    assert Sample.parse(dict.fromkeys(FIELDS)) == Sample()
    assert not Sample().has_question
    assert not Sample(user_input=" \u3000\n").has_question
    assert Sample(user_input="?").has_question
    assert not Sample(retrieved_contexts=("", " ")).has_context
    assert not Sample(retrieved_contexts=()).has_context
    assert Sample(retrieved_contexts=("", "x")).has_context
    assert blank(None)
    assert blank("\u00a0")


def test_several_references_are_one_text_for_a_judge() -> None:
    assert Sample(reference=("one", " ", "two")).reference_text == "one\ntwo"
    assert Sample(reference=(" ",)).reference_text == ""
    assert Sample().reference_text == ""


def test_well_formed_leaves_whole_characters_alone() -> None:
    assert well_formed("a北🦊") == "a北🦊"
    assert well_formed("\udc00x\ud83d") == "\ufffdx\ufffd"


@pytest.mark.parametrize(
    ("row", "language"),
    [
        ({"question": "多少钱？", "answer": "Ten."}, "zh"),
        ({"question": " ", "answer": "十元。"}, "zh"),
        ({"messages": [{"role": "system", "content": ""}, {"role": "user", "content": "请订一张桌子。"}]}, "zh"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}, "odd"]}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_that_prompts_are_worded_in(row: dict[str, Any], language: str) -> None:
    assert Rendering("").language_of(*Sample.parse(row).spoken) == language
