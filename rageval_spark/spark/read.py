"""Reading a dataset, and finding the sample fields among its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import InputError
from rageval_spark.messages import looks_like_message
from rageval_spark.sample import ALIASES, FIELDS, ambiguous_names, fields_found
from rageval_spark.spark.tables import SCORES

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


AS_WRITTEN = ("retrieved_ids", "retrieved_scores", "relevant_ids", "relevance", "messages", "tools", "tool_calls",
              "reference_tool_calls")
"""Fields that are read from JSON as they stand there. A type for all rows would bend them: 1 to "1" or 1.0 where another row
has it otherwise, keys that differ in case alone to one."""


def read(spark: SparkSession, source: Source, groups: Sequence[FieldGroup] = ()) -> DataFrame:
    """The rows of a dataset, a malformed JSON or CSV row as one with its text in `_corrupt_record`.

    In JSON the columns that groups map, or that go by name, to AS_WRITTEN are texts. Raises InputError naming what was not
    found, not readable or empty.
    """
    try:
        frame = spark.table(source.table) if source.table else _read_path(spark, source, groups)
        if source.where:
            frame = frame.where(source.where)
        columns = frame.columns
    except (PySparkException, Py4JError) as error:
        raise InputError(f"{source} cannot be read: {first_line(error)}") from None
    if columns == [CORRUPT] or not columns:
        raise InputError(f"{source} holds no row that could be read as {source.format or 'its format'}"
                         + ("; JSON is expected as one object a line" if source.format == "json" else ""))
    return frame


def _read_path(spark: SparkSession, source: Source, groups: Sequence[FieldGroup]) -> DataFrame:
    path = source.path or ""
    kind = source.format or next((name for suffix, name in FORMATS.items() if path.endswith(suffix)), None)
    if kind is None:
        raise InputError(f"the format of {path} is not known from its name; give input.format "
                         f"(json, parquet, csv, or any that Spark reads)")
    kind = {"jsonl": "json"}.get(kind, kind)
    reader = spark.read.format(kind).options(**{**OPTIONS.get(kind, {}), **source.options})
    if kind == "json":
        return _of_json(spark, reader, path, groups)
    frame = reader.load(path)
    if kind == "csv":  # only with a schema that has a place for it does a malformed row show itself
        frame = reader.schema(frame.schema.add(CORRUPT, T.StringType())).load(path)
    return frame


def _of_json(spark: SparkSession, reader: DataFrameReader, path: str, groups: Sequence[FieldGroup]) -> DataFrame:
    """The rows of JSON lines, with texts for AS_WRITTEN; for all objects where keys within them differ in case alone."""
    texts = {group.fields.get(field) for group in groups for field in AS_WRITTEN}
    texts |= {name for field in AS_WRITTEN for name in (field, *ALIASES.get(field, ()))}
    try:
        frame = reader.load(path)
        found = frame.schema
        nested: tuple[type[T.DataType], ...] = ()
    except PySparkException as error:
        if "COLUMN_ALREADY_EXISTS" not in str(error):
            raise
        before = spark.conf.get("spark.sql.caseSensitive", "false")
        spark.conf.set("spark.sql.caseSensitive", "true")  # for this look alone
        try:
            found, nested = reader.load(path).schema, (T.StructType, T.ArrayType)
        finally:
            spark.conf.set("spark.sql.caseSensitive", str(before))
    read_as = T.StructType([T.StructField(one.name, T.StringType())
                            if one.name in texts or isinstance(one.dataType, nested) else one for one in found])
    return frame if not nested and read_as == found else reader.schema(read_as).load(path)


def resolved(groups: Sequence[FieldGroup], frame: DataFrame, source: object = "the data") -> tuple[FieldGroup, ...]:
    """The groups with their columns: as mapped, or, where nothing is mapped, those found by name or alias that the
    group's metrics read. Raises InputError naming a column that is missing, or of a type that cannot be the field's.
    """
    columns = {column.name: column.dataType for column in frame.schema.fields if column.name != CORRUPT}
    return tuple(_resolved(group, columns, str(source)) for group in groups)


def _resolved(group: FieldGroup, columns: Mapping[str, T.DataType], source: str) -> FieldGroup:
    found = fields_found(list(columns))
    read_by_metrics = {name for use in group.uses for name in use.metric.takes()}
    if _holds_turns(columns.get("history")):  # a text or a list of events of that name is something else
        read_by_metrics.add("history")
    if group.fields:
        fields = dict(group.fields)
        if "sample_id" in found:
            fields.setdefault("sample_id", found["sample_id"])
    else:
        fields = {name: column for name, column in found.items() if name in read_by_metrics or name == "sample_id"}
    refuse_ambiguous([name for name in fields if name not in group.fields], columns, source)
    for name, column in fields.items():
        if column not in columns:
            raise InputError(f"no column {column!r} for the field {name}; the columns of {source} are {', '.join(columns)}. "
                             f"Map them with fields: {{{name}: <column>}}")
        if not fits(name, columns[column]):
            raise InputError(f"column {column!r} is {columns[column].simpleString()}, but the field {name} takes {TAKES[name]}")
    for use in group.uses if group.fields else ():
        if missing := [name for name in use.metric.lacking(fields) if name != "user_input"]:
            raise InputError(f"{use.name} reads {', '.join(missing)}, which fields does not map; the columns of {source} are "
                             f"{', '.join(columns)}. Add {missing[0]}: <column>, or map nothing where columns have these names")
    needed = {use.name: use.metric.lacking(fields) for use in group.uses}
    nothing_read = all(set(missing) >= set(use.metric.reads) - {"user_input"}
                       for use, missing in zip(group.uses, needed.values(), strict=True))
    spare = set(columns) - set(found.values())  # a column under another name is a mistake; one that is not there may be meant
    if needed and all(set(missing) - {"user_input"} for missing in needed.values()) and (nothing_read or spare):
        name = next(iter(needed))
        metric = group.uses[0].metric
        others = {field: (*ALIASES.get(field, ()), *filter(None, [metric.instead.get(field)])) for field in needed[name]}
        aliases = "; ".join(f"{field}: {' | '.join(names)}" for field, names in others.items() if names)
        reads = ", ".join(metric.reads)
        raise InputError(f"{name} reads {reads}, but no column provides {', '.join(needed[name])}. "
                         f"The columns of {source} are {', '.join(columns)}. Map them with fields: "
                         f"{{{needed[name][0]}: <column>}}, or name them so (also recognised: {aliases})")
    return replace(group, fields={name: fields[name] for name in FIELDS if name in fields})


def refuse_ambiguous(fields: Iterable[str], columns: Iterable[str], source: object) -> None:
    """Raises InputError if several columns go by the name of one of the fields that nothing maps."""
    ambiguous = ambiguous_names(list(columns))
    for name in fields:
        if columns_of_it := ambiguous.get(name):
            raise InputError(f"the columns {' and '.join(map(repr, columns_of_it))} of {source} both go by the field {name}. "
                             f"Map the right one with fields: {{{name}: {columns_of_it[0]}}}")


def _holds_turns(kind: T.DataType | None) -> bool:
    """Whether a column can hold the earlier turns of a conversation: texts, pairs, or objects that may be messages."""
    item = kind.elementType if isinstance(kind, T.ArrayType) else None
    if isinstance(item, T.ArrayType):
        item = item.elementType
    return isinstance(item, (T.StringType, T.MapType)) or (isinstance(item, T.StructType) and looks_like_message(item.names))


def unfed(groups: Sequence[FieldGroup]) -> list[str]:
    """A sentence for each metric that reads a field for which the data has no column, and so scores nothing. The question
    alone may be missing: metrics judge without it."""
    return [f"{use.name} ({group.key}): no column for {', '.join(missing)}" for group in groups for use in group.uses
            if (missing := [name for name in use.metric.lacking(group.fields) if name != "user_input"])]


TAKES = {
    "sample_id": "text or whole numbers", "user_input": "text", "response": "text",
    "retrieved_contexts": "a list of texts, a list of objects with text, content or page_content, or text",
    "reference": "text or a list of texts", "history": "a list of turns, or it as JSON text",
    "retrieved_ids": "a list of ids", "retrieved_scores": "a list of numbers",
    "relevant_ids": "a list of ids, or a map of id and grade", "relevance": "a map of id and grade",
    "should_refuse": "true or false", "messages": "a list of objects",
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
    if name in ("relevance", "relevant_ids") and isinstance(kind, (T.MapType, T.StructType)):
        return not (isinstance(kind, T.MapType) and isinstance(kind.keyType, T.FractionalType))
    if name == "relevance":
        return False
    return isinstance(kind, T.ArrayType)


def first_line(error: Exception) -> str:
    """The sentence of a Spark error, without its plan, its place in the SQL and its stack."""
    lines = str(error).strip().splitlines()
    line = lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
    return re.sub(r"[;,]? ?line \d+,? pos \d+;?$", "", line)


def read_scores(spark: SparkSession, run: Folder) -> DataFrame:
    """The scores of a run (tables.SCORES). Raises InputError where they cannot be read."""
    with rows_told(run):
        return spark.read.schema(SCORES).parquet(run.for_spark("scores"))


@contextmanager
def rows_told(source: object = "the data") -> Iterator[None]:
    """Raises InputError where the rows turn out to be unreadable."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise InputError(f"{source} cannot be read: {first_line(error)}") from None


def column(name: str) -> Column:
    """A column by its literal name, whatever dots and blanks are in it."""
    return F.col("`" + name.replace("`", "``") + "`")
