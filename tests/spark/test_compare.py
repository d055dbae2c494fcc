"""Two runs held against each other on Spark: real files, one session."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from rageval_spark import EmbeddedJudge
from rageval_spark.cli import app
from rageval_spark.config import parse
from rageval_spark.errors import ConfigError, InputError
from rageval_spark.finished.comparison import compare
from rageval_spark.report.comparison import Compared
from rageval_spark.run import evaluate
from rageval_spark.spark.tables import SCORES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Line = tuple[str, str, str, float | None, dict[str, str]]
"""sample_id, field group, metric, score (None: failed), slices"""
NAMES = ("run_id", "sample_id", "field_group", "metric", "score", "status", "code", "passed", "threshold", "slices")


def written(spark: SparkSession, folder: Path, lines: Sequence[Line], *, metrics: Sequence[str] = ("faithfulness",),
            status: str = "complete", **manifest: Any) -> str:
    """A run that has these scores, as its files."""
    groups = dict.fromkeys(line[1] for line in lines) or {"q,a": None}
    rows = [(folder.name, sample, group, metric, score, "failed" if score is None else "scored",
             "JUDGE_TIMEOUT" if score is None else None, None if score is None else score >= 0.5, 0.5, slices)
            for sample, group, metric, score, slices in lines]
    schema = spark.createDataFrame([], SCORES).schema
    frame = spark.createDataFrame(rows, type(schema)([schema[name] for name in NAMES]))
    frame.write.parquet(f"file://{folder}/scores")
    used = [{"name": name, "metric": name, "parameters": {}, "threshold": 0.5, "votes": 1, "judge": "m"} for name in metrics]
    told = {"run_id": folder.name, "status": status, "config": {}, "rows": len({line[0] for line in lines}),
            "slices": sorted({name for line in lines for name in line[4]}), "wording": "w",
            "judges": [{"provider": "http", "model": "m"}], "versions": {"rageval_spark": "1"},
            "field_groups": [{"key": group, "fields": {}, "metrics": used} for group in groups], **manifest}
    (folder / "manifest.json").write_text(json.dumps(told))
    (folder / "summary.json").write_text(json.dumps({"scale": 1, "served_models": ["m-1"]}))
    return str(folder)


def lines(scores: Sequence[float | None], group: str = "q,a", metric: str = "faithfulness", of: int = 1) -> list[Line]:
    return [(f"s{place}", group, metric, score, {"lang": "en" if place % 2 else "zh"} if of else {})
            for place, score in enumerate(scores)]


def only(found: Sequence[Compared]) -> Compared:
    assert len(found) == 1
    return found[0]


def test_a_difference_with_its_interval_and_its_sentence(spark: SparkSession, tmp_path: Path) -> None:
    draw = random.Random(3)
    base = [draw.choice([0.25, 0.5, 0.75]) for _ in range(80)]
    new = [min(1.0, score + draw.choice([0.0, 0.0, 0.25])) for score in base]
    shuffled = draw.sample(lines(new), 80)
    found = compare(written(spark, tmp_path / "a", lines(base)), written(spark, tmp_path / "b", shuffled))
    line = only(found.lines)
    d = np.array(new) - np.array(base)
    assert line.found is not None
    assert line.found.count == 80
    assert line.found.difference == pytest.approx(d.mean())
    assert line.found.p == pytest.approx(float(stats.wilcoxon(d).pvalue) if (d != 0).sum() <= 30
                                         else float(stats.ttest_1samp(d, 0).pvalue))
    assert line.found.low is not None
    assert line.found.high is not None
    assert 0 < line.found.low < d.mean() < line.found.high
    assert (line.verdict, line.worsened) == ("better", 0)
    assert line.mended == sum(a < 0.5 <= b for a, b in zip(base, new, strict=True))
    assert line.sentence("a", "b").startswith(f"b is better on faithfulness by {d.mean():.3f} [")
    assert {one.sample_id for one in found.changes} <= {f"s{place}" for place in range(80)}
    assert [(one.slice, one.slice_value) for one in found.by_slice] == [("lang", "en"), ("lang", "zh")]
    parts = [one.found for one in found.by_slice if one.found]
    assert sum(part.count for part in parts) == 80
    assert sum(part.count * part.difference for part in parts) / 80 == pytest.approx(d.mean())
    assert found.warnings == []


def test_what_failed_on_one_side_is_left_out_of_both_and_keeps_a_metric_from_being_ranked(spark: SparkSession, tmp_path: Path,
                                                                                          ) -> None:
    base: list[float | None] = [0.2] * 20
    new: list[float | None] = [None] * 4 + [0.9] * 16
    old = written(spark, tmp_path / "a", lines(base))
    other = written(spark, tmp_path / "b", [*lines(new), ("extra", "q,a", "faithfulness", 0.0, {"lang": "en"})])
    line = only(compare(old, other).lines)
    assert (line.verdict, line.found and line.found.count) == ("not ranked", 16)
    assert line.found is not None
    assert [line.found.base, line.found.new] == pytest.approx([0.2, 0.9])
    assert "81.0% in b" in line.sentence("a", "b")
    forced = compare(old, other, force=True)
    assert only(forced.lines).verdict == "better"
    assert any("4 of 20 samples scored in a have no score on the other side, where 4 failed" in one for one in forced.warnings)


@pytest.mark.parametrize(("metric", "change", "verdict"), [
    ("faithfulness", 0.25, "better"), ("faithfulness", -0.25, "worse"), ("noise_sensitivity", 0.25, "worse"),
    ("noise_sensitivity", -0.25, "better"),
])
def test_lower_is_better_where_the_metric_says_so(spark: SparkSession, tmp_path: Path, metric: str, change: float, verdict: str,
                                                  ) -> None:
    base = [0.3 + place % 5 / 20 for place in range(40)]
    new = [score + change + place % 3 / 50 for place, score in enumerate(base)]
    found = compare(*(written(spark, tmp_path / name, lines(scores, metric=metric), metrics=[metric])
                      for name, scores in (("a", base), ("b", new))))
    assert only(found.lines).verdict == verdict


def test_equal_runs_show_no_difference(spark: SparkSession, tmp_path: Path) -> None:
    scores = [0.1, 0.3, 1.0, None, 0.7] * 6
    line = only(compare(*(written(spark, tmp_path / name, lines(scores)) for name in "ab"), force=True).lines)
    assert line.found is not None
    assert (line.verdict, line.found.difference, line.found.p) == ("no difference shown", 0.0, 1.0)


def test_field_groups_are_paired_by_key_else_by_metric(spark: SparkSession, tmp_path: Path) -> None:
    found = compare(written(spark, tmp_path / "a", lines([0.1, 0.2, 0.3], "q,old")),
                    written(spark, tmp_path / "b", lines([0.2, 0.3, 0.5], "q,new")))
    assert only(found.lines).field_group == "q,old → q,new"


def test_two_field_groups_of_one_run(spark: SparkSession, tmp_path: Path) -> None:
    run = written(spark, tmp_path / "a", [*lines([0.1, 0.2, 0.3, 0.1], "q,old"), *lines([0.6, 0.8, 0.9, 0.6], "q,new")])
    found = compare(run, groups=("old", "q,new"))
    line = only(found.lines)
    assert (found.base, found.new) == ("old", "new")
    assert line.found is not None
    assert line.found.difference == pytest.approx(0.55)
    with pytest.raises(ConfigError, match="names several field groups"):
        compare(run, groups=("q", "old"))
    with pytest.raises(ConfigError, match="they are q,old; q,new"):
        compare(run, groups=("nothing", "old"))
    with pytest.raises(ConfigError, match="two runs, or one run and two"):
        compare(run)


def test_repeated_ids_have_their_average_and_one_row_has_no_interval(spark: SparkSession, tmp_path: Path) -> None:
    twice: list[Line] = [("s", "q,a", "faithfulness", score, {}) for score in (0.0, 1.0)]
    line = only(compare(written(spark, tmp_path / "a", twice), written(spark, tmp_path / "b", twice[1:])).lines)
    assert line.found is not None
    assert (line.found.count, line.found.base, line.found.new, line.found.low) == (1, 0.5, 1.0, None)
    assert "n = 1" in line.sentence("a", "b")


def test_what_cannot_be_compared_says_why(spark: SparkSession, tmp_path: Path) -> None:
    one = written(spark, tmp_path / "a", lines([0.5, 0.6]))
    with pytest.raises(InputError, match="holds no run"):
        compare(one, str(tmp_path))
    with pytest.raises(InputError, match="its status is running"):
        compare(one, written(spark, tmp_path / "b", lines([0.5]), status="running"))
    with pytest.raises(InputError, match=r"no metric is in both: .*only in a: faithfulness.*only in c: rouge"):
        compare(one, written(spark, tmp_path / "c", lines([0.5], metric="rouge"), metrics=["rouge"]))
    with pytest.raises(InputError, match="keeps only what is below its threshold"):
        compare(one, written(spark, tmp_path / "d", lines([0.5]), config={"output": {"good": False}}))
    strangers = written(spark, tmp_path / "e", [("x", "q,a", "faithfulness", 0.5, {})])
    assert only(compare(one, strangers).lines).verdict == "nothing to compare"


def test_what_was_made_differently_is_told(spark: SparkSession, tmp_path: Path) -> None:
    other = written(spark, tmp_path / "b", lines([0.5, 0.6, 0.7]), judges=[{"provider": "http", "model": "other"}], wording="w2")
    found = compare(written(spark, tmp_path / "a", lines([0.5, 0.6])), other)
    said = " | ".join(found.warnings)
    assert "judge.model: m before, other now" in said
    assert "wording: w before, w2 now" in said
    assert "rows: 2 before, 3 now" in said


def test_conditions_decide_the_exit_code(spark: SparkSession, tmp_path: Path) -> None:
    base = [0.5 + place % 4 / 10 for place in range(40)]
    runs = [written(spark, tmp_path / name, lines(scores)) for name, scores in
            (("a", base), ("b", [score - 0.1 - place % 2 / 50 for place, score in enumerate(base)]))]
    done = CliRunner().invoke(app, ["compare", *runs, "--json", "--fail-on", "faithfulness drops > 0.02",
                                    "--fail-on", "faithfulness drops > 0.2"])
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    assert said["failed_on"] == [{"condition": "faithfulness drops > 0.02", "metric": "faithfulness"}]
    [metric] = said["metrics"]
    assert metric["difference"] == pytest.approx(-0.11)
    assert metric["base"]["coverage"] == 1.0


def run_with_tenants(spark: SparkSession, folder: Path, legal: float) -> str:
    """Scores that differ by nothing but in the tenant `legal`, whose average is lower by so much."""
    scores: list[Line] = []
    for place in range(240):
        tenant = ["legal", "sales", "support", "hr", "it", "law", "press", "board"][place % 8]
        wobble = (place // 8 % 5) / 20 + (0.02 if folder.name == "b" and place // 8 % 2 else 0.0)
        of_tenant = legal + (place // 8 % 7) / 20 - 0.15 if tenant == "legal" and folder.name == "b" else 0.0
        scores.append((f"s{place}", "q,a", "faithfulness", 0.7 + wobble - of_tenant, {"tenant": tenant}))
    return written(spark, folder, scores)


def test_a_slice_that_got_worse_is_listed_and_can_fail_a_build(spark: SparkSession, tmp_path: Path) -> None:
    runs = [run_with_tenants(spark, tmp_path / name, 0.159) for name in "ab"]
    done = CliRunner().invoke(app, ["compare", *runs, "--fail-on", "any worsens in tenant=legal", "--min-effect", "0.03"])
    assert done.exit_code == 1, done.output
    [first, *_] = [one for one in done.stdout.splitlines() if one.startswith("  ")]
    assert first.startswith("  b is worse on faithfulness where tenant is legal by 0.1")
    assert "FAILED: any worsens in tenant=legal (faithfulness -0.1" in done.stdout
    told = json.loads(CliRunner().invoke(app, ["compare", *runs, "--json", "--min-effect", "0.03"]).stdout)
    assert [one["slice_value"] for one in told["slices"] if one["listed"]] == ["legal"]
    assert {one["verdict"] for one in told["slices"] if one["slice_value"] != "legal"} <= {"negligible", "no difference shown"}


HOLD = ("any worsens", "any drops > 0.01", "faithfulness drops", "faithfulness worsens", "faithfulness worsens >= 0.01",
        "any worsens in lang=en", "any worsens in lang", "any worsens in any slice", "faithfulness drops > .05 in lang = zh")
HOLD_NOT = ("any drops > 0.9", "any rises > 0.1", "faithfulness drops > 0.9 in lang=zh", "faithfulness worsens >= 0.9")


def test_every_kind_of_condition_works_through_the_command(spark: SparkSession, tmp_path: Path) -> None:
    base = [0.5 + place % 4 / 10 for place in range(40)]
    worse = [score - 0.1 - place % 3 / 50 for place, score in enumerate(base)]
    runs = [written(spark, tmp_path / name, lines(scores)) for name, scores in (("a", base), ("b", worse))]
    done = CliRunner().invoke(app, ["compare", *runs, *(part for text in (*HOLD, *HOLD_NOT) for part in ("--fail-on", text))])
    assert done.exit_code == 1, done.output
    failed = {line.removeprefix("FAILED: ").partition(" (faithfulness -0.")[0] for line in done.stdout.splitlines()
              if line.startswith("FAILED: ")}
    assert failed == set(HOLD)
    with pytest.raises(ConfigError, match="no slice of both runs is called 'land'; those are lang"):
        CliRunner().invoke(app, ["compare", *runs, "--fail-on", "any worsens in land"], catch_exceptions=False)


def test_two_evaluations_are_compared_in_one_command(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(f"q{place}", f"the answer is {place}", f"the answer is {place + place % 3}", f"the answer is {place}")
            for place in range(30)]
    frame = spark.createDataFrame(rows, "question string, old string, new string, truth string")
    runs = [evaluate(frame, ["exact_match", "token_f1"], output=str(tmp_path / "out"), run_id=answer,
                     fields={"user_input": "question", "response": answer, "reference": "truth"}) for answer in ("old", "new")]
    found = compare(*runs)
    assert [(line.metric, line.verdict) for line in found.lines] == [("exact_match", "worse"), ("token_f1", "worse")]
    assert found.lines[0].found is not None
    assert found.lines[0].found.test == "McNemar, mid-p"
    assert found.lines[0].worsened == 20
    done = CliRunner().invoke(app, ["compare", *(str(run.folder) for run in runs)])
    assert done.exit_code == 0
    assert "new is worse on exact_match by 0.667" in done.stdout
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_metric_may_not_be_worse_than_in_an_earlier_run(spark: SparkSession, tmp_path: Path) -> None:
    from rageval_spark.run import run

    def done(name: str, share: int, **gate: Any) -> dict[str, Any]:
        rows = [{"question": f"q{place}", "answer": "right" if place % share else "wrong", "truth": "right"}
                for place in range(20)]
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        config = parse({"input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")},
                        "evaluate": [{"fields": {"user_input": "question", "response": "answer", "reference": "truth"},
                                      "metrics": ["exact_match"]}],
                        "gates": {"exact_match": {"max_drop": 0.2, **gate}}})
        found = run(config, run_id=name)
        [result] = [one for one in found.summary["gates"] if one["figure"] == "max_drop"]
        return {**result, "code": found.exit_code}

    assert done("monday", 10)["met"] is None, "there is nothing to hold it against yet"
    tuesday = done("tuesday", 5)
    assert (tuesday["found"], tuesday["met"], tuesday["code"]) == (pytest.approx(0.1), True, 0)
    wednesday = done("wednesday", 2, against="monday")
    assert (wednesday["found"], wednesday["met"], wednesday["code"]) == (pytest.approx(0.4), False, 1)
    assert wednesday["said"].startswith("worse by 0.400 than in monday (between worse by 0.")
    assert wednesday["said"].endswith("over the 20 samples of both; it may be worse by at most 0.200")
    (tmp_path / "out" / "runs" / "tuesday" / "scores").rename(tmp_path / "gone")
    again = done("again", 2)
    assert (again["found"], again["met"]) == (pytest.approx(0.3), False), "held against tuesday, the last that met its gates"
    assert "worse by 0.300 than in tuesday by the averages of both" in again["said"]
    with pytest.raises(ConfigError, match=r"gates.exact_match.against: .* the id of a run under"):
        done("friday", 2, against="sunday")


def summaries(spark: SparkSession, folder: Path, name: str, wrong: set[int], order: Sequence[int], contexts: bool = True) -> Any:
    """A run over eight summaries, one a document, of which these documents' are wrong. No row has an id."""
    answers = [("Summarise the document.", f"Wrong {place}." if place in wrong else f"Summary {place}.",
                [f"Summary {place}."] if contexts else None) for place in order]
    frame = spark.createDataFrame(answers, "question string, answer string, contexts array<string>")
    return evaluate(frame, ["faithfulness"], judge=EmbeddedJudge(), output=str(folder), run_id=name)


def test_samples_without_ids_that_share_a_question_are_paired_by_their_contexts(spark: SparkSession, tmp_path: Path,
                                                                                 caplog: pytest.LogCaptureFixture) -> None:
    base = summaries(spark, tmp_path, "base", {1, 3, 5, 7}, range(8))
    new = summaries(spark, tmp_path, "new", {1, 3, 5, 7}, [7, 2, 5, 0, 3, 6, 1, 4])
    line = only(compare(base, new).lines)
    assert line.found is not None
    assert (line.found.count, line.mended, line.worsened, line.found.difference) == (8, 0, 0, 0.0)
    better = summaries(spark, tmp_path, "better", {1, 3}, range(8))
    line = only(compare(base, better).lines)
    assert line.found is not None
    assert (line.found.count, line.mended, line.worsened, line.found.difference) == (8, 2, 0, 0.25)
    assert not [message for message in caplog.messages if "without an id" in message]


def test_samples_that_nothing_but_answers_tell_apart_are_not_paired(spark: SparkSession, tmp_path: Path,
                                                                    caplog: pytest.LogCaptureFixture) -> None:
    rows = [("Summarise it.", "right" if place % 2 else "wrong", "right") for place in range(8)]
    frame = spark.createDataFrame(rows, "question string, answer string, reference string")
    runs = [evaluate(frame, ["exact_match"], judge=EmbeddedJudge(), output=str(tmp_path), run_id=name) for name in ("a", "b")]
    assert [message for message in caplog.messages if "7 rows without an id" in message and "sample_id" in message]
    with pytest.raises(InputError, match=r"8 of 8 samples of a have no id.*fields: \{sample_id: <column>\}"):
        compare(*runs)


def test_samples_that_cannot_be_told_apart_are_averaged_into_one_by_force(spark: SparkSession, tmp_path: Path) -> None:
    def done(name: str, twice: Sequence[str]) -> Any:
        rows = [(f"Question {place}?", "right", "right") for place in range(60)]
        rows += [("Twice?", answer, "right") for answer in twice]
        frame = spark.createDataFrame(rows, "question string, answer string, reference string")
        return evaluate(frame, ["exact_match"], judge=EmbeddedJudge(), output=str(tmp_path), run_id=name,
                        fields={"user_input": "question", "response": "answer", "reference": "reference"})

    runs = done("a", ["right", "wrong"]), done("b", ["wrong", "right"])
    with pytest.raises(InputError, match=r"2 of 62 samples of a have no id.*--force"):
        compare(*runs)
    found = compare(*runs, force=True)
    line = only(found.lines)
    assert line.found is not None
    assert (line.found.count, line.mended, line.worsened, line.found.difference) == (61, 0, 0, 0.0)
    assert any("2 of 62 samples of a have no id" in warning for warning in found.warnings)


def test_rows_that_share_an_id_of_the_data_are_averaged_with_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("talk 1", "right"), ("talk 1", "wrong"), ("talk 2", "right")]
    frame = spark.createDataFrame([(id, answer, "right") for id, answer in rows], "id string, answer string, reference string")
    runs = [evaluate(frame, ["exact_match"], judge=EmbeddedJudge(), output=str(tmp_path), run_id=name) for name in ("a", "b")]
    found = compare(*runs, force=True)
    for name in ("a", "b"):
        assert any(warning.startswith(f"1 rows of {name} have the id of another row") for warning in found.warnings)


def test_a_slice_may_not_be_worse_than_in_an_earlier_run(spark: SparkSession, tmp_path: Path) -> None:
    from rageval_spark.run import run

    def done(name: str, wrong: set[int], columns: Sequence[str] = ("tenant",)) -> dict[str, Any]:
        rows = [{"question": f"q{place}", "answer": "wrong" if place in wrong else "right", "truth": "right",
                 "tenant": "acme" if place < 12 else "umbrella" if place < 28 else "few"} for place in range(30)]
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        slices = {"tenant": {"max_drop": 0.2}} if "tenant" in columns else {}
        config = parse({"input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")},
                        "evaluate": [{"fields": {"user_input": "question", "response": "answer", "reference": "truth"},
                                      "metrics": ["exact_match"]}], "slices": list(columns),
                        "gates": {"exact_match": {"average": 0.1, "slices": slices}}})
        found = run(config, run_id=name)
        return {one["slice_value"]: (one["met"], one["found"]) for one in found.summary["gates"] if one["figure"] == "max_drop"}

    assert done("plain", {0}, ()) == {}
    without = {"acme": (None, None), "umbrella": (None, None), "few": (None, None)}
    assert done("first", {0}) == without, "the earlier run has no such slice"
    second = done("second", {0, 1, 2, 3, 28, 29})
    assert second == {"acme": (False, pytest.approx(3 / 12)), "umbrella": (True, 0.0), "few": (None, pytest.approx(1.0))}
