"""A finished run held against people's labels: how far they agree, and what its averages are when corrected by them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rageval_spark.errors import ConfigError, InputError
from rageval_spark.finished.labels import Labels, Scale, Use, labels, uses
from rageval_spark.report.recorded import Recorded, recorded
from rageval_spark.spark import labelled, session
from rageval_spark.statistics import agreement
from rageval_spark.statistics.agreement import FIGURES, Figure, Point
from rageval_spark.statistics.corrected import Corrected, Sums, corrected
from rageval_spark.statistics.intervals import interval
from rageval_spark.statistics.representative import mixed_so, spread_so

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rageval_spark.finished.run import Run

STRANGE = 0.001
"""Where a random part of the run has scores like the labelled ones this rarely, they are said to be no random part."""
MAJORITY = 0.5
"""Labels that are all 0 or 1 have their cut here, and a sample whose mean it is has no majority."""
WHOLE = (None, None)
Sliced = tuple[str | None, str | None]


@dataclass(frozen=True)
class Pair:
    """A sample with what each person said of it, in [0, 1], and its row of the run; None where the run has none."""

    sample_id: str
    said: Sequence[float]
    row: Mapping[str, Any] | None

    @property
    def label(self) -> float:
        return sum(self.said) / len(self.said)

    @property
    def score(self) -> float | None:
        """None where there is none, or where nobody can tell which of several rows of one id was labelled."""
        return None if self.row is None or self.row["rows"] > 1 else self.row["score"]


def agree(run: str | Run, file: str, *, label: str | None = None, metric: str | None = None, slices: bool = False,
          scale: int | None = None, good_from: float | None = None) -> dict[str, Any]:
    """How far the scores of a run agree with labels in a file (JSON lines, CSV, Parquet), as JSON-ready values.

    A label says how good the sample is by the metric, also where a low score is good: a word or 0/1, a number in [0, 1], or
    with `scale` a grade from 1 to it, good from `good_from` on. Of several labels of a sample the mean counts, and for good or
    bad the majority. Scores, thresholds and averages are on the run's scale, all else in [0, 1]; intervals are of 95 %; what
    the labels do not tell is null. Starts three Spark jobs. Raises RagevalError.
    """
    done, reading = recorded(run if isinstance(run, str) else str(run.folder)), Scale(scale, good_from)
    if done.manifest["config"].get("output", {}).get("good") is False:
        raise InputError(f"the run {done.folder} has no scores of good samples (output.good: false), so that labels of them have "
                         f"nothing to be held against. Run it again with good: true; what was paid for is not asked again")
    if slices and not done.manifest["slices"]:
        raise ConfigError(f"the run {done.folder} has no slices; its config may name some: slices: [column]")
    spark = session.own_session("local[*]", {})
    given = labels(spark, file, uses(done.manifest), reading, label, metric)
    pairs = _paired(spark, done, given, file)
    bins = labelled.binned(spark, done.folder, [use.metric for use in pairs])
    held = {use: _Held(use, _cut(mine, reading), done, given.picked[use].total(),
                       _not_random(mine, given.picked[use], bins.get((use.field_group, use.metric)), done.summary["slices"]))
            for use, mine in pairs.items()}
    return {
        "run_id": done.run_id, "labels": file, "scale": done.summary["scale"], "rows_without_label": given.without,
        "labels_elsewhere": dict(given.elsewhere),
        "metrics": [held[use].told(mine, WHOLE) for use, mine in pairs.items()],
        "slices": [held[use].told(part, of) for use, mine in pairs.items() if slices for of, part in _sliced(mine, done)],
        "disagreements": sorted((row for use, mine in pairs.items() for row in held[use].disagreements(mine)),
                                key=lambda row: (-row["distance"], row["sample_id"])),
    }


def _paired(spark: SparkSession, done: Recorded, given: Labels, file: str) -> dict[Use, list[Pair]]:
    """The labels beside the rows of the run. Raises InputError where none belongs to any."""
    rows = {(row["field_group"], row["metric"], row["sample_id"]): row for row in labelled.scores_of(
        spark, done.folder, given.sample_ids, list({use.metric for use in given.of}))} if given.of else {}
    pairs = {use: [Pair(sample_id, said, rows.get((use.field_group, use.metric, sample_id))) for sample_id, said in by_id.items()]
             for use, by_id in given.of.items()}
    if not any(pair.row for mine in pairs.values() for pair in mine):
        if given.of:
            raise InputError(f"{file} and the run {done.folder} have no sample in common. The labels are of samples such as "
                             f"{', '.join(given.sample_ids[:3])}; the run has {', '.join(labelled.some_ids(spark, done.folder))}")
        if given.elsewhere:
            raise InputError(f"the labels in {file} are of {', '.join(given.elsewhere)}; the run has "
                             f"{', '.join(dict.fromkeys(use.metric for use in uses(done.manifest)))}")
        raise InputError(f"{file} holds no label" + (f": all of {given.without:,} are empty" if given.without else ""))
    return pairs


def _sliced(pairs: Sequence[Pair], done: Recorded) -> Iterator[tuple[Sliced, list[Pair]]]:
    """The pairs of each value of each slice column, those with no row in the run left out."""
    for name in done.manifest["slices"]:
        by_value = defaultdict(list)
        for pair in pairs:
            if pair.row is not None:
                by_value[pair.row["slices"][name]].append(pair)
        for value, part in sorted(by_value.items()):
            yield (name, value), part


def _cut(pairs: Sequence[Pair], reading: Scale) -> float | None:
    if reading.cut is not None or reading.grades:
        return reading.cut
    return MAJORITY if all(set(pair.said) <= {0.0, 1.0} for pair in pairs) else None


def _people(pairs: Sequence[Pair]) -> dict[str, Any] | None:
    """How far people agree among themselves, where some samples have several labels."""
    several = [pair.said for pair in pairs if len(pair.said) > 1]
    if not several:
        return None
    binary = all(set(said) <= {0.0, 1.0} for said in several)
    kappa = agreement.between_people([(int(sum(said)), len(said)) for said in several]) if binary else math.nan
    return {"n_several": len(several), "n_differ": sum(len(set(said)) > 1 for said in several), "kappa": _number(kappa)}


def _not_random(pairs: Sequence[Pair], picked: Counter[str], bins: Sequence[int] | None,
                slices: Sequence[Mapping[str, Any]]) -> str | None:
    """Why the labelled samples are no random part of the run; None where nothing speaks against it."""
    if picked:
        return f"{picked.total()} of their labels are of samples that were picked as {' or '.join(sorted(picked))}"
    rows = [pair.row for pair in pairs if pair.row is not None and pair.score is not None]
    part = Counter(min(int(row["score"] * labelled.BINS), labelled.BINS - 1) for row in rows)
    if not rows or bins is None:
        return None
    if spread_so([part[place] for place in range(labelled.BINS)], bins) < STRANGE:
        return "their scores are spread otherwise than those of the run, as hardly ever in a part drawn at random"
    whole: dict[str, dict[str, int]] = defaultdict(dict)
    for row in slices:
        if (row["field_group"], row["metric"]) == (rows[0]["field_group"], rows[0]["metric"]):
            whole[row["slice"]][row["slice_value"]] = row["score_count"]
    for name, counts in whole.items():
        mine = Counter(row["slices"][name] for row in rows)
        if mixed_so([mine[value] for value in counts], list(counts.values())) < STRANGE:
            return f"their mix of {name} is not that of the run, as hardly ever in a part drawn at random (see --slices)"
    return None


@dataclass(frozen=True)
class _Held:
    """One metric held against labels. `cut`: from where on labels are good; None where nothing says so of grades. `picked`: how
    many labels are of samples picked for their scores. `not_random`: why the samples are no random part of the run."""

    use: Use
    cut: float | None
    done: Recorded
    picked: int
    not_random: str | None

    def told(self, pairs: Sequence[Pair], of: Sliced) -> dict[str, Any]:
        """All figures of some samples: of a slice, or WHOLE."""
        use, scale = self.use, self.done.summary["scale"]
        scored = [pair for pair in pairs if pair.score is not None]
        statuses = Counter(pair.row["status"] for pair in pairs if pair.row and pair.row["rows"] == 1)
        codes = Counter(pair.row["code"] for pair in pairs if pair.row and pair.row["rows"] == 1 and pair.row["code"])
        decided = [(pair, good) for pair in scored if (good := self._good(pair)) is not None]
        return {
            "field_group": use.field_group, "metric": use.metric, "slice": of[0], "slice_value": of[1],
            "direction": "lower" if use.lower else "higher",
            "threshold": None if use.threshold is None else use.threshold * scale,
            "graded": self.cut is None, "n_labelled": len(pairs), "n_scored": len(scored),
            "n_skipped": statuses["skipped"], "n_failed": statuses["failed"], "codes": dict(codes),
            "n_not_in_run": sum(pair.row is None for pair in pairs),
            "n_repeated_id": sum(pair.row is not None and pair.row["rows"] > 1 for pair in pairs),
            "people": _people(pairs), "n_decided": len(decided), "not_random": self.not_random,
            **self._decisions(decided), "spearman": self._spearman(scored), "corrected": self._corrected(scored, of),
        }

    def disagreements(self, pairs: Sequence[Pair]) -> Iterator[dict[str, Any]]:
        """Samples that people and the threshold decide differently, and how far the score is from the label, in [0, 1]."""
        for pair in pairs:
            good = self._good(pair)
            if pair.row is not None and pair.score is not None and good is not None and pair.row["passed"] is (not good):
                yield {"sample_id": pair.sample_id, "field_group": self.use.field_group, "metric": self.use.metric,
                       "score": pair.score * self.done.summary["scale"], "label": pair.label, "passed": pair.row["passed"],
                       "distance": abs(self._as_score(pair) - pair.score), "reason": pair.row["reason"]}

    def _good(self, pair: Pair) -> bool | None:
        """What people say; None where as many say good as bad, or where grades have no cut."""
        if self.cut is None or (self.cut == MAJORITY and pair.label == MAJORITY):
            return None
        return pair.label >= self.cut - 1e-9

    def _as_score(self, pair: Pair) -> float:
        return 1 - pair.label if self.use.lower else pair.label

    def _points(self, pairs: Sequence[Pair], label: Sequence[float]) -> list[Point]:
        sign = -1 if self.use.lower else 1
        return [Point(pair.sample_id, said, sign * (pair.score or 0.0), float(bool(pair.row["passed"])))
                for pair, said in zip(pairs, label, strict=True) if pair.row is not None]

    def _decisions(self, decided: Sequence[tuple[Pair, bool]]) -> dict[str, Any]:
        """Good or bad by people, beside passed or not, and how well the scores tell them apart."""
        names = ("kappa", "balanced accuracy", "AUC", "best threshold")
        if not decided:
            return {"confusion": None, "agreement": None, "by_chance": None, "best_balanced_accuracy": None,
                    **{name.lower().replace(" ", "_"): None for name in names}}
        points = self._points([pair for pair, _ in decided], [float(good) for _, good in decided])
        sign, scale = -1 if self.use.lower else 1, self.done.summary["scale"]
        own = self.use.threshold
        # a metric without a threshold decides nothing, but its scores may still tell good from bad
        threshold = partial(agreement.best_threshold, current=sign * (0.5 if own is None else own))
        found = agreement.figures(points, names, _draws(points), of={**FIGURES, "best threshold": threshold})
        label, value, passed = (np.array(column) for column in zip(*((p.label, p.value, p.passed) for p in points), strict=True))
        table, best = agreement.confusion(label, passed), found["best threshold"]
        right = agreement.share_right(label, value, passed)
        at_best = agreement.balanced_accuracy(label, value, (value >= best.value).astype(float))
        low, high = interval(right, 0.0, len(points), binary=True)
        decisions = {
            "confusion": asdict(table), "agreement": {"value": right, "low": low, "high": high}, "by_chance": table.by_chance,
            "kappa": _known(found["kappa"]), "balanced_accuracy": _known(found["balanced accuracy"]),
        }
        return {
            **(dict.fromkeys(decisions) if own is None else decisions), "auc": _known(found["AUC"]),
            "best_threshold": _known(_times(best, sign * scale)), "best_balanced_accuracy": _number(at_best),
        }

    def _spearman(self, scored: Sequence[Pair]) -> dict[str, Any] | None:
        points = self._points(scored, [pair.label for pair in scored])
        return _known(agreement.figures(points, ("Spearman",), _draws(points))["Spearman"]) if points else None

    def _corrected(self, scored: Sequence[Pair], of: Sliced) -> dict[str, Any] | None:
        """The average of the run as people would have it; None without labels, or where they were picked for their scores."""
        scale, whole = self.done.summary["scale"], self._whole(of)
        if not scored or whole is None or self.picked:
            return None
        said, scores = np.array([self._as_score(pair) for pair in scored]), np.array([pair.score for pair in scored])
        others = whole.without(scores)
        best, alone = corrected(said, scores, others), corrected(said, scores, Sums(0, 0.0, 0.0))
        return {**_scaled(best, scale), "weight": best.weight, "n_labelled": len(scored),
                "n_others": others.count, "run_average": whole.mean * scale,
                "labelled_part": _scaled(alone, scale)}

    def _whole(self, of: Sliced) -> Sums | None:
        """Number, mean and variance of all scores, from the summary."""
        summary, use = self.done.summary, self.use
        row = summary["metrics_score"][use.field_group]["stats"][use.metric] if of == WHOLE else next(
            (row for row in summary["slices"] if (row["slice"], row["slice_value"]) == of
             and (row["field_group"], row["metric"]) == (use.field_group, use.metric)), None)
        if row is None or not row["score_count"]:
            return None
        return Sums(row["score_count"], row["score_average"] / summary["scale"], (row["score_std_dev"] / summary["scale"]) ** 2)


def _draws(points: Sequence[Point]) -> int:
    """Fewer where there are many points, whose intervals need fewer."""
    return max(200, min(500, 1_000_000 // len(points)))


def _known(figure: Figure) -> dict[str, float | None] | None:
    """A figure as JSON has it. An interval without width, as of a few labels that all agree, tells nothing and is left out."""
    if math.isnan(figure.value):
        return None
    low, high = (figure.low, figure.high) if figure.low < figure.high else (None, None)
    return {"value": figure.value, "low": low, "high": high}


def _times(figure: Figure, factor: float) -> Figure:
    """Also by a negative number."""
    return Figure(figure.value * factor, *sorted((figure.low * factor, figure.high * factor)))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _scaled(found: Corrected, scale: int) -> dict[str, float | None]:
    figures = {"average": found.average, "low": found.low, "high": found.high}
    return {name: None if value is None else value * scale for name, value in figures.items()}
