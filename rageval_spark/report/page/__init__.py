"""The page of a run that people look at: one HTML file that loads nothing and needs no network."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup

from rageval_spark.engine.files import Folder
from rageval_spark.report.findings import counted, labelled, outcomes, value
from rageval_spark.report.page import figures
from rageval_spark.report.page.samples import HOWS, choices, shown, viewed, worst
from rageval_spark.report.visible import visible

FILE, DATA = "report.html", "report.json"


class Page(str):
    """The HTML of a page; notebooks show it in a frame of its own."""

    def _repr_html_(self) -> str:
        frame = '<iframe srcdoc="{}" sandbox="allow-scripts" width="100%" height="800" style="border: 0"></iframe>'
        return str(Markup(frame).format(str(self)))


def write(folder: Folder, manifest: Mapping[str, Any], summary: Mapping[str, Any], data: Mapping[str, Any],
          comparison: Mapping[str, Any] | None = None) -> Page:
    """Make the page of a run, and write it into the run's folder. Raises OSError."""
    page = rendered(manifest, summary, data, comparison)
    folder.write(FILE, page.encode())
    return page


def rendered(manifest: Mapping[str, Any], summary: Mapping[str, Any], data: Mapping[str, Any],
             comparison: Mapping[str, Any] | None = None) -> Page:
    """The page of a run, from its manifest, its summary, and what `gathered` found (`data`); `comparison` is a
    Comparison.to_dict() of it with another run."""
    bars: figures.Histograms = {(one["slice"], one["slice_value"], one["field_group"], one["metric"]): one["counts"]
                                for one in data["histograms"]}
    samples = [viewed(sample, summary["scale"], len(summary["metrics_score"]) > 1) for sample in data["samples"]]
    began = f"{manifest['began_at'][:16].replace('T', ' ')} UTC"
    return html("page.html.j2",
        summary=summary, outcomes=outcomes(summary), manifest=manifest,
        began=began, notes=data["notes"], verdict=figures.verdict(summary),
        groups=figures.metrics(summary, manifest, bars), unscored=figures.unscored(summary),
        slices=figures.slices(summary, bars), diagnosis=figures.findings(summary),
        more_findings=len(summary["diagnosis"]) - figures.MOST_FINDINGS, comparison=figures.compared(comparison),
        noise=figures.noise(summary), usage=summary["usage"], made=figures.made(manifest),
        samples=samples, worst=worst(samples), choices=choices(samples, manifest["slices"]),
        shown=shown(samples, summary["total"]), hows=HOWS)


def html(template: str, **values: Any) -> Page:
    """A template of this package with its style and its script, all else escaped."""
    environment = Environment(loader=FunctionLoader(_text), autoescape=True, trim_blocks=True, lstrip_blocks=True,
                              finalize=_visible)
    environment.filters.update(number=_number, share=_share, counted=counted, value=value, labelled=labelled)
    style, script = _text("page.css"), _text("page.js")
    return Page(environment.get_template(template).render(
        style=Markup(style), script=Markup(script), style_hash=_hash(style), script_hash=_hash(script), **values))


def _visible(value: Any) -> Any:
    """What is put into the page: None as nothing, and no character that is not seen but acts."""
    if isinstance(value, Markup):
        return Markup(visible(value))
    return "" if value is None else visible(str(value))


def _number(value: Any, digits: int = 3) -> str:
    """A number; a dash for what is none or not there."""
    return f"{value:.{digits}f}" if isinstance(value, (int, float)) else "–"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}".replace("%", " %")


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()
