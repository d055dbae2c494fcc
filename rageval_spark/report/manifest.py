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

    def replaces_another(self) -> bool:
        """Whether a run of this id is complete, but was made otherwise."""
        before = self._before()
        return bool(before.get("status") == "complete"
                    and any(before.get(name) != self.what[name] for name in ("config", "field_groups", "judges")))

    def resumes(self) -> bool:
        """Whether a run of this id was begun and not all of it was judged: it broke off, or reached a limit."""
        before = self._before()
        return before.get("status", "complete") != "complete" or bool(before.get("limits_reached"))

    def _before(self) -> dict[str, Any]:
        try:
            before: dict[str, Any] = self._folder.read_json("manifest.json")
        except (FileNotFoundError, ValueError):
            return {}
        return before

    def begin(self) -> None:
        self._folder.write_json("manifest.json", {**self.what, "status": "running"})

    def end(self, status: str, **more: Any) -> None:
        """Note how the run ended: "complete", "failed" or "interrupted"."""
        self._folder.write_json("manifest.json", {**self.what, "status": status, "ended_at": _now(), **more})


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
