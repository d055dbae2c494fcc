"""`rageval agree`: a finished run held against people's labels."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def agree(
    run: Annotated[str, typer.Argument(help="The folder of a finished run.", show_default=False)],
    labels: Annotated[str, typer.Argument(help="JSON lines, CSV or Parquet: sample_id and labels.", show_default=False)],
    label: Annotated[str | None, typer.Option(help="The column of labels; by default label, or one for each metric.")] = None,
    metric: Annotated[str | None, typer.Option(help="The metric that the labels speak of.")] = None,
    slices: Annotated[bool, typer.Option("--slices", help="Also by each slice of the run.")] = False,
    scale: Annotated[int | None, typer.Option(help="The highest grade, where labels are grades from 1 on.")] = None,
    good_from: Annotated[float | None, typer.Option(help="Of labels in between, the one from which a sample is good.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures and disagreements as JSON.")] = False,
) -> None:
    """Hold a finished run against people's labels: agreement, the best threshold, and averages corrected by the labels.

    A label says whether the sample is good by the metric (also where a low score is good): 0/1, yes/no, good/bad, pass/fail,
    or a number from 0 to 1; empty where nobody labelled. What `rageval pick` writes is read as it is.
    """
    from rageval_spark.finished.agree import agree as held
    from rageval_spark.report.agreement import show

    found = held(run, labels, label=label, metric=metric, slices=slices, scale=scale, good_from=good_from)
    if as_json:
        print(json.dumps(found, ensure_ascii=False, allow_nan=False))
    else:
        show(found)
