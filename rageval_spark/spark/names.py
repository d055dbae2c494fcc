"""Names of columns."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

CORRUPT = "_corrupt_record"
"""The column with the text of a row that cannot be read; no column of the data."""


def column(name: str) -> Column:
    """A column by its literal name, whatever dots and blanks are in it."""
    return F.col("`" + name.replace("`", "``") + "`")
