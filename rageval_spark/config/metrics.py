"""From the metrics named in a config to a plan: objects with parameters, thresholds and judges."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rageval_spark.config.presets import PRESETS
from rageval_spark.config.schema import Config, Group, MetricEntry
from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.errors import ConfigError
from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, HttpJudge, Judge
from rageval_spark.metric import Metric
from rageval_spark.metrics import CATALOGUE, NAMED
from rageval_spark.sample import ALIASES, FIELDS

NOTHING: Mapping[str, Any] = {}
OF_THE_USE = ("threshold", "judge", "as", "votes")
"""Keys of a metric's entry that are not its own parameters."""


def planned(config: Config) -> Plan:
    """The plan of a config. Raises ConfigError for an unknown metric, parameter, field or a missing judge."""
    groups = [_group(place, group, config) for place, group in enumerate(config.evaluate)]
    known = {use.name for group in groups for use in group.uses} | {"coverage"}
    for name in config.gates:
        if name not in known:
            raise ConfigError(f"gates.{name}: no metric of this config is called so; there are {', '.join(sorted(known))}")
    _check_pass_rates(config, groups)
    return Plan(tuple(groups))


def _check_pass_rates(config: Config, groups: Sequence[FieldGroup]) -> None:
    """Raise ConfigError for a gate on the pass rate of a metric without a threshold."""
    open_ended = {use.name for group in groups for use in group.uses if use.threshold is None}
    for name, gate in config.metric_gates.items():
        if name in open_ended and any(part.pass_rate is not None for part in (gate, *gate.slices.values())):
            raise ConfigError(f"gates.{name}.pass_rate: {name} has no threshold by which a sample passes. Give it one, as "
                              f"{{{name}: {{threshold: …}}}} under metrics, or gate its average")


def _group(place: int, group: Group, config: Config) -> FieldGroup:
    where = f"evaluate.{place}"
    entries = [entry for listed in group.metrics for entry in _unpacked(listed)]
    return field_group(group.fields, [use for entry in entries for use in metric_uses(entry, config)], where)


def _unpacked(entry: MetricEntry) -> Sequence[MetricEntry]:
    """The entry itself, or the metrics of the preset that it names."""
    if isinstance(entry, str) or list(entry) != ["preset"]:
        return [entry]
    name = entry["preset"]
    if name not in PRESETS:
        raise ConfigError(f"evaluate.metrics: no preset is called {name!r}; the presets are {', '.join(PRESETS)}")
    return PRESETS[name]


def field_group(fields: Mapping[str, str], uses: Sequence[MetricUse], where: str) -> FieldGroup:
    """A field group from fields under their names or aliases. Raises ConfigError for a name that is no field's, two
    metrics of one name, or none."""
    mapped = mapping(fields, where)
    if not uses:
        raise ConfigError(f"{where}.metrics is empty; the metrics are {', '.join(CATALOGUE)}")
    names = [use.name for use in uses]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"{where}: two metrics are called {twice[0]!r} in one field group; name one with as:")
    return FieldGroup(mapped, tuple(uses))


def mapping(fields: Mapping[str, str], where: str) -> dict[str, str]:
    """Column by sample field, from fields under their names or aliases. Raises ConfigError for a name that is no field's."""
    mapped = {}
    for name, column in fields.items():
        field = next((field for field in FIELDS if name == field or name in ALIASES.get(field, ())), None)
        if field is None:
            raise ConfigError(f"{where}.fields: no sample field is called {name!r}; the fields are {', '.join(FIELDS)}")
        mapped[field] = column
    return mapped


def metric_uses(entry: MetricEntry, config: Config) -> list[MetricUse]:
    """One entry of a metrics list: a name, or a name with its parameters; several uses where a parameter is a list."""
    name: str
    given: Any = None
    if isinstance(entry, str):
        name = entry
    elif len(entry) == 1:
        name, given = next(iter(entry.items()))
    else:
        raise ConfigError(f"evaluate.metrics: each entry is a name or one name with its parameters, found {dict(entry)!r}")
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ConfigError(f"evaluate.metrics.{name}: parameters are keys and values, found {given!r}")
    parameters = {key: value for key, value in given.items() if key not in OF_THE_USE}
    listed = [key for key in class_of(name).several if isinstance(parameters.get(key), list)]
    combined = [dict(zip(listed, values, strict=True)) for values in itertools.product(*(parameters[key] for key in listed))]
    metrics = [metric_of(name, {**parameters, **one}) for one in combined]
    named = [{**given, "as": f"{given['as']}{metric.suffix}"} if listed and "as" in given else given for metric in metrics]
    return [use_of(metric, config.judge, config.embeddings, mine, config.scale)
            for metric, mine in zip(metrics, named, strict=True)]


def use_of(metric: Metric, judge: Judge | None, embeddings: HttpEmbeddings | None,
           given: Mapping[str, Any] = NOTHING, scale: float = 1) -> MetricUse:
    """A metric with the settings OF_THE_USE that are `given`: threshold (on the config's scale; null: none), name, changes to its
    judge, and number of votes. The threshold defaults to the metric's own; on another scale than [0, 1], which is Dingo's, to
    half of the scale."""
    name = str(given.get("as") or metric.name + metric.suffix)
    threshold = given.get("threshold", metric.default_threshold if scale == 1 else scale / 2)
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, (int, float))
                                  or not 0 <= threshold <= scale):
        raise ConfigError(f"evaluate.metrics.{name}.threshold lies in [0, {scale:g}], or is null for none; found {threshold!r}")
    if "judge" in given:
        judge = _other_judge(name, judge, given["judge"])
    asks_judge = [kind for kind in metric.asks if kind != "embed"]
    if asks_judge and judge is None:
        raise ConfigError(f"{name} asks a judge, but the config has none. Add judge: {{model: …, base_url: …, api_key_env: …}}, "
                          f"or judge: {{provider: embedded}} for a heuristic screen without any model")
    if "embed" in metric.asks and embeddings is None and not isinstance(judge, EmbeddedJudge):
        raise ConfigError(f"{name} needs embeddings, but the config has none. Add embeddings: {{model: …, base_url: …}}")
    return MetricUse(metric, name, None if threshold is None else threshold / scale, judge if metric.asks else None,
                     embeddings if "embed" in metric.asks else None, given.get("votes", 1))


def _other_judge(name: str, judge: Judge | None, changes: Any) -> Judge:
    where = f"evaluate.metrics.{name}.judge"
    if not isinstance(changes, Mapping):
        raise ConfigError(f"{where} holds the judge's keys that differ, such as model; found {changes!r}")
    try:
        if changes.get("provider") == "embedded":
            return EmbeddedJudge.model_validate(dict(changes))
        return judge.altered(changes) if isinstance(judge, HttpJudge) else HttpJudge.model_validate(dict(changes))
    except ValidationError as error:
        raise ConfigError(f"{where}: {_first(error)}") from None


def metric_of(name: str, parameters: Mapping[str, Any]) -> Metric:
    """A metric by its name, with its parameters."""
    kind = class_of(name)
    known = [field.name for field in fields(kind)]
    for key in parameters:
        if key not in known:
            raise ConfigError(f"{name} has no parameter {key!r}; it has {', '.join([*known, *OF_THE_USE])}")
    try:
        metric: Metric = TypeAdapter(kind).validate_python(dict(parameters))
    except ValidationError as error:
        raise ConfigError(f"{name}: {_first(error)}") from None
    return metric


def class_of(name: str) -> type[Metric]:
    """A metric's class by its name in the catalogue, an alias, or `package.module:Class` for a user's own."""
    kind = _own_class(name) if ":" in name else NAMED.get(name)
    if kind is None:
        close = get_close_matches(name, NAMED, 1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise ConfigError(f"no metric is called {name!r}; {meant}The metrics are {', '.join(CATALOGUE)}, "
                          f"or a class of your own as package.module:Class")
    return kind


def _own_class(name: str) -> type[Metric]:
    module, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError, SyntaxError) as error:
        raise ConfigError(f"the metric {name!r} cannot be imported: {error}") from None
    if not isinstance(kind, type) or not issubclass(kind, Metric) or kind is Metric:
        raise ConfigError(f"{name!r} is no subclass of rageval_spark.Metric")
    return kind


def _first(error: ValidationError) -> str:
    one = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}, found {one.get('input')!r}"
