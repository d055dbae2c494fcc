"""Verdicts of runs over real files: which samples are good, what is shown of what failed, and where nothing is decided."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner, Result

from rageval_spark.cli import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = "retrieved_ids,relevant_ids"
PERFECT: list[dict[str, Any]] = [{"id": str(place), "retrieved_ids": ["a", "b", "c"], "relevant_ids": ["a"]}
                                 for place in range(20)]


def executed(folder: Path, rows: Sequence[Mapping[str, Any]], metrics: Sequence[Any], name: str = "verdicts.yaml", **config: Any,
             ) -> tuple[Result, dict[str, Any], Path]:
    """The command's result, the summary and the run's folder."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = {"input": {"path": str(folder / "rows.jsonl")}, "output": {"path": str(folder / "out")},
              "evaluate": [{"metrics": list(metrics)}], **config}
    (folder / name).write_text(yaml.safe_dump(values))
    done = CliRunner().invoke(app, ["run", str(folder / name)])
    run = Path(done.stdout.splitlines()[-1])
    return done, json.loads((run / "summary.json").read_text()), run


def counts(summary: Mapping[str, Any]) -> list[int]:
    found = [summary[f"num_{name}"] for name in ("good", "bad", "incomplete", "skipped", "undecided")]
    assert sum(found[:4]) == summary["total"]
    return found


def test_perfect_retrieval_is_not_bad_for_a_rank_that_nothing_fills(spark: SparkSession, tmp_path: Path) -> None:
    done, summary, run = executed(tmp_path, PERFECT, [{"precision": {"k": 3}}])
    assert (done.exit_code, counts(summary), summary["score"]) == (0, [0, 0, 0, 20, 20], None)
    assert "20 skipped (20 of them scored, but by no metric that has a threshold)" in done.stdout
    assert "the samples that did worst" not in done.stdout
    [row] = {(row["score"], row["passed"], row["threshold"], row["label"]) for row in pq.read_table(run / "scores").to_pylist()}
    assert row == (pytest.approx(1 / 3), None, None, None)
    page = (run / "report.html").read_text()
    assert "No metric has a threshold: no sample passes or fails" in page
    assert 'class="chip bad"' not in page
    assert summary["task_name"] == "verdicts", "a config without a name is called as its file"


def test_a_metric_without_a_threshold_leaves_the_verdict_to_the_others(spark: SparkSession, tmp_path: Path) -> None:
    rows = [*PERFECT[:15], *({**row, "retrieved_ids": ["x", "y", "z"]} for row in PERFECT[15:])]
    _, summary, run = executed(tmp_path, rows, [{"precision": {"k": 3}}, {"mrr": {"k": 3}}])
    assert (counts(summary), summary["score"]) == ([15, 5, 0, 0, 0], 75.0)
    assert summary["type_ratio"] == {GROUP: {"QUALITY_BAD.MRR@3_FAIL": 0.25, "QUALITY_GOOD.MRR@3_PASS": 0.75}}
    picked = CliRunner().invoke(app, ["pick", str(run), "--n", "5", "--worst"])
    assert picked.exit_code == 0, picked.output


def test_dingos_scale_keeps_half_of_it(spark: SparkSession, tmp_path: Path) -> None:
    done, summary, _ = executed(tmp_path, PERFECT, [{"precision": {"k": 3}}], scale=10)
    assert (counts(summary), done.exit_code) == ([0, 20, 0, 0, 0], 0)
    assert summary["metrics_score"][GROUP]["stats"]["precision@3"]["threshold"] == 5


def test_what_failed_is_in_the_one_range_that_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    lost = [{**row, "id": f"f{row['id']}", "retrieved_ids": [0.5]} for row in PERFECT[:10]]
    rows = [{**row, "retrieved_ids": json.dumps(row["retrieved_ids"])} for row in (*PERFECT, *lost)]
    done, summary, run = executed(tmp_path, rows, ["mrr"])
    stat = summary["metrics_score"][GROUP]["stats"]["mrr"]
    assert (done.exit_code, stat["n_failed"]) == (3, 10)
    assert (stat["ci_low"], stat["likely_low"], stat["likely_high"]) == (None, pytest.approx(2 / 3), 1.0)
    assert "0.667–1.000" in done.stdout
    assert "0.667 to 1.000" in (run / "report.html").read_text()


def test_ids_alone_and_blank_answers_are_no_praise(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{**row, "response": ["so", "so", "no", " "][place % 4], "reference": "so"} for place, row in enumerate(PERFECT)]
    done, summary, _ = executed(tmp_path, rows, ["recall", "exact_match"])
    [finding] = summary["diagnosis"]
    assert finding["code"] == "UNANSWERED"
    assert "nothing to mend" not in done.stdout
    assert "eep it so" not in done.stdout


def test_runs_of_other_metrics_under_one_name_are_warned_of(spark: SparkSession, tmp_path: Path) -> None:
    executed(tmp_path, PERFECT, ["recall"], name="first.yaml")
    executed(tmp_path, PERFECT, ["mrr"], name="second.yaml")
    apart = CliRunner().invoke(app, ["history", str(tmp_path / "out")])
    assert "warning" not in apart.stdout
    executed(tmp_path, PERFECT, ["ndcg"], name="second.yaml")
    together = CliRunner().invoke(app, ["history", str(tmp_path / "out")])
    assert "both called 'second', and have not the same metrics (mrr, ndcg)" in together.stdout
