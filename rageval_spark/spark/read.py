"""Reading a dataset, and finding the sample fields among its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import InputError
from rageval_spark.messages import looks_like_message
from rageval_spark.sample import ALIASES, FIELDS, ambiguous_names, fields_found
from rageval_spark.spark.files import Source, explain, first_line, format_of, read_path, separate_lists
from rageval_spark.spark.names import CORRUPT, column
from rageval_spark.spark.nested import is_open, with_paths
from rageval_spark.spark.tables import SCORES


def read(spark: SparkSession, source: Source, groups: Sequence[FieldGroup] = ()) -> DataFrame:
    """The rows of a dataset, a malformed JSON or CSV row as one with its text in `_corrupt_record`.

    In JSON the columns that groups map, or that go by name, to AS_WRITTEN are texts. Starts a job or two, which look at the
    first lines of text files. Raises InputError naming what was not found, not readable or empty.
    """
    try:
        frame = spark.table(source.table) if source.table else read_path(spark, source, groups)
        if source.separator:
            frame = separate_lists(frame, source.separator, groups)
        if source.where:
            frame = frame.where(source.where)
        columns = frame.columns
    except (PySparkException, Py4JError) as error:
        raise InputError(f"{source} cannot be read: {explain(error, source)}") from None
    if columns == [CORRUPT] or not columns:
        kind = format_of(source) if source.path else ""
        raise InputError(f"{source} holds no row that could be read as {kind or 'its format'}"
                         + ("; JSON is expected as one object a line" if kind == "json" else ""))
    return frame


def resolved(groups: Sequence[FieldGroup], frame: DataFrame, source: object = "the data") -> tuple[FieldGroup, ...]:
    """The groups with their columns: as mapped, or, where nothing is mapped, those found by name or alias that the
    group's metrics read. Raises InputError naming a column that is missing, or of a type that cannot be the field's.
    """
    mapped = [name for group in groups for name in group.fields.values()]
    paths = [name for name in dict.fromkeys(mapped) if name not in frame.columns]
    frame = with_paths(frame, mapped)
    for name in paths:
        if name in frame.columns and is_open(frame, name) and not _has_value(frame, name):
            raise InputError(f"no row of {source} has a value at {name!r}; check the path that fields maps")
    return tuple(_resolved(group, frame, str(source)) for group in groups)


def _has_value(frame: DataFrame, name: str) -> bool:
    """Whether a row has a value in a column, and it is not NaN. Starts a job, which ends at the first such row."""
    value = column(name)
    there = value.isNotNull()
    if isinstance(frame.schema[name].dataType, (T.FloatType, T.DoubleType)):
        there &= ~F.isnan(value)
    with rows_told():
        return bool(frame.where(there).select(F.lit(1)).limit(1).collect())


def _resolved(group: FieldGroup, frame: DataFrame, source: str) -> FieldGroup:
    columns = {part.name: part.dataType for part in frame.schema.fields if part.name != CORRUPT}
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
    for name, mapped in fields.items():
        if mapped not in columns:
            raise InputError(f"no column {mapped!r} for the field {name}; the columns of {source} are {', '.join(columns)}. "
                             f"Map them with fields: {{{name}: <column>}}")
        # readers give any type to a column of NaN or null: it has no value, whatever it was to hold
        if not fits(name, columns[mapped]) and _has_value(frame, mapped):
            raise InputError(f"column {mapped!r} is {columns[mapped].simpleString()}, but the field {name} takes {TAKES[name]}")
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
