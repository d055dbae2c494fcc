"""Reading a dataset, and finding the sample fields among its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import InputError
from rageval_spark.sample import ALIASES, FIELDS, fields_found

CORRUPT = "_corrupt_record"
FORMATS = {".jsonl": "json", ".ndjson": "json", ".json": "json", ".parquet": "parquet", ".csv": "csv", ".orc": "orc"}
OPTIONS = {
    "json": {"columnNameOfCorruptRecord": CORRUPT},
    "csv": {"header": "true", "multiLine": "true", "escape": '"', "columnNameOfCorruptRecord": CORRUPT},
}


@dataclass(frozen=True)
class Source:
    """Where a dataset is: a path with its format, or a table; `where` is a SQL condition on its columns."""

    path: str | None = None
    format: str | None = None
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None

    def __str__(self) -> str:
        return self.table or self.path or "the DataFrame"


def read(spark: SparkSession, source: Source) -> DataFrame:
    """The rows of a dataset, a malformed JSON or CSV row as one with its text in `_corrupt_record`.

    Raises InputError naming what was not found, not readable or empty.
    """
    try:
        frame = spark.table(source.table) if source.table else _read_path(spark, source)
        if source.where:
            frame = frame.where(source.where)
        columns = frame.columns
    except (PySparkException, Py4JError) as error:
        raise InputError(f"{source} cannot be read: {first_line(error)}") from None
    if columns == [CORRUPT] or not columns:
        raise InputError(f"{source} holds no row that could be read as {source.format or 'its format'}"
                         + ("; JSON is expected as one object a line" if source.format == "json" else ""))
    return frame


def _read_path(spark: SparkSession, source: Source) -> DataFrame:
    path = source.path or ""
    kind = source.format or next((name for suffix, name in FORMATS.items() if path.endswith(suffix)), None)
    if kind is None:
        raise InputError(f"the format of {path} is not known from its name; give input.format "
                         f"(json, parquet, csv, or any that Spark reads)")
    kind = {"jsonl": "json"}.get(kind, kind)
    reader = spark.read.format(kind).options(**{**OPTIONS.get(kind, {}), **source.options})
    frame = reader.load(path)
    if kind == "csv":  # only with a schema that has a place for it does a malformed row show itself
        frame = reader.schema(frame.schema.add(CORRUPT, T.StringType())).load(path)
    return frame


def resolved(groups: Sequence[FieldGroup], frame: DataFrame, source: object = "the data") -> tuple[FieldGroup, ...]:
    """The groups with their columns: as mapped, or, where nothing is mapped, those found by name or alias that the
    group's metrics read. Raises InputError naming a column that is missing, or of a type that cannot be the field's.
    """
    columns = {column.name: column.dataType for column in frame.schema.fields if column.name != CORRUPT}
    return tuple(_resolved(group, columns, str(source)) for group in groups)


def _resolved(group: FieldGroup, columns: Mapping[str, T.DataType], source: str) -> FieldGroup:
    found = fields_found(list(columns))
    read_by_metrics = {name for use in group.uses for name in (*use.metric.reads, *use.metric.may_read)}
    if isinstance(columns.get(found.get("history", "")), T.ArrayType):  # a text of that name is something else
        read_by_metrics.add("history")
    if group.fields:
        fields = dict(group.fields)
        if "sample_id" in found:
            fields.setdefault("sample_id", found["sample_id"])
    else:
        fields = {name: column for name, column in found.items() if name in read_by_metrics or name == "sample_id"}
    for name, column in fields.items():
        if column not in columns:
            raise InputError(f"no column {column!r} for the field {name}; the columns of {source} are {', '.join(columns)}. "
                             f"Map them with fields: {{{name}: <column>}}")
        if not fits(name, columns[column]):
            raise InputError(f"column {column!r} is {columns[column].simpleString()}, but the field {name} takes {TAKES[name]}")
    for use in group.uses if group.fields else ():
        if missing := [name for name in use.metric.reads if name not in fields and name != "user_input"]:
            raise InputError(f"{use.name} reads {', '.join(missing)}, which fields does not map; the columns of {source} are "
                             f"{', '.join(columns)}. Add {missing[0]}: <column>, or map nothing where columns have these names")
    needed = {use.name: [name for name in use.metric.reads if name not in fields] for use in group.uses}
    nothing_read = all(set(missing) >= set(use.metric.reads) - {"user_input"}
                       for use, missing in zip(group.uses, needed.values(), strict=True))
    spare = set(columns) - set(found.values())  # a column under another name is a mistake; one that is not there may be meant
    if needed and all(set(missing) - {"user_input"} for missing in needed.values()) and (nothing_read or spare):
        name = next(iter(needed))
        aliases = "; ".join(f"{field}: {' | '.join(ALIASES[field])}" for field in needed[name] if field in ALIASES)
        reads = ", ".join(group.uses[0].metric.reads)
        raise InputError(f"{name} reads {reads}, but no column provides {', '.join(needed[name])}. "
                         f"The columns of {source} are {', '.join(columns)}. Map them with fields: "
                         f"{{{needed[name][0]}: <column>}}, or name them so (also recognised: {aliases})")
    return replace(group, fields={name: fields[name] for name in FIELDS if name in fields})


def unfed(groups: Sequence[FieldGroup]) -> list[str]:
    """A sentence for each metric that reads a field for which the data has no column, and so scores nothing. The question
    alone may be missing: metrics judge without it."""
    return [f"{use.name} ({group.key}): no column for {', '.join(missing)}" for group in groups for use in group.uses
            if (missing := [name for name in use.metric.reads if name not in group.fields and name != "user_input"])]


TAKES = {
    "sample_id": "text or whole numbers", "user_input": "text", "response": "text",
    "retrieved_contexts": "a list of texts, a list of objects with text, content or page_content, or text",
    "reference": "text or a list of texts", "history": "a list of turns, or it as JSON text",
    "retrieved_ids": "a list of ids", "retrieved_scores": "a list of numbers", "relevant_ids": "a list of ids",
    "relevance": "a map of id and grade", "should_refuse": "true or false", "messages": "a list of objects",
    "tools": "a list of objects", "tool_calls": "a list of objects", "reference_tool_calls": "a list of objects",
    "reference_goal": "text", "reference_turns": "a whole number",
}  # fmt: skip


def fits(name: str, kind: T.DataType) -> bool:
    """Whether a column of this type can hold the field's values."""
    if isinstance(kind, (T.NullType, T.StringType)):
        return True
    if name == "sample_id":
        return isinstance(kind, T.IntegralType)
    if name in ("user_input", "response", "reference_goal"):
        return False
    if name == "reference":
        return isinstance(kind, T.ArrayType) and isinstance(kind.elementType, (T.StringType, T.NullType))
    if name == "retrieved_contexts":
        return isinstance(kind, T.ArrayType) and (
            isinstance(kind.elementType, (T.StringType, T.NullType))
            or (isinstance(kind.elementType, T.StructType)
            and bool({"text", "content", "page_content"} & set(kind.elementType.names))))
    if name == "should_refuse":
        return isinstance(kind, (T.BooleanType, T.IntegralType))
    if name == "reference_turns":
        return isinstance(kind, T.NumericType)
    if name == "relevance":
        return isinstance(kind, (T.MapType, T.StructType))
    return isinstance(kind, T.ArrayType)


def first_line(error: Exception) -> str:
    """The sentence of a Spark error, without its plan and stack."""
    lines = str(error).strip().splitlines()
    return lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]


def column(name: str) -> Column:
    """A column by its literal name, whatever dots and blanks are in it."""
    return F.col("`" + name.replace("`", "``") + "`")
