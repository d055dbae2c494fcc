"""What a run will meet, looked at before it: Java, Spark, judges, columns, and what the data holds for each metric."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rageval_spark import publishing
from rageval_spark.config import Config, planned
from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import FieldGroup, Plan
from rageval_spark.engine.sampling import told
from rageval_spark.errors import RagevalError, SampleFault
from rageval_spark.judges.preflight import check_embeddings, check_judge, key_of
from rageval_spark.judges.settings import EmbeddedJudge, HttpJudge
from rageval_spark.spark import session
from rageval_spark.spark.files import LISTS, Source
from rageval_spark.spark.names import CORRUPT
from rageval_spark.spark.profile import first_rows, profile
from rageval_spark.spark.read import read, resolved, unfed
from rageval_spark.spark.sampling import drawn
from rageval_spark.spark.score import check_executors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Finding:
    """One thing looked at. "wrong" keeps a run from starting; "mind" is worth knowing."""

    what: str
    state: Literal["fine", "mind", "wrong"]
    said: str


def examined(config: Config) -> Iterator[Finding]:
    """Findings, as they are made. Asks each judge and embedding model one prompt; scores nothing."""
    try:
        plan = planned(config)
    except RagevalError as error:
        yield Finding("config", "wrong", str(error))
        return
    yield from _judges(plan, config)
    try:
        source = Source(**config.required_input().model_dump())
    except RagevalError as error:
        yield Finding("input", "wrong", str(error))
        return
    try:
        spark = session.own_session(config.spark.master, config.spark.conf)
    except RagevalError as error:
        yield Finding("Java", "wrong", str(error))
        return
    home = os.environ.get("JAVA_HOME")
    if version := session.java_version(home):  # a server of Spark Connect has its own
        yield Finding("Java", "fine", f"version {version}, {home or 'on the PATH'}")
    slots = session.local_slots(spark)
    where = f"{slots} tasks at once, driver memory {spark.conf.get('spark.driver.memory', '1g')}" if slots else "a cluster"
    yield Finding("Spark", "fine", f"version {spark.version}, {where}")
    try:
        frame = read(spark, source, plan.groups)
        yield Finding("columns", "fine", ", ".join(f"{name} {kind}" for name, kind in frame.dtypes if name != CORRUPT))
        groups = resolved(plan.groups, frame, source)
        for group in groups:
            yield from _fed(group)
            yield from _held(group, profile(frame, group.fields))
            yield from _lists(group, first_rows(frame, group.fields, MOST_ROWS))
        _, sample = drawn(frame, groups, config.slices, config.sample)
        if sample:
            yield Finding("sample", "fine", told(sample))
    except RagevalError as error:
        yield Finding("input", "wrong", str(error))
    yield from _output(config, plan, spark)


def _output(config: Config, plan: Plan, spark: SparkSession) -> Iterator[Finding]:
    """Whether a run can be written where it is wanted. Folders and tables that are not there are made, as a run would."""
    more = (f"{name} {value}" for name in ("tables", "mlflow") if (value := getattr(config.output, name)))
    try:
        check_executors(spark, Folder(config.output.path), live=plan.mode == "live")
        publishing.prepare(config.output, spark)
    except RagevalError as error:
        yield Finding("output", "wrong", str(error))
    else:
        yield Finding("output", "fine", f"a run can be written to {' and '.join([config.output.path, *more])}")


def _judges(plan: Plan, config: Config) -> Iterator[Finding]:
    if plan.mode == "files":
        yield Finding("judge", "mind", "prompts are left as files for whoever answers them; nothing is asked from here")
    for endpoint in plan.endpoints() if plan.mode != "files" else ():
        what = "judge" if isinstance(endpoint, HttpJudge) else "embeddings"
        try:
            key = key_of(endpoint, config.environment)
            transport = check_judge(endpoint, key) if isinstance(endpoint, HttpJudge) else check_embeddings(endpoint, key)
        except RagevalError as error:
            yield Finding(what, "wrong", str(error))
            continue
        form = f", {transport.describe()}" if isinstance(endpoint, HttpJudge) else ""
        no_key = "" if endpoint.api_key_env else "; no key is sent"
        yield Finding(what, "fine", f"{endpoint.model} at {endpoint.base_url} answers{form}{no_key}")
    if any(isinstance(use.judge, EmbeddedJudge) for group in plan.groups for use in group.uses):
        yield Finding("judge", "mind", "the embedded judge compares words: a heuristic screen, no substitute for a model")


def _fed(group: FieldGroup) -> Iterator[Finding]:
    """Which of the sample fields come from which column, and which metrics can be scored from them."""
    mapping = ", ".join(f"{name} ← {column}" for name, column in group.fields.items())
    yield Finding("fields", "fine", mapping)
    for sentence in unfed([group]):
        yield Finding("metric", "mind", f"{sentence}: skipped for every sample")
    for use in group.uses:
        if use.unsupported:
            yield Finding("metric", "mind", f"{use.name}: {use.unsupported}")


def _held(group: FieldGroup, counts: Mapping[str, int]) -> Iterator[Finding]:
    rows = counts["rows"]
    yield Finding("rows", "fine" if rows else "wrong", f"{rows:,}")
    for what, count in counts.items():
        if count and what != "rows":
            usual = what in ("in Chinese", "unanswerable")
            yield Finding("data", "fine" if usual else "mind", f"{count:,} of {rows:,} rows {MEANING.get(what, what)}")
    for use in group.uses:
        instead = use.metric.instead
        hurt = max((min((counts[without] for one in (name, instead.get(name)) if (without := f"without {one}") in counts),
                        default=0) for name in use.metric.reads), default=0)
        yield Finding("metric", "fine" if hurt < rows or not rows else "mind",
                      f"{use.name}: at least {rows - hurt:,} rows have all that it reads")


MOST_ROWS = 200
"""Rows that are read one by one, as a run reads them."""
SEPARATORS = ("|||", "||", "<SEP>", "<sep>", "[SEP]", "###", "\n---\n", ";;", " | ", "|")
"""What programs put between the items of a list that they join in one text."""
LOOKS_LISTED = re.compile(r"\s*[\[({].*[\])}]\s*", re.DOTALL)


def _lists(group: FieldGroup, rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Report rows that cannot be read, and fields in which a list seems to stand in one text."""
    samples, faults = [], []
    for values in rows:
        try:
            samples.append(group.sample("", values))
        except SampleFault as fault:
            faults.append(str(fault))
    if faults:
        joined = ". If it joins a list in one text, set input.separator" if faults[0].split(" ")[0].strip(":") in LISTS else ""
        yield Finding("data", "mind", f"{len(faults):,} of the first {len(rows):,} rows cannot be read: {faults[0]}{joined}")
    for name in LISTS:
        lists = [value for sample in samples if (value := getattr(sample, name)) and name in group.fields]
        texts = [value[0] for value in lists if len(value) == 1 and isinstance(value[0], str)]
        if not texts or len(texts) < len(lists):
            continue
        where = f"{name} ({group.fields[name]}): each of the first {len(texts):,} is a single text"
        if all(LOOKS_LISTED.fullmatch(text) for text in texts):
            yield Finding("data", "mind", f"{where} that looks like a list, such as {texts[0][:60]!r}; write it as a list, in a "
                                          f"text as JSON: [\"first\", \"second\"]")
        elif separator := next((sign for sign in SEPARATORS if sum(sign in text for text in texts) * 2 >= len(texts)), None):
            yield Finding("data", "mind", f"{where}, and most hold {separator!r}; if that joins the items of a list, set "
                                          f"input.separator: {json.dumps(separator)}")


MEANING: Mapping[str, str] = {
    "malformed": "cannot be read: code INVALID_INPUT", "same id": "have the id of another row",
    "same content": "repeat another row: judged once", "in Chinese": "ask in Chinese",
    "unanswerable": "should be refused",
    "without retrieved_contexts": "have no context: most metrics skip them",
    "without response": "have no response: most metrics skip them",
    "without reference": "have no reference: metrics that need one skip them", "without user_input": "have no question",
}
"""What a count of the profile says of its rows."""
