"""A comparison for people and programs: a line per metric, in sentences that need no statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from rageval_spark.report.findings import labelled, value
from rageval_spark.report.terminal import console
from rageval_spark.spark.pairs import BASE, NEW, Counts
from rageval_spark.statistics.paired import Difference

SURE = 0.05
"""A difference is shown if chance alone makes it, or a larger one, less often than this."""
EFFECTS = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))
"""What a difference is called up to so many standard deviations (Cohen 1988); beyond it is large."""
MOST_SLICE_LINES = 40
MOST_UNSURE = 5
"""Differences of a slice that are listed although chance may have made them."""
UNRANKED, NOTHING, NEGLIGIBLE = "not ranked", "nothing to compare", "negligible"
LEAST_EFFECT = 0.0005
"""A difference below this, on [0, 1], matters to nobody unless a user says otherwise: to three places it is 0.000."""
LEAST_PAIRED = 0.5
"""The share of the samples scored in BASE that NEW must have scored too for a metric to be ranked."""


@dataclass(frozen=True)
class Compared:
    """One metric of two systems, over all samples or one value of a slice.

    `verdict` is "better", "worse", "no difference shown", "negligible" (shown, but less than the least effect that matters),
    "not ranked" (too many judgements failed) or "nothing to compare". `p` is corrected: for the number of metrics, and within
    a slice for the number of its values. `noise` is the largest difference that the judge alone
    makes between two runs of as many samples, as repeated prompts show it; None where none were repeated.
    """

    metric: str
    field_group: str
    slice: str | None
    slice_value: str | None
    direction: str
    counts: Mapping[str, Counts]
    found: Difference | None
    p: float | None = None
    worsened: int = 0
    mended: int = 0
    verdict: str = ""
    noise: float | None = None

    @property
    def within_noise(self) -> bool:
        return bool(self.found and self.noise is not None and abs(self.found.difference) <= self.noise)

    @property
    def few(self) -> bool:
        """Whether NEW has scored less than LEAST_PAIRED of the samples scored in BASE."""
        counts = self.counts.get(BASE)
        return counts is not None and counts.alone > (1 - LEAST_PAIRED) * counts.scored

    @property
    def size(self) -> str | None:
        """The effect in a word."""
        if self.found is None or self.found.effect is None:
            return None
        return next((word for bound, word in EFFECTS if abs(self.found.effect) < bound), "large")

    def sentence(self, base: str, new: str, scale: int = 1, several: bool = False) -> str:
        """What was found, for a reader who knows no statistics; with the field group where there are several."""
        on = f"on {labelled(self.metric, self.field_group, several)}"
        on += f" where {self.slice} is {value(self.slice_value)}" if self.slice else ""
        if self.found is None:
            return f"nothing to compare {on}: no sample is scored on both sides"
        n, d = f"n = {self.found.count:,}", self.found.difference * scale
        if self.verdict == UNRANKED and self.few:
            return (f"not ranked {on}: of {self.counts[BASE].scored:,} samples scored in {base} only {self.found.count:,} are "
                    f"scored in {new}; --force compares those that are there")
        if self.verdict == UNRANKED:
            shares = ", ".join(f"{counts.coverage:.1%} in {name}" for counts, name in
                               ((self.counts[BASE], base), (self.counts[NEW], new)) if counts.coverage is not None)
            return f"not ranked {on}: too many judgements failed ({shares} are there); --force compares those that are there"
        low, high = self.found.low, self.found.high
        interval = f" [{low * scale:.3f}, {high * scale:.3f}]" if low is not None and high is not None else ""
        if self.verdict == NEGLIGIBLE:
            return (f"no difference that matters {on}: {d:+.3f}{interval}, {n}; more than chance, but less than what matters "
                    f"(--min-effect)")
        if self.verdict == "no difference shown":
            detectable = (self.found.detectable or 0.0) * scale
            shown = "; too few samples to be sure" if abs(d) >= detectable > 0 else \
                f"; as many samples show one from {detectable:.3f} on" if detectable else ""
            return f"{self._unsure(new)} {on}: {d:+.3f}{interval}, {n}{shown}"
        lower = " (lower is better)" if self.direction == "lower" else ""
        if low is not None and high is not None and low * high > 0:  # told as what it is better or worse by
            least, most = sorted((abs(low), abs(high)))
            interval = f" [{least * scale:.3f}, {most * scale:.3f}]"
        noise = "; that is within what the judge alone varies by" if self.within_noise else ""
        effect = f"a {self.size} effect" if self.size else "the same for every sample"
        return f"{new} is {self.verdict} {on} by {abs(d):.3f}{interval}{lower}, {n}, {effect}{noise}"


    def _unsure(self, new: str) -> str:
        """Say that a difference is not shown; in a slice, whether only the correction for many values hides it."""
        if self.slice is None or self.found is None or self.found.p is None or self.p is None or self.found.p >= SURE:
            return "no difference shown"
        worse = (self.found.difference > 0) != (self.direction == "higher")
        return (f"{new} is perhaps {'worse' if worse else 'better'} (p = {self.found.p:.3f}, or {self.p:.3f} corrected for the "
                f"values of {self.slice})")


def list_slices(lines: Sequence[Compared], min_effect: float = LEAST_EFFECT) -> list[Compared]:
    """Return the differences by slice that are worth reading, column by column: first all that are shown, then the MOST_UNSURE
    others that are least likely chance; of both the largest first. `min_effect` is on [0, 1]."""
    listed: list[Compared] = []
    for column in dict.fromkeys(line.slice for line in lines):
        of_column = [line for line in lines if line.slice == column and line.found is not None]
        shown = [line for line in of_column if line.verdict in ("better", "worse")]
        unsure = [line for line in of_column if line.verdict == "no difference shown" and line.found
                  and line.found.p is not None and abs(line.found.difference) >= min_effect]
        unsure.sort(key=lambda line: (line.found.p if line.found and line.found.p is not None else 1.0, _size(line)))
        listed += sorted(shown, key=_size)
        listed += sorted(unsure[:MOST_UNSURE], key=_size)
    return listed


def _size(line: Compared) -> float:
    """A sort key: the largest difference first."""
    return -abs(line.found.difference) if line.found else 0.0


def as_dict(line: Compared, scale: int) -> dict[str, Any]:
    """A line as JSON-ready values, with scores and differences on `scale`."""
    found: dict[str, Any] = asdict(line.found) if line.found else {}
    for name in ("base", "new", "difference", "low", "high", "detectable"):
        if found.get(name) is not None:
            found[name] *= scale
    return {"metric": line.metric, "field_group": line.field_group, "slice": line.slice, "slice_value": line.slice_value,
            "verdict": line.verdict, **found, "p_corrected": line.p, "effect_size": line.size, "mended": line.mended,
            "worsened": line.worsened, "noise": None if line.noise is None else line.noise * scale,
            "within_noise": line.within_noise if line.noise is not None else None, "direction": line.direction,
            **{side: {**asdict(counts), "coverage": counts.coverage} | ({"average": found[side]} if found else {})
               for side, counts in line.counts.items()}}


def show(base: str, new: str, lines: Sequence[Compared], by_slice: Sequence[Compared], changes: Sequence[Any],
         warnings: Sequence[str], scale: int = 1, min_effect: float = LEAST_EFFECT) -> None:
    """Print a comparison: the table, then a sentence per metric, slices that differ, samples that changed sides, warnings."""
    out, several = console(), len({line.field_group for line in lines}) > 1
    out.print(_table(f"{base} → {new}", lines, scale, several))
    for line in lines:
        out.print(line.sentence(base, new, scale, several), soft_wrap=True)
    for text in _slice_lines(by_slice, min_effect, base, new, scale, several):
        out.print(text, soft_wrap=True)
    for text in _changed(changes, sum(line.mended + line.worsened for line in lines), scale, several):
        out.print(text, soft_wrap=True)
    for warning in warnings:
        out.print(f"warning: {warning}", soft_wrap=True)


def _slice_lines(by_slice: Sequence[Compared], min_effect: float, base: str, new: str, scale: int, several: bool,
                 ) -> Iterator[str]:
    """Yield a heading for each column, and a sentence for each of its differences that are worth reading."""
    listed = list_slices(by_slice, min_effect)
    for column in dict.fromkeys(line.slice for line in by_slice):
        of_column = [line for line in listed if line.slice == column]
        shown = sum(line.verdict in ("better", "worse") for line in of_column)
        total = sum(line.slice == column for line in by_slice)
        unsure = len(of_column) - shown
        more = f"; of the others, those that are least likely chance ({unsure})" if unsure else ""
        yield f"\nby {column}: {shown:,} of {total:,} differences are shown{more}{':' if of_column else ''}"
        for line in of_column[:MOST_SLICE_LINES]:
            yield f"  {line.sentence(base, new, scale, several)}"
        if len(of_column) > MOST_SLICE_LINES:
            yield f"  and {len(of_column) - MOST_SLICE_LINES:,} more, which are in --json"


def _table(title: str, lines: Sequence[Compared], scale: int, several: bool) -> Table:
    table = Table("metric", "base", "new", "difference", "95 %", "pairs", "mended", "worsened", "shows from", "verdict",
                  title=title, title_justify="left")
    for line in lines:
        found = line.found
        figures = ["", "", "", "", "0", "", "", ""] if found is None else [
            f"{found.base * scale:.3f}", f"{found.new * scale:.3f}", f"{found.difference * scale:+.3f}",
            f"{found.low * scale:+.3f} – {found.high * scale:+.3f}" if found.low is not None and found.high is not None else "",
            f"{found.count:,}", f"{line.mended:,}", f"{line.worsened:,}",
            f"{found.detectable * scale:.3f}" if found.detectable is not None else ""]
        lower = " (lower is better)" if line.direction == "lower" else ""
        table.add_row(labelled(line.metric, line.field_group, several) + lower, *figures, line.verdict)
    return table


def _changed(changes: Sequence[Any], total: int, scale: int, several: bool) -> Iterator[str]:
    if changes:
        yield f"\nsamples that changed sides of the threshold ({len(changes):,} of {total:,}):"
    for one in changes:
        name = labelled(one.match.metric, one.match.field_group, several)
        yield f"  {name}  {one.sample_id}: {one.base * scale:.3f} → {one.new * scale:.3f}"
