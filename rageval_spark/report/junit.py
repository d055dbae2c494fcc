"""A run's gates as JUnit XML, which CI systems show: a test case for each gate."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree as ET

from rageval_spark.engine.files import Folder
from rageval_spark.errors import ConfigError, Pending, RagevalError, StoreError

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write."""
SHOWN = ("score_average", "ci_low", "ci_high", "pass_rate", "coverage", "total", "score_count", "n_skipped", "n_failed")
"""Figures of a metric that stand as properties of its field group's suite."""
NOTHING: Mapping[str, Mapping[str, Any]] = {}
Case = tuple[str, str, str, str]
"""Of a test case its name, its outcome ("", "failure", "error" or "skipped"), the kind of that, and a sentence."""


@contextmanager
def reporting(file: str | None) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A block that ends with a run's report in `file` (a path or URI), whatever becomes of the run.

    Yields a function that takes the summary of the finished run. Where it is not called, the file tells of an error, of
    batches that are waited for as skipped; so does it until then, so that a run that is killed leaves no older report.
    Raises ConfigError where the file cannot be written. Without a file nothing is written.
    """
    if file is None:
        yield lambda summary: None
        return
    _write(file, {"rageval": [("run", "error", "unfinished", "the run did not come to its end")]})
    try:
        yield lambda summary: _write(file, *suites(summary))
    except Pending as pending:
        _write(file, {"rageval": [("run", "skipped", "waiting", str(pending))]})
        raise
    except RagevalError as error:
        _write(file, {"rageval": [("run", "error", type(error).__name__, str(error))]})
        raise


def suites(summary: Mapping[str, Any]) -> tuple[Mapping[str, Sequence[Case]], Mapping[str, Mapping[str, Any]]]:
    """The test cases of a finished run and the properties, both by suite: the run itself, then each field group.

    A metric without a gate is no test, so that nothing is green that nothing was asked of; its figures are properties.
    """
    run = str(summary["task_name"])
    cases: dict[str, list[Case]] = defaultdict(list)
    for gate in summary["gates"]:
        group = gate["field_group"]
        outcome = {True: "", None: "skipped", False: "error" if gate["figure"] == "coverage" else "failure"}[gate["met"]]
        case = (gate["gate"].removesuffix(f" ({group})"), outcome, gate["figure"], gate["said"])
        cases[run if group is None else f"fields: {group}"].append(case)
    properties: dict[str, dict[str, Any]] = {run: {"run_id": summary["run_id"], "samples": summary["total"]}}
    for key, group in summary["metrics_score"].items():
        properties[f"fields: {key}"] = {f"{metric}.{figure.removeprefix('score_')}": stat[figure]
                           for metric, stat in group["stats"].items() for figure in SHOWN if stat[figure] is not None}
    return {name: cases[name] for name in properties}, properties


def _write(file: str, cases: Mapping[str, Sequence[Case]], properties: Mapping[str, Mapping[str, Any]] = NOTHING) -> None:
    folder, _, name = file.rpartition("/") if "/" in file else (".", "", file)
    try:
        if not name:
            raise IsADirectoryError("it is a folder; name a file")
        Folder(folder or "/").write(name, document(cases, properties))
    except (OSError, StoreError) as error:
        raise ConfigError(f"--junit: {file} cannot be written: {error}") from None


def document(cases: Mapping[str, Sequence[Case]], properties: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The XML, of the shape that Jenkins, GitLab and the others read."""
    everything = [case for mine in cases.values() for case in mine]
    root = ET.Element("testsuites", {"name": "rageval", **_counts(everything)})
    for name, mine in cases.items():
        counts = {**_counts(mine), "skipped": str(sum(outcome == "skipped" for _, outcome, *_ in mine))}
        suite = ET.SubElement(root, "testsuite", {"name": _clean(name), **counts})
        if mine_too := properties.get(name):
            listed = ET.SubElement(suite, "properties")
            for key, value in mine_too.items():
                ET.SubElement(listed, "property", {"name": _clean(key), "value": _clean(str(value))})
        for test, outcome, kind, said in mine:
            case = ET.SubElement(suite, "testcase", {"name": _clean(test), "classname": _clean(name), "time": "0"})
            if outcome:
                ET.SubElement(case, outcome, {"message": _clean(said)} | ({} if outcome == "skipped" else {"type": kind}),
                              ).text = _clean(said)
            else:
                ET.SubElement(case, "system-out").text = _clean(said)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    outcomes = [outcome for _, outcome, *_ in cases]
    return {"tests": str(len(cases)), "failures": str(outcomes.count("failure")), "errors": str(outcomes.count("error")),
            "time": "0"}


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
