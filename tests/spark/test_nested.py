"""Fields within columns, by a dotted path: structs, maps, lists of objects and JSON text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_spark.config import parse
from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import InputError
from rageval_spark.run import run as run_config
from rageval_spark.spark.read import resolved
from rageval_spark.spark.samples import normalised

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INPUTS = {"question": "How long?", "docs": [{"text": "30 days.", "id": 1}, {"text": "Or more.", "id": 2}],
          "deep": {"er": "value"}}
AS_MAP = {name: value if isinstance(value, str) else json.dumps(value) for name, value in INPUTS.items()}
STRUCT = "struct<question:string,docs:array<struct<text:string,id:int>>,deep:struct<er:string>>"
PATHS = {"user_input": "in.question", "retrieved_contexts": "in.docs.text", "reference": "in.deep.er"}


def samples(frame: DataFrame, fields: dict[str, str], slices: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    groups = resolved([FieldGroup(fields, ())], frame)
    found = []
    for row in normalised(frame, groups, slices).collect():
        fault = row["fault"]
        values = {} if fault else {name: getattr(groups[0].sample("", json.loads(row["sample"])), name) for name in fields}
        found.append({**values, "fault": fault, "slices": json.loads(row["slices"])})
    return found


@pytest.mark.parametrize(("kind", "value"), [
    (STRUCT, INPUTS), ("string", json.dumps(INPUTS)), ("map<string,string>", AS_MAP),
    ("struct<question:string,docs:string,deep:map<string,string>>", {**INPUTS, "docs": json.dumps(INPUTS["docs"])}),
])  # fmt: skip
def test_a_path_leads_to_the_same_value_whatever_holds_it(spark: SparkSession, kind: str, value: Any) -> None:
    frame = spark.createDataFrame([(value,)], f"in {kind}")
    [found] = samples(frame, PATHS, ("in.deep.er", "in.question"))
    assert found == {"user_input": "How long?", "retrieved_contexts": ("30 days.", "Or more."), "reference": ("value",),
                     "fault": None, "slices": {"in.deep.er": "value", "in.question": "How long?"}}


def test_a_column_whose_very_name_has_the_dots_comes_first(spark: SparkSession) -> None:
    schema = "`a.b` string, a struct<b:string>, `x.y` struct<z:string>"
    frame = spark.createDataFrame([("literal", ("nested",), ("deep",))], schema)
    [found] = samples(frame, {"user_input": "a.b", "response": "x.y.z"})
    assert (found["user_input"], found["response"]) == ("literal", "deep")


def test_text_that_is_no_json_fails_its_row_alone(spark: SparkSession) -> None:
    texts = ['{"reference": "right"}', '{"reference": NaN}', '{"other": 1}', None, "", "{broken", '["list"]', "plain"]
    frame = spark.createDataFrame([(str(number), text) for number, text in enumerate(texts)], "q string, e string")
    found = {row["user_input"]: row["reference"] for row in samples(frame, {"user_input": "q", "reference": "e.reference"})
             if not row["fault"]}
    assert found == {"0": ("right",), "1": None, "2": None, "3": None, "4": None}
    faults = [row["fault"] for row in samples(frame, {"user_input": "q", "reference": "e.reference"}) if row["fault"]]
    unread = ('["list"]', "plain", "{broken")
    assert sorted(faults) == [f"the row cannot be read: column e is not JSON: {text}" for text in unread]


@pytest.mark.parametrize(("kind", "value"), [("string", '{"right": "x"}'), ("map<string,string>", {"right": "x"}),
                                             ("struct<right:string>", ("x",))])
def test_a_path_that_leads_to_no_value_is_named(spark: SparkSession, kind: str, value: Any) -> None:
    frame = spark.createDataFrame([(value,)], f"e {kind}")
    with pytest.raises(InputError, match=r"e\.rihgt"):
        resolved([FieldGroup({"reference": "e.rihgt"}, ())], frame)


def test_a_run_maps_fields_and_slices_by_path(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"inputs": {"question": "q"}, "outputs": {"text": text, "calls": [{"name": "f", "args": {"a": 1, "A": 2}}]},
             "expectations": {"expected_response": "x"}, "tags": {"lang": lang}} for text, lang in (("x", "en"), ("y", "de"))]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = {"user_input": "inputs.question", "response": "outputs.text", "reference": "expectations.expected_response"}
    done = run_config(parse({"input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")},
                             "judge": {"provider": "embedded"}, "slices": ["tags.lang"],
                             "sample": {"n": 2, "stratify_by": "tags.lang"},
                             "evaluate": [{"fields": fields, "metrics": ["exact_match"]}]}))
    found = {row["slices"]["tags.lang"]: (row["score"], row["field_group"]) for row in done.scores.collect()}
    key = "inputs.question,outputs.text,expectations.expected_response"
    assert found == {"en": (1.0, key), "de": (0.0, key)}
