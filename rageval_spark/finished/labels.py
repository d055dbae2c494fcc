"""People's labels of a run's samples, from a file: which columns hold them, what their values mean, whom they belong to."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rageval_spark.errors import ConfigError, InputError
from rageval_spark.metrics import CATALOGUE
from rageval_spark.sample import ALIASES
from rageval_spark.spark import labelled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = ("1", "true", "yes", "good", "pass", "passed", "ok")
BAD = ("0", "false", "no", "bad", "fail", "failed")
PICKED = ("worst", "borderline")
"""What `rageval pick` writes in `picked` of samples that are no random part of the run."""
NAMED = 3
"""Faults that a message names; of more it has the number."""


@dataclass(frozen=True)
class Use:
    """A metric of a field group of the run, as the manifest has it; its threshold in [0, 1], or None."""

    field_group: str
    metric: str
    threshold: float | None
    lower: bool
    judged: bool


def uses(manifest: Mapping[str, Any]) -> list[Use]:
    """Runs that were made before manifests told the direction have it from the catalogue."""
    return [Use(group["key"], one["name"], one["threshold"], judged=one["judge"] is not None,
                lower=one.get("direction", getattr(CATALOGUE.get(one["metric"]), "direction", "higher")) == "lower")
            for group in manifest["field_groups"] for one in group["metrics"]]


@dataclass(frozen=True)
class Scale:
    """How labels are read: as good or bad and numbers in [0, 1], or as grades from 1 to `grades`; from `good_from` on (of the
    same numbers) a grade is good. Raises ConfigError."""

    grades: int | None = None
    good_from: float | None = None

    def __post_init__(self) -> None:
        if self.grades is not None and self.grades < 2:
            raise ConfigError(f"--scale is the highest grade of labels that begin with 1, at least 2, found {self.grades}")
        low, high = (1, self.grades) if self.grades else (0, 1)
        if self.good_from is not None and not low < self.good_from <= high:
            raise ConfigError(f"--good-from is a label above {low} and up to {high}, found {self.good_from:g}"
                              + ("" if self.grades else "; grades from 1 to 5 need --scale 5"))

    @property
    def cut(self) -> float | None:
        """From where on a label in [0, 1] is good; None where there is no such place."""
        return self._moved(self.good_from) if self.good_from is not None else None

    def value(self, text: str) -> float | None:
        """The label in [0, 1]; None where it cannot be read."""
        word = text.strip().lower()
        if self.grades is None and word in (*GOOD, *BAD):
            return float(word in GOOD)
        try:
            number = self._moved(float(word))
        except ValueError:
            return None
        return number if math.isfinite(number) and 0 <= number <= 1 else None

    def _moved(self, number: float) -> float:
        return (number - 1) / (self.grades - 1) if self.grades else number

    def __str__(self) -> str:
        if self.grades:
            return f"a grade from 1 to {self.grades}"
        return (f"one of {', '.join(GOOD)} for good, {', '.join(BAD)} for bad, or a number from 0 to 1 "
                f"(grades from 1 to 5 need --scale 5)")


@dataclass
class Labels:
    """What people said: `of` has the labels in [0, 1] by metric and sample id, several where several people said something.

    `without`: rows with no label. `elsewhere`: labels by the metric that they name and the run does not have. `picked`: how
    many labels of a metric are of samples that were picked as PICKED.
    """

    of: dict[Use, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    without: int = 0
    elsewhere: Counter[str] = field(default_factory=Counter)
    picked: dict[Use, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def sample_ids(self) -> list[str]:
        return list(dict.fromkeys(sample_id for by_id in self.of.values() for sample_id in by_id))


def labels(spark: SparkSession, path: str, there: Sequence[Use], scale: Scale, label: str | None, metric: str | None) -> Labels:
    """The labels in a file, of these metrics. Starts one job. Raises InputError naming the rows that cannot be read."""
    frame = labelled.labels(spark, path)
    columns = labelled.columns_of(frame)
    sample_id = next((name for name in ("sample_id", *ALIASES["sample_id"]) if name in columns), None)
    if sample_id is None:
        raise InputError(f"{path} has no column sample_id; its columns are {', '.join(columns)}")
    holding = _holding(path, columns, there, label, metric)
    also = [name for name in ("metric", "field_group", "picked") if name in columns and name not in holding]
    found, faults = Labels(), list[str]()
    for place, row in enumerate(labelled.rows(frame, list(dict.fromkeys((sample_id, *holding, *also))), path), 1):
        said = {column: text for column in holding if (text := row[column]) is not None and text.strip()}
        found.without += not said
        for column, text in said.items():
            name = holding[column] or (row["metric"] or "").strip()
            if metric in (None, name) and (fault := _take(found, row, row[sample_id], name, text, there, scale)):
                faults.append(f"row {place}: {fault}")
    if faults:
        more = f"; and {len(faults) - NAMED:,} more" if len(faults) > NAMED else ""
        raise InputError(f"{path}, {'; '.join(faults[:NAMED])}{more}. A label is {scale}; one that nobody can give is left empty")
    return found


def _take(found: Labels, row: Mapping[str, str | None], sample_id: str | None, metric: str, text: str, there: Sequence[Use],
          scale: Scale) -> str | None:
    """Note one label, or say what is wrong with it."""
    if not sample_id:
        return f"the label {text!r} has no sample_id"
    value = scale.value(text)
    if value is None:
        return f"the label {text!r} of sample {sample_id} cannot be read"
    group = row.get("field_group")
    meant = [use for use in there if use.metric == metric and group in (None, use.field_group)]
    if not meant:
        found.elsewhere[f"{metric or 'none'} ({group})" if group else metric or "none"] += 1
    elif len(meant) > 1:
        raise InputError(f"{metric} was scored for several fields: {'; '.join(use.field_group for use in meant)}. Add a column "
                         f"field_group to the labels, with one of these in each row")
    else:
        found.of[meant[0]][sample_id].append(value)
        picked = (row.get("picked") or "").strip().lower()
        found.picked[meant[0]].update([picked] if picked in PICKED else [])
    return None


def _holding(path: str, columns: Sequence[str], there: Sequence[Use], label: str | None,
             metric: str | None) -> Mapping[str, str | None]:
    """The columns that hold labels, each with its metric, or None where the column `metric` of each row names it."""
    names = list(dict.fromkeys(use.metric for use in there))
    if metric is not None and metric not in names:
        close = get_close_matches(metric, names, 1)
        raise ConfigError(f"the run has no metric {metric!r}; {f'did you mean {close[0]}? ' if close else ''}"
                          f"It has {', '.join(names)}")
    if label is not None and label not in columns:
        raise InputError(f"{path} has no column {label!r}; its columns are {', '.join(columns)}")
    column = label or "label"
    if "metric" in columns and column in columns:
        return {column: None}
    if label is None:  # beside the labels of a metric its scores may stand, under its name
        wide = {name: [one for one in (f"{name}_label", name) if one in columns] for name in names if metric in (None, name)}
        if any(wide.values()):
            return {found[0]: name for name, found in wide.items() if found}
    if column not in columns:
        raise InputError(f"{path} has no column of labels: {column}, or one named as a metric of the run ({', '.join(names)}). "
                         f"Its columns are {', '.join(columns)}. Name one with --label")
    judged = list(dict.fromkeys(use.metric for use in there if use.judged))
    chosen = metric or next((only[0] for only in (names, judged) if len(only) == 1), None)
    if chosen is None:
        raise ConfigError(f"what do the labels in the column {column!r} speak of? Name it with --metric: {', '.join(names)}")
    return {column: chosen}
