"""Samples for people to judge: which ones, with which texts, in which files."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from rageval_spark.cli import app
from rageval_spark.config import parse
from rageval_spark.errors import ConfigError, InputError
from rageval_spark.finished.pick import Picked, pick
from rageval_spark.report.review import as_csv, as_jsonl, spoilt
from rageval_spark.run import run
from rageval_spark.spark.picked import picked
from rageval_spark.spark.recalled import source_of
from rageval_spark.spark.tables import SCORES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RIGHT = "one two three four"
SAID = [RIGHT, "one two three", "one two", "one", "=one+cmd|' /C calc'!A0", "", None, "五 one", "- one", RIGHT]
"""What is said where RIGHT would be right; the last row has the id of the first."""


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over CSV with a separator of its own, in a folder with a blank."""
    folder = tmp_path_factory.mktemp("with blank")
    with (folder / "my data.csv").open("w", newline="") as out:
        table = csv.writer(out, delimiter=";")
        table.writerow(["id", "question", "answer", "other", "ground_truth", "contexts", "lang"])
        for i, said in enumerate(SAID):
            table.writerow([f"00{i % 9}", f"q {i}?", said, "one", RIGHT, '["c1", "c2"]', "zh" if i == 7 else "en"])
    score_all(folder, "one")
    return folder


def score_all(folder: Path, run_id: str, **changes: Any) -> None:
    fields = {"user_input": "question", "reference": "ground_truth"}
    run(parse({"input": {"path": str(folder / "my data.csv"), "options": {"delimiter": ";"}}, "slices": ["lang"],
               "output": {"path": str(folder / "out")}, "judge": {"provider": "embedded"}, "evaluate": [
                   {"fields": {**fields, "response": "answer", "retrieved_contexts": "contexts"},
                    "metrics": [{"token_f1": {"threshold": 0.7}}, "exact_match"]},
                   {"fields": {**fields, "response": "other"}, "metrics": ["token_f1", "answer_accuracy"]}], **changes}),
        run_id=run_id)


def ids(found: Picked) -> list[str]:
    return list(dict.fromkeys(row["sample_id"] for row in found.rows))


def test_the_worst_and_the_borderline_ones_with_all_their_scores_and_texts(made: Path) -> None:
    path = str(made / "out/runs/one")
    found = pick(path, 3, metric="token_f1", how="borderline")
    assert ids(found)[0] in ("001", "002"), "0.857 and 0.667 for a threshold of 0.7, and 0.4 for one of 0.5"
    assert {row["metric"] for row in found.rows} == {"token_f1"}
    worst = pick(path, 4)
    assert {row["picked"] for row in worst.rows} == {"worst"}
    assert [(row["field_group"], row["metric"]) for row in worst.rows][:3] == [
        ("question,answer,contexts,ground_truth", "token_f1"), ("question,answer,contexts,ground_truth", "exact_match"),
        ("question,other,ground_truth", "token_f1")]
    by_group = {row["field_group"]: row for row in worst.rows if row["sample_id"] == "004"}
    mine, other = by_group["question,answer,contexts,ground_truth"], by_group["question,other,ground_truth"]
    assert (mine["user_input"], mine["response"], mine["reference"], mine["retrieved_contexts"]) == (
        "q 4?", SAID[4], (RIGHT,), ("c1", "c2"))
    assert (other["response"], other["retrieved_contexts"], other["slice_lang"], other["label"]) == ("one", None, "en", None)
    assert worst.notes == []


def test_random_ones_depend_on_the_seed_and_come_evenly_by_slice(made: Path) -> None:
    path = str(made / "out/runs/one")
    found = pick(path, 2, "random", stratify_by="lang")
    assert sorted(row["slice_lang"] for row in found.rows if row["metric"] == "exact_match") == ["en", "zh"]
    assert ids(pick(path, 2, "random", stratify_by="lang")) == ids(found)
    assert len({tuple(ids(pick(path, 3, "random", seed=seed))) for seed in range(3)}) > 1
    everything = pick(path, 500, "random")
    assert len(ids(everything)) == 9
    assert len(everything.rows) == 36, "of rows with one id one is taken"
    [few, lost] = everything.notes
    assert few == "only 9 samples have a score"
    assert lost.startswith("1 of 9 samples are without their texts, such as 000: ")


def test_where_lower_is_better_what_is_above_misses(spark: SparkSession) -> None:
    empty = dict.fromkeys(spark.createDataFrame([], SCORES).columns)
    rows = [{**empty, "sample_id": id, "field_group": "g", "metric": "noise", "score": score, "threshold": 0.3, "status": status,
             "passed": None if score is None else score <= 0.3}
            for id, score, status in (("a", 0.0, "scored"), ("b", 0.9, "scored"), ("c", 0.4, "scored"), ("d", None, "failed"))]
    scores = spark.createDataFrame(rows, SCORES)
    assert [row["sample_id"] for row in picked(scores, "worst", 9, 7)] == ["b", "c", "a"]
    assert [row["sample_id"] for row in picked(scores, "borderline", 2, 7)] == ["c", "a"]
    assert picked(scores.where("status = 'failed'"), "random", 2, 7) == []


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["pick", *arguments])


def test_a_csv_for_spreadsheets_and_lines_of_json(made: Path, tmp_path: Path) -> None:
    path, file = str(made / "out/runs/one"), tmp_path / "to review.csv"
    done = command(path, "--n", "500", "--output", str(file))
    assert done.exit_code == 0, done.output
    assert f"9 samples, 36 rows in {file}. Fill in the column label" in done.stdout
    assert "a spreadsheet changes ids such as 000" in done.stderr
    assert file.read_bytes().partition(b"\r\n")[0] == (
        b"\xef\xbb\xbfsample_id,field_group,metric,score,status,code,passed,threshold,reason,picked,"
        b"slice_lang,user_input,response,retrieved_contexts,reference,label,comment")
    rows = {row["sample_id"]: row for row in csv.DictReader(file.open(encoding="utf-8-sig", newline=""))
            if row["metric"] == "exact_match"}
    assert (rows["004"]["response"], rows["008"]["response"], rows["007"]["response"]) == (f"'{SAID[4]}", "'- one", "五 one")
    assert (rows["001"]["retrieved_contexts"], rows["001"]["reference"]) == ("[1] c1\n\n[2] c2", RIGHT)
    assert (rows["006"]["score"], rows["006"]["code"], rows["001"]["passed"]) == ("", "NO_ANSWER", "false")
    again = command(path, "--output", str(file))
    assert isinstance(again.exception, ConfigError)
    assert "may have been filled in" in str(again.exception)
    lines = [json.loads(line) for line in command(path, "--n", "500").stdout.splitlines()]
    assert [line["sample_id"] for line in lines] == [row["sample_id"] for row in csv.DictReader(
        file.open(encoding="utf-8-sig", newline=""))]
    assert {line["response"] for line in lines if line["sample_id"] == "004"} == {SAID[4], "one"}


def test_a_key_is_never_altered() -> None:
    rows = [{"sample_id": "-12", "field_group": "a", "metric": "m", "text": "x" * 40_000, "label": None}]
    assert as_csv(rows).decode("utf-8-sig").splitlines()[1].startswith("-12,a,m,xxx")
    assert len(as_csv(rows)) < 33_000 < len(as_jsonl(rows))
    [line] = as_jsonl([{**rows[0], "text": {"scores": (1.5, float("inf"), None, True)}}]).splitlines()
    assert json.loads(line)["text"] == {"scores": [1.5, "inf", None, True]}
    with pytest.raises(InputError, match=r"the sample_id '=1\+1' is a formula.*\.jsonl"):
        as_csv([{**rows[0], "sample_id": "=1+1"}])
    numbers = ["1e5", "0012", "3-4", "12345678901234567", "12", "a1", "-12", "q-3"]
    assert spoilt([{"sample_id": id} for id in numbers]) == ["0012", "12345678901234567", "1e5", "3-4"]


def test_where_the_data_is_gone_or_changed_scores_are_written_and_it_is_said(made: Path) -> None:
    data = made / "my data.csv"
    kept = data.read_text()
    path = str(made / "out/runs/one")
    try:
        data.write_text("\n".join(kept.splitlines()[:3]) + "\n")
        found = pick(path, 500, "random")
        assert found.notes[-1].startswith("7 of 9 samples are without their texts")
        assert {row["sample_id"] for row in found.rows if row["user_input"]} == {"000", "001"}
        data.write_text(kept.replace("ground_truth", "truth"))
        assert "no column 'ground_truth'" in pick(path, 1).notes[0]
        data.unlink()
        [note] = pick(path, 1).notes
        assert "there are no texts of the samples" in note
        assert "my data.csv" in note
    finally:
        data.write_text(kept)
    with pytest.raises(InputError, match="the run was made from a DataFrame"):
        source_of({"config": {}})


def test_what_a_run_kept_is_told_and_options_may_be_secrets(made: Path) -> None:
    score_all(made, "bad", output={"path": str(made / "out"), "good": False}, input={
        "path": str(made / "my data.csv"), "options": {"delimiter": ";", "fs.token": "5ecr3t"}})
    assert b"5ecr3t" not in (made / "out/runs/bad/manifest.json").read_bytes()
    found = pick(str(made / "out/runs/bad"), 1)
    assert [note.partition(":")[0] for note in found.notes] == [
        "the run kept only scores below their threshold (output.good", "there are no texts of the samples"]
    assert "input.options (fs.token)" in found.notes[1]


@pytest.mark.parametrize(("arguments", "says"), [
    (["RUN", "--metric", "faithfulness"], "the run has no metric 'faithfulness'; it has token_f1, exact_match, "),
    (["RUN", "--stratify-by", "tenant"], "the run has no slice 'tenant'; it has lang"),
    (["RUN", "--worst", "--random"], "--worst and --random exclude each other"),
    (["RUN", "--metric", "answer_accuracy"], "a score of answer_accuracy: there is nothing to review"),
    (["RUN", "--output", "x.xlsx"], "ending in .jsonl or .csv"),
    (["RUN", "--output", "no/such/x.csv"], "there is no folder no/such"),
    (["OUT"], "it is an output folder, with the runs"), (["no/such/run"], "no/such/run holds no run"),
])  # fmt: skip
def test_a_mistake_is_named(made: Path, arguments: list[str], says: str) -> None:
    where = {"RUN": str(made / "out/runs/one"), "OUT": str(made / "out")}
    done = command(*(where.get(one, one) for one in arguments))
    assert isinstance(done.exception, (ConfigError, InputError)), done.output
    assert says in str(done.exception)


def test_the_command_starts_without_spark() -> None:
    program = "import sys, rageval_spark.cli; sys.exit(any(name in sys.modules for name in ('pyspark', 'scipy', 'pandas')))"
    subprocess.run([sys.executable, "-c", program], check=True)
