"""Files as programs write them: encodings, layouts, formats, types and names, each read right or refused with what to do."""

from __future__ import annotations

import bz2
import datetime
import decimal
import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_spark.config import parse
from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import ConfigError, InputError
from rageval_spark.run import run as run_config
from rageval_spark.spark.files import Source
from rageval_spark.spark.names import CORRUPT
from rageval_spark.spark.read import read, resolved
from rageval_spark.spark.samples import normalised

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CSV = "id,answer\n1,pêcher\n2,plain\n"
LINES = '{"id": "1", "answer": "pêcher"}\n{"id": "2", "answer": "plain"}\n'
READ = [("1", "pêcher"), ("2", "plain")]


def rows(spark: SparkSession, path: Path | str, **source: Any) -> list[tuple[str, str | None]]:
    return sorted((row["id"], row["answer"]) for row in read(spark, Source(str(path), **source)).collect())


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def scores(folder: Path, metric: str = "exact_match", group: Mapping[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    """By id the score of a run, or the code for which there is none."""
    done = run_config(parse({"input": given, "output": {"path": str(folder / "out")}, "judge": {"provider": "embedded"},
                             "gates": {"coverage": 0}, "evaluate": [{**(group or {}), "metrics": [metric]}]}))
    return {row["sample_id"]: row["code"] if row["score"] is None else row["score"] for row in done.scores.collect()}


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.csv", CSV.encode(), {}),
        ("a.csv", CSV.encode("utf-8-sig"), {}),
        ("a.csv", '\ufeff"id","answer"\r\n"1","pêcher"\r\n"2","plain"\r\n'.encode(), {}),
        ("a.csv", CSV.encode("cp1252"), {"encoding": "windows-1252"}),
        ("a.csv", CSV.encode("latin-1"), {"charset": "ISO-8859-1"}),
        ("a.csv", CSV.encode("utf-16"), {"encoding": "UTF-16"}),
        ("a.csv", CSV.encode("utf-16-be"), {"encoding": "UTF-16BE"}),
        ("a.csv", CSV.replace(",", ";").encode(), {"sep": ";"}),
        ("a.csv", CSV.replace(",", "§").encode(), {"sep": "§"}),
        ("a.csv", CSV.encode(), {"multiLine": "false"}),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0), {}),
        ("a.CSV", CSV.encode(), {}),
        ("a.jsonl", LINES.encode(), {}),
        ("a.jsonl", LINES.encode("utf-8-sig"), {}),
        ("a.jsonl", LINES.replace("\n", "\r\n").encode(), {}),
        ("a.jsonl", LINES.encode("cp1252"), {"encoding": "windows-1252"}),
        ("a.jsonl.bz2", bz2.compress(LINES.encode()), {}),
        ("a.json", ("[" + LINES.strip().replace("\n", ",\n") + "]").encode(), {"multiLine": "true"}),
        ("a.json", json.dumps([json.loads(line) for line in LINES.splitlines()], indent=2).encode(), {"multiLine": "true"}),
        ("set[1].jsonl", LINES.encode(), {}),
        ("{a,b} 20%20*?.jsonl", LINES.encode(), {}),
        ("тест 北京.jsonl", LINES.encode(), {}),
    ],
)
def test_a_file_is_read_as_its_text(spark: SparkSession, tmp_path: Path, name: str, content: bytes,
                                        options: dict[str, str]) -> None:
    assert rows(spark, written(tmp_path, name, content), options=options) == READ


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.csv", CSV.encode("cp1252"), {}, r"not UTF-8 .*input\.options\.encoding: windows-1252"),
        ("a.csv", "id,réponse\n1,x\n".encode("cp1252"), {}, r"input\.options\.encoding: windows-1252"),
        ("a.jsonl", LINES.encode("cp1252"), {}, r"input\.options\.encoding: windows-1252"),
        ("a.csv", CSV.encode("utf-16"), {}, r"input\.options\.encoding: UTF-16"),
        ("a.csv", CSV.encode("utf-16-le"), {}, r"input\.options\.encoding: UTF-16"),
        ("a.jsonl", LINES.encode("utf-16"), {}, "UTF-16, not UTF-8; convert it"),
        ("a.csv", CSV.replace(",", ";").encode(), {}, r'input\.options\.sep: ";"'),
        ("a.csv", CSV.replace(",", "\t").encode(), {}, r'input\.options\.sep: "\\t"'),
        ("a.json", b'[{"id": "1"},\n{"id": "2"}]', {}, r"JSON array.*input\.options\.multiLine: true"),
        ("a.json", b'[\n  {"id": "1"}\n]\n', {}, r"JSON array.*input\.options\.multiLine: true"),
        ("a.json", b'[{"id": "1"}, {"id": "2"}]', {}, r"JSON array.*input\.options\.multiLine: true"),
        ("a.json", b'{\n  "id": "1"\n}\n', {}, r"several lines.*input\.options\.multiLine: true"),
        ("a.json", b'{\n  "id": "1"\n}\n{\n  "id": "2"\n}\n', {"multiLine": "true"}, "several JSON documents.*jq -c"),
        ("a.jsonl", LINES.encode(), {"multiLine": "true"}, "several JSON documents.*leave out multiLine"),
        ("a.jsonl", gzip.compress(LINES.encode(), mtime=0), {}, r"compressed by gzip.*\.gz"),
        ("a.csv", b"PK\x03\x04rest", {}, "Excel workbook.*save the sheet as CSV"),
        ("a.xlsx", b"PK\x03\x04rest", {}, "workbook.*save the sheet as CSV"),
        ("a.parquet", LINES.encode(), {}, r"input\.format"),
        ("_a.jsonl", LINES.encode(), {}, "Spark leaves out files whose names begin with '_' or '.'"),
        (".a.jsonl", LINES.encode(), {}, "Spark leaves out files whose names begin with '_' or '.'"),
        ("a:b.jsonl", LINES.encode(), {}, "no file with ':' in its name"),
        ("a.jsonl", b"", {}, "holds no row"),
        ("a.csv", b"", {}, "holds no row"),
    ],
)
def test_a_file_that_would_be_misread_is_refused_with_what_to_do(spark: SparkSession, tmp_path: Path, name: str, content: bytes,
                                                                  options: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        read(spark, Source(str(written(tmp_path, name, content)), options=options))


def test_a_binary_file_under_the_name_of_another_format_is_named(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["1"]}), tmp_path / "a.jsonl")
    with pytest.raises(InputError, match=r"is a Parquet file, and was to be read as json; set input\.format: parquet"):
        read(spark, Source(str(tmp_path / "a.jsonl")))


def test_a_pattern_is_a_pattern_unless_a_file_has_that_very_name(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, "set1.jsonl", '{"id": "other", "answer": "x"}\n')
    assert rows(spark, tmp_path / "set[1].jsonl") == [("other", "x")]
    written(tmp_path, "set[1].jsonl", LINES)
    assert rows(spark, tmp_path / "set[1].jsonl") == READ
    assert len(rows(spark, tmp_path / "set*.jsonl")) == 3


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_one_damaged_row_fails_alone(spark: SparkSession, tmp_path: Path, name: str) -> None:
    header = "id,answer,reference" if name == "a.csv" else ""
    line = "{0},pêcher {0},pêcher {0}"
    if name == "a.jsonl":
        line = '{{"id": "{0}", "answer": "pêcher {0}", "reference": "pêcher {0}"}}'
    lines = [header, *(line.format(number) for number in range(12))]
    content = "\n".join(filter(None, lines)).encode().replace("pêcher 7".encode(), "pêcher 7".encode("cp1252"), 1)
    assert content != "\n".join(filter(None, lines)).encode()
    found = scores(tmp_path, path=str(written(tmp_path, name, content)))
    assert Counter(found.values()) == {1.0: 11, "INVALID_INPUT": 1}


def test_a_replacement_character_of_the_data_itself_is_text(spark: SparkSession, tmp_path: Path) -> None:
    content = "id,answer\n1,p\ufffdcher\n2,pêcher\n"
    assert rows(spark, written(tmp_path, "a.csv", content)) == [("1", "p\ufffdcher"), ("2", "pêcher")]


def test_bytes_that_the_declared_encoding_does_not_have_fail_the_row(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"id,answer\n1,p\xeacher\n2,\x81\n")
    found = {row["id"]: row[CORRUPT] for row in read(spark, Source(str(path), options={"encoding": "US-ASCII"})).collect()}
    assert found["1"].startswith("holds bytes that are not US-ASCII")


def test_options_of_yaml_are_texts() -> None:
    config = {"input": {"path": "a", "options": {"multiLine": True, "header": False, "samplingRatio": 0.5}},
              "judge": {"provider": "embedded"}, "evaluate": [{"metrics": ["exact_match"]}]}
    assert parse(config).required_input().options == {"multiLine": "true", "header": "false", "samplingRatio": "0.5"}
    with pytest.raises(ConfigError, match=r"input\.separator"):
        parse({**config, "input": {"path": "a", "separator": ""}})


def test_nan_is_a_missing_value_in_json_lines(spark: SparkSession, tmp_path: Path) -> None:
    line = '{"id": "%s", "answer": "x", "reference": NaN}\n'
    path = written(tmp_path, "a.jsonl", line % 1 + line % 2)
    assert set(scores(tmp_path, path=str(path)).values()) == {"NO_REFERENCE"}


@pytest.mark.parametrize("value", [float("nan"), None])
def test_a_pandas_column_without_a_value_is_one_of_missing_values(spark: SparkSession, value: float | None) -> None:
    frame = spark.createDataFrame(pd.DataFrame({"answer": ["x", "y"], "reference": np.array([value, float("nan")], dtype=float)}))
    groups = resolved([FieldGroup({"response": "answer", "reference": "reference"}, ())], frame)
    samples = [json.loads(row["sample"]) for row in normalised(frame, groups, ["reference"]).collect()]
    assert sorted(sample["answer"] for sample in samples) == ["x", "y"]
    assert all("reference" not in sample for sample in samples)
    other = spark.createDataFrame([("x", 1.5)], "answer string, reference double")
    with pytest.raises(InputError, match="column 'reference' is double"):
        resolved([FieldGroup({"response": "answer", "reference": "reference"}, ())], other)


UNREADABLE = {
    "time of day": pa.array([datetime.time(1)], pa.time64("ns")), "milliseconds": pa.array([datetime.time(1)], pa.time32("ms")),
    "half": pa.array([np.float16(1)], pa.float16()), "large decimal": pa.array([decimal.Decimal(1)], pa.decimal256(60, 2)),
    "nested": pa.array([[{"at": datetime.time(1)}]], pa.list_(pa.struct([("at", pa.time64("us"))]))),
    "duration": pa.array([datetime.timedelta(1)], pa.duration("ns")), "unsigned": pa.array([1], pa.uint64()),
    "nothing": pa.array([None]), "list": pa.array([["x"]], pa.large_list(pa.large_string())),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())), "date": pa.array([datetime.date(2026, 1, 1)]),
    "moment": pa.array([datetime.datetime(2026, 1, 1)], pa.timestamp("us")),
}  # fmt: skip


def test_parquet_columns_that_nobody_reads_may_be_of_any_type(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"id": ["1"], "answer": pa.array(["x"]).dictionary_encode(), "reference": pa.array(["x"], pa.large_string()),
                      **UNREADABLE})
    pq.write_table(table, tmp_path / "a.parquet")
    assert scores(tmp_path, path=str(tmp_path / "a.parquet")) == {"1": 1.0}
    frame = read(spark, Source(str(tmp_path / "a.parquet")))
    [row] = frame.collect()
    assert {"duration", "unsigned", "nothing", "list", "map", "date", "moment"} <= set(frame.columns)
    assert (row["list"], row["map"], row["date"], row["unsigned"]) == (["x"], {"a": 1}, datetime.date(2026, 1, 1), 1)
    assert spark.conf.get("spark.sql.legacy.parquet.nanosAsLong") == "false"


def test_times_in_nanoseconds_are_times(spark: SparkSession, tmp_path: Path) -> None:
    moments = ["2026-01-01T10:20:30.123456789", "1969-12-31T23:59:59.5"]
    pd.DataFrame({"id": ["1", "2"], "answer": ["x", "y"], "plain": pd.to_datetime(moments, format="ISO8601"),
                  "aware": pd.to_datetime(moments, format="ISO8601", utc=True)}).to_parquet(tmp_path / "a.parquet")
    frame = read(spark, Source(str(tmp_path / "a.parquet"), where="aware > timestamp'2025-01-01 00:00:00'"))
    [row] = frame.selectExpr("cast(plain as string) as plain", "cast(aware as string) as aware").collect()
    assert row.asDict() == {"plain": "2026-01-01 10:20:30.123456", "aware": "2026-01-01 10:20:30.123456"}
    assert dict(frame.dtypes) == {"id": "string", "answer": "string", "plain": "timestamp_ntz", "aware": "timestamp"}


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_columns_that_differ_in_case_alone_are_told_apart_by_the_setting_that_is_named(spark: SparkSession, tmp_path: Path,
                                                                                       name: str) -> None:
    if name == "a.parquet":
        pq.write_table(pa.table({"id": ["1"], "answer": ["x"], "Answer": ["y"], "reference": ["x"]}), tmp_path / name)
    else:
        written(tmp_path, name, '{"id": "1", "answer": "x", "Answer": "y", "reference": "x"}\n')
    with pytest.raises(InputError, match=r"differ in case alone.*spark\.sql\.caseSensitive: 'true'"):
        read(spark, Source(str(tmp_path / name)))
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert scores(tmp_path, path=str(tmp_path / name)) == {"1": 1.0}
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")


def test_lists_joined_in_one_text_are_parted_by_the_separator(spark: SparkSession, tmp_path: Path) -> None:
    lines = ["id,contexts,scores", "1,a | b. ||| c,0.5|||1", '2,"[""x"", ""y""]",[1]', "3,alone,2", "4,,", '5," ",']
    path = written(tmp_path, "a.csv", "\n".join(lines))
    groups = [FieldGroup({"sample_id": "id", "retrieved_contexts": "contexts", "retrieved_scores": "scores"}, ())]
    frame = read(spark, Source(str(path), separator="|||"), groups)
    found = {row["sample_id"]: groups[0].sample("", json.loads(row["sample"])) for row in normalised(frame, groups, []).collect()}
    contexts = [found[str(number)].retrieved_contexts for number in range(1, 6)]
    assert contexts == [("a | b.", "c"), ("x", "y"), ("alone",), None, ()]
    assert [found[str(number)].retrieved_scores for number in range(1, 4)] == [(0.5, 1.0), (1.0,), (2.0,)]


def test_a_missing_slice_is_not_the_text_null(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("1", None), ("2", "null"), ("3", '"null"'), ("4", "nullable")], "id string, lang string")
    rows_of = normalised(frame, [FieldGroup({"sample_id": "id"}, ())], ["lang"]).collect()
    values = {row["sample_id"]: json.loads(row["slices"])["lang"] for row in rows_of}
    assert values == {"1": "null", "2": '"null"', "3": '""null""', "4": "nullable"}


def test_the_column_of_damaged_rows_is_not_among_those_named(spark: SparkSession, tmp_path: Path) -> None:
    frame = read(spark, Source(str(written(tmp_path, "a.csv", CSV))))
    with pytest.raises(InputError, match=r"columns are id, answer$"):
        normalised(frame, [FieldGroup({"response": "answer"}, ())], ["language"])
