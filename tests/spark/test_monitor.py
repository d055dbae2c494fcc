"""Logs of production, watched: rates by hand over three days and two slices, drift, alerts, picks, and days computed again."""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner, Result

from rageval_spark.cli import app
from rageval_spark.config import load_monitor, parse
from rageval_spark.errors import ConfigError, InputError
from rageval_spark.report.monitor import show
from rageval_spark.report.page.days import page
from rageval_spark.run import run
from rageval_spark.spark import monitored
from tests.judge_server import Answer, JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
FRI, SAT, SUN = "2026-11-27", "2026-11-28", "2026-11-29"
C = ["The tower is 330 m tall."]
LOGS: list[dict[str, Any]] = [
    {"at": f"{FRI}T00:00:00Z", "tenant": "a", "answer": "It is 330 m tall [1].", "contexts": C, "thumb": "up"},
    {"at": f"{FRI}T08:00:00+02:00", "tenant": "a", "answer": "I do not know.", "contexts": [], "thumb": "down"},
    {"at": f"{FRI} 23:59:59", "tenant": "b", "answer": "It is 330 m tall [2].", "contexts": C, "thumb": None},
    {"at": f"{FRI}T12:00:00Z", "tenant": "b", "answer": " ", "contexts": None, "thumb": "DOWN"},
    {"at": f"{SAT}T01:00:00+02:00", "tenant": "b", "answer": "Gold, I am sure [1].", "contexts": C, "thumb": "up"},
    {"at": f"{SAT}T12:00:00Z", "tenant": None, "answer": "It is old.", "contexts": [" "], "thumb": "meh"},
    {"at": f"{SAT}T12:00:00Z", "tenant": "a", "answer": "x", "contexts": C, "thumb": "up", "ids": "no list"},
    {"at": f"{SUN}T12:00:00Z", "tenant": "a", "answer": "It is 330 m tall.", "contexts": C, "thumb": "up"},
    {"at": "2026-11-30T00:00:00Z", "tenant": "a", "answer": "of another day", "contexts": C, "thumb": "down"},
    {"at": "last Friday", "tenant": "a", "answer": "of no day", "contexts": C, "thumb": "down"},
]


def logged(folder: Path, rows: Sequence[Mapping[str, Any]] = LOGS, malformed: str = "{not json\n") -> None:
    (folder / "my logs.jsonl").write_text("".join(
        json.dumps({"id": str(i), "question": "How tall is the tower?", **row}, ensure_ascii=False) + "\n"
        for i, row in enumerate(rows)) + malformed, encoding="utf-8")


def written(folder: Path, **changes: Any) -> str:
    """A config file, by default over the three days without a judge."""
    fields = {"user_input": "question", "response": "answer", "retrieved_contexts": "contexts", "retrieved_ids": "ids",
              "sample_id": "id"}
    values = {"name": "tower", "input": {"path": str(folder / "my logs.jsonl")}, "output": {"path": str(folder / "out")},
              "time": "at", "days": 3, "slices": ["tenant"], "evaluate": [{"fields": fields}],
              "feedback": {"column": "thumb"}, **changes}
    (folder / "monitor.yaml").write_text(yaml.safe_dump(values))
    return str(folder / "monitor.yaml")


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["monitor", *arguments])


def summary(*arguments: str) -> dict[str, Any]:
    done = command(*arguments, "--json")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def figures(folder: Path, day: str, name: str = "tower") -> dict[tuple[str | None, str], tuple[float | None, int]]:
    """By value of the slice and figure: the value and of how many it is."""
    rows = pq.read_table(folder / "out/monitor" / name / "figures" / f"{day}.parquet").to_pylist()
    assert {str(row["day"]) for row in rows} == {day}
    return {(row["slice_value"], row["figure"]): (row["value"], row["count"]) for row in rows}


@pytest.fixture(scope="module")
def watched(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The three days, computed one by one: the folder, and the summary of each."""
    folder = tmp_path_factory.mktemp("with blank")
    logged(folder)
    config = written(folder)
    return folder, [summary(config, "--day", day) for day in (FRI, SAT, SUN)]


def test_rates_by_hand(watched: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, _ = watched
    friday, saturday, sunday = (figures(folder, day) for day in (FRI, SAT, SUN))
    assert {name: friday[None, name] for of, name in friday if of is None} == {
        "rows": (5.0, 5), "malformed": (0.0, 5), "empty_retrieval": (0.4, 5), "empty_answer": (0.2, 5), "refusal": (0.25, 4),
        "cited": (0.75, 4), "citation_hit": (pytest.approx(2 / 3), 3), "negative_feedback": (0.5, 4)}
    names = ("rows", "empty_retrieval", "negative_feedback", "citation_hit")
    assert [friday["a", name] for name in names] == [(2.0, 2), (0.5, 2), (0.5, 2), (1.0, 1)]
    assert [friday["b", name] for name in names] == [(3.0, 3), (pytest.approx(1 / 3), 3), (0.5, 2), (0.5, 2)]
    assert {name: saturday[None, name] for name in ("rows", "malformed", "empty_retrieval", "negative_feedback")} == {
        "rows": (2.0, 2), "malformed": (0.5, 2), "empty_retrieval": (1.0, 1), "negative_feedback": (None, 0)}
    assert saturday["null", "empty_retrieval"] == (1.0, 1), "chunks without a word are none"
    assert saturday["a", "malformed"] == (1.0, 1)
    assert (sunday[None, "rows"], sunday[None, "citation_hit"]) == ((1.0, 1), (None, 0))


def test_what_counts_nowhere_is_told(watched: tuple[Path, list[dict[str, Any]]]) -> None:
    _, [friday, saturday, _] = watched
    assert friday["notes"][1:] == [
        f"null in contexts and ids counts as empty, since other rows have values (empty_retrieval): 1 of 5 rows on {FRI}; they "
        "tell nothing of cited, citation_hit"]
    assert saturday["undated"] == 2
    assert saturday["notes"][:2] == ["2 rows are of no day: in at there is no time that can be read. They count nowhere, "
                                     "also not in malformed",
                                     "1 rows cannot be read; they count in rows and malformed alone"]
    assert "such as 'meh'" in saturday["notes"][2]


def test_a_day_computed_again_replaces_its_rows_and_no_others(watched: tuple[Path, list[dict[str, Any]]], tmp_path: Path) -> None:
    logged(tmp_path)
    config = written(tmp_path)
    summary(config, "--day", FRI)
    saturday = summary(config, "--day", SAT)
    before = (tmp_path / f"out/monitor/tower/figures/{FRI}.parquet").read_bytes()
    assert summary(config, "--day", SAT) == saturday
    logged(tmp_path, [*LOGS, {**LOGS[5], "tenant": "c"}])
    summary(config, "--day", SAT)
    again = figures(tmp_path, SAT)
    assert (again[None, "rows"], again["c", "rows"]) == ((3.0, 3), (1.0, 1))
    assert (tmp_path / f"out/monitor/tower/figures/{FRI}.parquet").read_bytes() == before
    html = (tmp_path / "out/monitor/tower/report.html").read_text()
    drawn = sum(group.count("<path") for group in re.findall(r'<g class="mark-symbol.*?</g>', html, re.DOTALL))
    assert drawn == sum(row["value"] is not None for day in (FRI, SAT) for row in pq.read_table(
        tmp_path / f"out/monitor/tower/figures/{day}.parquet").to_pylist() if row["slice"] is None)
    assert "<h2>By <bdi>tenant</bdi>, " in html


def test_columns_that_are_not_there_leave_figures_out(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"when": SUN, "prompt": "Why?", "output": "I do not know.", "id": 7}]
    (tmp_path / "logs.csv").write_text("when,prompt,output\n" + "".join(f"{row['when']},{row['prompt']},{row['output']}\n"
                                                                        for row in rows))
    config = written(tmp_path, input={"path": str(tmp_path / "logs.csv")}, evaluate=[], feedback=None, slices=[], time="when")
    told = summary(config, "--day", SUN)
    assert {row["figure"]: row["value"] for row in told["figures"]} == {
        "rows": 1.0, "malformed": 0.0, "empty_answer": 0.0, "refusal": 1.0}
    assert told["notes"] == ["left out, since no column tells them: empty_retrieval, cited, citation_hit, negative_feedback. "
                             "Read are prompt (user_input), output (response), and no column of feedback"]


@pytest.mark.parametrize(("alerts", "code", "says"), [
    ({"empty_retrieval": {"limit": 0.4, "least": 4}, "rows": 5, "citation_hit": {"below": 0.6, "least": 1}}, 0, []),
    ({"empty_retrieval": {"limit": 0.2, "least": 4}}, 1, [
        f"ALERT: empty_retrieval (questions for which no chunk was retrieved) on {FRI}: 40.0 % (2 of 5 rows), at most 20.0 %"]),
    ({"empty_retrieval": 0.05}, 0, ["note: empty_retrieval", "of fewer than 10, so this raises no alert"]),
    ({"citation_hit": {"limit": 0.9, "least": 3}, "rows": 100}, 1, ["at least 90.0 %", f"rows on {FRI}: 5, at least 100 wanted"]),
    ({"refusal": {"above": 0.2, "least": 1, "sure": True}}, 0, []),
    ({"negative_feedback": {"above": 0.4, "least": 1, "slices": ["tenant"]}}, 1, [f"on {FRI} in tenant b: 50.0 %"]),
])  # fmt: skip
def test_alerts_and_exit_codes(spark: SparkSession, tmp_path: Path, alerts: Any, code: int, says: list[str]) -> None:
    logged(tmp_path)
    done = command(written(tmp_path, alerts=alerts), "--day", FRI)
    assert done.exit_code == code, done.output
    for said in says:
        assert said in done.stdout
    assert ("ALERT" in done.stdout) == bool(code)
    assert done.stdout.splitlines()[-1] == str(tmp_path / "out/monitor/tower")


def test_an_alert_is_told_of_the_latest_day_alone_unless_more_are_asked_for(spark: SparkSession, tmp_path: Path,
                                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitored, "today", lambda spark: date(2026, 11, 30))
    logged(tmp_path)
    alerts = {"negative_feedback": {"above": 0.4, "least": 1}}  # which is so on Friday
    done = command(written(tmp_path, alerts=alerts))
    assert (done.exit_code, "ALERT" in done.stdout) == (0, False), done.output
    for asked in (3, None):
        again = command(written(tmp_path, alerts=alerts, alert_days=asked))
        assert again.exit_code == 1
        assert f"on {FRI}: 50.0 %" in again.stdout


def test_a_monitor_is_called_as_its_file_unless_it_has_a_name(tmp_path: Path) -> None:
    values = {"input": {"path": "x"}, "time": "at"}
    for file, name in (("my logs (eu).yaml", "my-logs-eu-"), ("monitor.yaml", "monitor"), (".yaml", "yaml")):
        (tmp_path / file).write_text(yaml.safe_dump(values))
        assert load_monitor(tmp_path / file).name == name
    assert load_monitor(tmp_path / "monitor.yaml", ["name=own"]).name == "own"


@pytest.mark.parametrize(("changes", "arguments", "says"), [
    ({"alerts": {"negative": 0.1}}, (), "alerts.negative: nothing is called so here; there are rows, malformed"),
    ({"alerts": {"empty_retrieval": {"abvoe": 1}}}, (), "did you mean above?"),
    ({"alerts": {"empty_retrieval": {}}}, (), "give a number, or below, above or drop"),
    ({"alerts": {"refusal": {"drop": 0.1}}}, (), "give against"),
    ({"alerts": {"question_length_drift": 0.1}}, (), "give against, the folder of an offline run"),
    ({"alerts": {"refusal": {"above": 1, "slices": ["language"]}}}, (),
     "language is no slice of this config; its slices are tenant. Add the column to slices"),
    ({"alerts": {"refusal": 30}}, (), "alerts.refusal.limit is at most 1, which is all: 0.3 is 30 %; found 30"),
    ({"alerts": {"faithfulness": {"below": 7}}, "evaluate": [{"metrics": ["faithfulness"]}], "judge": {"provider": "embedded"}},
     (), "alerts.faithfulness.below is at most 1, the scale of the scores; found 7"),
    ({"alerts": {"rows": -1}}, (), "alerts.rows.limit: Input should be greater than or equal to 0, found -1"),
    ({"gates": {"faithfulness": 0.5}}, (), "what a monitor watches are alerts"),
    ({"time": "when"}, (), "time: no column 'when'; the columns of"),
    ({"time": "contexts"}, (), "a time is a date, a timestamp, or a text"),
    ({"slices": ["language"]}, (), "no column 'language' to slice by"),
    ({"feedback": "thumbs"}, (), "feedback: no column 'thumbs'"),
    ({"feedback": {"column": "thumb", "negative": ["up"]}}, (), "'up' is both negative and positive"),
    ({"evaluate": [{"fields": {"response": "reply"}}]}, (), "no column 'reply' for the field response"),
    ({"evaluate": [{"fields": {"reply": "answer"}}]}, (), "no sample field is called 'reply'"),
    ({"evaluate": [{"metrics": ["faithfulness"]}]}, (), "asks a judge, but the config has none"),
    ({"against": "no/such/run"}, (), "no/such/run holds no run"),
    ({"name": "a/b"}, (), "a part of folders' names"),
    ({"table": "no.such.place.table"}, (), "table no.such.place.table"),
    ({}, ("--day", "yesterday"), "--day is a date such as 2026-11-29"),
    ({}, ("--day", "2025-01-01"), "has no row of 2025-01-01 by the column 'at'; 2 rows have no time"),
])  # fmt: skip
def test_a_mistake_is_named(spark: SparkSession, tmp_path: Path, changes: Any, arguments: tuple[str, ...], says: str) -> None:
    logged(tmp_path)
    done = command(written(tmp_path, **changes), *(arguments or ("--day", FRI)))
    assert isinstance(done.exception, (ConfigError, InputError)), done.output
    assert done.exception.exit_code == 2
    assert says in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_an_alert_of_what_no_column_tells_is_a_mistake(spark: SparkSession, tmp_path: Path) -> None:
    logged(tmp_path)
    done = command(written(tmp_path, feedback=None, alerts={"negative_feedback": 0.1}), "--day", FRI)
    assert isinstance(done.exception, InputError)
    assert "alerts.negative_feedback: the data has no column that tells it" in str(done.exception)


def test_a_catalog_table_holds_each_day_once(spark: SparkSession, tmp_path: Path) -> None:
    logged(tmp_path)
    config = written(tmp_path, table="tower_monitor")
    try:
        for day in (FRI, SAT, FRI):
            summary(config, "--day", day)
        rows = spark.table("tower_monitor").where("slice is null and figure = 'rows'").orderBy("day").collect()
        assert [(str(row["day"]), row["value"]) for row in rows] == [(FRI, 5.0), (SAT, 2.0)]
        assert str(spark.conf.get("spark.sql.sources.partitionOverwriteMode")).lower() == "static"
        assert not (tmp_path / "out/monitor/tower/figures").exists()
        assert spark.table("tower_monitor").columns == [part.split()[0] for part in monitored.FIGURES.split(", ")]
    finally:
        spark.sql("drop table if exists tower_monitor")


def test_a_judged_sample_drift_and_picks(spark: SparkSession, tmp_path: Path, judge: JudgeServer) -> None:
    rows = [{"at": day, "tenant": "ab"[i % 2], "question": "How tall is the tower in the middle of the old town of Paris?",
             "answer": "It is 330 m tall." if day == SAT or i % 4 == 0 else f"It is made of gold number {i}.", "contexts": C,
             "id": f"{day}-{i}", "thumb": None} for day in (SAT, SUN) for i in range(20)]
    logged(tmp_path, rows, "")
    how = {"judge": {"model": "judge", "base_url": judge.url, "max_concurrency": 8}, "output": {"path": str(tmp_path / "out")}}
    (tmp_path / "offline.jsonl").write_text("".join(json.dumps({
        "question": "How tall?", "answer": "It is 330 m tall.", "contexts": C, "id": str(i)}) + "\n" for i in range(40)))
    offline = run(parse({**how, "input": {"path": str(tmp_path / "offline.jsonl")},
                         "evaluate": [{"metrics": ["faithfulness"]}]}), run_id="offline")
    fields = {"user_input": "question", "response": "answer", "retrieved_contexts": "contexts", "sample_id": "id"}
    config = written(tmp_path, **how, evaluate=[{"fields": fields, "metrics": ["faithfulness"]}], against=str(offline.folder),
                     sample={"n": 12, "stratify_by": "tenant"}, picks={"n": 9, "format": "csv"},
                     alerts={"faithfulness": {"below": 0.9}, "question_length_drift": 0.5})
    judge.always("verify_claims", Answer(400, {"error": {"message": "no"}}))
    failed = command(config, "--day", SAT)
    assert failed.exit_code == 3, failed.output
    assert f"FAILED: too many judgements of {SAT} failed" in failed.stdout
    assert re.search(r"^[1-9]\d* prompts, \d+ reused; cost unknown \(no price given for judge\)$", failed.stdout, re.M)
    assert figures(tmp_path, SAT)[None, "faithfulness"] == (None, 0)
    judge.lasting.clear()
    early = summary(config, "--day", SUN)
    assert early["picks"] == []
    assert f"samples of 2026-W48 wait to be picked: too many judgements of {SAT} failed." in "".join(early["notes"])
    assert summary(config, "--day", SAT)["days_below_coverage"] == [], "what failed is asked again"
    assert not (tmp_path / "out/monitor/tower/picks").exists(), "the week's Sunday is not computed again"
    told = summary(config, "--day", SUN)
    assert {(row["slice_value"], row["figure"]) for row in pq.read_table(
        tmp_path / f"out/monitor/tower/figures/{SUN}.parquet").to_pylist()} >= {("a", "faithfulness"), ("b", "faithfulness")}
    assert figures(tmp_path, SUN)[None, "faithfulness"][1] == 12
    asked = len(judge.chats())
    assert [one["figure"] for one in told["alerts"]][-1] == "question_length_drift"
    assert [one["differs"] for one in told["drift"] if one["what"] == "question_length"] == [None]
    [picks] = told["picks"]
    assert picks.endswith("picks/2026-W48.csv")
    lines = Path(picks).read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("run_id,sample_id,field_group,metric,score")
    assert lines[0].endswith("label,comment")
    assert {line.split(",")[0] for line in lines[1:]} == {f"tower-{SAT}", f"tower-{SUN}"}
    assert len(lines) == 10
    Path(picks).write_text("filled in")
    again = command(written(tmp_path, **{**yaml.safe_load(Path(config).read_text()), "days": 2}), "--day", SUN, "--json")
    assert (json.loads(again.stdout)["picks"], Path(picks).read_text()) == ([], "filled in")
    assert len(judge.chats()) == asked, "a day that is judged is not judged again"


def test_the_job_runs_the_config_that_is_there(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                               judge: JudgeServer) -> None:
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    monkeypatch.chdir(tmp_path)
    for name, value in {"OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "k"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["jobs/monitor.py", "conf/monitor.yaml", "--day", SUN])
    runpy.run_path(str(ROOT / "jobs/monitor.py"), run_name="__main__")
    assert (tmp_path / "out/monitor/monitor/report.html").exists()
    assert judge.chats()
    assert os.listdir(tmp_path / "out/monitor/monitor/picks") == ["2026-W48.jsonl"]


def test_texts_on_the_page_are_escaped() -> None:
    told = {"name": "m", "days": [SUN], "alerts": [], "drift": [], "picks": [], "notes": ["<script>alert(1)</script>"],
            "scale": 1, "directions": {}, "days_below_coverage": []}
    row = {"day": date(2026, 11, 29), "figure": "<b>", "value": 0.5, "count": 3, "ci_low": None, "ci_high": None}
    html = page(told, [row], [{**row, "slice": "<b>", "slice_value": "<b>"}])
    assert "&lt;script&gt;alert(1)" in html
    assert "<script>alert" not in html
    assert "<b>" not in html


def test_days_that_are_not_shown_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = {"name": "m", "alerts": [], "drift": [], "picks": [], "notes": [], "scale": 1, "days_below_coverage": [],
            "figures": [], "usage": {"prompts": 0, "reused": 0}}
    days = [f"2026-11-{day:02}" for day in range(1, 11)]
    show({**told, "days": days})
    assert "(of how many rows or scores), the last 7 of 10 days; report.html has all\n" in capsys.readouterr().out
    show({**told, "days": days[:7]})
    assert "days" not in capsys.readouterr().out


def test_the_page_says_which_days_were_computed_and_which_are_drawn() -> None:
    told = {"name": "m", "days": [SUN], "alerts": [], "drift": [], "picks": [], "notes": [], "scale": 1, "directions": {},
            "days_below_coverage": []}
    rows = [{"day": date(2026, 11, day), "figure": "rows", "value": 5.0, "count": 5, "ci_low": None, "ci_high": None}
            for day in range(20, 30)]
    html = page(told, rows, [])
    assert f"computed: {SUN}</p>" in html
    assert f">2026-11-20 to {SUN}; the number at each chart is of {SUN}." in html
    assert re.findall(r">(2026-11-\d\d)</text>", html) == ["2026-11-20", SUN]


def test_overrides_and_unknown_keys(tmp_path: Path) -> None:
    assert load_monitor(written(tmp_path), ["days=30", "alerts.refusal=0.2"]).alerts["refusal"].limit == 0.2
    with pytest.raises(ConfigError, match=r"unknown key dayz; did you mean days\?"):
        load_monitor(written(tmp_path, dayz=3))
