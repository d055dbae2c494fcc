"""In what two runs were made differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rageval_spark.sample import FIELDS

Files = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A run's manifest and its summary."""
Change = Mapping[str, Any]
"""`what` changed, and its values `before` and `now`."""
WITHOUT_EFFECT = {"provider", "api_key_env", "timeout_s", "deadline_h", "deadline_s", "max_concurrency", "requests_per_minute",
                  "tokens_per_minute", "max_attempts", "batch_size", "price", "mode", "prompts", "repeat", "reuse", "base_url",
                  "headers", "query"}
"""Settings of a judge that change no score; its wording is told by the version of the wording."""
OF_THE_DATA = ("rows", "slices", "scale", "input", "versions")
"""Subjects that tell of the data or of other packages, not of how a sample is judged."""


def changes(before: Files, now: Files) -> list[Change]:
    """What was made otherwise in the second of two runs: data, fields, metrics, judges, wording, versions."""
    alone = all(len(manifest.get("field_groups", ())) == 1 for manifest, _ in (before, now))
    then, since = (_made(*run, alone=alone) for run in (before, now))
    return list(_changes(then, since))


def doubts(before: Files, now: Files) -> list[str]:
    """A sentence for each change that may be the reason why scores differ."""
    said = []
    for change in changes(before, now):
        what = change["what"]
        if "there" in (change["before"], change["now"]):  # a metric or judge of one run alone is told where it lacks a partner
            continue
        if what == "versions.rageval_spark" or what == "rows" or not what.startswith(OF_THE_DATA):
            judge = ": part of the difference may be the judge's" if what.startswith(("judge", "served", "wording")) else ""
            said.append(f"{what}: {_shown(change['before'])} before, {_shown(change['now'])} now{judge}")
    return said


def judged_alike(before: Files, now: Files) -> bool:
    """Whether two runs read the same fields, by the same metrics, judges and words."""
    return not any(change["what"] != "served models" and not change["what"].startswith(OF_THE_DATA)
                   for change in changes(before, now))


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else "none" if value is None else str(value)


def _changes(then: Mapping[str, Mapping[str, Any]], since: Mapping[str, Mapping[str, Any]]) -> Iterator[Change]:
    for subject in dict.fromkeys([*then, *since]):
        if subject not in then or subject not in since:
            yield {"what": subject, "before": "there" if subject in then else None, "now": "there" if subject in since else None}
            continue
        for key, value in since[subject].items():
            if key in then[subject] and then[subject][key] != value:  # a key of one version of the package alone tells nothing
                yield {"what": f"{subject}.{key}" if subject else key, "before": then[subject][key], "now": value}


def _made(manifest: Mapping[str, Any], summary: Mapping[str, Any], *, alone: bool) -> dict[str, dict[str, Any]]:
    """How a run was made: values by subject and key. Fields and metrics are named with their field group unless it is `alone`."""
    given = (manifest.get("config") or {}).get("input") or {}
    made: dict[str, dict[str, Any]] = {"": {
        "rows": manifest.get("rows"), "slices": manifest.get("slices"), "wording": manifest.get("wording"),
        "served models": summary.get("served_models"), "scale": summary.get("scale")}}
    if given:
        made["input"] = {name: given.get(name) for name in ("path", "table", "where")}
    groups = manifest.get("field_groups", ())
    judges = {metric.get("judge") for group in groups for metric in group["metrics"]} - {None}
    for group in groups:
        where = "" if alone else f" ({group['key']})"
        made[f"fields{where}"] = {name: group["fields"].get(name) for name in FIELDS}
        for metric in group["metrics"]:
            apart = {"judge": metric.get("judge")} if len(judges) > 1 else {}
            made[f"{metric['name']}{where}"] = {"metric": metric.get("metric"), **metric.get("parameters", {}), **apart,
                                                "threshold": metric.get("threshold"), "votes": metric.get("votes", 1)}
    if "embedded" in judges:
        made["judge"] = {"model": "embedded"}
    for endpoint in manifest.get("judges", ()):
        role = "judge" if "provider" in endpoint else "embeddings"
        name = next(name for count in range(1, 1000) if (name := role if count == 1 else f"{role} {count}") not in made)
        made[name] = {key: value for key, value in endpoint.items() if key not in WITHOUT_EFFECT}
    made["versions"] = dict(manifest.get("versions", {}))
    return made
