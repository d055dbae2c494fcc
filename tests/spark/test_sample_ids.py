"""Ids of rows that have none: the same in every run, whatever the order of rows and what the system answered."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.spark.samples import normalised

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIELDS = {"user_input": "q", "response": "a", "retrieved_contexts": "c", "reference": "r"}
SCHEMA = "q string, a string, c array<string>, r string"


def ids(spark: SparkSession, rows: list[tuple[Any, ...]], partitions: int = 1) -> list[tuple[Any, str]]:
    """The id of each row, beside what identifies it and its answer."""
    frame = spark.createDataFrame(rows, SCHEMA).repartition(partitions)
    found = []
    for row in normalised(frame, [FieldGroup(FIELDS, ())], []).collect():
        values = json.loads(row["sample"])
        found.append(((values.get("q"), values.get("r"), tuple(values.get("c") or ()), values.get("a")), row["sample_id"]))
    return sorted(found, key=repr)


def test_a_row_that_repeats_no_other_has_the_hash_of_question_and_reference(spark: SparkSession) -> None:
    [(_, found)] = ids(spark, [("q", "a", ["c"], "r")])
    assert found == hashlib.sha256(b"q\0r").hexdigest()[:16]


def test_rows_of_one_question_have_the_hash_of_their_contexts_and_then_numbers(spark: SparkSession) -> None:
    rows = [("q", "a1", ["c1"], "r"), ("q", "a2", ["c2"], "r"), ("q", "a3", ["c2"], "r"), ("q", "a4", None, "r"),
            ("p", "a", ["c1"], "r")]
    found = {key[3]: id for key, id in ids(spark, rows)}
    common = hashlib.sha256(b"q\0r").hexdigest()[:16]
    assert found["a4"] == common
    assert found["a"] == hashlib.sha256(b"p\0r").hexdigest()[:16]
    first, numbered = sorted((found["a2"], found["a3"]), key=len)
    assert numbered == f"{first}-2"
    assert {id[:17] for id in (found["a1"], first)} == {f"{common}."}
    assert len({*found.values()}) == 5


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("qp"), st.sampled_from("ab"), st.sampled_from([["c"], ["d"], [], None]),
                          st.sampled_from(["r", None])), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_ids_depend_on_neither_order_nor_partitions_nor_answers(spark: SparkSession, rows: list[Any], draw: Any) -> None:
    found = ids(spark, rows)
    shuffled = draw.sample(rows, len(rows))
    assert ids(spark, shuffled, 3) == found
    assert len({id for _, id in found}) == len(rows)
    answered = [(question, "other", contexts, reference) for question, _, contexts, reference in rows]
    assert sorted(id for _, id in ids(spark, answered)) == sorted(id for _, id in found)


def test_rows_without_an_id_beside_others_with_one_are_told_apart_by_their_contexts(spark: SparkSession) -> None:
    rows = [("7", "c1"), (None, "c1"), (None, "c2"), ("NaN", "c3"), (" ", "c4"), ("", "c1")]
    frame = spark.createDataFrame([(id, "q", "a", [context], "r") for id, context in rows], f"i string, {SCHEMA}")
    found = [row["sample_id"] for row in normalised(frame, [FieldGroup({"sample_id": "i", **FIELDS}, ())], []).collect()]
    assert found[0] == "7"
    assert found[1] == found[5]
    assert len({*found}) == 5
