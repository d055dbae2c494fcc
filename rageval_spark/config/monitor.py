"""The config of `rageval monitor`: that of a run, and what is watched in logs of production."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from rageval_spark.config.schema import Config, Gate, Group
from rageval_spark.engine.sampling import Sampling
from rageval_spark.engine.signals import NEGATIVE, POSITIVE, word
from rageval_spark.judges.settings import Settings
from rageval_spark.measures.markers import check_pattern

Words = Annotated[tuple[str, ...], BeforeValidator(
    lambda given: tuple(word(one) for one in (given if isinstance(given, (list, tuple)) else [given])))]


class Feedback(Settings):
    """The column of people's thumbs, and which of its values are which, in any case. Other values are no feedback."""

    column: str
    negative: Words = NEGATIVE
    positive: Words = POSITIVE

    @model_validator(mode="after")
    def _differ(self) -> Feedback:
        if both := sorted(set(self.negative) & set(self.positive)):
            raise ValueError(f"{both[0]!r} is both negative and positive")
        return self


class Alert(Settings):
    """When a figure of a day is told and the exit code is 1. `limit` is the worst it may be: the most where lower is better, else
    the least; `below` and `above` say which. `drop`: how much worse a metric may be than in the run of `against`, over all days.
    `least`: of how many rows or scores it must be. `sure`: only where its whole 95 % interval is beyond. `slices`: columns, each
    value of which has it too."""

    limit: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    below: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    above: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    drop: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    least: int = Field(default=10, ge=1)
    sure: bool = False
    slices: Sequence[str] = ()

    @model_validator(mode="after")
    def _says_something(self) -> Alert:
        if not any(self.limits()):
            raise ValueError("give a number, or below, above or drop")
        return self

    def limits(self) -> Iterator[tuple[str, float]]:
        """What is given on the scale of its figure, by key."""
        for name in ("limit", "below", "above", "drop"):
            if (limit := getattr(self, name)) is not None:
                yield name, limit


class Picks(Settings):
    """How many samples of each week are written for people to judge, and as what; 0 for none."""

    n: int = Field(default=30, ge=0, le=1000)
    format: Literal["jsonl", "csv"] = "jsonl"


def _under(key: str) -> BeforeValidator:
    """A bare value in place of a mapping that has it under `key`."""
    return BeforeValidator(lambda given: given if given is None or isinstance(given, (Mapping, Settings)) else {key: given})


class MonitorConfig(Config):
    """A whole config file of a monitor. Groups of `evaluate` without metrics only map columns.

    `alert_days`: of how many of the last computed days alerts are reported; null for all. By default only the latest day, since a
    nightly run would otherwise report the same day several times."""

    name: str = "monitor"
    evaluate: Sequence[Group] = ()
    sample: Sampling = Sampling(n=100)
    time: str
    days: int = Field(default=7, ge=1, le=366)
    feedback: Annotated[Feedback | None, _under("column")] = None
    first_citation: int = Field(default=1, ge=0)
    citation_pattern: Annotated[str, AfterValidator(check_pattern)] | None = None
    against: str | None = None
    alerts: Mapping[str, Annotated[Alert, _under("limit")]] = Field(default_factory=dict)
    alert_days: int | None = Field(default=1, ge=1)
    picks: Annotated[Picks, _under("n")] = Picks()
    table: str | None = None

    @model_validator(mode="after")
    def _can_be_watched(self) -> MonitorConfig:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", self.name):
            raise ValueError("name is a part of folders' names here: letters, digits, '-', '_' and '.'")
        if [name for name, gate in self.gates.items() if name != "coverage" or isinstance(gate, Gate)]:
            raise ValueError("gates are of runs, but for coverage; what a monitor watches are alerts")
        for name, alert in self.alerts.items():
            if unknown := [column for column in alert.slices if column not in self.slices]:
                raise ValueError(f"alerts.{name}.slices: {unknown[0]} is no slice of this config; its slices are "
                                 f"{', '.join(self.slices) or 'none'}. Add the column to slices")
            if alert.drop is not None and self.against is None:
                raise ValueError(f"alerts.{name}.drop: give against, the folder of the run that it drops from")
        return self

    def of_day(self, where: str) -> Config:
        """The config of a run over the rows of a day. Only where there are metrics."""
        given: dict[str, Any] = {name: getattr(self, name) for name in Config.model_fields}
        judged = [group for group in self.evaluate if group.metrics]
        source = self.required_input()
        condition = f"({source.where}) and {where}" if source.where else where
        return Config(**{**given, "evaluate": judged, "input": source.model_copy(update={"where": condition})})
