"""Where a system stands: statistics of metrics read as axes such as faithfulness, each by the metric that tells most of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rageval_spark.engine.plan import MetricUse
from rageval_spark.judges.settings import EmbeddedJudge
from rageval_spark.report.gates import reaches
from rageval_spark.statistics.intervals import interval, likely_range

Row = Mapping[str, Any]
"""A row of tables.STATS."""
RECALL, RELEVANCE, FAITHFULNESS, ANSWERS = "recall", "context relevance", "faithfulness", "answer relevance"
CORRECTNESS, CITATIONS, NOISE, UNANSWERED, COMPLAINTS = "correctness", "citations", "noise", "unanswered", "complaints"
OTHER = "other "
"""Prefix of the names of readings that belong to no axis."""
AXES: Mapping[str, tuple[str, ...]] = {
    RECALL: ("context_recall", "recall", "hit_rate", "context_entity_recall"),
    RELEVANCE: ("context_relevancy", "context_precision", "context_utilization", "ndcg", "map", "mrr", "precision",
                "context_sentence_relevancy"),
    FAITHFULNESS: ("faithfulness", "citation_recall", "citation_f1"),
    ANSWERS: ("answer_relevancy", "answer_relevance", "intent_coverage", "answer_conciseness"),
    CORRECTNESS: ("answer_correctness", "answer_accuracy", "exact_match"),
    CITATIONS: ("citation_f1", "citation_recall", "citation_precision"),
    NOISE: ("noise_sensitivity",),
    UNANSWERED: ("refusal_accuracy", "answer_relevancy", "answer_relevance", "intent_coverage", "faithfulness",
                 "context_utilization", "answer_conciseness", "noise_sensitivity", "citation_f1", "citation_recall",
                 "citation_precision", "answer_correctness", "answer_accuracy", "answer_similarity", "exact_match", "token_f1",
                 "rouge", "bleu", "chrf", "aspect", "rubric"),
}
"""Metrics by axis, the one that is preferred first; the first of which enough samples are scored counts. Of one at several
`k` it is that with the most ranks, which are nearest to what the model is given. `precision` stands after measures of the
order, since it cannot be high where fewer than `k` ids are relevant. Noise sensitivity is no faithfulness: an answer can
keep to chunks that are wrong. UNANSWERED is a share of responses, which these metrics tell beside their scores: the last
ones of those that are blank alone."""
LEAST = 5
"""Scored samples without which nothing is said."""
Level = Literal["low", "middle", "high"]


class Thresholds(Protocol):
    """Rules of thumb, all in [0, 1]: an axis is low below `low`, high from `high` on, recall from `recall` on; more
    responses than `unanswered` that are blank or decline, and more `complaints` than `tolerated`, are too many."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def recall(self) -> float: ...
    @property
    def unanswered(self) -> float: ...
    @property
    def tolerated(self) -> float: ...


@dataclass(frozen=True)
class Reading:
    """An axis of a system: the average of a metric (called `metric`, of the catalogue's `kind`) or, where `share`, a share
    of responses, in [0, 1]. `count`: of how many; None for a rate that was given.

    `low` and `high` are what it may be: its 95 % interval, widened by what judgements that failed could have made of it.
    `level` is by its `threshold`; `clear` where all of that lies on one side of it. `decides` is false for a metric without a
    threshold of its own, such as word overlap, whose scores may be low although all is well. `failed`: how many judgements did.
    """

    axis: str
    metric: str
    kind: str
    average: float
    low: float
    high: float
    count: int | None
    thresholds: Thresholds
    lower: bool = False
    heuristic: bool = False
    decides: bool = True
    failed: int = 0

    @property
    def share(self) -> bool:
        return self.axis in (UNANSWERED, COMPLAINTS)

    @property
    def level(self) -> Level:
        if reaches(self.good, self._limits[-1]):
            return "high"
        return "low" if len(self._limits) == 1 or not reaches(self.good, self._limits[0]) else "middle"

    @property
    def praised(self) -> bool:
        """Whether it is high, and no more judgements failed than succeeded."""
        return self.level == "high" and (self.count is None or self.failed <= self.count)

    @property
    def good(self) -> float:
        """The average turned so that 1 is best."""
        return 1 - self.average if self.lower else self.average

    @property
    def best(self) -> float:
        """The most that `good` may be."""
        return 1 - self.low if self.lower else self.high

    @property
    def clear(self) -> bool:
        if self.level == "high":
            return reaches(1 - self.high if self.lower else self.low, self._limit)
        return not reaches(self.best, self._limit)

    @property
    def _limits(self) -> tuple[float, ...]:
        limits = self.thresholds
        own = {RECALL: limits.recall, UNANSWERED: 1 - limits.unanswered, COMPLAINTS: 1 - limits.tolerated}
        return (own[self.axis],) if self.axis in own else (limits.low, limits.high)

    @property
    def _limit(self) -> float:
        return self._limits[0] if self.level == "low" else self._limits[-1]

    def evidence(self, scale: int) -> dict[str, Any]:
        """The reading as JSON-ready values: averages on `scale`, shares in [0, 1]."""
        times = 1 if self.share else scale
        return {"axis": self.axis, "metric": self.metric, "level": self.level, "average": self.average * times,
                "low": self.low * times, "high": self.high * times, "count": self.count,
                "threshold": round(1 - self._limit if self.lower else self._limit, 9) * times,
                "direction": "lower" if self.lower else "higher", "share": self.share}


def readings(rows: Mapping[str, Row], uses: Iterable[MetricUse], thresholds: Thresholds) -> dict[str, Reading]:
    """The axes of a field group that enough samples are scored for, from its statistics by metric; and under OTHER and its name
    each metric that is of no axis."""
    told = sorted((use for use in uses if use.name in rows), key=_ranks, reverse=True)
    found = {}
    for axis, kinds in AXES.items():
        read = _unanswered if axis == UNANSWERED else _average
        preferred = (use for kind in kinds for use in told if type(use.metric).name == kind)
        if one := next(filter(None, (read(axis, rows[use.name], use, thresholds) for use in preferred)), None):
            found[axis] = one
    known = {kind for axis, kinds in AXES.items() if axis != UNANSWERED for kind in kinds}
    for use in told:
        if type(use.metric).name not in known and (other := _average(OTHER + use.name, rows[use.name], use, thresholds)):
            found[other.axis] = other
    return found


def _ranks(use: MetricUse) -> float:
    """How many ranks a measure of the ranking looks at; the same of all others."""
    k = getattr(use.metric, "k", None)
    return math.inf if k is None else float(k)


def _average(axis: str, row: Row, use: MetricUse, thresholds: Thresholds) -> Reading | None:
    if row["count"] < LEAST:
        return None
    low, high = likely_range(*(row[name] for name in ("ci_low", "ci_high", "average_low", "average_high", "n_failed")))
    assert low is not None
    assert high is not None
    return Reading(axis, use.name, type(use.metric).name, row["average"], low, high, row["count"], thresholds,
                   use.metric.direction == "lower", isinstance(use.judge, EmbeddedJudge),
                   use.threshold is not None, row["n_failed"])


def _unanswered(axis: str, row: Row, use: MetricUse, thresholds: Thresholds) -> Reading | None:
    number, of = row["n_unanswered"] or 0, (row["n_answered"] or 0) + (row["n_unanswered"] or 0)
    heuristic = isinstance(use.judge, EmbeddedJudge)
    return _share(axis, use.name, type(use.metric).name, number, of, thresholds, heuristic) if of >= LEAST else None


def complained(stats: Iterable[Row], complaints: float | Mapping[str, str], thresholds: Thresholds) -> dict[str, Reading]:
    """The share of complaints: as given, or of a slice's rows those with a value among those with any; empty where too few
    have any."""
    if not isinstance(complaints, Mapping):
        rate = float(complaints)
        return {COMPLAINTS: Reading(COMPLAINTS, COMPLAINTS, COMPLAINTS, rate, rate, rate, None, thresholds, lower=True)}
    [(column, value)] = complaints.items()
    totals: dict[str, int] = {}
    for row in stats:
        if row["slice"] == column and row["slice_value"] not in (None, "null"):
            totals.setdefault(row["slice_value"], row["total"])
    number, of = totals.get(value, 0), sum(totals.values())
    if of < LEAST:
        return {}
    return {COMPLAINTS: _share(COMPLAINTS, f"{column} {value}", COMPLAINTS, number, of, thresholds, False)}


def _share(axis: str, name: str, kind: str, number: int, of: int, thresholds: Thresholds, heuristic: bool) -> Reading:
    low, high = interval(number / of, 0.0, of, binary=True)
    assert low is not None
    assert high is not None
    return Reading(axis, name, kind, number / of, low, high, of, thresholds, lower=True, heuristic=heuristic)
