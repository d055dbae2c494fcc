"""In what two runs were made differently, as far as it bears on their scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rageval_spark.report.recorded import Recorded

OF_THE_JUDGE = ("model", "temperature", "seed", "extra_body", "reasons", "language", "kinds", "prompt_token_limit", "dimensions")


def judged_alike(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two manifests tell of the same metrics over the same fields, by the same judges in the same words."""
    made = [json.loads(json.dumps([[_essence(judge) for judge in one["judges"]], one["wording"],
                                   [[group["key"], group["metrics"]] for group in one["field_groups"]]], default=str))
            for one in (before, now)]
    return bool(made[0] == made[1])


def differing(old: Recorded, new: Recorded) -> list[str]:
    """A sentence for each thing that scores depend on and that is not the same in both runs: judges and what served them,
    wording, metrics' parameters and thresholds, the code's version, the data's size."""
    return list(_sentences(old, new))


def _sentences(old: Recorded, new: Recorded) -> Iterator[str]:
    judges = [[_essence(judge) for judge in run.manifest["judges"]] for run in (old, new)]
    if judges[0] != judges[1]:
        yield f"the judges differ: {_told(*judges)}. Scores of different judges do not compare"
    served = [set(run.summary.get("served_models", ())) for run in (old, new)]
    if judges[0] == judges[1] and all(served) and served[0] != served[1]:
        yield (f"the judge was served by {', '.join(sorted(served[0]))} then and by {', '.join(sorted(served[1]))} now: part of "
               f"the difference may be the judge's")
    wording, version = ([run.manifest.get(name) if name == "wording" else run.manifest["versions"].get("rageval_spark")
                         for run in (old, new)] for name in ("wording", "version"))
    if wording[0] != wording[1]:
        yield f"the wording of prompts differs ({wording[0]}, {wording[1]}): part of the difference may come from it"
    if version[0] != version[1]:
        yield f"they were scored by different versions of rageval_spark ({version[0]}, {version[1]})"
    before, after = ({(group["key"], metric["name"]): metric for group in run.manifest["field_groups"]
                      for metric in group["metrics"]} for run in (old, new))
    for key in before:
        if key in after:
            yield from _of_metric(key[1], before[key], after[key])
    if old.manifest["rows"] != new.manifest["rows"]:
        yield f"the data differ in size: {old.manifest['rows']:,} rows, {new.manifest['rows']:,} now"


def _of_metric(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for what in ("metric", "parameters", "threshold", "votes", "judge"):
        if before.get(what) != after.get(what):
            yield f"{name}: its {what} {'differ' if what.endswith('s') else 'differs'}: {before.get(what)}, {after.get(what)} now"


def _essence(judge: Mapping[str, Any]) -> dict[str, Any]:
    return {name: judge[name] for name in OF_THE_JUDGE if judge.get(name) not in (None, {}, [])}


def _told(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> str:
    """Both sides, of which only what differs where there is one judge on either."""
    if len(before) == len(after) == 1:
        names: Iterable[str] = [name for name in OF_THE_JUDGE if before[0].get(name) != after[0].get(name)]
        return "; ".join(f"{name} {before[0].get(name)}, {after[0].get(name)} now" for name in names)
    return f"{[judge.get('model') for judge in before]}, {[judge.get('model') for judge in after]} now"
