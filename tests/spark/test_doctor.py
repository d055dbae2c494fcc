"""The doctor: what it finds in a sound setup, and what it names where something is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_spark.config import parse
from rageval_spark.doctor import Finding, examined
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS: list[Any] = [
    {"id": "1", "q": "How tall is it?", "a": "330 m.", "ctx": ["It is 330 m tall."], "should_refuse": False},
    {"id": "1", "q": "塔有多高？", "a": "", "ctx": [], "should_refuse": True},
    {"id": "3", "q": "How tall is it?", "a": "330 m.", "ctx": ["It is 330 m tall."], "should_refuse": False},
    "{oops",
]


def found(folder: Path, server: JudgeServer, **changes: Any) -> list[Finding]:
    (folder / "rows.jsonl").write_text("".join(
        (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in ROWS))
    fields = {"sample_id": "id", "user_input": "q", "response": "a", "retrieved_contexts": "ctx",
              "should_refuse": "should_refuse"}
    return list(examined(parse({
        "input": {"path": str(folder / "rows.jsonl")}, "output": {"path": str(folder / "out")},
        "judge": {"model": "judge", "base_url": server.url},
        "evaluate": [{"fields": fields, "metrics": ["faithfulness"]}], **changes})))


def test_a_sound_setup(spark: SparkSession, judge: JudgeServer, tmp_path: Path) -> None:
    findings = found(tmp_path, judge)
    assert not [finding for finding in findings if finding.state == "wrong"]
    said = {f"{finding.what}: {finding.said}" for finding in findings}
    assert {"rows: 4", "data: 1 of 4 rows cannot be read: code INVALID_INPUT", "data: 1 of 4 rows have the id of another row",
            "data: 1 of 4 rows repeat another row: judged once", "data: 1 of 4 rows ask in Chinese",
            "data: 1 of 4 rows should be refused", "data: 2 of 4 rows have no response: most metrics skip them",
            "metric: faithfulness: at least 2 rows have all that it reads"} <= said
    assert any("answers, reply format json_schema; no key is sent" in text for text in said)
    assert len(judge.requests) == 1


@pytest.mark.parametrize(("changes", "what", "says"), [
    ({"evaluate": [{"fields": {"response": "nope"}, "metrics": ["faithfulness"]}]}, "input", "nope"),
    ({"slices": ["colour"]}, "input", "colour"),
    ({"input": {"path": "no/such.jsonl"}}, "input", "no/such.jsonl"),
    ({"judge": {"model": "judge", "base_url": "http://127.0.0.1:9/v1", "max_attempts": 1}}, "judge", "127.0.0.1:9"),
    ({"output": {"tables": "nowhere.rag.", "path": "{folder}/out"}}, "output", "nowhere"),
    ({"output": {"path": "{folder}/rows.jsonl"}}, "output", "rows.jsonl cannot be written"),
    ({"output": {"path": "/proc/nope"}}, "output", "output /proc/nope cannot be written"),
])
def test_what_is_wrong_is_named(spark: SparkSession, judge: JudgeServer, tmp_path: Path, changes: dict[str, Any], what: str,
                                says: str) -> None:
    changes = json.loads(json.dumps(changes).replace("{folder}", str(tmp_path)))
    wrong = [finding for finding in found(tmp_path, judge, **changes) if finding.state == "wrong"]
    assert [finding.what for finding in wrong] == [what]
    assert says in wrong[0].said


def test_what_the_embedded_judge_cannot_answer_is_said(spark: SparkSession, judge: JudgeServer, tmp_path: Path) -> None:
    fields = {"user_input": "q", "response": "a"}
    findings = found(tmp_path, judge, judge={"provider": "embedded"},
                     evaluate=[{"fields": fields, "metrics": ["answer_relevancy"]}])
    said = [finding.said for finding in findings if finding.state == "mind"]
    assert any("heuristic screen" in text for text in said)
    assert any("answer_relevancy: the embedded judge has no model to answer generate_questions, embed" in text for text in said)
    assert judge.requests == []


@pytest.mark.parametrize(("texts", "says"), [
    (["first ||| second", "third ||| fourth ||| fifth", "alone"], 'most hold \'|||\'; if that joins the items of a list, set '
                                                                  'input.separator: "|||"'),
    ([["['first', 'second']"], ["['third']"]], "that looks like a list, such as \"['first', 'second']\""),
    (["one passage | of words", "two", "three", "four"], None),
    ([["first"], ["second", "third"]], None),
])
def test_lists_that_stand_in_one_text_are_named(spark: SparkSession, judge: JudgeServer, tmp_path: Path, texts: list[Any],
                                                says: str | None) -> None:
    (tmp_path / "lists.jsonl").write_text("".join(json.dumps({"q": "?", "a": "A.", "ctx": text}) + "\n" for text in texts))
    findings = found(tmp_path, judge, input={"path": str(tmp_path / "lists.jsonl")}, evaluate=[
        {"fields": {"user_input": "q", "response": "a", "retrieved_contexts": "ctx"}, "metrics": ["faithfulness"]}])
    minded = [finding.said for finding in findings if finding.what == "data" and "single text" in finding.said]
    assert (says is None) == (not minded)
    assert says is None or says in minded[0]
