"""Gates: what the statistics of a run must reach for it to end with 0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rageval_spark.engine.plan import Plan

Stats = Sequence[Mapping[str, Any]]
FIGURES = ("average", "ci_worst", "pass_rate", "coverage")
"""What a gate of a metric may be of. `ci_worst` is the end of the 95 % interval on the bad side: `ci_low`, or `ci_high`
where lower is better. For these metrics average and ci_worst must be at most what is wanted, else all at least."""


@dataclass(frozen=True)
class GateResult:
    """One gate: what it wants, what was found (None: nothing to go by), and whether that is enough (None: too few
    samples to say, which keeps no run from ending with 0). `said` tells it in a sentence.

    Averages and ends of intervals are on the config's scale, shares in [0, 1]. `metric` is None for a gate of the whole run,
    `slice` (a column) for one of all rows.
    """

    gate: str
    wanted: float
    found: float | None
    met: bool | None
    said: str
    figure: str
    metric: str | None = None
    field_group: str | None = None
    slice: str | None = None
    slice_value: str | None = None


def gated(gates: Mapping[str, Mapping[str, Any]], least_coverage: float, plan: Plan, stats: Stats,
          scale: int) -> list[GateResult]:
    """Each gate against the statistics: that of the coverage of all metrics, then the config's (as their dumps) in its order.

    A metric in several field groups must meet its gates in each; those of a slice hold for each of its values of which at
    least `least` samples were judged, failed ones included. Without any score a gate is not met.
    """
    found = coverage([row for row in stats if row["slice"] is None])
    met = found is None or reaches(found, least_coverage)
    said = _said("coverage", found, least_coverage, met, False)
    results = [GateResult("coverage", least_coverage, found, met, said, "coverage")]
    lower = {use.name for group in plan.groups for use in group.uses if use.metric.direction == "lower"}
    for metric, gate in gates.items():
        wanted: Mapping[str | None, Mapping[str, Any]] = {None: gate, **(gate.get("slices") or {})}
        for row in stats:
            if row["metric"] == metric and row["slice"] in wanted:
                results += _results(row, wanted[row["slice"]], metric in lower, scale)
    return results


def coverage(rows: Stats) -> float | None:
    """The share of judgements, skipped ones aside, that did not fail; None where there were none."""
    scored, failed = (sum(row[name] for row in rows) for name in ("count", "n_failed"))
    return scored / (scored + failed) if scored + failed else None


def reaches(value: float, limit: float, ceiling: bool = False) -> bool:
    """Whether a figure meets its gate; the noise of floating point, as of 10 × 0.57, decides nothing."""
    return math.isclose(value, limit, rel_tol=1e-9) or (value <= limit if ceiling else value >= limit)


def exit_code(gates: Sequence[Mapping[str, Any]]) -> int:
    """0 where no gate is missed, 3 where one of coverage is (too many judgements failed), else 1."""
    missed = {gate["figure"] for gate in gates if gate["met"] is False}
    return 3 if "coverage" in missed else 1 if missed else 0


def _results(row: Mapping[str, Any], gate: Mapping[str, Any], lower: bool, scale: int) -> Iterator[GateResult]:
    judged = row["count"] + row["n_failed"]
    where = f", {row['slice']} {slice_value(row)}" if row["slice"] is not None else ""
    for figure in FIGURES:
        wanted = gate.get(figure)
        if wanted is None:
            continue
        ceiling = lower and figure in ("average", "ci_worst")
        found = _found(row, figure, lower, scale)
        met: bool | None = reaches(found, wanted, ceiling) if found is not None else figure == "coverage"
        said = _said(figure, found, wanted, met, ceiling)
        if judged < gate.get("least", 0):
            met, said = None, f"too few samples to say: {judged} judged, {gate['least']} needed"
        yield GateResult(f"{row['metric']}.{figure}{where} ({row['field_group']})", wanted, found, met, said, figure,
                         row["metric"], row["field_group"], row["slice"], row["slice_value"])


def _found(row: Mapping[str, Any], figure: str, lower: bool, scale: int) -> float | None:
    value: float | None = row[("ci_high" if lower else "ci_low") if figure == "ci_worst" else figure]
    return value * scale if value is not None and figure in ("average", "ci_worst") else value


def slice_value(row: Mapping[str, Any]) -> str:
    """The value of a slice as a gate's name shows it."""
    return "null" if row["slice_value"] is None else str(row["slice_value"])


def _said(figure: str, found: float | None, wanted: float, met: bool | None, ceiling: bool) -> str:
    """The outcome in a sentence; a figure that misses by little is given all the digits that show it."""
    limit = "at most" if ceiling else "at least"
    if found is None:
        nothing = {"coverage": "nothing was judged, so that nothing failed",
                   "ci_worst": "fewer than two samples were scored, which make no interval"}
        return f"{nothing.get(figure, 'nothing was scored')}; wanted is {limit} {wanted:.3f}"
    digits = next((some for some in (3, 6, 9) if met or f"{found:.{some}f}" != f"{wanted:.{some}f}"), 12)
    value = f"{found:.{digits}f}"
    what = {"average": f"the average is {value}", "pass_rate": f"a share of {value} passes",
            "ci_worst": f"the average may be as {'high' if ceiling else 'low'} as {value} (95 % interval)",
            "coverage": f"a share of {value} of the judgements did not fail"}
    return f"{what[figure]}, wanted is {limit} {wanted:.{digits}f}"
