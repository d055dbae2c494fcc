"""What a summary, the terminal and the page make of the statistics of a run."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.config import field_group, metric_of, use_of
from rageval_spark.engine.plan import Plan
from rageval_spark.judges.settings import HttpJudge
from rageval_spark.report.gates import gated
from rageval_spark.report.page import rendered
from rageval_spark.report.summary import summarised
from rageval_spark.report.terminal import show
from rageval_spark.spark.stats import Tally
from rageval_spark.statistics.intervals import interval, likely_range

JUDGE = HttpJudge(model="judge", base_url="http://127.0.0.1:1/v1")
USAGE = {"prompts": 3, "reused": 0, "cost": 0.0, "earlier": {}, "unpriced": [], "prompt_tokens": None, "waits": {}, "retries": {},
         "models": {}, "embedding_requests": 0}
FIGURES = ("min", "max", "std_dev", "p10", "p50", "p90")


def plan(*names: str) -> Plan:
    return Plan((field_group({"response": "a"}, [use_of(metric_of(name, {}), JUDGE, None) for name in names], "test"),))


def stat(of: Plan, metric: str, average: float | None, n: int = 100, failed: int = 0, column: str | None = None,
         ) -> dict[str, Any]:
    [use] = [use for use in of.groups[0].uses if use.name == metric]
    low, high = interval(average, 0.1, n, False)
    best = use.metric.direction == "higher"
    bounds = (None, None) if average is None else tuple((average * n + lost) / (n + failed) for lost in (
        (0, failed) if best else (failed, 0)))
    return {"slice": column, "slice_value": "acme" if column else None, "field_group": "a", "metric": metric, "total": n + failed,
            "count": 0 if average is None else n, "n_skipped": 0, "n_failed": failed, "average": average, "ci_low": low,
            "ci_high": high, "average_low": bounds[0], "average_high": bounds[1], "coverage": n / (n + failed),
            "pass_rate": None, "extra": {}, "layer": use.metric.layer, **dict.fromkeys(FIGURES, average)}


def summary(of: Plan, rows: list[dict[str, Any]], scale: int = 1, tally: Tally | None = None) -> dict[str, Any]:
    codes = {("a", row["metric"], "failed", "BUDGET"): row["n_failed"] for row in rows if row["n_failed"]}
    found = tally or Tally({"good": 1, "bad": 0, "incomplete": 0, "skipped": 0}, {}, codes)
    return summarised(name="n", run_id="r", plan=of, stats=rows, tally=found, usage=USAGE, scale=scale,
                      gates=gated({}, 0.95, of, rows, scale), served_models=[])


@pytest.mark.parametrize(("averages", "overall"), [
    ({"faithfulness": 0.9, "context_recall": 0.7}, 0.8),
    ({"faithfulness": 0.9, "noise_sensitivity": 0.1}, 0.9),
    ({"noise_sensitivity": 0.1}, None),
    ({"faithfulness": None, "noise_sensitivity": 0.1}, None),
])
def test_an_overall_average_is_of_what_is_better_the_higher(averages: dict[str, float | None], overall: float | None) -> None:
    of = plan(*averages)
    told = summary(of, [stat(of, metric, average) for metric, average in averages.items()])["metrics_score"]["a"]
    assert told["overall_average"] == overall
    assert told["summary"] == averages


def test_one_range_of_an_average_is_told_everywhere_and_it_reaches_to_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    of = plan("faithfulness", "noise_sensitivity")
    rows = [stat(of, "faithfulness", 0.89, n=60, failed=140), stat(of, "noise_sensitivity", 0.1, n=60, failed=140),
            stat(of, "faithfulness", 0.89, n=60, failed=140, column="tenant")]
    told = summary(of, rows)
    by_metric = told["metrics_score"]["a"]["stats"]
    faithful, noise = by_metric["faithfulness"], by_metric["noise_sensitivity"]
    low, _ = interval(0.89, 0.1, 60, False)
    assert (faithful["likely_low"], faithful["likely_high"]) == (pytest.approx(0.267), pytest.approx(0.967))
    assert (noise["likely_low"], noise["likely_high"]) == (pytest.approx(0.03), pytest.approx(0.73))
    assert (faithful["ci_low"], faithful["ci_high"]) == (None, None), "what has a score is no random part of all"
    assert told["slices"][0]["likely_low"] == faithful["likely_low"]
    show(told, {})
    printed = capsys.readouterr().out
    assert "0.267–0.967" in printed
    assert f"{low:.3f}" not in printed
    assert "noise_sensitivity (lower is better)" in printed
    assert "at worst and at best" in printed
    manifest = {"began_at": "2026-01-01T00:00:00", "field_groups": [], "slices": ["tenant"], "config": {}, "judges": [],
                "versions": {}, "name": "n", "rows": 200, "ended_at": None, "wording": "w"}
    page = rendered(manifest, told, {"histograms": [], "samples": [], "notes": []})
    assert page.count("0.267 to 0.967") == 2, "of all rows and of the slice"
    assert f"{low:.3f}" not in page


def test_what_failed_above_the_gate_widens_the_range_and_nothing_failed_leaves_the_interval() -> None:
    of = plan("faithfulness")
    few = summary(of, [stat(of, "faithfulness", 0.8, n=98, failed=2)], 10)["metrics_score"]["a"]["stats"]["faithfulness"]
    low, high = interval(0.8, 0.1, 98, False)
    assert low is not None
    assert high is not None
    assert (few["ci_low"], few["ci_high"]) == (pytest.approx(10 * low), pytest.approx(10 * high))
    assert (few["likely_low"], few["likely_high"]) == (pytest.approx(10 * min(low, 0.784)), pytest.approx(10 * max(high, 0.804)))
    none = summary(of, [stat(of, "faithfulness", 0.8)])["metrics_score"]["a"]["stats"]["faithfulness"]
    assert (none["likely_low"], none["likely_high"]) == (none["ci_low"], none["ci_high"])


def test_samples_that_no_threshold_decides_are_told_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    of = plan("precision")
    told = summary(of, [stat(of, "precision", 1 / 3, n=20)],
                   tally=Tally({"good": 0, "bad": 0, "incomplete": 0, "skipped": 20}, {}, {}, 20))
    assert sum(told[f"num_{name}"] for name in ("good", "bad", "incomplete", "skipped")) == told["total"] == 20
    assert (told["score"], told["num_undecided"]) == (None, 20)
    assert told["metrics_score"]["a"]["stats"]["precision"]["threshold"] is None
    show(told, {})
    assert ("20 samples: 0 good, 0 bad, 0 incomplete, 20 skipped (20 of them scored, but by no metric that has a threshold)"
            in capsys.readouterr().out)


@pytest.mark.parametrize(("average", "n"), [(0.0, 40), (0.0, 3), (1.0, 40), (0.0, 10_000), (1.0, 7)])
def test_the_end_of_an_interval_at_0_or_1_is_exactly_there(average: float, n: int) -> None:
    low, high = interval(average, 0.0, n, binary=True)
    assert (low if average == 0 else high) == average


@pytest.mark.parametrize(("given", "likely"), [
    ((0.4, 0.6, 0.45, 0.55, 3), (0.4, 0.6)), ((0.4, 0.6, 0.2, 0.9, 3), (0.2, 0.9)), ((0.4, 0.6, 0.2, 0.9, 0), (0.4, 0.6)),
    ((None, None, 0.1, 0.9, 4), (0.1, 0.9)), ((None, None, 0.5, 0.5, 0), (None, None)),
    ((None, None, None, None, 4), (None, None)),
])
def test_the_likely_range(given: Any, likely: Any) -> None:
    assert likely_range(*given) == likely


def test_the_terminal_shows_what_failed_in_a_slice() -> None:
    from rageval_spark.report.terminal import _slices

    rows = [{"field_group": "a", "slice": "team", "slice_value": value, "metric": "faithfulness", "score_average": average,
             "score_count": count, "n_failed": failed} for value, average, count, failed in
            (("x", 0.5, 4, 26), ("y", 1.0, 30, 0), ("z", None, 0, 2))]
    [table] = _slices(rows, set(), False)
    assert [list(column.cells) for column in table.columns[1:]] == [["0.500 (4, 26 failed)"], ["1.000 (30)"], ["– (0, 2 failed)"]]
