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
    """`METRIC drops|rises|worsens [> LIMIT]`; METRIC may be "any". Without a limit only a difference that is shown counts,
    with one the difference itself does, whatever its interval."""

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
        if self.limit is not None:
            return change > self.limit + 1e-9
        return change > 0 and line.verdict in ("better", "worse")


def condition(text: str, metrics: Sequence[str]) -> Condition:
    """Raises ConfigError for what is no condition, or names a metric that is not compared."""
    form = FORM.fullmatch(text.strip())
    if form is None:
        raise ConfigError(f"--fail-on takes METRIC drops|rises|worsens, and how much if not any that is shown, such as "
                          f"'faithfulness drops > 0.02' or 'any worsens'; found {text!r}")
    if form[1] not in (ANY, *metrics):
        raise ConfigError(f"--fail-on names {form[1]!r}, which is not compared; those are {', '.join(metrics)}, or {ANY}")
    return Condition(text.strip(), form[1], form[2], float(form[3]) if form[3] else None)
