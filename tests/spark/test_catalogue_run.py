"""Metrics of every layer in one run: what their sums come to in the statistics, and which way is better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sacrebleu

from rageval_spark.config import parse
from rageval_spark.run import run
from tests.judge_server import Answer, JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOOK: dict[str, Any] = {"name": "book", "arguments": '{"day": "Monday"}'}
ROWS: list[dict[str, Any]] = [
    {"id": "a", "question": "When is it shut?", "answer": "It is shut on Mondays [1].", "ground_truth": "It is shut on Mondays.",
     "contexts": ["It is shut on Mondays.", "It shows glass."], "retrieved_ids": ["x", "y"], "relevant_ids": ["y", "z"],
     "should_refuse": False, "tool_calls": [BOOK], "reference_tool_calls": [BOOK], "reference_turns": 1,
     "messages": [{"role": "user", "content": "Book it."}, {"role": "assistant", "content": "Done."}]},
    {"id": "b", "question": "How old is it?", "answer": "I do not know.", "ground_truth": "It is a hundred years old.",
     "contexts": ["It shows glass."], "retrieved_ids": ["z"], "relevant_ids": ["z"], "should_refuse": False,
     "tool_calls": [], "reference_tool_calls": [BOOK], "reference_turns": 1,
     "messages": [{"role": "assistant", "content": "Hello?"}, {"role": "user", "content": "Hm."},
                  {"role": "assistant", "content": "Well."}]},
]  # fmt: skip


def test_one_run_of_every_layer(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    with JudgeServer() as judge:
        judge.always("verify_claims", lambda request: ... if "text" not in (request.data or {}) else Answer(400))
        asked = {"model": "judge", "base_url": judge.url}
        found = run(parse({
            "input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")}, "judge": asked,
            "gates": {"coverage": 0.0},
            "evaluate": [{"metrics": [
                {"recall": {"k": [1, 2]}}, "mrr", "noise_sensitivity", "citation_f1", "bleu",
                {"rouge": {"type": ["rouge1", "rougeL"]}}, "refusal_accuracy", "tool_call_f1", "turn_efficiency",
                {"aspect": {"as": "polite", "question": "Is it polite?"}}]}],
        }), run_id="all")  # fmt: skip
    rows = {row["metric"]: row.asDict() for row in found.stats.collect()}
    assert set(rows) == {"recall@1", "recall@2", "mrr", "noise_sensitivity", "citation_f1", "bleu", "rouge-1", "rouge-L",
                         "refusal_accuracy", "tool_call_f1", "turn_efficiency", "polite"}
    averages = {name: row["average"] for name, row in rows.items()}
    assert (averages["recall@1"], averages["recall@2"], averages["mrr"]) == (0.5, 0.75, 0.75)
    assert (averages["refusal_accuracy"], averages["tool_call_f1"], averages["turn_efficiency"]) == (0.5, 0.5, 0.75)
    assert averages["citation_f1"] == 1.0  # the other claims nothing
    bleu = sacrebleu.corpus_bleu([row["answer"] for row in ROWS], [[row["ground_truth"] for row in ROWS]])
    assert rows["bleu"]["extra"]["corpus_bleu"] == pytest.approx(bleu.score / 100)
    assert rows["refusal_accuracy"]["extra"]["over_refusal_rate"] == 0.5
    turns = rows["turn_efficiency"]["extra"]
    assert (turns["average_turns"], turns["min_turns"], turns["max_turns"], turns["single_turn_rate"]) == (1.5, 1.0, 2.0, 0.5)
    assert {row["layer"] for row in rows.values()} == {"retrieval", "generation", "end_to_end", "agent"}
    noisy = rows["noise_sensitivity"]  # of one sample a reply fails, the other claims nothing: at worst all of it is noise
    assert (noisy["count"], noisy["n_failed"], noisy["n_skipped"]) == (0, 1, 1)
    assert (noisy["average_low"], noisy["average_high"]) == (1.0, 0.0)
    assert found.summary["coverage"] == pytest.approx(21 / 22)


def test_what_json_holds_is_read_as_it_stands_there(spark: SparkSession, tmp_path: Path) -> None:
    def row(id: str, made: Any, expected: Any, ids: Any, grades: Any) -> dict[str, Any]:
        return {"id": id, "tool_calls": [{"name": "f", "arguments": made}], "retrieved_ids": ids, "relevance": grades,
                "reference_tool_calls": [{"name": "f", "arguments": expected}]}

    rows = [
        row("one", {"x": 1}, {"x": 1}, ["Doc1"], {"Doc1": 1}),
        row("two", {"x": "s"}, {"x": 5}, ["doc1"], {"doc1": 1}),  # a text where the first has a number
        row("three", {"X": 1}, {"X": 999}, [2], {"2": 1.5}),  # a key in another case, ids as numbers
        row("four", {"x": None}, {}, [1.5], {"1": 1}),  # no id: alone with its fault
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    found = run(parse({"input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")},
                       "gates": {"coverage": 0.0}, "evaluate": [
                           {"metrics": ["tool_call_f1"]},
                           {"metrics": [{"recall": {"as": "found"}}],
                            "fields": {"retrieved_ids": "retrieved_ids", "relevance": "relevance"}}]}))
    scores = {(one.metric, one.sample_id): one.score for one in found.scores.collect()}
    assert scores == {
        ("tool_call_f1", "one"): 1.0, ("tool_call_f1", "two"): 0.0,
        ("tool_call_f1", "three"): 0.0, ("tool_call_f1", "four"): 1.0,
        ("found", "one"): 1.0, ("found", "two"): 1.0, ("found", "three"): 1.0, ("found", "four"): None}
