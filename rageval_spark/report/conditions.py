"""Conditions on a comparison that fail a build: `faithfulness drops > 0.02`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rageval_spark.errors import ConfigError
from rageval_spark.report.comparison import Compared

FORM = re.compile(r"(\S+)\s+(drops|rises|worsens)(?:\s*>=?\s*(\d*\.?\d+))?")
ANY = "any"


@dataclass(frozen=True)
class Condition:
    """`METRIC drops|rises|worsens [> LIMIT]`; METRIC may be "any", of which only what gets worse counts.

    Without a limit only a difference that is shown counts, with one the difference itself does, whatever its interval.
    """

    text: str
    metric: str
    change: str
    limit: float | None

    def holds(self, line: Compared, scale: int) -> bool:
        """Whether a metric did what the condition names."""
        if line.found is None or self.metric not in (ANY, line.metric):
            return False
        worse = -1 if line.direction == "higher" else 1
        sign = {"drops": -1, "rises": 1, "worsens": worse}[self.change]
        change = sign * line.found.difference * scale
        if self.metric == ANY and sign != worse:
            return False
        if self.limit is not None:
            return line.verdict != "not ranked" and change > self.limit + 1e-9
        return change > 0 and line.verdict in ("better", "worse")


def condition(text: str) -> Condition:
    """Raises ConfigError for what is no condition."""
    form = FORM.fullmatch(text.strip())
    if form is None:
        raise ConfigError(f"--fail-on takes METRIC drops|rises|worsens, and how much if not any that is shown, such as "
                          f"'faithfulness drops > 0.02' or 'any worsens'; found {text!r}")
    return Condition(text.strip(), form[1], form[2], float(form[3]) if form[3] else None)


def held(conditions: Sequence[Condition], lines: Sequence[Compared], scale: int) -> list[tuple[Condition, Compared]]:
    """The conditions that hold, each with the metric by which. Raises ConfigError for one that names a metric that is not
    compared, or would fail on an improvement."""
    directions = {line.metric: line.direction for line in lines}
    for one in conditions:
        if one.metric not in (ANY, *directions):
            compared = ", ".join(directions)
            raise ConfigError(f"--fail-on names {one.metric!r}, which is not compared; those are {compared}, or {ANY}")
        better = {"drops": "lower", "rises": "higher"}.get(one.change)
        if directions.get(one.metric) == better:
            raise ConfigError(f"--fail-on {one.text!r} would fail on an improvement: of {one.metric} {better} is better. Say "
                              f"'{one.metric} worsens'")
    return [(one, line) for one in conditions for line in lines if one.holds(line, scale)]
