"""Finished runs as their files tell of them: manifest and summary, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rageval_spark.engine.files import Folder
from rageval_spark.errors import InputError


@dataclass(frozen=True)
class Recorded:
    """A complete run: its folder, its manifest and its summary."""

    folder: Folder
    manifest: Mapping[str, Any] = field(repr=False)
    summary: Mapping[str, Any] = field(repr=False)

    @property
    def run_id(self) -> str:
        return str(self.manifest["run_id"])

    @property
    def files(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return self.manifest, self.summary


def recorded(path: str) -> Recorded:
    """The run in a folder. Raises InputError where it holds none, or one that is not complete, saying what is there."""
    folder = Folder(path)
    if not folder.exists("manifest.json"):
        there = (folder / "runs").folders()
        runs = f"; it is an output folder, with the runs {', '.join(f'{path}/runs/{name}' for name in there)}" if there else \
            "" if folder.exists() else ", nor a folder of that name. A run is named by its folder, such as out/runs/nightly"
        raise InputError(f"{path} holds no run: there is no manifest.json in it{runs}")
    manifest = _read(folder, "manifest.json")
    status = manifest.get("status")
    if status != "complete":
        raise InputError(f"the run {path} is not complete: its status is {status}. Run its command again to end it")
    return Recorded(folder, manifest, _read(folder, "summary.json"))


def _read(folder: Folder, name: str) -> Mapping[str, Any]:
    """An object in a file. Raises InputError where it is not there or damaged."""
    try:
        value = folder.read_json(name)
    except FileNotFoundError:
        wrong = "is not there"
    except ValueError as error:
        wrong = f"cannot be read: {error}"
    else:
        if isinstance(value, dict):
            return value
        wrong = "cannot be read: it holds no object"
    raise InputError(f"{folder}/{name} {wrong}. Run the run's command again to make it anew")


def runs(output: str) -> Iterator[Recorded]:
    """The complete runs of an output folder, in the order in which they began."""
    found = []
    for name in (Folder(output) / "runs").folders():
        folder = Folder(output) / "runs" / name
        try:
            manifest = _read(folder, "manifest.json")
            if manifest.get("status") == "complete":
                found.append(Recorded(folder, manifest, _read(folder, "summary.json")))
        except InputError:  # another program's folder, or a run that is being written
            continue
    yield from sorted(found, key=lambda run: (run.manifest.get("began_at", ""), run.run_id))
