"""The diagnosis of runs on Spark: what responses without an answer are counted, and that each run is told what it lacks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_spark.config import field_group, metric_of, parse, use_of
from rageval_spark.judges.settings import EmbeddedJudge
from rageval_spark.report.terminal import show
from rageval_spark.run import evaluate, run
from rageval_spark.spark.stats import stats
from rageval_spark.spark.tables import SCORES, STATS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCORED: Sequence[tuple[str, float | None, str | None, list[str] | None, bool | None]] = (
    ("faithfulness", 1.0, None, [], False), ("faithfulness", None, "NO_ANSWER", [], True),
    ("faithfulness", None, "NO_CLAIMS", ["REFUSAL"], True), ("faithfulness", None, "NO_CONTEXT", None, None),
    ("faithfulness", None, "JUDGE_TIMEOUT", [], None), ("answer_relevance", 0.0, None, ["REFUSAL"], True),
    ("answer_relevance", 0.0, None, ["EMPTY_ANSWER"], True), ("answer_relevance", 0.0, None, [], False),
    ("refusal_accuracy", 1.0, None, ["REFUSAL"], None), ("refusal_accuracy", 0.0, None, ["REFUSAL"], True),
    ("refusal_accuracy", 1.0, None, [], False), ("answer_correctness", None, "BOTH_REFUSED", ["REFUSAL"], None),
    ("noise_sensitivity", None, "NO_REFERENCE_CLAIMS", ["REFUSAL"], None), ("noise_sensitivity", 0.0, None, [], False),
    ("context_recall", None, "NO_REFERENCE_CLAIMS", ["REFUSAL"], None), ("context_recall", 1.0, None, [], None),
)  # fmt: skip
"""Metric, score, code, flags, and whether the response has no answer (None: not known, not asked, or right)."""


def test_responses_without_an_answer_are_counted_in_the_whole_and_its_parts(spark: SparkSession) -> None:
    metrics = list(dict.fromkeys(metric for metric, *_ in SCORED))
    group = field_group({"response": "a"}, [use_of(metric_of(name, {}), EmbeddedJudge(), None) for name in metrics], "test")
    status = {None: "scored", "JUDGE_TIMEOUT": "failed"}
    empty = dict.fromkeys(spark.createDataFrame([], SCORES).columns)
    rows = [{**empty, "sample_id": f"{lang}-{place}", "field_group": "a", "metric": metric, "score": score, "flags": flags,
             "status": status.get(code, "skipped"), "code": code, "slices": {"lang": lang}, "measures": {},
             "passed": None if score is None else score >= 0.5}
            for lang in ("en", "zh") for place, (metric, score, code, flags, _) in enumerate(SCORED)]
    found = stats(spark.createDataFrame(rows, SCORES), [group], ["lang"], "r")
    spark.createDataFrame(found, STATS).collect()
    for row in found:
        times = 2 if row["slice"] is None else 1
        known = [unanswered for metric, *_, unanswered in SCORED if metric == row["metric"]]
        counts = (None, None) if row["metric"] == "context_recall" else (times * known.count(False), times * known.count(True))
        assert (row["n_answered"], row["n_unanswered"]) == counts, row["metric"]
    assert len(found) == 3 * len(metrics)


def kept(folder: Path) -> list[dict[str, Any]]:
    """The diagnosis of the one run of an output folder, as its file has it."""
    [file] = (folder / "out" / "runs").glob("*/summary.json")
    found: list[dict[str, Any]] = json.loads(file.read_text())["diagnosis"]
    return found


def written(folder: Path, rows: Sequence[Mapping[str, Any]], **config: Any) -> Any:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    output = {"path": str(folder / "out"), "good": False}
    return parse({"input": {"path": str(folder / "rows.jsonl")}, "output": output, **config})


def test_what_is_not_found_comes_first_and_where(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(f"{lang}{place}", lang, ["a", "b"], ["a", "b"] if lang == "ein Land" else ["x", "y"])
            for lang in ("ein Land", "中文") for place in range(8)]
    frame = spark.createDataFrame(rows, "id string, lang string, retrieved_ids array<string>, relevant_ids array<string>")
    evaluate(frame, ["recall", "ndcg"], output=str(tmp_path / "out"), slices=["lang"])
    told = kept(tmp_path)
    assert [(one["part"], one["code"], one["slice_value"], one["sure"]) for one in told] == [
        ("retrieval", "NOT_FOUND", None, True), ("retrieval", "IRRELEVANT", None, True),
        ("retrieval", "NOT_FOUND", "中文", True), ("retrieval", "IRRELEVANT", "中文", True)]
    assert told[0]["evidence"][0]["average"] == 0.5


def test_refusals_where_all_is_found_are_told_by_words_alone(spark: SparkSession, tmp_path: Path,
                                                             capsys: pytest.CaptureFixture[str]) -> None:
    said = ["The tower is 330 m tall.", "I could not find anything about that.", "  "]
    rows = [{"id": str(place), "q": f"How tall is the tower {place}?", "a": said[place % 3], "ctx": ["The tower is 330 m tall."],
             "ref": "The tower is 330 m tall."} for place in range(24)]
    done = run(written(
        tmp_path, rows, judge={"provider": "embedded"}, scale=10, diagnosis={"unanswered": 0.1},
        evaluate=[{"fields": {"sample_id": "id", "user_input": "q", "response": "a", "retrieved_contexts": "ctx",
                              "reference": "ref"}, "metrics": ["context_recall", "faithfulness"]}]))
    [told] = kept(tmp_path)
    assert (told["part"], told["code"], told["sure"], told["heuristic"]) == ("generation", "UNANSWERED", True, True)
    unanswered, recall = told["evidence"]
    assert (unanswered["average"], unanswered["count"], unanswered["threshold"]) == (pytest.approx(2 / 3), 24, 0.1)
    assert (recall["average"], recall["threshold"]) == (10.0, 8.5)
    show(done.summary, {})
    printed = capsys.readouterr().out
    assert told["finding"] in printed
    assert ("share of responses that are blank or decline, by faithfulness 0.667 (likely 0.467–0.820, of 24; over 0.100 is bad)"
            in printed)


def test_users_who_complain_about_what_is_well_are_believed(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"retrieved_ids": [1, 2], "relevant_ids": [1, 2], "thumb": ["up", "down", None][place % 3]} for place in range(30)]
    run(written(tmp_path, rows, slices=["thumb"], diagnosis={"complaints": {"thumb": "down"}},
                evaluate=[{"metrics": ["recall", "ndcg"]}]))
    [told] = kept(tmp_path)
    assert (told["code"], told["part"], told["sure"]) == ("DRIFT", "data", True)
    assert (told["evidence"][0]["average"], told["evidence"][0]["count"]) == (0.5, 20)


def test_one_row_is_no_finding(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("a", "b")], "response string, reference string")
    assert evaluate(frame, ["exact_match"], output=str(tmp_path / "out")).summary["diagnosis"] == kept(tmp_path) == []
