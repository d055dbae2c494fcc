"""Names of columns."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

CORRUPT = "_corrupt_record"
"""The column with the text of a row that cannot be read; no column of the data."""


def quote(name: str) -> str:
    """Return a name in SQL, whatever dots, blanks and quotes it holds."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """Return a column by its literal name, whatever dots, blanks and quotes it holds."""
    return F.col(quote(name))
