"""Gates against statistics worked out by hand: which way is better, scales, slices, too few samples, and the words for it."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.config import parse, planned
from rageval_spark.config.schema import Figures
from rageval_spark.errors import ConfigError
from rageval_spark.report.gates import FIGURES, GateResult, exit_code, gated
from rageval_spark.report.terminal import _gates

GROUP = "question,answer"


def config(gates: Any, **changes: Any) -> Any:
    return parse({"input": {"path": "x"}, "judge": {"provider": "embedded"}, "slices": ["lang"], "gates": gates,
                  "evaluate": [{"metrics": ["faithfulness", "noise_sensitivity"]}], **changes})


def row(metric: str = "faithfulness", *, lang: str | None = "all", count: int = 20, failed: int = 0,
        **figures: Any) -> dict[str, Any]:
    """A row of statistics over all rows, or of a language where one is given (None is one too)."""
    judged = count + failed
    return {"slice": None if lang == "all" else "lang", "slice_value": None if lang == "all" else lang, "field_group": GROUP,
            "metric": metric, "count": count, "n_failed": failed, "coverage": count / judged if judged else None,
            **dict.fromkeys(("average", "ci_low", "ci_high", "pass_rate")), **figures}


def judged(gates: Any, *rows: dict[str, Any], **changes: Any) -> list[GateResult]:
    loaded = config(gates, **changes)
    dumped = {name: gate.model_dump() for name, gate in loaded.metric_gates.items()}
    return gated(dumped, loaded.coverage_gate, planned(loaded), rows, loaded.scale)


def code(results: list[GateResult]) -> int:
    return exit_code([vars(result) for result in results])


@pytest.mark.parametrize(("metric", "gate", "figures", "met", "said"), [
    ("faithfulness", {"average": 0.7}, {"average": 0.7}, True, "the average is 0.700, wanted is at least 0.700"),
    ("faithfulness", {"average": 0.7}, {"average": 0.69999}, False, "the average is 0.699990, wanted is at least 0.700000"),
    ("faithfulness", 0.7, {"average": 0.5}, False, "the average is 0.500, wanted is at least 0.700"),
    ("faithfulness", {"ci_worst": 0.6}, {"ci_low": 0.59, "ci_high": 0.9}, False, "as low as 0.590 (95 % interval), wanted"),
    ("faithfulness", {"ci_worst": 0.6}, {"ci_low": 0.6, "ci_high": 0.9}, True, "as low as 0.600"),
    ("faithfulness", {"ci_worst": 0.6}, {"average": 1.0, "count": 1}, False, "fewer than two samples were scored"),
    ("faithfulness", {"pass_rate": 0.9}, {"pass_rate": 0.8}, False, "a share of 0.800 passes, wanted is at least 0.900"),
    ("faithfulness", {"average": 0.0}, {"count": 0}, False, "nothing was scored; wanted is at least 0.000"),
    ("faithfulness", {"coverage": 1}, {"count": 0}, True, "nothing was judged"),
    ("faithfulness", {"coverage": 0.99}, {"failed": 1}, False, "a share of 0.952 of the judgements did not fail"),
    ("noise_sensitivity", {"average": 0.2}, {"average": 0.2}, True, "the average is 0.200, wanted is at most 0.200"),
    ("noise_sensitivity", {"average": 0.2}, {"average": 0.3}, False, "wanted is at most 0.200"),
    ("noise_sensitivity", {"ci_worst": 0.2}, {"ci_low": 0.0, "ci_high": 0.21}, False, "as high as 0.210"),
    ("noise_sensitivity", {"ci_worst": 0.2}, {"ci_low": 0.1, "ci_high": 0.2}, True, "as high as 0.200"),
    ("noise_sensitivity", {"pass_rate": 0.9}, {"pass_rate": 1.0}, True, "wanted is at least 0.900"),
])  # fmt: skip
def test_a_gate_against_a_figure(metric: str, gate: Any, figures: dict[str, Any], met: bool, said: str) -> None:
    [_, result] = judged({"coverage": 0.5, metric: gate}, row(metric, **figures))
    assert (result.met, result.metric, result.field_group, result.slice) == (met, metric, GROUP, None)
    assert said in result.said
    assert code([result]) == (0 if met else 3 if result.figure == "coverage" else 1)


def test_averages_and_ends_of_intervals_are_on_the_scale_and_shares_are_not() -> None:
    gates = {"faithfulness": {"average": 5.7, "ci_worst": 4, "pass_rate": 0.5, "coverage": 1}}
    found = judged(gates, row(average=0.57, ci_low=0.41, pass_rate=0.5), scale=10)
    assert {result.figure: result.found for result in found[1:]} == {
        "average": pytest.approx(5.7), "ci_worst": pytest.approx(4.1), "pass_rate": 0.5, "coverage": 1.0}
    assert all(result.met for result in found)


def test_every_value_of_a_slice_is_gated_where_enough_was_judged() -> None:
    rows = [row(average=0.9), *(row(lang=lang, average=average, count=count, failed=failed) for lang, average, count, failed in (
        (None, 0.7, 10, 0), ("de", 0.6, 10, 0), ("en", 0.9, 10, 0), ("fr", 0.0, 9, 0), ("it", None, 0, 10), ("zh", None, 0, 0)))]
    results = judged({"coverage": 0, "faithfulness": {"average": 0.8, "slices": {"lang": 0.7}}}, *rows)
    assert [(result.slice_value, result.met) for result in results[2:]] == [
        (None, True), ("de", False), ("en", True), ("fr", None), ("it", False), ("zh", None)]
    assert results[2].gate == f"faithfulness.average, lang null ({GROUP})"
    assert results[5].said == "too few samples to say: 9 judged, 10 needed"
    assert results[6].said.startswith("nothing was scored")  # all failed, which is no way past a gate
    assert code(results) == 1
    assert code([result for result in results if result.slice_value not in ("de", "it")]) == 0
    lines = list(_gates([vars(result) for result in results]))
    assert "met in 2 of 6 values, in 2 too few samples to say: NOT MET in 2" in lines[2]
    assert lines[3] == "  lang de: the average is 0.600, wanted is at least 0.700"


def test_a_gate_that_cannot_be_decided_is_not_told_as_missed() -> None:
    [_, decided] = judged({"coverage": 0, "faithfulness": {"average": 0.8}}, row(average=0.9))
    lines = list(_gates([vars(decided), {**vars(decided), "met": None}, {**vars(decided), "met": False}]))
    assert [line.rpartition(": ")[2] for line in lines] == ["met", "not decided", "NOT MET"]


def test_of_a_slice_with_many_values_a_few_are_shown() -> None:
    results = judged({"coverage": 0, "faithfulness": {"slices": {"lang": {"average": 0.7, "least": 1}}}},
                     *(row(lang=str(lang), average=0.1) for lang in range(1000)))
    lines = list(_gates([vars(result) for result in results]))
    assert len(results) == 1001
    assert len(lines) < 20
    assert lines[-1] == "  and 988 more, which are in the summary"


def test_a_metric_in_two_field_groups_must_meet_its_gate_in_each() -> None:
    good, bad = row(average=0.9), {**row(average=0.1), "field_group": "question,other"}
    results = judged({"coverage": 0, "faithfulness": 0.5}, good, bad)
    assert [(result.field_group, result.met) for result in results[1:]] == [(GROUP, True), ("question,other", False)]


def test_every_figure_that_a_config_can_gate_is_looked_at() -> None:
    assert tuple(Figures.model_fields) == (*FIGURES, "max_drop"), "max_drop is looked at where earlier runs are"


def test_coverage_of_all_a_metric_or_a_slice_ends_with_3() -> None:
    rows = [row(average=1.0, failed=1), row("noise_sensitivity", average=0.0), row(lang="de", average=1.0, count=10, failed=1)]
    assert code(judged({}, *rows)) == 0
    assert code(judged({"coverage": 0.99}, *rows)) == 3
    assert code(judged({"faithfulness": {"coverage": 0.99}}, *rows)) == 3
    assert code(judged({"faithfulness": {"slices": {"lang": {"coverage": 1}}}}, *rows)) == 3
    assert code(judged({"noise_sensitivity": {"coverage": 1}}, *rows)) == 0


@pytest.mark.parametrize(("gates", "says"), [
    ({"faithfulness": {"slices": {"language": 0.5}}}, ["gates.faithfulness.slices.language is no slice", "slices are lang"]),
    ({"faithfulness": {"slices": {"lang": {}}}}, ["gates.faithfulness.slices.lang is empty", "average, ci_worst"]),
    ({"faithfulness": {"slices": {"lang": {"least": 3}}}}, ["gates.faithfulness.slices.lang is empty"]),
    ({"faithfulness": {"slices": {"lang": {"average": 3}}}}, ["gates.faithfulness.slices.lang.average is at most 1"]),
    ({"faithfulness": {"slices": {"lang": {"average": 0.5, "least": 0}}}}, ["least", "greater than or equal to 1"]),
    ({"faithfulness": {"slices": {"lang": {"avrage": 0.5}}}}, ["unknown key", "did you mean average"]),
    ({"faithfulness": {"slices": {"lang": "high"}}}, ["gates.faithfulness.slices.lang", "valid number", "high"]),
    ({"faithfulness": {"slices": ["lang"]}}, ["gates.faithfulness.slices: Input should be a valid dictionary"]),
    ({"faithfulness": {"ci_worst": 1.5}}, ["gates.faithfulness.ci_worst is at most 1"]),
    ({"faithfulness": {"coverage": 98}}, ["gates.faithfulness.coverage", "less than or equal to 1"]),
    ({"faithfulness": {"slices": {}}}, ["gates.faithfulness is empty"]),
    ({"context_recall": {"slices": {"lang": 0.5}}}, ["gates.context_recall", "coverage, faithfulness, noise_sensitivity"]),
])  # fmt: skip
def test_a_gate_that_cannot_be_is_named(gates: Any, says: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        planned(config(gates))
    for word in says:
        assert word in str(error.value)
    assert "gates.faithfulness: Input" not in str(error.value)  # what the other kind of gate would say of it
