"""What is to be scored: field groups and the metrics asked for, resolved and ready to travel to executors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rageval_spark.errors import ConfigError
from rageval_spark.judges.dialect import Transport
from rageval_spark.judges.embedded import unsupported
from rageval_spark.judges.http import Secret
from rageval_spark.judges.settings import EmbeddedJudge, Endpoint, HttpEmbeddings, HttpJudge, Judge
from rageval_spark.metric import Game, Metric, play
from rageval_spark.sample import FIELDS, Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class MetricUse:
    """One metric as it is asked for: under which name, with which threshold (in [0, 1]; None: no score of it passes or fails),
    asking whom, and how often:
    of an odd number of `votes`, each with replies of its own. `repeat` other than 0 asks everything once more (metric.play).
    Raises ConfigError for another number of votes."""

    metric: Metric
    name: str
    threshold: float | None = 0.5
    judge: Judge | None = None
    embeddings: HttpEmbeddings | None = None
    votes: int = 1
    repeat: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.votes, bool) or not isinstance(self.votes, int) or self.votes < 1 or self.votes % 2 == 0:
            raise ConfigError(f"{self.name}: votes is an odd whole number such as 1, 3 or 5, found {self.votes!r}")
        if self.votes > 1 and not any(kind != "embed" for kind in self.metric.asks):
            raise ConfigError(f"{self.name} asks no judge, so that all votes would be alike; leave out votes")

    def game(self, sample: Sample) -> Game:
        """The metric played over a sample, within what its judge takes at a time. The embedded judge always says the
        same: it is not asked this way."""
        limit = self.judge.prompt_token_limit if isinstance(self.judge, HttpJudge) else None
        return play(self.metric, sample, limit, self.votes, self.repeat)

    def passed(self, score: Score) -> bool | None:
        """Return whether the score meets the threshold; None without a score or a threshold."""
        if score.value is None or self.threshold is None:
            return None
        return score.value >= self.threshold if self.metric.direction == "higher" else score.value <= self.threshold

    def label(self, passed: bool | None) -> str | None:
        if passed is None:
            return None
        quality = "QUALITY_GOOD" if passed else "QUALITY_BAD"
        return f"{quality}.{self.name.upper()}_{'PASS' if passed else 'FAIL'}"

    @property
    def unsupported(self) -> str | None:
        """Why every sample is skipped: the metric asks what the embedded judge cannot answer. None where none is."""
        return unsupported(self.metric) if isinstance(self.judge, EmbeddedJudge) else None

    def endpoint(self, kind: str) -> HttpJudge | HttpEmbeddings | None:
        """Who is asked prompts of a kind over HTTP."""
        if kind == "embed":
            return self.embeddings
        return self.judge.for_kind(kind) if isinstance(self.judge, HttpJudge) else None

    def endpoints(self) -> Iterator[HttpJudge | HttpEmbeddings]:
        """Every judge and embedding model that this use may ask."""
        if not isinstance(self.judge, EmbeddedJudge):
            yield from filter(None, map(self.endpoint, self.metric.asks))


@dataclass(frozen=True)
class FieldGroup:
    """One mapping from sample field to dataset column, with the metrics scored through it."""

    fields: Mapping[str, str]
    uses: tuple[MetricUse, ...]

    @property
    def key(self) -> str:
        return ",".join(self.fields[name] for name in FIELDS if name in self.fields and name != "sample_id")

    def sample(self, sample_id: str, values: Mapping[str, Any], strict: bool = True) -> Sample:
        """The sample that the group sees of a row. Raises SampleFault, which names the column too; if not `strict`, only where
        the faulty field is used."""
        mapped = {name: values.get(column) for name, column in self.fields.items()}
        return Sample.parse({**mapped, "sample_id": sample_id}, strict, self.fields)


@dataclass(frozen=True)
class Plan:
    """All that a task needs to know to score samples. `keys` and `transports` are found in the preflight."""

    groups: tuple[FieldGroup, ...]
    keys: Mapping[Endpoint, Secret] = field(default_factory=dict, repr=False)
    transports: Mapping[Endpoint, Transport] = field(default_factory=dict)

    def endpoints(self) -> list[HttpJudge | HttpEmbeddings]:
        uses = (use for group in self.groups for use in group.uses)
        return list(dict.fromkeys(endpoint for use in uses for endpoint in use.endpoints()))

    def judges(self) -> list[HttpJudge]:
        return [endpoint for endpoint in self.endpoints() if isinstance(endpoint, HttpJudge)]

    @property
    def mode(self) -> str:
        """How prompts are answered: live, batch or files. Raises ConfigError where judges differ in it."""
        modes = sorted({judge.mode for judge in self.judges()})
        if len(modes) > 1:
            raise ConfigError(f"judge.mode is {' for one judge and '.join(modes)} for another; all judges of a run share it")
        return modes[0] if modes else "live"

    def reuse_since(self, now: float) -> dict[str, float]:
        """When replies of other runs must have been made to be used, by model (as `now` in seconds since 1970)."""
        oldest: dict[str, float] = {}
        for judge in self.judges():
            oldest[judge.model] = max(judge.reuse_since(now), oldest.get(judge.model, 0.0))
        return oldest

    @property
    def repeats(self) -> int:
        """How many prompts are asked once more after a run, to see how far the judge agrees with itself."""
        return max((judge.repeat for judge in self.judges()), default=0)

    def repeated(self, number: int) -> Plan:
        """The same with the metrics that ask a judge over HTTP, asking it anew."""
        groups = (replace(group, uses=tuple(replace(use, repeat=number) for use in group.uses
                                            if isinstance(use.judge, HttpJudge))) for group in self.groups)
        return replace(self, groups=tuple(group for group in groups if group.uses))

    @property
    def max_concurrency(self) -> int:
        """The smallest limit of a judge: with more tasks than that, one would have no request of its own."""
        return min((judge.max_concurrency for judge in self.judges()), default=64)

    def limits(self) -> dict[str, int]:
        """The limit of requests in flight by server: the smallest that a judge there is given."""
        limits: dict[str, int] = {}
        for endpoint in self.endpoints():
            limit = endpoint.max_concurrency if isinstance(endpoint, HttpJudge) else self.max_concurrency
            limits[endpoint.base_url] = min(limit, limits.get(endpoint.base_url, limit))
        return limits

    def equipped(self, keys: Mapping[Endpoint, Secret], transports: Mapping[Endpoint, Transport]) -> Plan:
        return replace(self, keys=keys, transports=transports)
