"""What a task is given and gives back: rows of the dataset, the work to do on them, scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.errors import SampleFault
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class Row:
    """One row of the dataset: its columns' values, or the fault for which it cannot be read; how many rows it stands for."""

    sample_id: str
    bucket: int
    values: Mapping[str, Any]
    slices: Mapping[str, str]
    fault: str | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class Scored:
    row: Row
    group: FieldGroup
    use: MetricUse
    score: Score


@dataclass(frozen=True)
class Work:
    """What a task needs beside its rows; travels in the closure. Without `store` replies stay in memory, without
    `beats` the task keeps to the planned tasks' even share of the limits. `oldest`: by model, when replies of other
    runs must have been made to be used (seconds since 1970). `limits` and `until` are budgets (as of budget.Budget),
    for which beats are needed."""

    plan: Plan
    run_id: str
    store: Folder | None = None
    beats: Folder | None = None
    planned_tasks: int = 1
    limits: Mapping[str, float] = field(default_factory=dict)
    until: float | None = None
    oldest: Mapping[str, float] = field(default_factory=dict)


def sample_of(row: Row, group: FieldGroup) -> Sample | Score:
    """The sample that a field group sees of a row; a failed score if the row or its id cannot be read. A fault of another
    field costs only the metrics that use it."""
    if row.fault is not None:
        return Score.failed("INVALID_INPUT", row.fault)
    try:
        return group.sample(row.sample_id, row.values, strict=False)
    except SampleFault as fault:
        return Score.failed(fault.code, str(fault))
