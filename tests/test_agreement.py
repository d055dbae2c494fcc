"""benchmarks/agreement.py, over records of an invented company."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agreement import main
from benchmarks.labelled import claims_in_spans, declines, labelled_sentences, published

CONTEXTS = ["Nightbell pages the primary at once. The secondary is paged after five minutes."]
GOOD = "Nightbell pages the secondary after five minutes."
BAD = "Nightbell telephones the manager within one hour."


def table(tmp_path: Path, capsys: pytest.CaptureFixture[str], records: list[dict[str, Any]]) -> list[dict[str, str]]:
    file = tmp_path / "invented.jsonl"
    file.write_text("".join(json.dumps({"user_input": "Who is paged?", **one}) + "\n" for one in records), encoding="utf-8")
    main([str(file), "--draws", "5"])
    headings, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines())
    return [dict(zip(headings, row, strict=True)) for row in rows]


def test_a_row_for_each_label_that_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records: list[dict[str, Any]] = [
        {"response": text, "retrieved_contexts": [*CONTEXTS, f"Page {page}"], "label_hallucinated": int(text != GOOD)}
        for text in (GOOD, BAD) for page in range(3)]
    found = table(tmp_path, capsys, [*records, {"response": "", "retrieved_contexts": CONTEXTS, "label_hallucinated": 0},
                                     {"response": GOOD, "retrieved_contexts": CONTEXTS}])
    assert [(row["metric"], row["label"], row["n (of them so)"], row["none"]) for row in found] == [
        ("faithfulness", "faithful", "6 (3)", "1"), ("faithfulness, passes at 1", "faithful", "6 (3)", "1"),
        ("none: the shorter response", "faithful", "7 (4)", "")]
    assert found[0]["AUC"] == found[0]["balanced accuracy"] == "1.000 (1.00–1.00)"
    assert found[0]["Spearman"] == ""


def test_contexts_are_counted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = {"retrieved_contexts": CONTEXTS, "context_sentences": ["The secondary is paged.", "It rains."],
            "label_relevant_sentences": [0]}
    found = table(tmp_path, capsys, [{**told, "response": text} for text in (GOOD, BAD)])
    assert {row["metric"]: row["n (of them so)"] for row in found} == {
        "context_sentence_relevancy, each sentence": "2 (1)", "context_sentence_relevancy": "1"}


def test_preferences_are_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [{"response": a, "response_b": b, "reference": GOOD, "label_overall": label}
             for a, b, label in ((BAD, GOOD, 2), (GOOD, BAD, -2), (GOOD, GOOD, 0))]
    found = table(tmp_path, capsys, pairs)
    assert {row["label"] for row in found} == {"better: overall"}
    assert {row["Spearman"][:5] for row in found if not row["metric"].startswith("none")} == {"1.000"}


def test_a_claim_is_supported_outside_of_the_spans() -> None:
    text = f"{GOOD} {BAD}"
    record: dict[str, Any] = {"user_input": "Who is paged?", "response": text, "retrieved_contexts": CONTEXTS,
                              "label_hallucinated": 1, "label_spans": [{"start": text.index(BAD), "end": len(text), "type": "x"}]}
    assert list(claims_in_spans(record)) == [(1.0, 1, 1), (0.0, 0, 0)]
    record["label_spans"][0]["type"] = ["Benign"]
    assert [label for label, *_ in claims_in_spans(record)] == [1.0, 1.0]


def test_sentences_that_nobody_could_decide_play_no_part() -> None:
    rated = [{"sentence": GOOD, "factuality": "Supported"}, {"sentence": BAD, "factuality": "Challenging to determine"}]
    assert list(labelled_sentences({"retrieved_contexts": CONTEXTS, "label_sentences": rated})) == [(1.0, 1, 1)]


@pytest.mark.parametrize(("record", "label"), [
    ({"label_refused": 1, "response": "?"}, 1.0),
    ({"should_refuse": True, "label_answerability": "unanswerable", "response": "a", "reference": "a"}, 1.0),
    ({"should_refuse": True, "label_answerability": "unanswerable", "response": "a", "reference": "b"}, None),
    ({"should_refuse": False, "response": "a", "reference": "a"}, None),
])  # fmt: skip
def test_who_declines_is_known_of_people_only(record: dict[str, Any], label: float | None) -> None:
    assert declines(record) == label


def test_the_cut_off_is_in_the_name() -> None:
    record = {"retrieved_ids": ["a", "b"], "relevant_ids": {"b": 1}, "expected_measures": {
        "P_1": 0.0, "recip_rank": 0.5, "set_recall": 1.0, "bpref": 0.3}}
    assert [(figure, ours) for figure, ours, _ in published(record)] == [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)]
