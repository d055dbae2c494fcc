"""What part of a dataset is evaluated, and how it is divided among strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from rageval_spark.judges.settings import Settings

Columns = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]


class Sampling(Settings):
    """A part of the dataset in place of all of it: `n` rows, or a `share` of them; `stratify_by` names columns."""

    n: int | None = Field(default=None, gt=0, strict=True)
    share: float | None = Field(default=None, gt=0, le=1, strict=True)
    seed: int = Field(default=7, ge=0, lt=2**63, strict=True)
    stratify_by: Columns = ()

    @model_validator(mode="after")
    def _one_size(self) -> Sampling:
        if (self.n is None) == (self.share is None):
            raise ValueError("give either n, a number of rows, or share, a part of them such as 0.1")
        return self


def allotted(rows: Sequence[int], n: int) -> list[int]:
    """How many of `n` each stratum gets, by its rows: one each, the others in proportion to what is left of them, by largest
    remainders; all rows where there are no more than n. `n` is at least the number of strata."""
    left, over = n - len(rows), sum(rows) - len(rows)
    if left >= over:
        return list(rows)
    shares = [divmod(left * (count - 1), over) for count in rows]
    spare = left - sum(whole for whole, _ in shares)
    first = set(sorted(range(len(rows)), key=lambda place: (-shares[place][1], place))[:spare])
    return [1 + whole + (place in first) for place, (whole, _) in enumerate(shares)]


def told(sample: Mapping[str, Any]) -> str:
    """The `sample` of a summary in words, such as "100 of 12,345 rows, stratified by language"."""
    by = f", stratified by {', '.join(sample['stratify_by'])}" if sample["stratify_by"] else ""
    return f"{sample['chosen']:,} of {sample['of']:,} rows{by}"
