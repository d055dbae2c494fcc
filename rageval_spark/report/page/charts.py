"""Charts as SVG, drawn by Vega-Lite. Colours are variables of the page's style; no text of users is in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any

from markupsafe import Markup

WIDTH, HEIGHT = 160, 36


def distribution(counts: Sequence[int], average: float | None, low: float | None, high: float | None) -> Markup:
    """Bars of counts over equal parts of [0, 1], on a band from `low` to `high` (the interval) with a line at the average."""
    step = 1 / len(counts)
    bars = [{"from": place * step, "to": (place + 1) * step, "count": count} for place, count in enumerate(counts) if count]
    x = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": None}
    layers: list[dict[str, Any]] = [
        _layer([{"at": 0, "end": 1}], {"type": "rule", "color": "var(--line)"},
               x={"field": "at", **x}, x2={"field": "end"}, y={"value": HEIGHT}),
        _layer(bars, {"type": "bar", "color": "var(--bar)", "binSpacing": 1}, x={"field": "from", "bin": "binned", **x},
               x2={"field": "to"}, y={"field": "count", "type": "quantitative", "axis": None})]
    if low is not None and high is not None:
        layers.insert(0, _layer([{"low": low, "high": high}], {"type": "rect", "color": "var(--band)"},
                                x={"field": "low", **x}, x2={"field": "high"}))
    if average is not None:
        layers.append(_layer([{"average": average}], {"type": "rule", "color": "var(--mark)", "strokeWidth": 2},
                             x={"field": "average", **x}))
    return _drawn(layers)


def difference(value: float, low: float | None, high: float | None, most: float) -> Markup:
    """A point with its interval on a line from -most to most, and a rule at 0."""
    x = {"type": "quantitative", "scale": {"domain": [-most, most], "nice": False}, "axis": None}
    y = {"value": HEIGHT / 2}
    layers = [_layer([{"at": 0}], {"type": "rule", "color": "var(--line)"}, x={"field": "at", **x})]
    if low is not None and high is not None:
        layers.append(_layer([{"low": low, "high": high}], {"type": "rule", "color": "var(--bar)", "strokeWidth": 4},
                             x={"field": "low", **x}, x2={"field": "high"}, y=y))
    layers.append(_layer([{"value": value}], {"type": "point", "color": "var(--mark)", "filled": True, "size": 60, "opacity": 1},
                         x={"field": "value", **x}, y=y))
    return _drawn(layers)


def days(points: Sequence[Mapping[str, Any]], first: date, last: date, form: str) -> Markup:
    """A point a day (`day`, `value`, and `low`, `high` or None), joined where days follow each other, over bars of the intervals.
    The values' axis begins at 0 and is written as the d3 format `form` says; that of days has the first and the last."""
    rows: list[dict[str, Any]] = []
    for point in points:
        follows = rows and (point["day"] - rows[-1]["date"]).days == 1
        piece = rows[-1]["piece"] if follows else len(rows)
        rows.append({**point, "date": point["day"], "piece": piece})
    told = [{**{name: row[name] for name in ("value", "low", "high", "piece")}, "day": str(row["date"])} for row in rows]
    most = max((row["high"] or row["value"] for row in rows), default=0.0) or 1.0
    plain = {"title": None, "grid": False, "domain": False, "ticks": False, "offset": 8, "labelColor": "var(--quiet)",
             "labelFontSize": 11}
    ends = sorted({str(first), str(last)})
    x = {"field": "day", "type": "temporal", "scale": {"type": "utc", "domain": [str(first), str(last)]},
         "axis": {**plain, "values": ends, "format": "%Y-%m-%d", "labelPadding": 0}}
    y = {"type": "quantitative", "scale": {"domain": [0, most], "nice": False},
         "axis": {**plain, "values": [0, most], "format": form, "minExtent": 40}}
    layers = [_layer([row for row in told if row["low"] is not None], {"type": "rule", "color": "var(--band)", "strokeWidth": 6},
                     x=x, y={"field": "low", **y}, y2={"field": "high"}),
              _layer(told, {"type": "line", "color": "var(--bar)", "strokeWidth": 1.5}, x=x, y={"field": "value", **y},
                     detail={"field": "piece"}),
              _layer(told, {"type": "point", "color": "var(--mark)", "filled": True, "size": 22, "opacity": 1}, x=x,
                     y={"field": "value", **y})]
    return _drawn(layers, width=380, height=56, padding=4)


def _layer(rows: Sequence[Mapping[str, Any]], mark: Mapping[str, Any], **encoding: Any) -> dict[str, Any]:
    return {"data": {"values": rows}, "mark": {**mark, "aria": False}, "encoding": encoding}


def _drawn(layers: Sequence[Mapping[str, Any]], width: int = WIDTH, height: int = HEIGHT, padding: int = 0) -> Markup:
    return _svg(json.dumps({"width": width, "height": height, "background": None, "padding": padding, "layer": layers,
                            "config": {"view": {"stroke": None}}}))


@lru_cache(maxsize=1000)
def _svg(spec: str) -> Markup:
    import vl_convert

    return Markup(vl_convert.vegalite_to_svg(spec))
