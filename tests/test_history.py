"""`rageval history` over output folders whose manifests and summaries are written by what runs write them with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from rageval_spark.cli import app
from rageval_spark.config import parse, planned
from rageval_spark.engine.files import Folder
from rageval_spark.report.gates import gated
from rageval_spark.report.manifest import Manifest
from rageval_spark.report.summary import summarised
from tests.test_commands import rageval

GROUP = "question,answer"
METRICS = ["faithfulness", "noise_sensitivity"]


def made(output: Path, run_id: str, averages: dict[str, float | None], *, status: str = "complete", began: str | None = None,
         rows: int = 20, group: str = GROUP, served: tuple[str, ...] = (), **changes: Any) -> None:
    """A run's manifest and summary, without its scores."""
    from rageval_spark.spark.stats import Tally

    evaluate = changes.pop("evaluate", [{"fields": dict(zip(("user_input", "response"), group.split(","), strict=True)),
                                         "metrics": METRICS}])
    config = parse({"input": {"path": "x"}, "judge": {"model": "judge-1", "base_url": "http://x/v1"}, "evaluate": evaluate,
                    **changes})
    plan, folder = planned(config), Folder(str(output)) / "runs" / run_id
    manifest = Manifest(folder, plan, run_id=run_id, name=config.name, rows=rows, slices=config.slices, config=config.public())
    manifest.begin()
    figures = ("min", "max", "std_dev", "p10", "p50", "p90", "ci_low", "ci_high", "average_low", "average_high", "pass_rate")
    stats: list[dict[str, Any]] = [
        {"slice": None, "slice_value": None, "field_group": one.key, "metric": use.name, "total": rows, "count": rows,
         "n_skipped": 0, "n_failed": 0, "coverage": 1.0, "extra": {}, "layer": use.metric.layer, **dict.fromkeys(figures, 0.5),
         "average": averages.get(use.name)} for one in plan.groups for use in one.uses]
    if status == "complete":
        gates = gated({name: gate.model_dump() for name, gate in config.metric_gates.items()}, 0.95, plan, stats, config.scale)
        folder.write_json("summary.json", summarised(
            name=config.name, run_id=run_id, plan=plan, stats=stats, usage={"cost": 0.5}, scale=config.scale, gates=gates,
            tally=Tally(Counter(good=rows, bad=0, incomplete=0, skipped=0), {}, {}), served_models=served))
    if status != "running":
        manifest.end(status)
    told = folder.read_json("manifest.json")
    folder.write_json("manifest.json", {**told, "began_at": f"2026-01-{began or run_id}T03:17:00+00:00"})


def told(output: Path, *arguments: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["history", str(output), "--json", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    runs: list[dict[str, Any]] = json.loads(done.stdout)
    return runs


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five runs, of which one was interrupted; names that sort otherwise than times; a folder that is no run's."""
    output = tmp_path_factory.mktemp("out put")
    made(output, "03", {"faithfulness": 0.8, "noise_sensitivity": 0.1}, began="01", gates={"faithfulness": 0.7})
    made(output, "02", {"faithfulness": 0.6, "noise_sensitivity": 0.3}, gates={"faithfulness": 7, "noise_sensitivity": 2},
         judge={"model": "judge-2", "base_url": "http://x/v1", "temperature": 0.5, "max_concurrency": 3},
         scale=10, served=("judge-2-0601",), slices=["lang"], rows=30)
    made(output, "04", {}, status="interrupted")
    made(output, "05", {"faithfulness": None, "context_recall": 0.9}, evaluate=[{"fields": {
        "user_input": "question", "response": "answer", "retrieved_contexts": "塔"}, "metrics": [
            {"faithfulness": {"threshold": 0.9, "votes": 3}}, {"context_recall": {}}]}])
    made(output, "06", {"faithfulness": 0.4}, name="another")
    (output / "runs" / "notes").mkdir()
    return output


def test_runs_stand_in_the_order_of_their_time_and_only_complete_ones_are_compared(output: Path) -> None:
    runs = told(output)
    assert [(run["run_id"], run["status"], run["before"]) for run in runs] == [
        ("03", "complete", None), ("02", "complete", "03"), ("04", "interrupted", None), ("05", "complete", "02"),
        ("06", "complete", None)]
    first, second, interrupted = runs[:3]
    assert (first["gates_met"], second["gates_met"], interrupted["gates_met"]) == (True, False, None)
    assert second["gates_missed"] == [f"faithfulness.average ({GROUP})", f"noise_sensitivity.average ({GROUP})"]
    assert interrupted["metrics"] == []
    changes = {one["metric"]: one["change"] for one in second["metrics"]}
    assert changes == {"faithfulness": pytest.approx(-0.2), "noise_sensitivity": pytest.approx(0.2)}  # whatever the scale


def test_what_was_made_otherwise_is_told(output: Path) -> None:
    _, second, _, later, _ = told(output)
    assert {change["what"]: (change["before"], change["now"]) for change in second["changes"]} == {
        "rows": (20, 30), "slices": ([], ["lang"]), "served models": ([], ["judge-2-0601"]), "scale": (1, 10),
        "judge.model": ("judge-1", "judge-2"), "judge.temperature": (0.0, 0.5),
        "faithfulness.threshold": (0.8, 0.5), "noise_sensitivity.threshold": (0.2, 0.5)}  # half of any scale but [0, 1]
    found = {change["what"]: (change["before"], change["now"]) for change in later["changes"]}
    assert found["faithfulness.threshold"] == (0.5, 0.9)
    assert found["faithfulness.votes"] == (1, 3)
    assert found["context_recall"] == (None, "there")
    assert found["noise_sensitivity"] == ("there", None)
    assert found["fields.retrieved_contexts"] == (None, "塔")


def test_a_person_sees_tables_arrows_and_changes(output: Path) -> None:
    printed = rageval("history", str(output)).stdout
    for words in ("│ 04  │", "interrupted", "2 NOT MET", "0.600 ↓0.200", "0.300 ↑0.200", "(lower is better)", "2026-01-02 03:17",
                  "changed from 03 to 02:", "judge.model: judge-1 → judge-2", "slices: none → lang", "noise_sensitivity: gone"):
        assert words in printed
    narrow = rageval("history", str(output), "--metric", "faithfulness", "--last", "4").stdout
    assert "pass rate" in narrow
    assert "noise_sensitivity  " not in narrow
    assert "0.600 ↓0.200" in narrow  # the run before is not shown, and yet known


def test_a_run_whose_judgements_failed_shows_the_range_that_its_page_shows(tmp_path: Path) -> None:
    made(tmp_path, "01", {"faithfulness": 0.9})
    path = tmp_path / "runs" / "01" / "summary.json"
    summary = json.loads(path.read_text())
    for group in summary["metrics_score"].values():
        group["stats"]["faithfulness"] |= {"ci_low": None, "ci_high": None, "likely_low": 0.125, "likely_high": 1.0}
    path.write_text(json.dumps(summary))
    assert "0.125–1.000" in rageval("history", str(tmp_path), "--metric", "faithfulness").stdout


def test_figures_are_written_as_parquet(output: Path) -> None:
    done = rageval("history", str(output), "--write", "--last", "1", "--metric", "faithfulness")
    assert done.returncode == 0, done.stderr
    assert "8 rows" in done.stderr  # of all runs, whatever is shown
    rows = pq.read_table(output / "history" / "runs.parquet").to_pylist()
    by_run = {(row["run_id"], row["metric"]): row for row in rows}
    assert set(by_run) == {("05", "faithfulness"), ("05", "context_recall"),
                           *((run, metric) for run in ("02", "03", "06") for metric in METRICS)}
    second = by_run["02", "faithfulness"]
    assert (second["average"], second["judge"], second["rows"], second["gates_met"]) == (pytest.approx(0.6), "judge-2", 30, False)
    assert second["change"] == pytest.approx(-0.2)
    assert second["began_at"].isoformat() == "2026-01-02T03:17:00+00:00"
    assert by_run["05", "faithfulness"]["average"] is None
    told(output, "--write")
    assert pq.read_table(output / "history" / "runs.parquet").num_rows == len(rows)


def test_what_cannot_be_read_is_listed_and_hides_nothing(tmp_path: Path) -> None:
    made(tmp_path, "01", {"faithfulness": 0.8})
    for name, content in (("torn", b'{"run_id": '), ("list", b"[]"), ("bytes", b"\xff\xfe")):
        Folder(str(tmp_path)).write(f"runs/{name}/manifest.json", content)
    strange = [{"status": "complete"}, {"status": "failed", "rows": "many"}, {"status": "failed", "began_at": "then"}, {"a": 1}]
    for place, manifest in enumerate(strange):
        Folder(str(tmp_path)).write_json(f"runs/strange{place}/manifest.json", manifest)
    for run_id, spoilt in (("02", b""), ("03", b"{}"), ("04", None)):
        made(tmp_path, run_id, {"faithfulness": 0.8})
        if spoilt is None:
            Folder(str(tmp_path)).delete(f"runs/{run_id}/summary.json")
        else:
            Folder(str(tmp_path)).write(f"runs/{run_id}/summary.json", spoilt)
    for run_id, status in (("05", "running"), ("06", "failed"), ("07", "waiting")):
        made(tmp_path, run_id, {}, status=status)
    made(tmp_path, "08", {"faithfulness": 0.9})
    runs = told(tmp_path)
    states = {run["run_id"]: run["status"] for run in runs}
    assert states == {"01": "complete", "08": "complete", "05": "running", "06": "failed", "07": "waiting",
                      **dict.fromkeys(("torn", "list", "bytes", "02", "03", "04"), "unreadable"),
                      **{f"strange{place}": "unreadable" for place in range(len(strange))}}
    assert runs[-1]["before"] == "01"
    assert rageval("history", str(tmp_path)).returncode == 0


@pytest.mark.parametrize(("arguments", "says"), [
    (["{}/nowhere"], ["nowhere", "there is no such folder"]),
    (["{}/runs/03"], ["single run", "output folder"]),
    (["{}/runs/notes"], ["holds no runs"]),
    (["{}", "--metric", "faithfulnes"], ["faithfulnes", "faithfulness, noise_sensitivity, context_recall"]),
])  # fmt: skip
def test_a_mistake_is_a_sentence(output: Path, arguments: list[str], says: list[str]) -> None:
    done = rageval("history", *(argument.format(output) for argument in arguments))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in says:
        assert word in done.stderr


def test_runs_that_never_ended_make_a_table_too(tmp_path: Path) -> None:
    made(tmp_path, "01", {}, status="failed")
    done = rageval("history", str(tmp_path), "--write")
    assert (done.returncode, "failed" in done.stdout) == (0, True), done.stderr
    assert pq.read_table(tmp_path / "history" / "runs.parquet").num_rows == 0


def test_a_thousand_runs_are_no_strain_and_nothing_starts_spark(tmp_path: Path) -> None:
    made(tmp_path, "01", {"faithfulness": 0.8})
    files = {name: (tmp_path / "runs" / "01" / name).read_bytes() for name in ("manifest.json", "summary.json")}
    for place in range(1000):
        folder = tmp_path / "runs" / f"r{place:04d}"
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
    command = [sys.executable, "-X", "importtime", "-m", "rageval_spark.cli", "history", str(tmp_path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)) == 1001
    for module in ("pyspark", "pandas", "scipy"):
        assert module not in done.stderr
    last = rageval("history", str(tmp_path), "--last", "2").stdout
    assert "r0999" in last
    assert "r0997" not in last
