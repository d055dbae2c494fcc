"""Values as pandas, numpy, Spark and tables hold them: missing is missing, lists in cells are lists, for every field alike."""

from __future__ import annotations

import json
import math
import pickle
import time
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pyspark.sql import Row

from rageval_spark import ConfigError, EmbeddedJudge
from rageval_spark import score as score_one
from rageval_spark.cells import looks_like_list, read_cell
from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import SampleFault
from rageval_spark.metrics import CATALOGUE
from rageval_spark.sample import FIELDS, Sample, ambiguous_names
from rageval_spark.values import is_missing, plain

MASKED = np.ma.masked_array([1, 2], mask=[True, False])[0]
MISSING = [None, float("nan"), np.nan, np.float64("nan"), np.datetime64("NaT"), pd.NA, pd.NaT, MASKED, Decimal("NaN"),
           Decimal("sNaN"), "NaN", "nan", "NaT", "<NA>"]  # fmt: skip


@pytest.mark.parametrize("value", MISSING, ids=repr)
@pytest.mark.parametrize("field", FIELDS)
def test_missing_is_missing_in_every_field(field: str, value: Any) -> None:
    assert Sample.parse({field: value}) == Sample()


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing_items_of_lists(value: Any) -> None:
    assert Sample.parse({"contexts": ["a", value, "b"]}).retrieved_contexts == ("a", "", "b")
    assert Sample.parse({"contexts": [{"text": value, "content": "a"}]}).retrieved_contexts == ("a",)
    assert Sample.parse({"reference": ["a", value]}).reference == ("a",)
    assert Sample.parse({"reference": [value]}).reference == ()
    assert Sample.parse({"relevance": {"a": 1, "b": value}}).relevance == {"a": 1.0}
    assert Sample.parse({"history": [("q", value)]}).history == (("user", "q"),)
    for field in ("retrieved_ids", "relevant_ids"):
        with pytest.raises(SampleFault) as fault:
            Sample.parse({field: ["a", value]})
        assert fault.value.code == "INVALID_ID"


@pytest.mark.parametrize("text", ["None", "null", "N/A", "NaN.", "not a number", "NA", "nan nan"])
def test_words_that_people_answer_with_are_texts(text: str) -> None:
    sample = Sample.parse({"question": text, "answer": text, "reference": text, "contexts": [text]})
    assert (sample.user_input, sample.response, sample.reference, sample.retrieved_contexts) == (text, text, (text,), (text,))


@pytest.mark.parametrize("empty", [[], {}, (), np.array([]), pd.Series([], dtype=object)], ids=repr)
def test_an_empty_container_is_no_text_and_an_empty_list(empty: Any) -> None:
    for field in ("user_input", "response", "reference_goal", "should_refuse", "reference_turns"):
        assert Sample.parse({field: empty}) == Sample()
    assert not Sample.parse({"relevance": empty}).relevance
    assert Sample.parse({"reference": empty}).reference_text == ""
    assert not Sample.parse({"contexts": empty}).has_context
    for field in ("tool_calls", "reference_tool_calls", "messages"):
        assert getattr(Sample.parse({field: empty}), field) == []


@pytest.mark.parametrize("cell", ["", "  ", "null", "None"])
def test_a_blank_cell_is_missing_where_a_field_takes_no_prose(cell: str) -> None:
    for field in FIELDS:
        if field not in ("sample_id", "user_input", "response", "reference", "reference_goal", "retrieved_contexts"):
            assert Sample.parse({field: cell}) == Sample()


@pytest.mark.parametrize(
    ("metric", "code"),
    [("faithfulness", "NO_ANSWER"), ("exact_match", "NO_REFERENCE"), ("context_recall", "NO_REFERENCE")],
)
@pytest.mark.parametrize("value", [float("nan"), "NaN", pd.NA, None, [], {}], ids=repr)
def test_what_is_missing_is_skipped_with_its_code(metric: str, code: str, value: Any) -> None:
    sample = {"question": "What do tickets cost?", "answer": "Tickets cost nine euros.", "contexts": ["Tickets cost nine euros."],
              "ground_truth": "Tickets cost nine euros."}
    sample["answer" if code == "NO_ANSWER" else "ground_truth"] = value
    score = score_one(CATALOGUE[metric](), sample, EmbeddedJudge())
    assert (score.status, score.code, score.value) == ("skipped", code, None)


@dataclass
class Chunk:
    text: str


class Document(BaseModel):
    page_content: str
    metadata: dict[str, Any] = {}


class Pair(NamedTuple):
    text: str
    score: float


@pytest.mark.parametrize(
    "contexts",
    [
        np.array(["a", "b"], dtype=object), np.array(["a", "b"]), pd.Series(["a", "b"]), pd.Index(["a", "b"]), ("a", "b"),
        [np.str_("a"), np.str_("b")], iter(["a", "b"]), [Chunk("a"), Chunk("b")], [Document(page_content="a"), {"content": "b"}],
        [Row(text="a"), Row(text="b", score=0.5)], [Pair("a", 0.9), Pair("b", 0.8)],
        [{"node": {"text": "a", "id_": "1"}, "score": 0.9}, {"lc": 1, "kwargs": {"page_content": "b"}}],
        "['a', 'b']", "['a' 'b']", "['a'\n 'b']", '["a", "b"]', "array(['a', 'b'], dtype=object)", "('a', 'b')",
        "[{'text': 'a'}, {'text': 'b', 'score': nan}]", "[{'text': 'a'}\n {'text': 'b'}]", "[np.str_('a'), np.str_('b')]",
        "array(['a', 'b'],\n      dtype='<U1')", ' ["a",\n "b"] ', "[list(['a'])]"[6:10] + ", 'b']",
        '{"a","b"}', "{'a', 'b'}", "('a', 'b',)", "({'text': 'a'}, {'text': 'b'})", json.dumps(json.dumps(["a", "b"])),
    ],
)  # fmt: skip
def test_contexts_of_other_libraries_and_in_cells(contexts: Any) -> None:
    assert Sample.parse({"contexts": contexts}).retrieved_contexts == ("a", "b")


@pytest.mark.parametrize(
    ("field", "cell", "read"),
    [
        ("reference", '["30 days", "thirty days"]', ("30 days", "thirty days")),
        ("reference", "['30 days' 'thirty days']", ("30 days", "thirty days")),
        ("reference", "['30 days', None, nan]", ("30 days",)),
        ("reference", "[]", ()),
        ("reference", "(3, 5)", ("(3, 5)",)),
        ("reference", "('a',)", ("a",)),
        ("retrieved_contexts", "{}", ()),
        ("retrieved_contexts", "()", ()),
        ("retrieved_ids", '"[\\"d1\\", \\"d2\\"]"', ("d1", "d2")),
        ("relevance", "[]", {}),
        ("retrieved_ids", "[1 2 3]", ("1", "2", "3")),
        ("retrieved_ids", "['d1', 'd2']", ("d1", "d2")),
        ("retrieved_ids", "array(['d1', 'd2'], dtype=object)", ("d1", "d2")),
        ("relevant_ids", "{'d1'}", ("d1",)),
        ("relevant_ids", "{'a:1', 'a:1'}", ("a:1", "a:1")),
        ("relevant_ids", "{'d1': 2, 'd2': 0}", ("d1",)),
        ("relevance", "{'d1': 2, 'd2': 0.5, 'd3': nan}", {"d1": 2.0, "d2": 0.5}),
        ("retrieved_scores", "[0.9  0.25 1.  ]", (0.9, 0.25, 1.0)),
        ("retrieved_scores", "array([9.e-01, inf])", (0.9, math.inf)),
        ("retrieved_scores", "[np.float64(0.9), np.int64(1)]", (0.9, 1.0)),
        ("tool_calls", "[{'name': 'f', 'args': {'x': True, 'y': None}}]", [{"name": "f", "args": {"x": True, "y": None}}]),
        ("messages", "[{'role': 'user', 'content': \"It's on.\"}]", [{"role": "user", "content": "It's on."}]),
        ("should_refuse", np.bool_(True), True),
        ("should_refuse", 1.0, True),
        ("reference_turns", np.int64(3), 3),
        ("reference_turns", Decimal("3"), 3),
        ("reference_turns", "3.0", 3),
        ("sample_id", np.int64(7), "7"),
        ("response", np.str_("text"), "text"),
    ],
)
def test_cells_of_each_field(field: str, cell: Any, read: Any) -> None:
    assert getattr(Sample.parse({field: cell}), field) == read


@pytest.mark.parametrize("text", [
    "[1] The museum opens at nine.",
    "[1] The museum [2] opens, at nine [3]", "[Update] It moved.",
    "[Guide](https://x.example/a) to it.", "[[1]](https://x.example/a) It opens.", "[Applause]", "[broken",
    "['tis the season] Carol", '["Opening hours" 2024] The museum [2]', "[...] and so it ended.", "[x] done", "[ ] to do",
    "(see 'a', 'b')", '("Hello," he said)', "{'a': 1}", "array of lights",
    "[[Museum]] is", "[NAME], hello, [ADDRESS]",
])  # fmt: skip
def test_prose_that_begins_with_a_bracket_is_one_text(text: str) -> None:
    assert Sample.parse({"contexts": text, "reference": text}) == Sample(retrieved_contexts=(text,), reference=(text,))


@pytest.mark.parametrize("text", [
    "['The museum opens at nine.', 'Tickets cost", "['The museum opens", "['a' ... 'b']", "['a', 'b', ...]",
    "['It's open', 'It's shut']", "['a' 'b', 'c']", "[“a”, “b”]", "[{'text': 'a'}, {'text'", "[The museum., Tickets.]",
    "[Document(page_content='a', metadata={})]", "array(['a', 'b'", "[['a', 'b']", '["a", "b"', "['a'] and ['b']", "[1, 2]",
    "[['a'], ['b']]", "WrappedArray(The museum, Tickets)", "[b'a' b'b']", "['a', 007]",
])  # fmt: skip
@pytest.mark.parametrize("field", ["retrieved_contexts", "reference"])
def test_what_looks_like_a_list_and_cannot_be_read_is_named(text: str, field: str) -> None:
    with pytest.raises(SampleFault) as fault:
        Sample.parse({field: text})
    assert fault.value.code == "INVALID_INPUT"
    assert str(fault.value).startswith(f"{field}: expected ")
    if "... 'b'" in text:
        assert 'it is shortened ("...")' in str(fault.value)


@pytest.mark.parametrize("text", ["__import__('os')", "[open('x')]", "1 +", "[1 2", "{'a': }", "{1: 2, 3}", "[1,, 2]", "'a' 'b'",
                                  "array(1", "(1,", "[a]", "{[1]: 2}"])
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"unexpected|ends early|separated|a key"):
        read_cell(text)


@pytest.mark.parametrize("start", ["['a' ", "['", "['\\'", "[", "[1,", "[ ", "{'a':", "array([", "[a", "['a',", '["'])
def test_reading_takes_time_linear_in_the_text(start: str) -> None:
    text = start * (1_000_000 // len(start))
    begun = time.process_time()
    with pytest.raises(ValueError, match=r"."):
        read_cell(text)
    looks_like_list(text)
    assert time.process_time() - begun < 5


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=15)


@settings(max_examples=300, deadline=None)
@given(st.lists(values) | st.dictionaries(st.text(), values))
def test_what_python_prints_is_read_back(value: Any) -> None:
    assert read_cell(repr(value)) == value


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text() | st.none(), min_size=2, max_size=20))
def test_what_numpy_prints_is_read_back(texts: list[str | None]) -> None:
    array = np.array(texts, dtype=object)
    with np.printoptions(threshold=10_000):
        assert read_cell(str(array)) == texts
        assert read_cell(repr(array)) == texts


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="[]'\", ab\\1.{}:()\n"))
def test_any_text_is_read_or_refused(text: str) -> None:
    for field in FIELDS:
        try:
            Sample.parse({field: text})
        except SampleFault as fault:
            assert str(fault).startswith(field)  # noqa: PT017


characters = st.characters(exclude_categories=["Cs"])
texts = st.text(alphabet=characters, min_size=1).filter(lambda text: text.strip() and not is_missing(text))
rows = st.fixed_dictionaries({
    "question": texts, "answer": texts, "contexts": st.lists(texts | st.none(), min_size=1, max_size=4),
    "reference": st.lists(texts, min_size=2, max_size=3), "retrieved_ids": st.lists(st.integers(0, 9), min_size=1, max_size=4),
    "retrieved_scores": st.lists(st.floats(0, 1), min_size=1, max_size=4), "relevance": st.dictionaries(texts, st.integers(0, 3)),
    "messages": st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "tool"]), "content": texts}), max_size=3),
    "tool_calls": st.lists(st.fixed_dictionaries({"name": texts, "args": st.dictionaries(texts, st.integers())}), max_size=2),
    "should_refuse": st.booleans(),
})  # fmt: skip
TEXTS = ("question", "answer")


def as_numpy(value: Any) -> Any:
    if isinstance(value, list):
        array = np.empty(len(value), dtype=object)
        array[:] = value
        return array
    return np.bool_(value) if isinstance(value, bool) else value


@settings(max_examples=150, deadline=None)
@given(rows)
def test_a_sample_is_the_same_however_it_is_represented(row: dict[str, Any]) -> None:
    expected = Sample.parse(row)
    others = {name: value for name, value in row.items() if name not in TEXTS}
    given_texts = {name: row[name] for name in TEXTS}
    assert Sample.parse({**given_texts, **{name: json.dumps(value) for name, value in others.items()}}) == expected
    assert Sample.parse({**given_texts, **{name: repr(value) for name, value in others.items()}}) == expected
    numpy_row = {name: as_numpy(value) for name, value in row.items()}
    assert Sample.parse(numpy_row) == expected
    printed = {name: str(value) if isinstance(value, np.ndarray) else value for name, value in numpy_row.items()}
    assert Sample.parse(printed) == expected
    of_pandas: Any = pd.DataFrame([numpy_row]).to_dict("records")[0]
    assert Sample.parse(of_pandas) == expected
    assert Sample.parse(Row(**row).asDict()) == expected


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (Decimal("1.50"), 1.5), (Decimal("2"), 2), (date(2026, 1, 2), "2026-01-02"),
        (pd.Timestamp("2026-01-02"), "2026-01-02T00:00:00"), (Path("a") / "b", "a/b"),
        (Row(a=1, b=Row(c=np.int64(2))), {"a": 1, "b": {"c": 2}}), (Pair("a", 0.5), {"text": "a", "score": 0.5}),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]), ({"a": np.array([np.nan])}, {"a": [None]}), (np.float32(0.5), 0.5),
        (Chunk("a"), {"text": "a"}), ({1}, [1]), (float("inf"), float("inf")), (b"x", b"x"), ({(1, 2): 3}, {(1, 2): 3}),
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values(value: Any, read: Any) -> None:
    assert plain(value) == read
    assert type(plain(value)) is type(read)


SAMPLE = {"question": "What do tickets cost?", "answer": "Tickets cost nine euros.",
          "contexts": np.array(["Tickets cost nine euros."]), "reference": float("nan")}  # fmt: skip


class Logged(BaseModel):
    user_input: str
    response: str
    retrieved_contexts: list[str]


@pytest.mark.parametrize("sample", [
    SAMPLE, pd.Series(SAMPLE), Row(**{**SAMPLE, "contexts": ["Tickets cost nine euros."]}),
    Logged(user_input="What?", response="Tickets cost nine euros.", retrieved_contexts=["Tickets cost nine euros."]),
    Sample(user_input="What?", response="Tickets cost nine euros.", retrieved_contexts=("Tickets cost nine euros.",)),
], ids=lambda sample: type(sample).__name__)  # fmt: skip
def test_one_sample_may_be_a_row_of_any_library(sample: Any) -> None:
    assert score_one(CATALOGUE["faithfulness"](), sample, EmbeddedJudge()).value == 1.0


@pytest.mark.parametrize("sample", [["a"], "a", 5, None])
def test_a_sample_without_names_is_refused(sample: Any) -> None:
    with pytest.raises(ConfigError, match="a sample is a Sample, or values by the names of fields"):
        score_one(CATALOGUE["faithfulness"](), sample, EmbeddedJudge())


ROW = {"question": "Q?", "answer": "A.", "reference": "A.", "contexts": ["A."]}


@pytest.mark.parametrize(("field", "value"), [("history", "since 2019"), ("history", [5]), ("contexts", 5), ("tool_calls", 5)])
def test_a_field_that_cannot_be_read_costs_only_metrics_that_use_it(field: str, value: Any) -> None:
    row = {**ROW, field: value}
    assert score_one(CATALOGUE["exact_match"](), row).value == 1.0
    using = {"history": "faithfulness", "contexts": "faithfulness", "tool_calls": "tool_call_f1"}[field]
    score = score_one(CATALOGUE[using](), {**row, "reference_tool_calls": []}, EmbeddedJudge())
    name = {"contexts": "retrieved_contexts"}.get(field, field)
    assert (score.status, score.code) == ("failed", "INVALID_INPUT")
    assert str(score.reason).startswith(name)
    with pytest.raises(SampleFault):
        Sample.parse(row)


def test_a_partly_read_sample_raises_where_a_faulty_field_is_used() -> None:
    group = FieldGroup({"user_input": "question", "retrieved_contexts": "chunks", "history": "history"}, ())
    sample = group.sample("1", {"question": "Q?", "chunks": 5, "history": "x"}, strict=False)
    assert list(sample.faults) == ["retrieved_contexts", "history"]
    with pytest.raises(SampleFault, match=r"^retrieved_contexts \(column chunks\): expected a list of texts, found a number 5"):
        _ = sample.retrieved_contexts
    with pytest.raises(SampleFault, match=r"^history: expected"):
        sample.check(["user_input", "history"])
    assert (sample.user_input, sample.spoken, sample.has_question) == ("Q?", ("Q?", None, None), True)
    assert "chunks" in repr(pickle.loads(pickle.dumps(sample)))
    assert Sample(user_input="Q?").faults == {}


def test_two_aliases_of_a_field_are_refused_unless_they_agree() -> None:
    with pytest.raises(SampleFault, match="retrieved_contexts: expected one value, found context and retrieved_chunks"):
        Sample.parse({"context": ["a"], "retrieved_chunks": ["b"]})
    assert Sample.parse({"context": ["a"], "retrieved_chunks": np.array(["a"])}).retrieved_contexts == ("a",)
    assert Sample.parse({"context": None, "retrieved_chunks": ["b"]}).retrieved_contexts == ("b",)
    assert Sample.parse({"retrieved_contexts": ["c"], "context": ["a"], "retrieved_chunks": ["b"]}).retrieved_contexts == ("c",)
    score = score_one(CATALOGUE["exact_match"](), {"answer": "A.", "output": "B.", "reference": "A."})
    assert (score.status, score.code) == ("failed", "INVALID_INPUT")
    assert ambiguous_names(["context", "retrieved_chunks", "answer", "question"]) == {
        "retrieved_contexts": ["context", "retrieved_chunks"]}  # fmt: skip
    assert ambiguous_names(["context", "retrieved_chunks", "retrieved_contexts"]) == {}
