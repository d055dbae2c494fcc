"""The config as pydantic models: every key that can stand in a config file, with its default."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PrivateAttr, Tag, model_validator

from rageval_spark.engine.sampling import Sampling
from rageval_spark.errors import ConfigError
from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, HttpJudge, Settings, public

MetricEntry = str | Mapping[str, Any]
DEFAULT_COVERAGE = 0.95
LATEST = "latest"


def _provider(judge: Any) -> str:
    """The tag of the kind of judge that the values make."""
    named = judge.get("provider", "http") if isinstance(judge, Mapping) else getattr(judge, "provider", "http")
    return f"provider {named}"


def _as_texts(options: Any) -> Any:
    """Return options with booleans and numbers of YAML as texts, as Spark takes them."""
    if not isinstance(options, Mapping):
        return options
    return {name: json.dumps(value) if isinstance(value, (bool, int, float)) else value for name, value in options.items()}


class Input(Settings):
    """Where the samples are: a path with its format, or a catalog table. `separator` is what stands between the items of lists
    that are joined in one text, such as "|||"."""

    path: str | None = None
    format: str | None = None
    table: str | None = None
    options: Annotated[Mapping[str, str], BeforeValidator(_as_texts)] = Field(default_factory=dict)
    where: str | None = None
    separator: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_source(self) -> Input:
        if (self.path is None) == (self.table is None):
            raise ValueError("give either path or table")
        return self


class Output(Settings):
    """Where results go. `good: false` leaves in the scores only rows below their threshold and those without a score.

    `tables` begins the names of two catalog tables, scores and stats, that get a run's rows too; `format` is theirs where they
    are made (default: the session's). `mlflow` is the experiment of MLflow in which a run is noted.
    """

    path: str = "out"
    good: bool = True
    tables: str | None = None
    format: str | None = None
    mlflow: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _prefix_of_names(self) -> Output:
        if self.tables is not None and not re.fullmatch(r"([^.`]+\.)*[^.`]*[._]", self.tables):
            raise ValueError("tables begins the names of tables, and ends in '.' or '_': main.rag. makes main.rag.scores, "
                             f"main.rag.nightly_ makes main.rag.nightly_scores; found {self.tables!r}")
        if self.format is not None and self.tables is None:
            raise ValueError("format is that of catalog tables; give tables, or leave it out (a run's files are Parquet)")
        return self


class Group(Settings):
    """One mapping from sample field to column, with the metrics scored through it. No mapping: columns by name."""

    fields: Mapping[str, str] = Field(default_factory=dict)
    metrics: Sequence[MetricEntry] = ()


class Figures(Settings):
    """What a metric must reach: its average, the end of the average's 95 % interval on the bad side, the share of scored
    samples that meet its threshold, the share of judgements that did not fail. For a metric of which lower is better
    average and ci_worst are the most there may be, else all are the least. `max_drop` is how much worse the average may be than
    in an earlier run."""

    average: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    ci_worst: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    pass_rate: float | None = Field(default=None, ge=0, le=1)
    coverage: float | None = Field(default=None, ge=0, le=1)
    max_drop: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @classmethod
    def figures(cls) -> list[str]:
        """What a limit may be given for."""
        return list(Figures.model_fields)

    def given(self) -> dict[str, float]:
        """The figures that a limit is given for."""
        return {name: limit for name in self.figures() if (limit := getattr(self, name)) is not None}


class SliceGate(Figures):
    """What a metric must reach in every value of a slice of which at least `least` samples were judged."""

    least: int = Field(default=10, ge=1)


def _bare(given: Any) -> Any:
    """A bare number as a gate of the average."""
    return {"average": given} if isinstance(given, (int, float, str)) else given


class Gate(Figures):
    """What a metric must reach over all samples, and in the values of slices by column, for the run to end with 0.

    The run of `max_drop` is the latest complete one of this name in the output folder, or the one that `against` names by its
    id or its folder.
    """

    against: str = LATEST
    slices: Mapping[str, Annotated[SliceGate, BeforeValidator(_bare)]] = Field(default_factory=dict)


class Limits(Settings):
    """What a run may spend, all tasks and resumed attempts together; what is left then fails with BUDGET."""

    max_prompts: int | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_cost: float | None = Field(default=None, gt=0)
    max_hours: float | None = Field(default=None, gt=0)

    def by_name(self) -> dict[str, float]:
        return {name: limit for name, limit in self.model_dump().items() if limit is not None}


class Diagnosis(Settings):
    """Thresholds of the diagnosis, rules of thumb in [0, 1] whatever the scale; a `preset` has others for those not given.

    An axis is low below `low`, high from `high` on, recall from `recall` on; more responses than `unanswered` that are blank
    or decline are too many. `complaints` is the share of users' feedback that is negative, or a slice and its value that
    says so; more than `tolerated` are too many.
    """

    preset: Literal["strict", "lenient"] | None = None
    low: float = Field(default=0.5, ge=0, le=1)
    high: float = Field(default=0.8, ge=0, le=1)
    recall: float = Field(default=0.85, ge=0, le=1)
    unanswered: float = Field(default=0.2, ge=0, le=1)
    tolerated: float = Field(default=0.1, ge=0, le=1)
    complaints: Annotated[float, Field(ge=0, le=1)] | Mapping[str, str] | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_the_preset(cls, given: Any) -> Any:
        preset = given.get("preset") if isinstance(given, Mapping) else None
        return {**THRESHOLDS.get(preset, {}), **given} if isinstance(preset, str) else given

    @model_validator(mode="after")
    def _in_order(self) -> Diagnosis:
        if self.low >= self.high:
            raise ValueError(f"low lies below high, found low {self.low:g} and high {self.high:g}")
        if isinstance(self.complaints, Mapping) and len(self.complaints) != 1:
            raise ValueError("complaints is a share, or one slice and its value that stands for a complaint")
        return self


THRESHOLDS: Mapping[str, Mapping[str, float]] = {
    "strict": {"low": 0.7, "high": 0.9, "recall": 0.95, "unanswered": 0.1, "tolerated": 0.05},
    "lenient": {"low": 0.4, "high": 0.7, "recall": 0.7, "unanswered": 0.3, "tolerated": 0.2},
}
"""Thresholds of the diagnosis by preset: where a wrong answer costs much (finance, medicine), and where people look on anyway."""


class Spark(Settings):
    """How a session of our own is started; without effect in a session that the caller made."""

    master: str = "local[*]"
    conf: Mapping[str, str] = Field(default_factory=dict)


class Config(Settings):
    """A whole config file."""

    name: str = "rageval"
    input: Input | None = None
    output: Output = Output()
    judge: Annotated[Annotated[HttpJudge, Tag("provider http")] | Annotated[EmbeddedJudge, Tag("provider embedded")],
                     Discriminator(_provider)] | None = None
    embeddings: HttpEmbeddings | None = None
    evaluate: Sequence[Group] = Field(min_length=1)
    sample: Sampling | None = None
    slices: Sequence[str] = ()
    gates: Mapping[str, Gate | float] = Field(default_factory=dict)
    scale: Literal[1, 10] = 1
    limits: Limits = Limits()
    diagnosis: Diagnosis = Diagnosis()
    spark: Spark = Spark()
    _keys: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @property
    def environment(self) -> Mapping[str, str]:
        """Where keys are looked up: the environment, and under their places those that stood in a task file."""
        return {**os.environ, **self._keys}

    def with_keys(self, keys: Mapping[str, str]) -> Config:
        """This config with keys by name, which are in no dump, repr or file."""
        self._keys = keys
        return self

    def required_input(self) -> Input:
        """The input. Raises ConfigError where the config names none."""
        if self.input is None:
            raise ConfigError("the config names no input; add input: {path: …} or {table: …}")
        return self.input

    def public(self) -> dict[str, Any]:
        """The config as it may be written down; of the reader's options, those that cannot be secrets with their values."""
        found: dict[str, Any] = public(self.model_dump(mode="json"))
        if self.input:
            found["input"]["options"] = {name: value if name.lower() in PLAIN_OPTIONS else None
                                         for name, value in self.input.options.items()}
        return found

    @model_validator(mode="after")
    def _gates_can_be_met(self) -> Config:
        coverage = self.gates.get("coverage", DEFAULT_COVERAGE)
        if isinstance(coverage, Gate) or not 0 <= coverage <= 1:
            raise ValueError("gates.coverage is a share of judgements, a number from 0 to 1")
        for name, gate in self.metric_gates.items():
            if unknown := [column for column in gate.slices if column not in self.slices]:
                raise ValueError(f"gates.{name}.slices.{unknown[0]} is no slice of this config; its slices are "
                                 f"{', '.join(self.slices) or 'none'}. Add the column to slices")
            parts: dict[str, Figures] = {f"{name}.slices.{column}": part for column, part in gate.slices.items()}
            for where, part in ({name: gate} | parts if gate.given() or not parts else parts).items():
                if not part.given():
                    raise ValueError(f"gates.{where} is empty; give {', '.join(part.figures())}")
                if over := [figure for figure in ("average", "ci_worst", "max_drop") if part.given().get(figure, 0) > self.scale]:
                    raise ValueError(f"gates.{where}.{over[0]} is at most {self.scale}, the scale of the scores")
        return self

    @model_validator(mode="after")
    def _complaints_are_a_slice(self) -> Config:
        named = self.diagnosis.complaints
        if isinstance(named, Mapping) and (unknown := [column for column in named if column not in self.slices]):
            raise ValueError(f"diagnosis.complaints.{unknown[0]} is no slice of this config; its slices are "
                             f"{', '.join(self.slices) or 'none'}. Add the column to slices")
        return self

    @property
    def coverage_gate(self) -> float:
        """The least share of judgements that must not fail."""
        gate = self.gates.get("coverage", DEFAULT_COVERAGE)
        return gate if isinstance(gate, float) else DEFAULT_COVERAGE

    @property
    def metric_gates(self) -> dict[str, Gate]:
        """The gates of metrics; a bare number is one of the average."""
        gates = {name: gate for name, gate in self.gates.items() if name != "coverage"}
        return {name: gate if isinstance(gate, Gate) else Gate(average=gate) for name, gate in gates.items()}


PLAIN_OPTIONS = frozenset((
    "header", "sep", "delimiter", "quote", "escape", "comment", "encoding", "charset", "linesep", "multiline", "mode",
    "inferschema", "enforceschema", "mergeschema", "nullvalue", "emptyvalue", "ignoreleadingwhitespace",
    "ignoretrailingwhitespace", "maxcharspercolumn", "primitivesasstring", "allowcomments", "allowsinglequotes",
    "allowunquotedfieldnames", "pathglobfilter", "recursivefilelookup", "versionasof", "timestampasof",
))
"""Options of Spark's readers that say how a file is written."""
