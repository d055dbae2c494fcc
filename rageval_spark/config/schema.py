"""The config as pydantic models: every key that can stand in a config file, with its default."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PrivateAttr, Tag, model_validator

from rageval_spark.engine.sampling import Sampling
from rageval_spark.errors import ConfigError
from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, HttpJudge, Settings, public

MetricEntry = str | Mapping[str, Any]


def _provider(judge: Any) -> str:
    """The tag of the kind of judge that the values make."""
    named = judge.get("provider", "http") if isinstance(judge, Mapping) else getattr(judge, "provider", "http")
    return f"provider {named}"


class Input(Settings):
    """Where the samples are: a path with its format, or a catalog table."""

    path: str | None = None
    format: str | None = None
    table: str | None = None
    options: Mapping[str, str] = Field(default_factory=dict)
    where: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Input:
        if (self.path is None) == (self.table is None):
            raise ValueError("give either path or table")
        return self


class Output(Settings):
    """Where results go. `good: false` leaves in the scores only rows below their threshold and those without a score."""

    path: str = "out"
    good: bool = True


class Group(Settings):
    """One mapping from sample field to column, with the metrics scored through it. No mapping: columns by name."""

    fields: Mapping[str, str] = Field(default_factory=dict)
    metrics: Sequence[MetricEntry] = ()


class Gate(Settings):
    """What a metric must reach over all samples for the run to end with 0."""

    average: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    pass_rate: float | None = Field(default=None, ge=0, le=1)


class Limits(Settings):
    """What a run may spend, all tasks and resumed attempts together; what is left then fails with BUDGET."""

    max_prompts: int | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_cost: float | None = Field(default=None, gt=0)
    max_hours: float | None = Field(default=None, gt=0)

    def by_name(self) -> dict[str, float]:
        return {name: limit for name, limit in self.model_dump().items() if limit is not None}


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
            if gate.average is None and gate.pass_rate is None:
                raise ValueError(f"gates.{name} is empty; give average or pass_rate")
            if gate.average is not None and gate.average > self.scale:
                raise ValueError(f"gates.{name}.average is at most {self.scale}, the scale of the scores")
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


DEFAULT_COVERAGE = 0.95

PLAIN_OPTIONS = frozenset((
    "header", "sep", "delimiter", "quote", "escape", "comment", "encoding", "charset", "linesep", "multiline", "mode",
    "inferschema", "enforceschema", "mergeschema", "nullvalue", "emptyvalue", "ignoreleadingwhitespace",
    "ignoretrailingwhitespace", "maxcharspercolumn", "primitivesasstring", "allowcomments", "allowsinglequotes",
    "allowunquotedfieldnames", "pathglobfilter", "recursivefilelookup", "versionasof", "timestampasof",
))
"""Options of Spark's readers that say how a file is written."""

NOT_BUILT: Mapping[str, str] = {
    "output.tables": "catalog tables",
}
"""Keys that the design knows and this version does not: refused as such, not as unknown."""
