"""Charts as SVG, drawn by Vega-Lite. Colours are variables of the page's style; no text of users is in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


def _layer(rows: Sequence[Mapping[str, Any]], mark: Mapping[str, Any], **encoding: Any) -> dict[str, Any]:
    return {"data": {"values": rows}, "mark": {**mark, "aria": False}, "encoding": encoding}


def _drawn(layers: Sequence[Mapping[str, Any]]) -> Markup:
    return _svg(json.dumps({"width": WIDTH, "height": HEIGHT, "background": None, "padding": 0, "layer": layers,
                            "config": {"view": {"stroke": None}}}))


@lru_cache(maxsize=1000)
def _svg(spec: str) -> Markup:
    import vl_convert

    return Markup(vl_convert.vegalite_to_svg(spec))
