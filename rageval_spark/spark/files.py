"""Datasets in files: each format with what its reader needs to be told, and what it would get wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import InputError
from rageval_spark.sample import ALIASES, fields_found
from rageval_spark.spark import columnar, encoding, first_lines
from rageval_spark.spark.names import CORRUPT, column
from rageval_spark.spark.nested import with_paths

FORMATS = {".jsonl": "json", ".ndjson": "json", ".json": "json", ".parquet": "parquet", ".csv": "csv", ".orc": "orc"}
COMPRESSED = (".gz", ".bz2", ".zst", ".deflate", ".lz4", ".snappy")
"""Endings by which Spark knows that text is compressed."""
OPTIONS = {
    "json": {"columnNameOfCorruptRecord": CORRUPT},
    "csv": {"header": "true", "multiLine": "true", "escape": '"', "columnNameOfCorruptRecord": CORRUPT},
}


@dataclass(frozen=True)
class Source:
    """Where a dataset is: a path with its format, or a table; `where` is a SQL condition on its columns. `separator` is what
    stands between the items of a list in a text."""

    path: str | None = None
    format: str | None = None
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    separator: str | None = None

    def __str__(self) -> str:
        return self.table or self.path or "the DataFrame"

    def option(self, *names: str) -> str | None:
        """An option of the reader, by any of its names in any case."""
        return next((value for name, value in self.options.items() if name.lower() in names), None)


AS_WRITTEN = ("retrieved_ids", "retrieved_scores", "relevant_ids", "relevance", "messages", "tools", "tool_calls",
              "reference_tool_calls")
"""Fields that are read from JSON as they stand there. A type for all rows would bend them: 1 to "1" or 1.0 where another row
has it otherwise, keys that differ in case alone to one."""
LISTS = ("retrieved_contexts", "reference", "retrieved_ids", "retrieved_scores", "relevant_ids")
"""Fields whose items a separator may join in one text."""


def format_of(source: Source) -> str:
    """The format of a path, as given or by its name. Raises InputError if neither says it."""
    path = (source.path or "").lower().rstrip("/")
    name = path.rsplit(".", 1)[0] if path.endswith(COMPRESSED) else path
    kind = source.format or next((kind for suffix, kind in FORMATS.items() if name.endswith(suffix)), None)
    if kind is None:
        sheet = name.endswith((".xlsx", ".xls", ".ods"))
        raise InputError(f"{source.path} is a workbook, which Spark does not read; save the sheet as CSV in UTF-8" if sheet else
                         f"the format of {source.path} is not known from its name; give input.format "
                         f"(json, parquet, csv, or any that Spark reads)")
    return {"jsonl": "json", "ndjson": "json"}.get(kind.lower(), kind)


def read_path(spark: SparkSession, source: Source, groups: Sequence[FieldGroup]) -> DataFrame:
    kind = format_of(source)
    source = replace(source, path=_literal_path(spark, source.path or ""))
    path = source.path or ""
    reader = spark.read.format(kind).options(**{**OPTIONS.get(kind, {}), **source.options})
    if kind not in ("json", "csv", "text"):
        try:
            frame = reader.load(path)
            _ = frame.schema  # a session of Spark Connect looks only now
            return frame
        except (PySparkException, Py4JError) as error:
            first_lines.check_format(first_lines.look_at(spark, path, source.options), str(source), kind)
            readable = columnar.without_unreadable(spark, reader, path, error) if kind == "parquet" else None
            if readable is None:
                raise
            return readable
    lines = first_lines.look_at(spark, path, source.options)
    first_lines.check_format(lines, path, kind)
    declared = source.option("encoding", "charset")
    if declared is None:
        first_lines.check_encoding(lines, path, kind)
    if kind == "csv":
        return _of_csv(reader, source, declared)
    if kind == "text":
        return encoding.mark_bad_utf8(reader.load(path))
    if (source.option("multiline") or "").lower() == "true":
        first_lines.check_one_document(spark, path, source.options)
    elif declared is None:
        first_lines.check_json_lines(lines, path)
    if declared and declared.lower() not in UTF_8 and not source.option("linesep"):
        reader = reader.option("lineSep", "\n")  # which Spark wants to be given beside an encoding
    frame = _of_json(spark, reader, path, groups)
    if declared and declared.lower() not in UTF_8:
        return encoding.mark_replaced(frame, declared)
    return encoding.mark_bad_record(frame)


UTF_8 = ("utf-8", "utf8")


def _literal_path(spark: SparkSession, path: str) -> str:
    """The path with signs of patterns escaped, if there is a file or folder of that very name."""
    escaped = re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
    if escaped == path:
        return path
    try:
        _ = spark.read.text(escaped).schema  # starts no job: it only looks whether the path is there
    except (PySparkException, Py4JError):
        return path
    return escaped


def _of_csv(reader: DataFrameReader, source: Source, declared: str | None) -> DataFrame:
    """The rows of CSV. What should be UTF-8 is read byte for byte and decoded here: Spark's parser would replace what it cannot
    decode, and two different texts could become one."""
    path = source.path or ""
    by_spark = declared is not None and declared.lower() not in UTF_8
    if not by_spark:
        options = {name: value.encode().decode(encoding.BYTES) for name, value in source.options.items()}
        reader = reader.options(**{**options, "encoding": encoding.BYTES})
    frame = reader.load(path)
    if not frame.columns:
        return frame
    # only with a schema that has a place for it does a malformed row show itself
    frame = reader.schema(frame.schema.add(CORRUPT, T.StringType())).load(path)
    if by_spark:
        frame = encoding.mark_replaced(frame, str(declared))
    else:
        try:
            frame = encoding.mark_bad_utf8(encoding.decode_bytes(frame, (source.option("header") or "true").lower() == "true"))
        except UnicodeDecodeError:
            raise InputError(f"{path}: the names of its columns are not UTF-8; {encoding.REMEDY}") from None
    names = [name for name in frame.columns if name != CORRUPT]
    separator = next((sign for sign in ";\t|" if sign in names[0]), None)
    if len(names) == 1 and separator and source.option("sep", "delimiter") is None:
        raise InputError(f"{path} has one column, {names[0]!r}: its cells are not separated by commas. Set input.options.sep: "
                         f"{json.dumps(separator)}")
    return frame


def _of_json(spark: SparkSession, reader: DataFrameReader, path: str, groups: Sequence[FieldGroup]) -> DataFrame:
    """The rows of JSON lines, with texts for AS_WRITTEN; for all objects where keys within them differ in case alone."""
    mapped = {group.fields.get(name) for group in groups for name in AS_WRITTEN}
    roots = {name.split(".")[0] for name in mapped if name}  # text that a path leads into keeps what is within
    texts = mapped | roots | {alias for name in AS_WRITTEN for alias in (name, *ALIASES.get(name, ()))}
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


def separate_lists(frame: DataFrame, separator: str, groups: Sequence[FieldGroup]) -> DataFrame:
    """The frame with texts of LISTS as JSON lists of the parts between separators, without the blanks around them.

    A text that is a list itself, without a separator, stays as it is.
    """
    frame = with_paths(frame, [name for group in groups for name in group.fields.values()])
    own = fields_found([name for name in frame.columns if name != CORRUPT])
    of_group = [group.fields or own for group in groups] or [own]
    for name in dict.fromkeys(fields[known] for fields in of_group for known in LISTS if known in fields):
        if name not in frame.columns or not isinstance(frame.schema[name].dataType, T.StringType):
            continue
        text = column(name)
        parts = F.transform(F.split(text, re.escape(separator)), lambda part: F.trim(part))
        as_list = F.when(F.trim(text) == "", F.lit("[]")).otherwise(F.to_json(parts))
        if any(fields.get("retrieved_scores") == name for fields in of_group):  # numbers stand without quotes
            as_list = F.concat(F.lit("["), F.concat_ws(",", parts), F.lit("]"))
        stays = F.ltrim(text).startswith("[") & ~text.contains(separator)
        frame = frame.withColumn(name, F.when(text.isNull() | stays, text).otherwise(as_list))
    return frame


def explain(error: Exception, source: Source) -> str:
    """What Spark says of data that it cannot read, with what to do about it."""
    said = first_line(error)
    name = (source.path or "").rstrip("/").rsplit("/", 1)[-1]
    hidden = "Spark leaves out files whose names begin with '_' or '.'; give them other names"
    for sign, remedy in (
        ("UNABLE_TO_INFER_SCHEMA", f"no file that Spark reads, or only empty ones, are there. {hidden}"),
        ("COLUMN_ALREADY_EXISTS", f"{said} Columns differ in case alone; tell them apart by spark: {{conf: "
                                  "{spark.sql.caseSensitive: 'true'}} (in Python: spark.conf.set before the call)"),
        ("CHARSET", f"{said} Other encodings: spark: {{conf: {{spark.sql.legacy.javaCharsets: 'true'}}}} (in Python: "
                    "spark.conf.set before the call), or convert the files to UTF-8"),
        ("PARQUET_TYPE", f"{said} Leave the column out of the file, or if it is TIMESTAMP(NANOS) set spark: {{conf: "
                         "{spark.sql.legacy.parquet.nanosAsLong: 'true'}}"),
        ("UNSUPPORTED_TIME_TYPE", f"{said} Leave the column out of the file, or write it as text"),
        ("CANNOT_READ_FILE_FOOTER", f"a file is not {source.format or 'of the format that its name says'}; set input.format"),
        ("Relative path in absolute URI", "Spark reads no file with ':' in its name; give it another name"),
        ("FAILED_READ_FILE.NO_HINT", "Spark reads no file with ':' in its name; give it another name" if ":" in name else said),
    ):  # fmt: skip
        if sign in str(error):
            return remedy
    return said


def first_line(error: Exception) -> str:
    """The sentence of a Spark error, without its plan, its place in the SQL and its stack."""
    lines = str(error).strip().splitlines()
    line = lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
    return re.sub(r"[;,]? ?line \d+,? pos \d+;?$", "", line)
