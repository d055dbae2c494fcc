"""The catalogue as a table, made from the metrics' docstrings: what `rageval metrics` and the README show."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from rageval_spark.errors import ConfigError
from rageval_spark.judges.embedded import ANSWERS
from rageval_spark.metric import Metric
from rageval_spark.metrics import CATALOGUE, NAMED

COLUMNS = ("metric", "what", "layer", "judge", "reads", "prompts", "range", "passes", "source")
BRIEF = ("metric", "what", "layer", "judge")
"""What fits a terminal."""


def rows() -> list[tuple[str, ...]]:
    """One row per metric of the catalogue, in COLUMNS."""
    return [_row(metric) for metric in CATALOGUE.values()]


def markdown() -> str:
    """The catalogue as a Markdown table."""
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *((f"`{name}`", *rest) for name, *rest in rows())]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _row(metric: type[Metric]) -> tuple[str, ...]:
    described = parts(metric)
    direction = f"0 to 1, {metric.direction} is better"
    return (metric.name, described["what"], metric.layer, _judge(metric), _reads(metric), described["prompts"], direction,
            _passes(metric), described["source"])


def _passes(metric: type[Metric]) -> str:
    """Describe the metric's own threshold: "from 0.8", "up to 0.2" if lower is better, or "no threshold"."""
    threshold = _plain(metric).default_threshold
    if threshold is None:
        return "no threshold"
    return f"{'from' if metric.direction == 'higher' else 'up to'} {threshold:g}"


def _at_ten(metric: type[Metric]) -> str:
    """The default threshold on a scale to 10, which is half of that scale for all metrics."""
    return "from 5" if metric.direction == "higher" else "up to 5"


def _judge(metric: type[Metric]) -> str:
    """Whom it asks: nobody, any judge (the embedded one too), or a model."""
    kinds = set(_plain(metric).asks) - {"embed"}
    judge = [] if not kinds else ["any"] if kinds <= set(ANSWERS) and "embed" not in metric.asks else ["a model"]
    return ", ".join([*judge, *(["embeddings"] if "embed" in metric.asks else [])]) or "none"


def _plain(metric: type[Metric]) -> Metric | type[Metric]:
    """The metric without parameters, or its class where it needs some: what it asks may go by them."""
    try:
        return metric()
    except ConfigError:
        return metric


def described(name: str) -> Iterator[str]:
    """All there is to know of one metric: its docstring, its parameters with their defaults, its other names. Raises
    KeyError for a name that is none."""
    metric = NAMED[name]
    yield f"{metric.name}\n\n{inspect.getdoc(metric)}"
    yield f"Layer: {metric.layer}. Reads: {_reads(metric)}. Judge: {_judge(metric)}."
    yield f"Passes: {_passes(metric)}, unless a config gives a threshold (with `scale: 10`: {_at_ten(metric)})."
    yield "Parameters: " + (", ".join(map(_parameter, fields(metric))) or "none") + ". All metrics: threshold, judge, votes, as."
    if metric.several:
        yield f"A list of {' or '.join(metric.several)} stands for one metric each."
    if metric.aliases:
        yield f"Also called {', '.join(metric.aliases)}."


def _parameter(one: Field[Any]) -> str:
    if one.default is not MISSING:
        return f"{one.name} ({one.default!r})"
    return one.name


def _reads(metric: type[Metric]) -> str:
    needed = [" or ".join(filter(None, (name, metric.instead.get(name)))) for name in metric.reads]
    return ", ".join([*needed, *(f"{name} if there" for name in metric.reads_too)])


def parts(metric: type[Metric]) -> Mapping[str, str]:
    """A metric's docstring by part: its first sentence as `what`, and the paragraphs `prompts` and `source`.

    Raises ValueError where one is missing: each metric says what it measures, costs and comes from.
    """
    text = inspect.getdoc(metric) or ""
    found = {"what": " ".join(text.split("\n\n")[0].split()), **{
        name.lower(): " ".join(paragraph.split())
        for name, paragraph in re.findall(r"^(Prompts|Source): (.*?)(?=^[A-Z][a-z]+: |^\w+ without |\Z)", text, re.S | re.M)}}
    if missing := [name for name in ("what", "prompts", "source") if not found.get(name)]:
        raise ValueError(f"the docstring of {metric.__name__} lacks {', '.join(missing)}")
    return found
