"""JUnit XML: its shape, what is a failure, an error or no test, and that no run that broke looks green."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from rageval_spark.errors import ConfigError, Interrupted, JudgeRefused, Pending, RagevalError, ScoringFailed
from rageval_spark.report.junit import reporting, suites
from tests.test_commands import rageval

REQUIRED = {"testsuites": {"name", "tests", "failures", "errors"}, "testsuite": {"name", "tests", "failures", "errors", "time"},
            "testcase": {"name", "classname", "time"}, "failure": {"message", "type"}, "error": {"message", "type"},
            "skipped": {"message"}, "property": {"name", "value"}, "properties": set(), "system-out": set()}
"""Attributes that the schemas of Jenkins, Ant and GitLab want, by element; there are no other elements."""
INSIDE = {"testsuites": {"testsuite"}, "testsuite": {"properties", "testcase"}, "properties": {"property"},
          "testcase": {"failure", "error", "skipped", "system-out"}}


def checked(file: Path) -> ET.Element:
    """The report, once its shape and its counts are found right."""
    root = ET.parse(file).getroot()
    assert root.tag == "testsuites"
    for element in root.iter():
        assert REQUIRED[element.tag] <= set(element.attrib), element.tag
        assert {child.tag for child in element} <= INSIDE.get(element.tag, set()), element.tag
    for element in (root, *root.iter("testsuite")):
        cases = list(element.iter("testcase"))
        assert len({case.get("name") for case in cases} if element.tag == "testsuite" else cases) == len(cases)
        counted = {"tests": len(cases), **{plural: sum(case.find(tag) is not None for case in cases)
                                           for plural, tag in (("failures", "failure"), ("errors", "error"))}}
        assert {name: int(element.attrib[name]) for name in counted} == counted
    return root


def outcomes(file: Path) -> dict[tuple[str | None, str | None], str]:
    return {(case.get("classname"), case.get("name")): next((child.tag for child in case if child.tag != "system-out"), "passed")
            for case in checked(file).iter("testcase")}


def gate(name: str, met: bool | None, figure: str = "average", group: str | None = "q,a",
         said: str = "so") -> dict[str, Any]:
    return {"gate": f"{name} ({group})" if group else name, "met": met, "figure": figure, "field_group": group, "said": said}


def summary(*gates: dict[str, Any], metric: str = "faithfulness", name: str = "nightly") -> dict[str, Any]:
    stat = {"score_average": 0.5, "ci_low": None, "ci_high": None, "pass_rate": 0.5, "coverage": 1.0, "total": 2,
            "score_count": 2, "n_skipped": 0, "n_failed": 0}
    groups = {group: {"stats": {metric: stat}} for group in ("q,a", "q,b")}
    return {"task_name": name, "run_id": "r", "total": 2, "gates": list(gates), "metrics_score": groups}


def test_every_gate_is_a_test_and_only_a_gate_is(tmp_path: Path) -> None:
    file = tmp_path / "a folder" / "report.xml"
    with reporting(str(file)) as report:
        report(summary(gate("coverage", True, "coverage", None), gate("faithfulness.average", False, said="the average is 0.500"),
                       gate("faithfulness.coverage", False, "coverage"), gate("faithfulness.average, lang zh", None)))
    assert outcomes(file) == {("nightly", "coverage"): "passed", ("fields: q,a", "faithfulness.average"): "failure",
                              ("fields: q,a", "faithfulness.coverage"): "error",
                              ("fields: q,a", "faithfulness.average, lang zh"): "skipped"}
    root = checked(file)
    failure = next(root.iter("failure"))
    assert (failure.text, failure.get("message")) == ("the average is 0.500", "the average is 0.500")
    assert [suite.get("name") for suite in root] == ["nightly", "fields: q,a", "fields: q,b"]
    values = {one.get("name"): one.get("value") for one in root[2].iter("property")}
    assert values["faithfulness.average"] == "0.5"
    assert "faithfulness.ci_low" not in values  # of two samples that are alike there is none


@pytest.mark.parametrize(("error", "outcome"), [
    (ConfigError("wrong"), "error"), (JudgeRefused("no"), "error"), (ScoringFailed("broke"), "error"),
    (Interrupted("stopped"), "error"), (Pending("batches are under way"), "skipped")])
def test_a_run_that_broke_is_no_success(tmp_path: Path, error: RagevalError, outcome: str) -> None:
    file = tmp_path / "report.xml"
    with reporting(str(file)):
        assert outcomes(file) == {("rageval", "run"): "error"}  # what a run that is killed leaves
    with pytest.raises(type(error)), reporting(str(file)):
        raise error
    assert outcomes(file) == {("rageval", "run"): outcome}
    assert str(error) in file.read_text()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_end_that_nobody_foresaw_is_no_success(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), reporting(str(tmp_path / "report.xml")):
        raise error
    assert outcomes(tmp_path / "report.xml") == {("rageval", "run"): "error"}


@pytest.mark.parametrize("text", [
    "<&>\"'", "\x00\x01\x08\x0b\x1f\x7f\x85", "\ud800 alone", "\ufffe\uffff", "a\nb\r\tc", "塔 😀", "]]>", "-->"])
def test_whatever_stands_in_names_and_sentences_is_xml(tmp_path: Path, text: str) -> None:
    file = tmp_path / "report.xml"
    with reporting(str(file)) as report:
        report(summary(gate(text, False, said=text, group="q,a"), metric=text, name=text))
    [failure] = checked(file).iter("failure")
    kept = "".join(sign for sign in text if sign in "\t\n\r" or (sign >= " " and sign not in "\ud800\ufffe\uffff"))
    assert str(failure.get("message")).replace("\N{REPLACEMENT CHARACTER}", "") == kept


def test_a_file_that_cannot_be_written_is_told_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    for file in (f"{tmp_path}/", str(tmp_path), f"{tmp_path}/there/report.xml", "nosuch://a/report.xml"):
        with pytest.raises(ConfigError, match=r"--junit: .*cannot be written"), reporting(file):
            pytest.fail("the block was entered")
    with pytest.raises(ConfigError, match="it is a folder; name a file"), reporting(f"{tmp_path}/new/"):
        pytest.fail("the block was entered")
    with reporting(None) as report:
        report({})


def test_a_mistake_in_the_config_is_in_the_report(tmp_path: Path) -> None:
    done = rageval("run", "conf/openai.yaml", "--set", "judge.modle=x", "--junit", str(tmp_path / "report.xml"))
    assert done.returncode == 2
    assert outcomes(tmp_path / "report.xml") == {("rageval", "run"): "error"}
    assert "judge.modle" in (tmp_path / "report.xml").read_text()


def test_the_run_and_a_field_group_of_its_name_are_told_apart() -> None:
    cases, properties = suites(summary(gate("coverage", True, "coverage", None), gate("f.average", True), name="q,a"))
    assert {name: len(mine) for name, mine in cases.items()} == {"q,a": 1, "fields: q,a": 1, "fields: q,b": 0}
    assert set(properties["q,a"]) == {"run_id", "samples"}
