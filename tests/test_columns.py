"""Which columns a field group takes: those its metrics read, may read, or read in place of another. Without a JVM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import types as T

from rageval_spark.doctor import _held
from rageval_spark.engine.plan import FieldGroup, MetricUse
from rageval_spark.errors import InputError
from rageval_spark.metrics import CATALOGUE
from rageval_spark.sample import ambiguous_names
from rageval_spark.spark.read import fits, resolved, unfed

TEXT = T.StringType()
LIST = T.ArrayType(TEXT)
GRADES = T.MapType(TEXT, T.IntegerType())


def taken(columns: dict[str, T.DataType], fields: dict[str, str] | None = None, *metrics: str) -> FieldGroup:
    uses = tuple(MetricUse(CATALOGUE[name](), name) for name in metrics or ("recall",))
    schema = T.StructType([T.StructField(name, kind) for name, kind in columns.items()])
    frame: Any = SimpleNamespace(schema=schema, columns=schema.names)
    [group] = resolved([FieldGroup(fields or {}, uses)], frame)
    return group


@pytest.mark.parametrize(
    "columns",
    [
        {"retrieved_ids": LIST, "relevant_ids": LIST},
        {"retrieved_ids": LIST, "relevant_ids": GRADES},
        {"retrieved_ids": LIST, "relevance": GRADES},
        {"retrieved_ids": LIST, "relevance": GRADES, "retrieved_scores": T.ArrayType(T.DoubleType())},
        {"retrieved_ids": LIST, "relevant_ids": LIST, "relevance": GRADES},
    ],
)
def test_ids_or_grades_and_scores_where_they_are_there(columns: dict[str, T.DataType]) -> None:
    group = taken({**columns, "note": TEXT})
    assert group.fields == {name: name for name in group.fields}
    assert set(group.fields) == set(columns)
    assert unfed([group]) == []


def test_a_metric_takes_no_column_that_it_does_not_read() -> None:
    columns: dict[str, T.DataType] = {"question": TEXT, "answer": TEXT, "contexts": LIST, "retrieved_ids": LIST,
                                      "retrieved_scores": LIST}
    assert set(taken(columns, None, "faithfulness").fields) == {"user_input", "response", "retrieved_contexts"}


def test_a_mapping_may_give_grades_in_place_of_ids() -> None:
    columns: dict[str, T.DataType] = {"got": LIST, "qrels": GRADES, "gold": LIST}
    assert taken(columns, {"retrieved_ids": "got", "relevance": "qrels"}).fields == {
        "retrieved_ids": "got", "relevance": "qrels"}
    with pytest.raises(InputError, match="recall reads relevant_ids, which fields does not map"):
        taken(columns, {"retrieved_ids": "got"})


def test_what_is_missing_is_named_with_what_would_do() -> None:
    with pytest.raises(InputError, match=r"no column provides relevant_ids.*relevant_chunk_ids \| relevance"):
        taken({"retrieved_ids": LIST, "gold": LIST})
    assert unfed([taken({"retrieved_ids": LIST})]) == ["recall (retrieved_ids): no column for relevant_ids"]


def test_types_that_hold_relevant_ids() -> None:
    for kind in (LIST, GRADES, TEXT, T.StructType([T.StructField("a", T.LongType())]), T.MapType(T.LongType(), T.LongType())):
        assert fits("relevant_ids", kind)
    assert not fits("relevant_ids", T.LongType())
    assert not fits("relevant_ids", T.MapType(T.DoubleType(), T.LongType()))
    assert not fits("relevance", LIST)


@pytest.mark.parametrize(
    ("counts", "left"),
    [
        ({"rows": 9, "without retrieved_ids": 0, "without relevant_ids": 4}, 5),
        ({"rows": 9, "without retrieved_ids": 0, "without relevance": 4}, 5),
        ({"rows": 9, "without retrieved_ids": 1, "without relevant_ids": 4, "without relevance": 3}, 6),
        ({"rows": 9, "without retrieved_ids": 6, "without relevance": 3}, 3),
    ],
)
def test_the_doctor_counts_the_rows_that_have_either(counts: dict[str, int], left: int) -> None:
    group = taken({"retrieved_ids": LIST, "relevance": GRADES})
    *_, finding = _held(group, counts)
    assert finding.said == f"recall: at least {left} rows have all that it reads"


@pytest.mark.parametrize("names", [("context", "retrieved_chunks"), ("answer", "output"), ("id", "data_id")])
def test_two_columns_that_go_by_one_field_are_refused_unless_the_fields_own_name_is_there(names: tuple[str, str]) -> None:
    columns: dict[str, T.DataType] = {"question": TEXT, "response": TEXT, "contexts": LIST}
    [field] = ambiguous_names(names)
    columns.pop({"retrieved_contexts": "contexts"}.get(field, field), None)
    columns |= dict.fromkeys(names, LIST if field == "retrieved_contexts" else TEXT)
    with pytest.raises(InputError, match=rf"'{names[0]}' and '{names[1]}' of the data both go by the field {field}\. Map"):
        taken(columns, None, "faithfulness")
    own = taken({**columns, field: columns[names[0]]}, None, "faithfulness")
    assert own.fields[field] == field


def test_a_mapping_says_which_of_two_columns_is_meant() -> None:
    columns: dict[str, T.DataType] = {"question": TEXT, "answer": TEXT, "output": TEXT, "contexts": LIST}
    fields = taken(columns, {"response": "output", "retrieved_contexts": "contexts"}, "faithfulness").fields
    assert fields["response"] == "output"


@pytest.mark.parametrize(
    ("kind", "is_read"),
    [
        (TEXT, False), (LIST, True), (T.ArrayType(LIST), True), (T.ArrayType(T.MapType(TEXT, TEXT)), True),
        (T.ArrayType(T.IntegerType()), False),
        (T.ArrayType(T.StructType().add("role", TEXT).add("content", TEXT)), True),
        (T.ArrayType(T.StructType().add("type", TEXT).add("data", T.StructType().add("content", TEXT))), True),
        (T.ArrayType(T.StructType().add("user", TEXT).add("assistant", TEXT)), True),
        (T.ArrayType(T.StructType().add("role", TEXT).add("parts", T.ArrayType(T.StructType().add("text", TEXT)))), True),
        (T.ArrayType(T.StructType().add("event", TEXT).add("at", TEXT)), False),
    ],
)  # fmt: skip
def test_a_column_named_history_is_read_if_it_can_hold_turns(kind: T.DataType, is_read: bool) -> None:
    columns: dict[str, T.DataType] = {"question": TEXT, "answer": TEXT, "contexts": LIST, "history": kind}
    assert ("history" in taken(columns, None, "faithfulness").fields) == is_read
