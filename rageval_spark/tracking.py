"""Runs noted in MLflow: one of its runs for each of ours, with figures, settings and the scores that missed a threshold."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rageval_spark.engine.files import Folder
from rageval_spark.errors import ConfigError

FIGURES = {"score_average": "average", "ci_low": "ci_low", "ci_high": "ci_high", "pass_rate": "pass_rate", "coverage": "coverage",
           "score_count": "scored", "n_skipped": "skipped", "n_failed": "failed"}
"""What is noted of a metric: the summary's name, and MLflow's."""
RUN_ID, FOLDER = "rageval.run_id", "rageval.folder"
LONGEST_NAME, LONGEST_VALUE, MOST_PARAMS = 250, 500, 200
BATCH = 100
"""What MLflow takes at once of parameters."""


def prepare(experiment: str) -> None:
    """See that MLflow is installed and its server there, and make the experiment where it is not. Raises ConfigError."""
    try:
        with _impatient():
            _experiment(experiment)
    except ImportError:
        raise ConfigError("output.mlflow needs the package mlflow, which is not installed: pip install 'rageval-spark[mlflow]'"
                          ) from None
    except Exception as error:  # each of MLflow's stores raises what it likes
        raise ConfigError(f"output.mlflow: the experiment {experiment!r} cannot be used: {_first_line(error)}. "
                          f"MLFLOW_TRACKING_URI says where MLflow is") from None


@contextlib.contextmanager
def _impatient() -> Iterator[None]:
    """Of a server that is not there, MLflow alone would be sure after four minutes."""
    name = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
    before = os.environ.get(name)
    os.environ.setdefault(name, "2")
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


def _experiment(name: str) -> tuple[Any, str]:
    """A client of MLflow, by its own settings, and the experiment's id."""
    from mlflow import MlflowClient

    client = MlflowClient()
    found = client.get_experiment_by_name(name)
    if found is not None and found.lifecycle_stage == "deleted":
        raise ConfigError("it was deleted; restore it, or name another")
    return client, found.experiment_id if found else client.create_experiment(name)


def note(experiment: str, folder: Folder, manifest: Mapping[str, Any], summary: Mapping[str, Any],
         scores: Sequence[Mapping[str, Any]]) -> None:
    """Note a complete run in MLflow, in the place of one that was noted of the same folder. Raises what MLflow raises."""
    client, where = _experiment(experiment)
    run_id, path = summary["run_id"], folder.for_spark()
    before = [one.info.run_id for one in client.search_runs([where], f"tags.`{RUN_ID}` = '{run_id}'")
              if one.data.tags.get(FOLDER) == path]
    gates = "met" if all(gate["met"] is not False for gate in summary["gates"]) else "not met"
    tags = {RUN_ID: run_id, FOLDER: path, "rageval.name": summary["task_name"], "rageval.gates": gates}
    new = client.create_run(where, tags=tags, run_name=run_id).info.run_id
    try:
        _fill(client, new, folder, manifest, summary, scores)
    except BaseException:
        with contextlib.suppress(Exception):
            client.set_terminated(new, "FAILED")
        raise
    client.set_terminated(new)
    for old in before:
        client.delete_run(old)


def _fill(client: Any, run: str, folder: Folder, manifest: Mapping[str, Any], summary: Mapping[str, Any],
          scores: Sequence[Mapping[str, Any]]) -> None:
    from mlflow.entities import Metric, Param

    now = int(time.time() * 1000)
    metrics = [Metric(name, value, now, 0) for name, value in figures(summary).items()]
    params = [Param(name, value) for name, value in settings(manifest).items()]
    for start in range(0, max(len(metrics), len(params)), BATCH):
        client.log_batch(run, metrics=metrics[start:start + BATCH], params=params[start:start + BATCH])
    client.log_dict(run, dict(summary), "summary.json")
    if scores:
        client.log_table(run, {name: [row[name] for row in scores] for name in scores[0]}, "scores.json")
    if folder.exists("report.html"):
        client.log_text(run, folder.read("report.html").decode(), "report.html")


def figures(summary: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a summary by names that MLflow takes: `<metric>/<figure>`, led by the field group where there are
    several. What has no number is left out."""
    groups = summary["metrics_score"]
    named: list[tuple[str, Any]] = [(name, summary[name]) for name in ("coverage", "score", "total")]
    named += [("cost", summary["usage"].get("cost")), ("prompts", summary["usage"].get("prompts"))]
    for key, group in groups.items():
        lead = f"{_name(key)[:100]}/" if len(groups) > 1 else ""
        named += [(f"{lead}{_name(metric)[:100]}/{figure}", stat[own])
                  for metric, stat in group["stats"].items() for own, figure in FIGURES.items()]
    return {name: float(value) for name, value in _apart(named) if value is not None}


def settings(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The config that a run was made with, flat (at most MOST_PARAMS keys); without one, its judges and metrics."""
    made = manifest["config"] or {name: manifest[name] for name in ("judges", "field_groups")}
    named = [(_name(name)[:LONGEST_NAME - 5], str(value)[:LONGEST_VALUE]) for name, value in _flat(made, "")]
    return dict(_apart(named[:MOST_PARAMS]))


def _flat(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Each value of nested settings with the keys that lead to it; empty ones are left out."""
    if isinstance(value, (Mapping, list)):
        for key, one in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _flat(one, f"{name}.{key}" if name else str(key))
    elif value not in (None, ""):
        yield name, value


def _apart(named: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The pairs, with a number behind a name that was there before."""
    seen: dict[str, int] = {}
    for name, value in named:
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name}_{seen[name]}"), value


def _name(text: str) -> str:
    """A name with the signs that MLflow takes in one: recall@5 becomes recall_at_5."""
    return re.sub(r"[^\w. -]", "_", text.replace("@", "_at_")).strip(". ") or "_"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
