"""Which of two systems is better: scores paired by sample, differences with intervals, and what speaks against trusting them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rageval_spark.errors import ConfigError, InputError
from rageval_spark.metrics import CATALOGUE
from rageval_spark.report.comparison import LEAST_EFFECT, NEGLIGIBLE, NOTHING, SURE, UNRANKED, Compared, as_dict, list_slices
from rageval_spark.report.differing import doubts
from rageval_spark.report.recorded import Recorded, recorded
from rageval_spark.spark import pairs, session
from rageval_spark.spark.pairs import BASE, NEW, Cell, Change, Match
from rageval_spark.spark.read import read_scores
from rageval_spark.statistics.noise import floor
from rageval_spark.statistics.paired import difference, holm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rageval_spark.finished.run import Run

LEAST_COVERAGE = 0.95


@dataclass(frozen=True)
class Comparison:
    """Two systems compared: a line per metric, those by slice, samples that changed sides, and what to know besides.

    `base` and `new` are how the two are called. Figures are on `scale`, that of the runs where they share one, else 1.
    `min_effect` is the least difference that matters, on [0, 1].
    """

    base: str
    new: str
    lines: Sequence[Compared]
    by_slice: Sequence[Compared]
    changes: Sequence[Change] = field(repr=False)
    warnings: Sequence[str] = ()
    scale: int = 1
    min_effect: float = LEAST_EFFECT
    pairs: DataFrame | None = field(default=None, repr=False, compare=False)

    @property
    def ranked(self) -> bool:
        """Whether of all metrics enough samples were judged on both sides for them to be ranked."""
        return not any(line.verdict in (UNRANKED, NOTHING) for line in self.lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it but the pairs, as JSON-ready values."""
        listed = list_slices(self.by_slice, self.min_effect)
        return {"base": self.base, "new": self.new, "scale": self.scale, "ranked": self.ranked,
                "min_effect": self.min_effect * self.scale,
                "metrics": [as_dict(line, self.scale) for line in self.lines],
                "slices": [{**as_dict(line, self.scale), "listed": line in listed} for line in self.by_slice],
                "changed": [{"metric": one.match.metric, "sample_id": one.sample_id, "base": one.base * self.scale,
                             "new": one.new * self.scale} for one in self.changes],
                "warnings": list(self.warnings)}


def compare(base: Run | str, new: Run | str | None = None, *, groups: tuple[str, str] | None = None, force: bool = False,
            changes: int = 10, min_effect: float | None = None) -> Comparison:
    """Compare two finished runs (or their folders), or two field groups of one.

    Samples are paired by id; those scored on both sides count. Samples without an id that repeat each other in question,
    reference and contexts cannot be paired: they are refused, or with `force` averaged into one. A metric is ranked where
    `coverage` of its judgements, as the gate of the new run has it, did not fail on either side, or by `force`. Of each metric
    at most so many `changes` are listed. A difference below `min_effect`, on the scale of the runs, is never called better or
    worse.

    Uses the active Spark session, or starts one; starts up to six jobs. Raises InputError for what is no finished run, if no
    metric is in both, and for samples that cannot be paired; ConfigError for groups that are not there and for a least effect
    that is no share of the scale.
    """
    old, other = _read(base), _read(base if new is None else new)
    if (new is None) != (groups is not None):
        raise ConfigError("compare takes two runs, or one run and two of its field groups (--groups)")
    matches, unmatched = _of_groups(old, groups) if groups else of_runs(old, other)
    if not matches:
        raise InputError(f"no metric is in both: {'; '.join(unmatched)}")
    spark = session.own_session("local[*]", {})
    slices = [name for name in old.manifest["slices"] if name in other.manifest["slices"]]
    both, repeats = [], list[str]()
    for run in (old, other):
        scores = read_scores(spark, run.folder)
        if not groups and ids_are_made(run):
            repeats += _check_repeats(run, scores, force)
            scores = pairs.pool_repeats(scores)
        both.append(scores)
    paired = pairs.paired(both[0], both[1], matches, slices)
    cells = pairs.cells(paired, matches, slices, pairs.slice_values(both[0], both[1], slices))
    least = 0.0 if force else _least_coverage(other)
    scales = {run.summary.get("scale", 1) for run in (old, other)}
    scale = scales.pop() if len(scales) == 1 else 1
    matters = _least_effect(min_effect, scale)
    lines = ranked([cell for cell in cells if cell.slice is None], other, least, matters)
    if not groups:
        repeats += _shared_ids(old, other, [cell for cell in cells if cell.slice is None])
    by_slice: list[Compared] = []
    for name in slices:
        for match in matches:
            by_slice += ranked([cell for cell in cells if (cell.slice, cell.match) == (name, match)], other, least, matters)
    keys = (matches[0].base, matches[0].new)
    names = (_columns(*keys), _columns(*reversed(keys))) if groups else _names(old, other)
    return Comparison(*names, lines, by_slice, pairs.changes(paired, matches, changes) if changes else (),
                      [*unmatched, *dict.fromkeys(repeats), *_doubts(old, other, lines, not groups)], scale, matters, paired)


def _least_effect(given: float | None, scale: int) -> float:
    """The least difference that matters, on [0, 1]. Raises ConfigError for a number outside of the scale."""
    if given is None:
        return LEAST_EFFECT
    if not 0 <= given <= scale:
        raise ConfigError(f"--min-effect is a difference of scores from 0 to {scale}, found {given:g}")
    return given / scale


def _read(run: Run | str) -> Recorded:
    found = recorded(str(getattr(run, "folder", run)))
    if not found.manifest["config"].get("output", {}).get("good", True):
        raise InputError(f"{found.folder} keeps only what is below its threshold (output: {{good: false}}); nothing can be "
                         f"said of all its samples. Run it again with good: true, which asks the judge nothing anew")
    return found


def ids_are_made(run: Recorded) -> bool:
    """Whether samples of a run have no ids of the data, but hashes of their content."""
    return not any("sample_id" in group["fields"] for group in run.manifest["field_groups"])


def _check_repeats(run: Recorded, scores: DataFrame, force: bool) -> list[str]:
    """Return a sentence if samples without ids repeat each other, so that they cannot be paired. Raises InputError instead unless
    `force`."""
    samples, repeats = pairs.count_repeats(scores)
    if not repeats:
        return []
    fault = (f"{repeats:,} of {samples:,} samples of {run.run_id} have no id, and the same question, reference and contexts as "
            f"another sample")
    remedy = "Map a column that identifies them, fields: {sample_id: <column>}, and run again; paid replies are used again"
    if not force:
        raise InputError(f"{fault}: which of them belong together in two runs cannot be known. {remedy}. "
                         f"--force compares the average of such samples")
    return [f"{fault}: such samples are averaged into one. {remedy}"]


def _shared_ids(old: Recorded, new: Recorded, cells: Sequence[Cell]) -> list[str]:
    """Return a sentence for each run in which several rows have the same id of the data."""
    said = []
    for side, run in ((BASE, old), (NEW, new)):
        if ids_are_made(run):
            continue
        shared = 0
        for cell in cells:
            group = cell.match.base if side == BASE else cell.match.new
            counts = cell.counts[side]
            rows = run.summary["metrics_score"][group]["stats"].get(cell.match.metric, {}).get("total", 0)
            shared = max(shared, rows - counts.scored - counts.failed - counts.skipped)
        if shared:
            said.append(f"{shared:,} rows of {run.run_id} have the id of another row, or none and the content of another: their "
                        f"scores are averaged into one sample. Map a column that identifies each row, fields: "
                        f"{{sample_id: <column>}}, and run again; paid replies are used again")
    return said


def _metrics(run: Recorded) -> dict[tuple[str, str], Mapping[str, Any]]:
    """What the manifest says of each metric, by field group and name."""
    return {(group["key"], metric["name"]): metric for group in run.manifest["field_groups"] for metric in group["metrics"]}


def of_runs(old: Recorded, new: Recorded) -> tuple[list[Match], list[str]]:
    """What is compared of two runs: metrics of the same field group and name, else those that each has once; and a
    sentence for each that has no partner."""
    left, right = _metrics(old), _metrics(new)
    matches = [_match(new, name, group, group) for group, name in left if (group, name) in right]
    rest = [{key for key in one if key not in other} for one, other in ((left, right), (right, left))]
    names = [[name for _, name in keys] for keys in rest]
    for group, name in left:
        if (group, name) in rest[0] and names[0].count(name) == names[1].count(name) == 1:
            partner = next(there for there, called in rest[1] if called == name)
            matches.append(_match(new, name, group, partner))
            rest[0].discard((group, name))
            rest[1].discard((partner, name))
    order = {key: place for place, key in enumerate(left)}
    matches.sort(key=lambda match: order[match.base, match.metric])
    unmatched = [f"not compared, since it is only in {run.run_id}: {name} ({group})"
                 for run, keys in ((old, rest[0]), (new, rest[1])) for group, name in sorted(keys)]
    return matches, unmatched


def _of_groups(run: Recorded, groups: tuple[str, str]) -> tuple[list[Match], list[str]]:
    keys = [_group(run, named) for named in groups]
    if keys[0] == keys[1]:
        raise ConfigError(f"--groups names the same field group twice: {keys[0]}")
    metrics = [[name for group, name in _metrics(run) if group == key] for key in keys]
    unmatched = [f"not compared, since it is only in {key}: {name}" for key, mine, others in
                 ((keys[0], metrics[0], metrics[1]), (keys[1], metrics[1], metrics[0])) for name in mine if name not in others]
    return [_match(run, name, *keys) for name in metrics[0] if name in metrics[1]], unmatched


def _match(new: Recorded, name: str, base: str, group: str) -> Match:
    """The match of a metric; the threshold is that of NEW on both sides, so that a change of it changes no verdict."""
    told = _metrics(new)[group, name]
    known = CATALOGUE.get(told["metric"])
    direction = told.get("direction") or (known.direction if known else "higher")
    return Match(name, base, group, told["threshold"], direction == "lower")


def _group(run: Recorded, named: str) -> str:
    """The key of the field group that is named by its key, or by a column that no other has."""
    keys = [group["key"] for group in run.manifest["field_groups"]]
    found = [key for key in keys if key == named] or [key for key in keys if named in key.split(",")]
    if len(found) != 1:
        raise ConfigError(f"{named!r} names {'several field groups' if found else 'no field group'} of {run.run_id}; they are "
                          f"{'; '.join(keys)}. Give a whole key, or a column that only one of them has")
    return str(found[0])


def _columns(key: str, other: str) -> str:
    """What a field group reads that the other does not; its key where that is nothing."""
    return ",".join(name for name in key.split(",") if name not in other.split(",")) or key


def _names(old: Recorded, new: Recorded) -> tuple[str, str]:
    if old.run_id != new.run_id:
        return old.run_id, new.run_id
    return str(old.folder), str(new.folder)


def _least_coverage(run: Recorded) -> float:
    gate = run.manifest["config"].get("gates", {}).get("coverage", LEAST_COVERAGE)
    return float(gate) if isinstance(gate, (int, float)) else LEAST_COVERAGE


def ranked(cells: Sequence[Cell], run: Recorded, least: float, min_effect: float = LEAST_EFFECT) -> list[Compared]:
    """The cells of one family with their verdicts: p values are corrected for the number of the cells."""
    lines = [_compared(cell, run) for cell in cells]
    corrected = holm([line.found.p if line.found else None for line in lines])
    return [replace(line, p=p, verdict=_verdict(line, p, least, min_effect)) for line, p in zip(lines, corrected, strict=True)]


def _compared(cell: Cell, run: Recorded) -> Compared:
    direction = "lower" if cell.match.lower else "higher"
    found = difference(cell.sums, cell.values) if cell.sums else None
    noise = run.summary.get("noise") or {}
    shift = noise.get("metrics", {}).get(cell.match.new, {}).get(cell.match.metric)
    varies = floor(shift, found.count) if shift and found else None
    return Compared(cell.match.metric, cell.match.field_group, cell.slice, cell.slice_value, direction, dict(cell.counts), found,
                    worsened=cell.worsened, mended=cell.mended, noise=varies)


def _verdict(line: Compared, p: float | None, least: float, min_effect: float) -> str:
    coverage = [counts.coverage for counts in line.counts.values() if counts.coverage is not None]
    if line.found is None:
        return NOTHING
    if min(coverage) < least or (least and line.few):
        return UNRANKED
    if p is None or p >= SURE:
        return "no difference shown"
    if abs(line.found.difference) < min_effect:
        return NEGLIGIBLE
    return "better" if (line.found.difference > 0) == (line.direction == "higher") else "worse"


def _doubts(old: Recorded, new: Recorded, lines: Iterable[Compared], of_runs: bool) -> list[str]:
    """What speaks against taking the difference for one of the two systems."""
    said = doubts(old.files, new.files) if of_runs else []
    if of_runs and str(old.folder) == str(new.folder):
        said.insert(0, "both are the same run")
    for line in lines:
        for side, name in ((BASE, old.run_id), (NEW, new.run_id)):
            counts = line.counts[side]
            alone = counts.alone / counts.scored if counts.scored else 0.0
            if alone > 0.05:
                other = line.counts[NEW if side == BASE else BASE]
                said.append(f"{line.metric}: {counts.alone:,} of {counts.scored:,} samples scored in {name} have no score on the "
                            f"other side, where {other.failed:,} failed, {other.skipped:,} were skipped and {other.missing:,} "
                            f"are not there: they are left out of both averages"
                            + ("; samples without ids, whose question, reference or contexts differ between the runs, cannot be "
                               "paired: map sample_id" if counts.alone == other.missing and ids_are_made(new) else ""))
    return said
