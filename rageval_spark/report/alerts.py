"""Alerts of a monitor: figures of days that are worse than they may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rageval_spark.engine.signals import DIRECTIONS, EMPTY, RATES, ROWS
from rageval_spark.report.gates import reaches
from rageval_spark.report.watched import Figure

NAMES = ("above", "below")


@dataclass(frozen=True)
class Raised:
    """One alert: the figure, of which day (None: of all days together) and slice, its value, the worst it may be, and all of that
    in a sentence. `raised` is None if there are too few rows or scores to say. `value` is None if nothing is known of the
    figure; such an alert has no `limit`."""

    figure: str
    day: str | None
    slice: str | None
    slice_value: str | None
    value: float | None
    limit: float | None
    raised: bool | None
    said: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def raised(alerts: Mapping[str, Mapping[str, Any]], figures: Sequence[Figure], drifts: Sequence[Mapping[str, Any]],
           directions: Mapping[str, str], scale: int) -> list[Raised]:
    """Each alert (as its dump) that holds of a figure, and each that cannot be told; those of metrics are on `scale`, as `drifts`
    are, while figures are in [0, 1]."""
    found: list[Raised] = []
    readable = _readable(figures)
    for name, alert in alerts.items():
        if any(alert[side] is not None for side in ("limit", *NAMES)):
            found += [_of_missing(row) for row in figures if row["figure"] == name and row["value"] is None
                      and row["slice"] is None and readable.get(row["day"])]
        for row in figures:
            if row["figure"] == name and row["value"] is not None and (row["slice"] is None or row["slice"] in alert["slices"]):
                found += _of_figure(alert, row, directions[name], 1 if name in DIRECTIONS else scale)
        if alert["drop"] is not None:
            found += _of_drop(alert, next(one for one in drifts if one["what"] == name), directions[name])
    return found


def _readable(figures: Sequence[Figure]) -> dict[Any, int]:
    """Return the number of readable rows by day."""
    whole = [row for row in figures if row["slice"] is None]
    rows = {row["day"]: row["count"] for row in whole if row["figure"] == ROWS}
    malformed = {row["day"]: round(row["value"] * row["count"]) for row in whole
                 if row["figure"] == "malformed" and row["value"] is not None}
    return {day: count - malformed.get(day, 0) for day, count in rows.items()}


def _of_missing(row: Figure) -> Raised:
    """Return the alert on a figure without a value on a day that has rows. It is raised for figures that every row should have.
    The others may have no value for a good reason, such as the rate of citations that hit if nothing is cited."""
    raised = True if row["figure"] in EMPTY else None
    sentence = f"{_where(row)}: nothing is known of it, no row tells it"
    return Raised(row["figure"], str(row["day"]), None, None, None, None, raised, sentence)


def _of_figure(alert: Mapping[str, Any], row: Figure, direction: str, scale: int) -> Iterator[Raised]:
    for side in NAMES:
        limit = alert[side]
        if limit is None and alert["limit"] is not None and (side == "above") == (direction == "lower"):
            limit = alert["limit"]
        if limit is None:
            continue
        end = row["ci_low" if side == "above" else "ci_high"] if alert["sure"] else row["value"]
        end = row["value"] if end is None else end
        if reaches(end * scale, limit, ceiling=side == "above"):
            continue
        enough = row["figure"] == ROWS or row["count"] >= alert["least"]
        wanted = f"{'at most' if side == 'above' else 'at least'} {_worded(row['figure'], limit)}"
        said = f"{_where(row)}: {told(row, scale)}, {wanted} wanted"
        if not enough:
            said += f"; of fewer than {alert['least']}, so this raises no alert"
        yield Raised(row["figure"], str(row["day"]), row["slice"], row["slice_value"], row["value"] * scale, limit,
                     enough or None, said)


def _of_drop(alert: Mapping[str, Any], drift: Mapping[str, Any], direction: str) -> Iterator[Raised]:
    if drift.get("difference") is None:
        return
    sign = 1 if direction == "lower" else -1
    ends = [sign * end for end in (drift["low"], drift["high"]) if end is not None]
    drop = sign * drift["difference"]
    surely = min(ends, default=0.0) if alert["sure"] else drop
    if not reaches(surely, alert["drop"], ceiling=True):
        enough = drift["n_production"] >= alert["least"]
        said = f"{drift['said']}; at most {alert['drop']:.3f} worse wanted"
        yield Raised(drift["what"], None, None, None, drop, alert["drop"], enough or None,
                     said if enough else f"{said}; of fewer than {alert['least']} scores, so this raises no alert")


def told(row: Mapping[str, Any], scale: int = 1) -> str:
    """The value of a figure with what it is of, such as "12.0 % (18 of 150 rows)"."""
    if row["figure"] == ROWS or row["value"] is None:
        return number(row, scale)
    if row["figure"] in RATES:
        return f"{number(row)} ({round(row['value'] * row['count']):,} of {row['count']:,} rows)"
    ends = "" if row["ci_low"] is None else f"95 %: {row['ci_low'] * scale:.3f} to {row['ci_high'] * scale:.3f}, "
    return f"{number(row, scale)} ({ends}of {row['count']:,})"


def number(row: Mapping[str, Any], scale: int = 1) -> str:
    """The value of a figure: rows as a number, shares in per cent, scores on `scale`."""
    return _worded(row["figure"], None if row["value"] is None else row["value"] * (1 if row["figure"] in DIRECTIONS else scale))


def _worded(figure: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if figure == ROWS else f"{value:.1%}".replace("%", " %") if figure in RATES else f"{value:.3f}"


def _where(row: Figure) -> str:
    meaning = f" ({RATES[row['figure']][1]})" if row["figure"] in RATES else ""
    of = f" in {row['slice']} {row['slice_value']}" if row["slice"] else ""
    return f"{row['figure']}{meaning} on {row['day']}{of}"
