"""Conditions on a comparison that fail a build: `faithfulness drops > 0.02 in tenant=acme`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rageval_spark.errors import ConfigError
from rageval_spark.report.comparison import UNRANKED, Compared
from rageval_spark.report.findings import value

FORM = re.compile(
    r"(?P<metric>\S.*?)\s+(?P<change>drops|rises|worsens)"
    r"(?:\s*(?P<sign>>=?)\s*(?P<limit>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))?"
    r"(?:\s+in\s+(?P<part>\S.*))?"
)
ANY, ANY_SLICE = "any", "any slice"
GRAMMAR = ("METRIC|any drops|rises|worsens [> NUMBER] [in COLUMN=VALUE | in COLUMN | in any slice], such as "
           "'faithfulness drops > 0.02', 'any worsens' or 'any worsens in tenant=acme'")  # fmt: skip
LISTED = 8
"""Most values of a slice that an error message names."""
NOISE = 1e-9
"""Differences of averages up to this are noise of floating point."""


@dataclass(frozen=True)
class Condition:
    """What must not happen to a metric (or to `any`), over all samples or in the values of a slice.

    `change` is drops, rises or worsens. Without a `limit` only a difference that is shown counts. With a limit the difference
    itself counts, whatever its interval; `reached` says that a difference equal to the limit counts too. `part` is the text
    after "in": a column, a column with one value, or "any slice"; None for all samples together.
    """

    text: str
    metric: str
    change: str
    limit: float | None
    reached: bool = False
    part: str | None = None

    def concerns(self, line: Compared) -> bool:
        """Return whether the condition is about this line."""
        return self.metric in (ANY, line.metric) and self._covers(line)

    def holds(self, line: Compared, scale: int) -> bool:
        """Return whether the metric of this line did what the condition names. `limit` is on `scale`."""
        if not self.concerns(line) or line.found is None or line.verdict == UNRANKED:
            return False
        worse = -1 if line.direction == "higher" else 1
        sign = {"drops": -1, "rises": 1, "worsens": worse}[self.change]
        if self.metric == ANY and sign != worse:
            return False
        change = sign * line.found.difference * scale
        if self.limit is None:
            return change > 0 and line.verdict in ("better", "worse")
        return change > self.limit - NOISE if self.reached else change > self.limit + NOISE

    def _covers(self, line: Compared) -> bool:
        if self.part is None or line.slice is None:
            return self.part is None and line.slice is None
        name = "null" if line.slice_value is None else line.slice_value
        return self.part in (ANY_SLICE, line.slice, f"{line.slice}={name}")


def condition(text: str) -> Condition:
    """Parse a condition. Raises ConfigError with the grammar for a text that has another form."""
    form = FORM.fullmatch(text.strip())
    if form is None:
        raise ConfigError(f"--fail-on takes {GRAMMAR}; found {text!r}")
    limit = float(form["limit"]) if form["limit"] else None
    part = re.sub(r"\s*=\s*", "=", form["part"].strip(), count=1) if form["part"] else None
    return Condition(text.strip(), form["metric"], form["change"], limit, form["sign"] == ">=", part)


def held(conditions: Sequence[Condition], lines: Sequence[Compared], scale: int) -> list[tuple[Condition, Compared]]:
    """Return the conditions that hold, each with the line that meets it.

    Raises ConfigError for a condition on a metric or slice that is not compared, and for one that would fail on an
    improvement.
    """
    for wanted in conditions:
        _check(wanted, lines)
    return [(wanted, line) for wanted in conditions for line in lines if wanted.holds(line, scale)]


def undecided(conditions: Sequence[Condition], lines: Iterable[Compared]) -> list[tuple[Condition, Compared]]:
    """Return the conditions on parts of the samples that cannot be decided, since too many judgements failed there."""
    return [(wanted, line) for line in lines if line.slice is not None and line.verdict == UNRANKED
            for wanted in conditions if wanted.concerns(line)]


def _check(wanted: Condition, lines: Sequence[Compared]) -> None:
    directions = {line.metric: line.direction for line in lines}
    if wanted.metric not in (ANY, *directions):
        known = ", ".join(directions)
        raise ConfigError(f"--fail-on names {wanted.metric!r}, which is not compared; those are {known}, or {ANY}")
    improves = {"drops": "lower", "rises": "higher"}.get(wanted.change)
    if improves is not None and directions.get(wanted.metric) == improves:
        raise ConfigError(f"--fail-on {wanted.text!r} would fail on an improvement: of {wanted.metric} {improves} is better. Say "
                          f"'{wanted.metric} worsens'")
    if wanted.part is not None and not any(wanted.concerns(line) for line in lines):
        raise ConfigError(f"--fail-on {wanted.text!r}: {_known_parts(wanted.part, lines)}")


def _known_parts(part: str, lines: Sequence[Compared]) -> str:
    """Say which slices, or which values of the named slice, there are."""
    values: dict[str, dict[str, None]] = {}
    for line in lines:
        if line.slice is not None:
            values.setdefault(line.slice, {})[value(line.slice_value)] = None
    if not values:
        return "the two runs have no slice in common; give slices: [COLUMN] in the config of both"
    column = next((name for name in values if part.startswith(f"{name}=")), None)
    if column is None:
        unknown = part.partition("=")[0]
        return f"no slice of both runs is called {unknown!r}; those are {', '.join(values)}"
    listed = ", ".join(list(values[column])[:LISTED]) + (" …" if len(values[column]) > LISTED else "")
    return f"{column} has no such value; its values are {listed}"
