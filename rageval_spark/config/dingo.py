"""Task files of the open-source tool Dingo, read as they are: what they say as a config of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rageval_spark.errors import ConfigError
from rageval_spark.metrics import NAMED

METRICS: Mapping[str, str] = {alias: metric.name for alias, metric in NAMED.items() if alias.startswith("LLMRAG")}
"""Metric by the name of its evaluator there."""
FORMATS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "jsonl": ("json", {}), "json": ("json", {"multiLine": "true"}), "listjson": ("json", {"multiLine": "true"}),
    "csv": ("csv", {}), "parquet": ("parquet", {}),
}  # fmt: skip
EMBEDDINGS = "text-embedding-3-large"
"""The embedding model where a task names none."""
WITHOUT_EFFECT = ("log_level", "use_browser", "save_data", "save_correct")
PARAMETERS: Mapping[str, str] = {"temperature": "temperature", "seed": "seed", "max_tokens": "max_output_tokens"}
"""Sampling parameters that are settings of ours; others go into the request as they are."""


def is_task(values: Mapping[str, Any]) -> bool:
    return "input_path" in values and "evaluator" in values


@dataclass
class Task:
    """A task file while it is read. `keys` are the keys that stand in it, by the place where they stand: the place
    takes the part of an environment variable's name, so that the key itself is in no setting."""

    values: Mapping[str, Any]
    keys: dict[str, str] = field(default_factory=dict)
    embeddings: dict[str, Any] | None = None

    def config(self) -> dict[str, Any]:
        """The values of a config. Raises ConfigError naming what is not supported."""
        task = self.values
        _only(task, "", ("task_name", "input_path", "output_path", "dataset", "executor", "evaluator", *WITHOUT_EFFECT))
        executor = task.get("executor") or {}
        _only(executor, "executor", ("max_workers", "batch_size", "result_save", "start_index", "end_index"))
        if executor.get("start_index") or (executor.get("end_index") or -1) > 0:
            raise ConfigError("executor.start_index and end_index are not supported: the whole dataset is evaluated")
        groups = [self._group(f"evaluator.{place}", group, executor) for place, group in enumerate(task["evaluator"])]
        return {
            "name": str(task.get("task_name") or "dingo"), "input": _input(task), "scale": 10,
            "output": {"path": str(task.get("output_path") or "out"),
                       "good": (executor.get("result_save") or {}).get("good") is not False},
            "embeddings": self.embeddings, "evaluate": groups,
        }

    def _group(self, where: str, group: Any, executor: Mapping[str, Any]) -> dict[str, Any]:
        _only(group, where, ("fields", "evals"))
        if not group.get("evals"):
            raise ConfigError(f"{where}.evals is empty; the supported ones are {', '.join(METRICS)}")
        uses = [self._use(f"{where}.evals.{number}", one, executor) for number, one in enumerate(group["evals"])]
        return {"fields": dict(group.get("fields") or {}), "metrics": uses}

    def _use(self, where: str, one: Any, executor: Mapping[str, Any]) -> dict[str, Any]:
        _only(one, where, ("name", "config"))
        name = one.get("name")
        if name not in METRICS:
            raise ConfigError(f"{where}.name: {name!r} is not supported; the supported ones are {', '.join(METRICS)}")
        given = one.get("config") or {}
        _only(given, f"{where}.config", ("model", "key", "api_url", "parameters", "threshold", "strictness", "embedding_config"))
        if not given.get("model") or not given.get("api_url"):
            raise ConfigError(f"{where}.config names no judge: it needs model and api_url")
        parameters = dict(given.get("parameters") or {})
        judge = {"model": given["model"], **self._server(where + ".config", given),
                 **{ours: parameters.pop(theirs) for theirs, ours in PARAMETERS.items() if theirs in parameters},
                 **({"max_concurrency": executor["max_workers"]} if executor.get("max_workers") else {}),
                 **({"extra_body": parameters} if parameters else {})}
        if name == "LLMRAGAnswerRelevancy":
            self._embeddings(f"{where}.config.embedding_config", given)
        more = {key: given[key] for key in ("threshold", "strictness") if key in given}
        return {METRICS[name]: {"as": name, "judge": judge, **more}}

    def _server(self, where: str, given: Mapping[str, Any]) -> dict[str, Any]:
        key = given.get("key")
        if not key:
            return {"base_url": given["api_url"]}
        known = next((place for place, one in self.keys.items() if one == key), f"{where}.key")
        self.keys[known] = str(key)
        return {"base_url": given["api_url"], "api_key_env": known}

    def _embeddings(self, where: str, given: Mapping[str, Any]) -> None:
        own = given.get("embedding_config") or {}
        _only(own, where, ("model", "key", "api_url"))
        server = {"api_url": own.get("api_url") or given["api_url"], "key": own.get("key") or given.get("key")}
        found = {"model": own.get("model") or EMBEDDINGS, **self._server(where, server)}
        if self.embeddings not in (None, found):
            raise ConfigError(f"{where}: two different embedding models in one task are not supported")
        self.embeddings = found


def _input(task: Mapping[str, Any]) -> dict[str, Any]:
    dataset = task.get("dataset") or {}
    _only(dataset, "dataset", ("source", "format", "field", "csv_config"))
    if dataset.get("source", "local") != "local":
        raise ConfigError(f"dataset.source: {dataset['source']!r} is not supported; local is")
    kind = dataset.get("format", "jsonl")
    if kind not in FORMATS:
        raise ConfigError(f"dataset.format: {kind!r} is not supported; supported are {', '.join(FORMATS)}")
    name, options = FORMATS[kind]
    return {"path": str(task["input_path"]), "format": name, "options": dict(options)}


def _only(values: Any, where: str, known: tuple[str, ...]) -> None:
    """Raises ConfigError where the values are no object, or have a key that would be passed over in silence."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} holds keys and values, found {values!r}")
    for key in values:
        if key not in known:
            raise ConfigError(f"{f'{where}.' if where else ''}{key} of a Dingo task is not supported; supported are "
                              f"{', '.join(known)}")
