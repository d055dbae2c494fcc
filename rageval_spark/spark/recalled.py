"""The samples behind scores: scores hold no texts, so a run's dataset is read again, as its manifest says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import InputError, SampleFault
from rageval_spark.spark.files import Source
from rageval_spark.spark.read import read, resolved, rows_told
from rageval_spark.spark.samples import normalised

Texts = Mapping[tuple[str, str], Mapping[str, Any]]
"""By sample id and field group: the values of the sample fields that the group maps, by field."""


def texts(spark: SparkSession, manifest: Mapping[str, Any], ids: Sequence[str]) -> Texts:
    """The texts of a few samples of a run (at most some thousand: ids go into the query). Left out are ids that the data
    no longer has, that stand at rows which differ, and rows that cannot be read.

    Starts one job, which reads the dataset; collects a row per id. Raises InputError, saying why, where the dataset cannot
    be read again.
    """
    source, groups = source_of(manifest), tuple(FieldGroup(group["fields"], ()) for group in manifest["field_groups"])
    frame = read(spark, source, groups)
    resolved(groups, frame, source)  # whether its columns are still there
    return texts_of(normalised(frame, groups, []), groups, ids)


def recalled(texts: Callable[[Sequence[str]], Texts], ids: Sequence[str]) -> tuple[Texts, str | None]:
    """What `texts` finds of some ids; and a sentence where it does not find all of them, saying why."""
    try:
        found = texts(ids) if ids else {}
    except InputError as error:
        return {}, f"there are no texts of the samples: {error}"
    known = {id for id, _ in found}
    if lost := [id for id in ids if id not in known]:
        return found, (f"{len(lost)} of {len(ids)} samples are without their texts, such as {lost[0]}: the row cannot be read, "
                       f"several rows that differ have the same id, or the data has changed since the run")
    return found, None


def texts_of(samples: DataFrame, groups: Sequence[FieldGroup], ids: Sequence[str]) -> Texts:
    """The same of samples as `normalised` makes them. Starts one job; raises InputError."""
    texts = dict[tuple[str, str], Mapping[str, Any]]()
    for id, values in _rows(samples, ids):
        for group in groups:
            try:
                sample = group.sample(id, values, strict=False)
            except SampleFault:
                continue
            readable = [field for field in group.fields if field != "sample_id" and field not in sample.faults]
            texts[id, group.key] = {field: getattr(sample, field) for field in readable}
    return texts


def _rows(samples: DataFrame, ids: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = samples.where(F.col("sample_id").isin(list(ids)) & F.col("fault").isNull())
    with rows_told():
        one_each = rows.groupBy("sample_id").agg(F.min("sample").alias("sample"), F.max("sample").alias("other")).collect()
    for id, sample, other in one_each:
        if sample == other:
            yield id, json.loads(sample)


def source_of(manifest: Mapping[str, Any]) -> Source:
    """Where the dataset of a run is. Raises InputError where its manifest does not tell it."""
    given = manifest["config"].get("input")
    if not given:
        raise InputError("the run was made from a DataFrame, which cannot be read again")
    options = given.get("options") or {}
    if unknown := [name for name in options if not isinstance(options, Mapping) or options[name] is None]:
        raise InputError(f"the run's data was read with input.options ({', '.join(unknown)}) whose values are not in its "
                         f"manifest, since they may be secrets")
    return Source(**{**given, "options": options})
