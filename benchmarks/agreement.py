"""How well the embedded judge agrees with people: AUC of `1 − details.support` against labels of faithfulness.

    python -m benchmarks.agreement DATA [--draws 500]

DATA is a folder of JSON lines, or one file. A record is a sample with `label_hallucinated` (0 or 1), or with
`label_faithfulness` (a mean of raters from 1 to 4; below 3 counts as unfaithful). The 95 % interval is a bootstrap over
source documents, since answers over one document are no independent draws. What has no support (no answer, no
contexts, a refusal) is counted apart.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rageval_spark import EmbeddedJudge, score
from rageval_spark.metrics.faithfulness import Faithfulness


@dataclass(frozen=True)
class Judged:
    """One labelled response: its document, whether people found it unfaithful, and 1 − support."""

    document: str
    unfaithful: bool
    suspicion: float


def label_of(record: Mapping[str, Any]) -> bool | None:
    if record.get("label_hallucinated") is not None:
        return bool(record["label_hallucinated"])
    rated = record.get("label_faithfulness")
    return None if rated is None else rated < 3


def judged(records: Iterable[Mapping[str, Any]]) -> tuple[list[Judged], int]:
    """The labelled records with their suspicion, and how many have none."""
    found, without = [], 0
    for record in records:
        label = label_of(record)
        if label is None:
            continue
        support = score(Faithfulness(), record, EmbeddedJudge()).details.get("support")
        if support is None:
            without += 1
        else:
            found.append(Judged(json.dumps(record["retrieved_contexts"]), label, 1 - support))
    return found, without


def auc(unfaithful: Sequence[bool], suspicion: Sequence[float]) -> float:
    """The chance that an unfaithful response is the more suspicious of two (Mann and Whitney); NaN with one class."""
    values, labels = np.asarray(suspicion), np.asarray(unfaithful, dtype=bool)
    bad, good = values[labels], np.sort(values[~labels])
    if not len(bad) or not len(good):
        return float("nan")
    below, upto = np.searchsorted(good, bad, "left"), np.searchsorted(good, bad, "right")
    return float((below + upto).sum() / (2 * len(bad) * len(good)))


def interval(found: Sequence[Judged], draws: int, seed: int = 7) -> tuple[float, float]:
    """The 95 % interval of the AUC over resampled documents."""
    documents = defaultdict(list)
    for one in found:
        documents[one.document].append(one)
    groups, random = list(documents.values()), np.random.default_rng(seed)
    figures = []
    for _ in range(draws):
        drawn = [one for place in random.integers(len(groups), size=len(groups)) for one in groups[place]]
        figures.append(auc([one.unfaithful for one in drawn], [one.suspicion for one in drawn]))
    low, high = np.nanquantile(figures, [0.025, 0.975])
    return float(low), float(high)


def report(files: Iterable[Path], draws: int) -> Table:
    table = Table("dataset", "responses", "unfaithful", "no support", "AUC", "95 %", "responses per CPU second")
    for file in files:
        records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        began = time.process_time()
        found, without = judged(records)
        seconds = time.process_time() - began
        figure = auc([one.unfaithful for one in found], [one.suspicion for one in found])
        if np.isnan(figure):
            continue
        low, high = interval(found, draws)
        table.add_row(file.stem, str(len(found)), str(sum(one.unfaithful for one in found)), str(without), f"{figure:.3f}",
                      f"{low:.3f}–{high:.3f}", f"{(len(found) + without) / seconds:,.0f}")
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--draws", type=int, default=500)
    given = parser.parse_args(arguments)
    files = sorted(given.data.glob("*.jsonl")) if given.data.is_dir() else [given.data]
    Console(width=120).print(report(files, given.draws))


if __name__ == "__main__":
    main()
