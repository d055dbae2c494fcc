"""Reading a config file: YAML, variables of the environment, overrides, and errors that name the key."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from rageval_spark.config import dingo
from rageval_spark.config.monitor import MonitorConfig
from rageval_spark.config.schema import Config, Output
from rageval_spark.engine.sampling import Sampling
from rageval_spark.engine.signals import DIRECTIONS
from rageval_spark.errors import ConfigError

log = logging.getLogger(__name__)
C = TypeVar("C", bound=Config)
Part = TypeVar("Part", bound=BaseModel)
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def load(path: str | Path, overrides: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> Config:
    """The config in a YAML or JSON file, or in a task file of Dingo, with `key.key=value` overrides. Its name defaults to that of
    the file. Raises ConfigError."""
    values = written(path)
    keys: Mapping[str, str] = {}
    if dingo.is_task(values):
        task = dingo.Task(values)
        values, keys = task.config(), task.keys
    values.setdefault("name", Path(path).stem)  # so that runs of other configs are not in its history
    return parse(overridden(values, overrides, Config), str(path), environment).with_keys(keys)


def load_monitor(path: str | Path, overrides: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> MonitorConfig:
    """The config of a monitor in a YAML or JSON file, with `key.key=value` overrides. Its name defaults to that of the file.
    Raises ConfigError."""
    values = written(path)
    values.setdefault("name", re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(path).stem).lstrip("-.") or "monitor")
    return _parsed(MonitorConfig, overridden(values, overrides, MonitorConfig), str(path), environment)


def written(path: str | Path) -> dict[str, Any]:
    """The values in a YAML or JSON file. Raises ConfigError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no config file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the config file {path} cannot be read: {error}") from None
    try:
        values = _yaml(text, str(path))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must hold keys and values, such as 'judge:' and 'evaluate:'")
    return values


class _Loader(yaml.SafeLoader):
    """YAML in which no mapping has a key twice: else the last would stand, in silence."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            line = key.start_mark.line + 1
            if key.value in lines:
                raise ConfigError(f"{self.name}, line {line}: the key {key.value!r} is there already, in line "
                                  f"{lines[key.value]}; put what both say under one")
            lines[key.value] = line
        return node


def _yaml(text: str, source: str) -> Any:
    """What a text in YAML or JSON says. Raises yaml.YAMLError, and ConfigError naming `source` for a key that is there twice."""
    loader = _Loader(text)
    loader.name = source
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def overridden(values: dict[str, Any], overrides: Sequence[str], kind: type[Config]) -> dict[str, Any]:
    """The values with `key.key=value` overrides. Raises ConfigError."""
    for override in overrides:
        _override(values, override, kind)
    return values


def parse(values: Mapping[str, Any], source: str = "the config", environment: Mapping[str, str] = os.environ) -> Config:
    """The config that these values make. Raises ConfigError naming the key, what was found and what is possible."""
    return _parsed(Config, values, source, environment)


def _parsed(kind: type[C], values: Mapping[str, Any], source: str, environment: Mapping[str, str]) -> C:
    try:
        parsed = kind.model_validate(_expanded(values, environment, ()))
    except ValidationError as error:
        raise ConfigError(f"{source}: " + "; ".join(_said(one, kind) for one in _plain(error))) from None
    for where, limit in _on_the_scale(parsed) if parsed.scale > 1 else ():
        if isinstance(limit, (int, float)) and 0 < limit <= 1:
            log.warning("%s: %s is %g on a scale to %d; write %g if that is meant", source, where, limit, parsed.scale,
                        limit * parsed.scale)
    return parsed


def _on_the_scale(config: Config) -> Iterator[tuple[str, Any]]:
    """What a config says on its scale, by where: thresholds of metrics, gates and alerts of averages."""
    for entry in (entry for group in config.evaluate for entry in group.metrics if isinstance(entry, Mapping)):
        yield from ((f"the threshold of {name}", given.get("threshold")) for name, given in entry.items()
                    if isinstance(given, Mapping))
    for name, gate in config.metric_gates.items():
        for where, part in ((f"gates.{name}", gate), *((f"gates.{name}.slices.{of}", part) for of, part in gate.slices.items())):
            yield from ((f"{where}.{figure}", getattr(part, figure)) for figure in ("average", "ci_worst"))
    for name, alert in config.alerts.items() if isinstance(config, MonitorConfig) else ():
        if name not in DIRECTIONS:
            yield from ((f"alerts.{name}.{side}", limit) for side, limit in alert.limits() if side != "drop")


def sampling_of(values: Mapping[str, Any]) -> Sampling:
    """What `sample` says in a config. Raises ConfigError."""
    return _part(Sampling, "sample", values)


def output_of(values: str | Path | Mapping[str, Any]) -> Output:
    """What `output` says in a config; a text is its path. Raises ConfigError."""
    return _part(Output, "output", values if isinstance(values, Mapping) else
                 {"path": str(values) if isinstance(values, Path) else values})


def _part(model: type[Part], name: str, values: Mapping[str, Any]) -> Part:
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError("; ".join(_said({**one, "loc": (name, *one["loc"])}, Config) for one in _plain(error))) from None


def _override(values: dict[str, Any], override: str, kind: type[Config]) -> None:
    dotted, sign, text = override.partition("=")
    if not sign or not dotted:
        raise ConfigError(f"--set takes key=value, for example judge.model=gpt-4o-mini; found {override!r}")
    *path, last = _steps(dotted, kind)
    node: Any = values
    for part in path:
        node = node[int(part)] if isinstance(node, list) and part.isdecimal() and int(part) < len(node) else (
            node.setdefault(part, {}) if isinstance(node, dict) else None)
        if not isinstance(node, (dict, list)):
            raise ConfigError(f"--set {dotted}: {part} holds no keys to set")
    try:
        value = _yaml(text, f"--set {dotted}")
    except yaml.YAMLError:
        value = text
    if _holds_texts(_type_at(path, kind)) and not isinstance(value, str):
        value = text
    if isinstance(node, list):
        if not last.isdecimal() or int(last) >= len(node):
            raise ConfigError(f"--set {dotted}: the list has {len(node)} entries, numbered from 0")
        node[int(last)] = value
    else:
        node[last] = value


def _steps(dotted: str, kind: type[Config]) -> list[str]:
    """The keys of a dotted key. Below a mapping of free names to texts, such as spark.conf, all the rest is one."""
    parts = dotted.split(".")
    for place in range(1, len(parts)):
        if _holds_texts(_type_at(parts[:place], kind)):
            return [*parts[:place], ".".join(parts[place:])]
    return parts


def _holds_texts(annotation: Any) -> bool:
    return annotation == Mapping[str, str] or any(_holds_texts(part) for part in get_args(annotation))


def _expanded(value: Any, environment: Mapping[str, str], where: tuple[str, ...]) -> Any:
    """The value with every ${VAR} and ${VAR:-default} in its texts replaced."""
    if isinstance(value, Mapping):
        return {str(key): _expanded(one, environment, (*where, str(key))) for key, one in value.items()}
    if isinstance(value, list):
        return [_expanded(one, environment, (*where, str(place))) for place, one in enumerate(value)]
    if not isinstance(value, str):
        return value

    def of(place: re.Match[str]) -> str:
        if place[2] is not None and not environment.get(place[1]):
            return place[2]
        if place[1] not in environment:
            raise ConfigError(f"{'.'.join(where)}: the environment variable {place[1]} is not set")
        return environment[place[1]]

    return VARIABLE.sub(of, value)


def _plain(error: ValidationError) -> list[Any]:
    """The errors with one entry a key: of a union's complaints, the first and innermost."""
    seen: dict[tuple[Any, ...], Any] = {}
    for one in error.errors(include_url=False, include_input=True):
        where = (part for part in one["loc"] if not str(part).startswith(("function-", "Gate", "float", "provider ")))
        seen.setdefault(tuple(where), one)
    return [{**one, "loc": where} for where, one in seen.items()
            if not any(where == other[: len(where)] for other in seen if other != where)]


def _said(error: Mapping[str, Any], kind: type[Config]) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        known = keys_at(error["loc"][:-1], kind)
        close = get_close_matches(str(error["loc"][-1]), known, 2)
        meant = f"; did you mean {' or '.join(close)}?" if close else ""
        return f"unknown key {where}{meant} (known here: {', '.join(known)})"
    if error["type"] == "missing":
        return f"{where} is missing"
    found, said = error["input"], error["msg"].removeprefix("Value error, ")
    shown = f", found {found!r}" if isinstance(found, (str, int, float, bool, type(None))) and ", found " not in said else ""
    return f"{where}{': ' if where else ''}{said}{shown}"


def keys_at(path: Sequence[Any], kind: type[Config] = Config) -> list[str]:
    """The keys that a config knows at a place."""
    model = _model_in(_type_at(path, kind))
    return sorted(model.model_fields) if model else []


def _type_at(path: Sequence[Any], kind: type[Config]) -> Any:
    """The type of what stands at a place; of what is in a list or under a free name, that of the whole."""
    found: Any = kind
    for part in path:
        model = _model_in(found)
        if model and part in model.model_fields:
            found = model.model_fields[part].annotation
    return found


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
