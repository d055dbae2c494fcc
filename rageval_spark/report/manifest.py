"""manifest.json: how a run was made, and how far it is."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import Plan
from rageval_spark.prompts.kinds import wording_version

MAKING = ("config", "field_groups", "judges")
"""What of a manifest says how the run's scores come about."""


class Manifest:
    """The manifest of one run; written when it begins, and with status "complete" as the last of its files."""

    def __init__(self, folder: Folder, plan: Plan, *, run_id: str, name: str, rows: int, slices: Sequence[str],
                 config: Mapping[str, Any], sample: Mapping[str, Any] | None = None):
        self._folder, self.rows, self.sample = folder, rows, sample
        what = {
            "run_id": run_id, "name": name, "config": dict(config), "rows": rows, "sample": sample, "slices": list(slices),
            "field_groups": [{"key": group.key, "fields": dict(group.fields), "metrics": [
                {"name": use.name, "metric": type(use.metric).name, "direction": use.metric.direction,
                 "parameters": {one.name: getattr(use.metric, one.name) for one in fields(use.metric)},
                 "threshold": use.threshold, "votes": use.votes, "judge": use.judge.model if use.judge else None}
                for use in group.uses]}
                for group in plan.groups],
            "judges": [endpoint.public() for endpoint in plan.endpoints()],
            "wording": wording_version([judge.wording for judge in plan.judges()]),
            "versions": {"rageval_spark": _version("rageval-spark"), "pyspark": _version("pyspark"),
                         "pyarrow": _version("pyarrow"), "python": platform.python_version()},
            "began_at": _now(),
        }
        self.what: dict[str, Any] = json.loads(json.dumps(what, default=str))
        before = self._before()
        if before.get("status", "complete") != "complete" and "began_at" in before:
            self.what["began_at"] = before["began_at"]  # a run that goes on has begun when its first process did

    @property
    def began(self) -> float:
        """When the run began, in seconds since 1970."""
        return datetime.fromisoformat(self.what["began_at"]).timestamp()

    def made_like(self, other: Mapping[str, Any]) -> bool:
        """Whether another run's manifest says that it asks the same in the same way."""
        return all(other.get(name) == self.what[name] for name in (*MAKING, "name", "slices"))

    def replaces_another(self) -> bool:
        """Whether a run of this id is complete, but was made otherwise."""
        before = self._before()
        return bool(before.get("status") == "complete" and any(before.get(name) != self.what[name] for name in MAKING))

    def resumes(self) -> bool:
        """Whether a run of this id was begun and not all of it was judged: it broke off, or reached a limit."""
        before = self._before()
        return before.get("status", "complete") != "complete" or bool(before.get("limits_reached"))

    def _before(self) -> dict[str, Any]:
        return manifest_of(self._folder)

    def begin(self) -> None:
        self._folder.write_json("manifest.json", {**self.what, "status": "running"})

    def end(self, status: str, **more: Any) -> None:
        """Note how the run ended: "complete", "failed" or "interrupted"."""
        self._folder.write_json("manifest.json", {**self.what, "status": status, "ended_at": _now(), **more})


def manifest_of(folder: Folder) -> dict[str, Any]:
    """The manifest in a run's folder; empty if there is none that can be read."""
    try:
        manifest = folder.read_json("manifest.json")
    except (FileNotFoundError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
