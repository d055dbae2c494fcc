"""Files for people to judge samples in: JSON lines, or CSV that a spreadsheet opens as it is meant."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rageval_spark.errors import InputError

KEYS = ("sample_id", "field_group", "metric")
"""By which a filled-in file is joined to its run; they are written as they are."""
FORMULA = re.compile(r"[=+\-@\t\r＝＋－＠]")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
CHANGED = re.compile(r"0\d+|\d{16,}|\d+[eE]\d+|\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?")
"""Ids that a spreadsheet takes for a number or a date, and writes otherwise."""
LONGEST = 32_000
"""Characters of a cell in CSV: a spreadsheet takes 32,767."""

Rows = Sequence[Mapping[str, Any]]


def as_jsonl(rows: Rows) -> bytes:
    return "".join(_json(row) + "\n" for row in rows).encode()


def as_csv(rows: Rows) -> bytes:
    """UTF-8 with a mark for Excel. A text that a spreadsheet would compute is led by an apostrophe, one that is too long for a
    cell cut. Raises InputError for a key that would need the apostrophe: it would no longer be found in the run."""
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow(rows[0])
    for row in rows:
        for key in KEYS:
            if _computed(row[key]):
                raise InputError(f"the {key} {row[key]!r} is a formula to a spreadsheet; have the file written as .jsonl")
        table.writerow([_cell(value) for value in row.values()])
    return out.getvalue().encode("utf-8-sig")


def spoilt(rows: Rows) -> list[str]:
    """Ids that a spreadsheet changes unless their column is taken as text."""
    return sorted({row["sample_id"] for row in rows if CHANGED.fullmatch(row["sample_id"])})


def _cell(value: Any) -> str:
    text = _readable(value)
    text = text if len(text) <= LONGEST else text[:LONGEST] + " … (cut)"
    return f"'{text}" if _computed(text) else text


def _computed(text: str) -> bool:
    return bool(FORMULA.match(text)) and not NUMBER.fullmatch(text)


def _readable(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Sequence) and value and all(isinstance(one, str) for one in value):
        return value[0] if len(value) == 1 else "\n\n".join(f"[{place}] {one}" for place, one in enumerate(value, 1))
    return _json(value) if value != () else ""


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """The value with numbers that JSON does not have in words."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
