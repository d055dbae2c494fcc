"""Datasets in files: the options that the reader of each format needs, and checks of what it would read wrongly."""

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
"""Endings by which Spark recognizes compressed text."""
OPTIONS = {
    "json": {"columnNameOfCorruptRecord": CORRUPT},
    "csv": {"header": "true", "multiLine": "true", "escape": '"', "columnNameOfCorruptRecord": CORRUPT},
}


@dataclass(frozen=True)
class Source:
    """Where a dataset is: a path with its format, or a table. `where` is a SQL condition on its columns, `separator` the text
    between the items of a list that stands in one text."""

    path: str | None = None
    format: str | None = None
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    separator: str | None = None

    def __str__(self) -> str:
        return self.table or self.path or "the DataFrame"

    def option(self, *names: str) -> str | None:
        """Return an option of the reader, by any of its names (in lower case here); None if it is not set."""
        return next((value for name, value in self.options.items() if name.lower() in names), None)


AS_WRITTEN = ("retrieved_ids", "retrieved_scores", "relevant_ids", "relevance", "messages", "tools", "tool_calls",
              "reference_tool_calls")
"""Fields that are read from JSON as text. One type for all rows would change values: 1 becomes "1" or 1.0 if another row has a
text or a fraction, and keys that differ only in case become one."""
LISTS = ("retrieved_contexts", "reference", "retrieved_ids", "retrieved_scores", "relevant_ids")
"""Fields of lists that a separator may join in one text."""


def format_of(source: Source) -> str:
    """Return the format of a path: as given, or by the ending of its name. Raises InputError if it is not known."""
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
    """Return the rows of the files at a path. Rows that cannot be read have a fault in CORRUPT.

    Starts a job or two, which look at the first lines of text files. Raises InputError for files that Spark would misread, and
    Spark's own errors for the others.
    """
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
            if kind not in FORMATS.values():
                raise
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
        reader = reader.option("lineSep", "\n")  # Spark requires it together with an encoding
    frame = _of_json(spark, reader, path, groups)
    if declared and declared.lower() not in UTF_8:
        return encoding.mark_replaced(frame, declared)
    return encoding.mark_bad_record(frame)


UTF_8 = ("utf-8", "utf8")


def _literal_path(spark: SparkSession, path: str) -> str:
    """Return the path with the characters of patterns escaped, if a file or folder has that literal name."""
    escaped = re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
    if escaped == path:
        return path
    try:
        _ = spark.read.text(escaped).schema  # starts no job: it only checks that the path exists
    except (PySparkException, Py4JError):
        return path
    return escaped


def _of_csv(reader: DataFrameReader, source: Source, declared: str | None) -> DataFrame:
    """Read CSV. UTF-8 is read byte by byte and decoded here: Spark's parser would replace bytes that it cannot decode, and two
    different texts could become equal."""
    path = source.path or ""
    by_spark = declared is not None and declared.lower() not in UTF_8
    if not by_spark:
        options = {name: value.encode().decode(encoding.BYTES) for name, value in source.options.items()}
        reader = reader.options(**{**options, "encoding": encoding.BYTES})
    frame = reader.load(path)
    if not frame.columns:
        return frame
    # Spark keeps malformed rows only if the schema has a column for them
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
    """Read JSON lines, with AS_WRITTEN as text. If keys of nested objects differ only in case, all objects and lists are text."""
    mapped = {group.fields.get(name) for group in groups for name in AS_WRITTEN}
    roots = {name.split(".")[0] for name in mapped if name}  # columns that paths lead into
    texts = mapped | roots | {alias for name in AS_WRITTEN for alias in (name, *ALIASES.get(name, ()))}
    try:
        frame = reader.load(path)
        schema = frame.schema
        nested: tuple[type[T.DataType], ...] = ()
    except PySparkException as error:
        if "COLUMN_ALREADY_EXISTS" not in str(error):
            raise
        before = spark.conf.get("spark.sql.caseSensitive", "false")
        spark.conf.set("spark.sql.caseSensitive", "true")  # for this look alone
        try:
            schema, nested = reader.load(path).schema, (T.StructType, T.ArrayType)
        finally:
            spark.conf.set("spark.sql.caseSensitive", str(before))
    read_as = T.StructType()
    for part in schema:
        as_text = part.name in texts or isinstance(part.dataType, nested)
        read_as.add(T.StructField(part.name, T.StringType()) if as_text else part)
    return frame if not nested and read_as == schema else reader.schema(read_as).load(path)


def separate_lists(frame: DataFrame, separator: str, groups: Sequence[FieldGroup]) -> DataFrame:
    """Turn texts of LISTS into JSON lists of the trimmed parts between separators.

    A text that looks like a list and holds no separator stays as it is.
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
    """Return the message of Spark for data that it cannot read, with what to do about it."""
    message = first_line(error)
    name = (source.path or "").rstrip("/").rsplit("/", 1)[-1]
    colon = "Spark reads no file with ':' in its name; give it another name"
    hidden = "Spark leaves out files whose names begin with '_' or '.'; give them other names"
    for sign, remedy in (
        ("UNABLE_TO_INFER_SCHEMA", f"no file that Spark reads, or only empty ones, are there. {hidden}"),
        ("COLUMN_ALREADY_EXISTS", f"{message} Columns differ in case alone; tell them apart by spark: {{conf: "
                                  "{spark.sql.caseSensitive: 'true'}} (in Python: spark.conf.set before the call)"),
        ("CHARSET", f"{message} Other encodings: spark: {{conf: {{spark.sql.legacy.javaCharsets: 'true'}}}} (in Python: "
                    "spark.conf.set before the call), or convert the files to UTF-8"),
        ("PARQUET_TYPE", f"{message} Leave the column out of the file, or if it is TIMESTAMP(NANOS) set spark: {{conf: "
                         "{spark.sql.legacy.parquet.nanosAsLong: 'true'}}"),
        ("UNSUPPORTED_TIME_TYPE", f"{message} Leave the column out of the file, or write it as text"),
        ("CANNOT_READ_FILE_FOOTER", f"a file is not {source.format or 'of the format that its name says'}; set input.format"),
        ("Relative path in absolute URI", colon),
        ("FAILED_READ_FILE.NO_HINT", colon if ":" in name else message),
    ):  # fmt: skip
        if sign in str(error):
            return remedy
    return message


def first_line(error: Exception) -> str:
    """Return the first sentence of a Spark error, without plan, position in the SQL and stack trace."""
    lines = str(error).strip().splitlines()
    line = lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
    return re.sub(r"[;,]? ?line \d+,? pos \d+;?$", "", line)
