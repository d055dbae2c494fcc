"""The runs of an output folder side by side: their averages, and what changed from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from rageval_spark.engine.files import Folder
from rageval_spark.errors import InputError
from rageval_spark.report.differing import Change, changes

READERS = 16
"""Files read at a time: an object store takes its time for each."""
FILE = "history/runs.parquet"
UNSCALED = {"average": "score_average", "min": "score_min", "max": "score_max", "std_dev": "score_std_dev",
            **{name: name for name in ("p10", "p50", "p90", "ci_low", "ci_high", "average_low", "average_high",
                                      "likely_low", "likely_high", "threshold")}}
"""Figures that a summary has on its config's scale, with its names for them."""
COUNTS = {"total": "total", "count": "score_count", "n_skipped": "n_skipped", "n_failed": "n_failed"}


@dataclass(frozen=True)
class Entry:
    """A run as its files tell of it. `summary` is None exactly where `status` is not "complete": it was interrupted, failed,
    waits for batches, is running or was killed ("running"), or has a file that cannot be read ("unreadable").

    `before` is the complete run of the same name before it.
    """

    run_id: str
    status: str
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any] | None
    before: Entry | None = field(default=None, repr=False)

    @cached_property
    def figures(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """Its metrics by field group and name: counts, shares, and scores in [0, 1] whatever the config's scale was."""
        groups = {} if self.summary is None else self.summary["metrics_score"]
        return {(key, metric): self._figures(stat) for key, group in groups.items() for metric, stat in group["stats"].items()}

    def _figures(self, stat: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self.summary is not None
        scores = {name: stat.get(theirs) for name, theirs in UNSCALED.items()}
        return {"layer": stat.get("layer"), "direction": stat.get("direction", "higher"), "judge": stat.get("judge"),
                **{name: stat.get(theirs) for name, theirs in COUNTS.items()},
                "coverage": stat.get("coverage"), "pass_rate": stat.get("pass_rate"),
                **{name: None if score is None else score / self.summary.get("scale", 1) for name, score in scores.items()}}

    def change(self, key: tuple[str, str]) -> float | None:
        """By how much a metric's average, in [0, 1], differs from that of the run before it; None where one has none."""
        now, then = (entry.figures.get(key, {}).get("average") if entry else None for entry in (self, self.before))
        return None if now is None or then is None else now - then

    @property
    def changes(self) -> list[Change]:
        """What was made otherwise than in the run before it."""
        return changes(self.before.files, self.files) if self.before else []

    @property
    def other_metrics(self) -> list[str]:
        """The metrics that only it or only the run before it has. Many stand for another config under the same name."""
        differing = set(self.figures) ^ set(self.before.figures) if self.before else set()
        return sorted({metric for _, metric in differing})

    @property
    def files(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Its manifest and its summary."""
        return self.manifest, self.summary or {}

    @property
    def missed(self) -> list[str]:
        """The gates that were not met."""
        return [gate["gate"] for gate in (self.summary or {}).get("gates", ()) if gate["met"] is False]

    @property
    def judges(self) -> list[str]:
        return list(dict.fromkeys(figure["judge"] for figure in self.figures.values() if figure["judge"]))

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready values."""
        summary = self.summary or {}
        return {
            "run_id": self.run_id, "name": self.manifest.get("name"), "status": self.status,
            "reason": self.manifest.get("reason"), "began_at": self.manifest.get("began_at"),
            "ended_at": self.manifest.get("ended_at"), "rows": self.manifest.get("rows"), "judges": self.judges,
            "served_models": summary.get("served_models", []), "coverage": summary.get("coverage"),
            "cost": summary.get("usage", {}).get("cost"), "gates_met": not self.missed if self.summary else None,
            "gates_missed": self.missed, "before": self.before.run_id if self.before else None, "changes": self.changes,
            "metrics": [{"field_group": group, "metric": metric, "change": self.change((group, metric)), **figures}
                        for (group, metric), figures in self.figures.items()],
        }


def history(output: str) -> list[Entry]:
    """The runs under an output folder, in the order in which they began; a run that ended before its first sample was
    scored has left none. Raises InputError where there are none, or they cannot be read."""
    folder = Folder(output)
    try:
        runs = [folder / "runs" / name for name in (folder / "runs").folders()]
    except OSError as error:
        raise InputError(f"{output} cannot be read: {error}") from None
    with ThreadPoolExecutor(READERS) as readers:
        found = [entry for entry in readers.map(_entry, runs) if entry]
    if not found:
        if folder.exists("manifest.json"):
            raise InputError(f"{output} is a single run; name the output folder that it lies in, under runs/")
        raise InputError(f"{output} holds no runs: " + ("there is no folder runs/ with any in it" if folder.exists() else
                                                        "there is no such folder"))
    complete: dict[Any, Entry] = {}
    entries = []
    for entry in sorted(found, key=_place):
        name = entry.manifest.get("name")
        if entry.summary:
            entry = complete[name] = replace(entry, before=complete.get(name))
        entries.append(entry)
    return entries


def _place(entry: Entry) -> tuple[str, str, str]:
    began, ended = (str(entry.manifest.get(name) or "") for name in ("began_at", "ended_at"))
    return began, ended, entry.run_id


def _entry(folder: Folder) -> Entry | None:
    """The run in a folder; None where it is another program's."""
    run_id = str(folder).rpartition("/")[2]
    try:
        manifest = folder.read_json("manifest.json")
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return Entry(run_id, "unreadable", {}, None)
    try:
        if manifest["status"] != "complete":
            return Entry(run_id, str(manifest["status"]), _manifest(manifest), None)
        entry = Entry(run_id, "complete", _manifest(manifest), folder.read_json("summary.json"))
        entry.to_dict(), changes(entry.files, entry.files)  # which read all that is read of a run
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # not as a run writes it
        return Entry(run_id, "unreadable", {}, None)
    return entry


def _manifest(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """A manifest as it is. Raises where its times or its rows are none."""
    for name in ("began_at", "ended_at"):
        if values.get(name) is not None:
            datetime.fromisoformat(values[name])
    if not isinstance(values.get("rows", 0), int):
        raise TypeError(values["rows"])
    return values


def write(entries: Sequence[Entry], output: str) -> int:
    """Write the complete runs as OUTPUT/history/runs.parquet, a row for each run, field group and metric, in place of what was
    there; gives the number of rows. Scores are in [0, 1], `change` is the average's from the run before."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = ("run_id", "name", "field_group", "metric", "layer", "direction", "judge", "wording", "version")
    schema = pa.schema([
        *((name, pa.string()) for name in texts), ("began_at", pa.timestamp("s", "UTC")), ("ended_at", pa.timestamp("s", "UTC")),
        ("served_models", pa.list_(pa.string())), *((name, pa.int64()) for name in ("rows", *COUNTS)),
        *((name, pa.float64()) for name in ("coverage", "pass_rate", *UNSCALED, "change")), ("gates_met", pa.bool_()),
    ])
    rows = [row for entry in entries for row in _rows(entry)]
    with Folder(output).writing(FILE) as out:
        pq.write_table(pa.Table.from_pylist(rows, schema), out)
    return len(rows)


def _rows(entry: Entry) -> Iterator[Mapping[str, Any]]:
    told = entry.to_dict()
    run = {name: told[name] for name in ("run_id", "name", "served_models", "rows", "gates_met")}
    times = {name: datetime.fromisoformat(told[name]) if told[name] else None for name in ("began_at", "ended_at")}
    made = {"wording": entry.manifest.get("wording"), "version": entry.manifest.get("versions", {}).get("rageval_spark")}
    for metric in told["metrics"]:
        yield {**run, **times, **made, **metric}
