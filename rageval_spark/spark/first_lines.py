"""Checks of the first lines of text files, before a reader would misread them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from rageval_spark.errors import InputError
from rageval_spark.spark.encoding import MARK, REMEDY, is_utf8

MOST_LINES = 1000
"""Lines that are looked at: enough to know a file's encoding, without a pass over the data."""
FEW = 3
"""Up to this many lines that are not UTF-8 may be damaged rows; more mean that the file is in another encoding."""
LISTING = frozenset(("pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter"))
"""Options that select files, in lower case."""
MAGIC: Mapping[bytes, tuple[str, str]] = {
    b"PAR1": ("a Parquet file", "set input.format: parquet"),
    b"ORC": ("an ORC file", "set input.format: orc"),
    b"Obj\x01": ("an Avro file", "set input.format: avro"),
    b"PK\x03\x04": ("a zip archive or an Excel workbook", "unpack it, or save the sheet as CSV in UTF-8"),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook", "save the sheet as CSV in UTF-8"),
    b"SQLite format 3": ("an SQLite database", "export the table as CSV"),
    b"\x1f\x8b": ("compressed by gzip", "end its name with .gz, by which Spark knows it"),
    b"BZh": ("compressed by bzip2", "end its name with .bz2, by which Spark knows it"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", "end its name with .zst, by which Spark knows it"),
}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
UTF_8_MARK = MARK.encode()


@dataclass(frozen=True)
class FirstLines:
    """The first lines of a dataset: the first 64 bytes of each, and how many are JSON objects (`objects`), not UTF-8 (`bad`), and
    UTF-8 beyond ASCII. `last` is the last character of all, or None if there are more lines."""

    heads: Sequence[bytes]
    objects: int
    bad: int
    beyond_ascii: int
    last: str | None

    @property
    def head(self) -> bytes:
        return self.heads[0] if self.heads else b""

    @property
    def first(self) -> bytes:
        """The beginning of the first line that is not blank."""
        return next((head for line in self.heads if (head := line.removeprefix(UTF_8_MARK).strip())), b"")


def look_at(spark: SparkSession, path: str, options: Mapping[str, str]) -> FirstLines:
    """Return the first lines of the files at a path. Starts one job, which reads no more than it needs."""
    text, trimmed = F.col("value"), F.trim(F.col("value"))
    lines = _reader(spark, options).text(path).select(
        F.substring(text.cast("binary"), 1, 64), trimmed.startswith("{") & trimmed.endswith("}"), ~is_utf8(text),
        F.octet_length(text) > F.length(text), F.substring(trimmed, -1, 1))
    rows = lines.limit(MOST_LINES + 1).collect()
    ends = [row[4] for row in rows if row[4]]
    return FirstLines([bytes(row[0]) for row in rows], sum(row[1] for row in rows), sum(row[2] for row in rows),
                      sum(row[3] and not row[2] for row in rows),
                      ends[-1] if ends and len(rows) <= MOST_LINES else None)


def _reader(spark: SparkSession, options: Mapping[str, str]) -> DataFrameReader:
    """Return a reader of the same files as one with these options."""
    return spark.read.options(**{name: value for name, value in options.items() if name.lower() in LISTING})


def check_format(lines: FirstLines, path: str, kind: str) -> None:
    """Raise InputError if the first file is in a binary format other than `kind`."""
    for magic, (what, remedy) in MAGIC.items():
        if lines.head.startswith(magic) and not remedy.endswith(f": {kind}"):
            raise InputError(f"{path} is {what}, and was to be read as {kind}; {remedy}")


def check_encoding(lines: FirstLines, path: str, kind: str) -> None:
    """Raise InputError if the lines are in another encoding than UTF-8."""
    if lines.head.startswith(UTF_16) or any(b"\0" in head for head in lines.heads[:FEW]):
        remedy = "set input.options.encoding: UTF-16" if kind == "csv" else "convert it, such as by iconv -f UTF-16 -t UTF-8"
        raise InputError(f"{path} is UTF-16, not UTF-8; {remedy}")
    count = len(lines.heads)
    if lines.bad > lines.beyond_ascii and (lines.bad > FEW or lines.bad * 5 > count):
        part = f"{lines.bad:,} of {'its' if count <= MOST_LINES else 'its first'} {count:,} lines"
        raise InputError(f"{path} is not UTF-8 in {part}; {REMEDY}. With UTF-8 there, such rows alone fail")


def check_json_lines(lines: FirstLines, path: str) -> None:
    """Raise InputError if the first file is a JSON array, or a document over several lines."""
    if lines.first.startswith(b"["):
        array = lines.last == "]" if lines.last else lines.objects * 2 <= len(lines.heads)
        if array:
            raise InputError(f"{path} is a JSON array, not one object a line; set input.options.multiLine: true")
    elif lines.first.startswith(b"{") and not lines.objects and len(lines.heads) > 1:
        raise InputError(f"{path} holds JSON objects over several lines; set input.options.multiLine: true if each file is one "
                         f"object or array, else write one object a line (jq -c . {path})")


def check_one_document(spark: SparkSession, path: str, options: Mapping[str, str]) -> None:
    """Raise InputError if a file that is read as one JSON document holds several: Spark would read only the first. Starts one
    job, which reads all files.

    A new document begins where a bracket opens on the line after one that closes. Within a document a comma is between them.
    """
    files = _reader(spark, options).text(path, wholetext=True)
    several: DataFrame = files.where(F.col("value").rlike(r"[}\]][ \t\r]*\n\s*[{\[]"))
    if several.select(F.lit(1)).limit(1).collect():
        raise InputError(f"{path} holds several JSON documents, of which input.options.multiLine: true reads the first alone. "
                         f"Write one object a line (jq -c . {path}) and leave out multiLine")
