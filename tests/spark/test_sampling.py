"""A part of the dataset: which rows, whatever their order, what they weigh, and what a run makes of them."""

from __future__ import annotations

import json
import random
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_spark import EmbeddedJudge, evaluate
from rageval_spark.config import Config, parse
from rageval_spark.doctor import examined
from rageval_spark.engine.plan import FieldGroup, MetricUse
from rageval_spark.engine.sampling import Sampling, allotted
from rageval_spark.errors import ConfigError, InputError
from rageval_spark.forecast import forecast, lines
from rageval_spark.metrics.answer_accuracy import AnswerAccuracy
from rageval_spark.metrics.exact_match import ExactMatch
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.metrics.token_f1 import TokenF1
from rageval_spark.report.terminal import show
from rageval_spark.run import run
from rageval_spark.spark.sampling import drawn
from rageval_spark.spark.stats import stats
from rageval_spark.spark.tables import SCORES
from rageval_spark.statistics.intervals import interval
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = FieldGroup({"sample_id": "id", "user_input": "q"}, (MetricUse(Faithfulness(), "faithfulness"),))
Chosen = dict[str, float]
Rows = Sequence[tuple[str, str | None]]
"""Pairs of id and language."""


def chosen(spark: SparkSession, rows: Rows, partitions: int = 2, **how: Any) -> Chosen:
    """The weight of each row that is in, by id; of rows of one id the sum."""
    frame = spark.createDataFrame([(id, f"q {place}", lang) for place, (id, lang) in enumerate(rows)],
                                  "id string, q string, lang string").repartition(partitions)
    samples, told = drawn(frame, [GROUP], [], Sampling(**how))
    weights: Counter[Any] = Counter()
    found = samples.select("sample_id", "weight").collect()
    for id, weight in found:
        weights[id] += weight
    assert told is not None
    assert (told["of"], told["chosen"]) == (len(rows), len(found))
    assert sum(weights.values()) == pytest.approx(len(rows))
    return dict(weights)


def languages(count: int, **shares: int) -> list[tuple[str, str | None]]:
    """So many ids, the languages in these proportions."""
    cycle = [lang for lang, times in shares.items() for _ in range(times)]
    return [(f"s{i}", cycle[i % len(cycle)]) for i in range(count)]


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20), st.integers(0, 3000))
def test_a_number_is_divided_whole_and_in_proportion(rows: list[int], more: int) -> None:
    n = len(rows) + more
    parts = allotted(rows, n)
    assert sum(parts) == min(n, sum(rows))
    assert all(1 <= part <= count for part, count in zip(parts, rows, strict=True))
    assert all(a <= b for (_, a), (_, b) in zip(*[iter(sorted(zip(rows, parts, strict=True)))] * 2, strict=False))


def test_a_number_of_rows_is_met_and_every_stratum_is_there(spark: SparkSession) -> None:
    rows = [*languages(900, en=6, zh=3), ("x", None), ("y", "null")]
    found = chosen(spark, rows, n=50, stratify_by="lang")
    lang = dict(rows)
    assert Counter(lang[id] for id in found) == {"en": 32, "zh": 16, None: 1, "null": 1}
    assert (found["x"], found["y"]) == (1, 1), "null is a value of its own"
    assert {found[id] for id in found if lang[id] == "en"} == {600 / 32}


def test_neither_order_nor_partitions_matter_but_the_seed_does(spark: SparkSession) -> None:
    rows = languages(300, en=2, zh=1)
    shuffled = random.Random(3).sample(rows, len(rows))
    first = chosen(spark, rows, 1, n=40, stratify_by=["lang"])
    assert chosen(spark, shuffled, 5, n=40, stratify_by=["lang"]) == first
    assert set(chosen(spark, rows, 1, n=40, stratify_by=["lang"], seed=8)) != set(first)


def test_as_data_grows_a_share_keeps_its_rows_and_a_number_most(spark: SparkSession) -> None:
    rows = languages(600, en=2, zh=1)
    before, after = (set(chosen(spark, rows[:count], share=0.1, stratify_by="lang")) for count in (500, 600))
    assert before == after & {id for id, _ in rows[:500]}
    before, after = (set(chosen(spark, rows[:count], n=60)) for count in (500, 600))
    assert len(before) == len(after) == 60
    came = after - before
    assert came <= {id for id, _ in rows[500:]}, "only new rows take the place of others"
    assert 1 <= len(came) <= 25


@pytest.mark.parametrize(("how", "ids"), [
    ({"n": 1000}, 30), ({"n": 30}, 30), ({"share": 1.0}, 30), ({"n": 1}, 1), ({"share": 1e-9}, 1), ({"n": 29}, 29),
    ({"share": 1e-9, "stratify_by": "lang"}, 2), ({"n": 2, "stratify_by": ["lang", "lang"]}, 2),
])  # fmt: skip
def test_the_ends_of_the_scale(spark: SparkSession, how: dict[str, Any], ids: int) -> None:
    found = chosen(spark, languages(30, en=2, zh=1), **how)
    assert len(found) == ids
    assert ids < 30 or set(found.values()) == {1.0}


def test_rows_of_one_id_go_together(spark: SparkSession) -> None:
    rows = [(f"s{i % 20}", None) for i in range(60)]
    found = chosen(spark, rows, n=10)
    assert len(found) == 4, "the fourth goes past the number"
    assert set(found.values()) == {3 * 60 / 12}
    assert set(chosen(spark, [("s", None)] * 9, n=2).values()) == {9.0}


@pytest.mark.parametrize("how", [{"n": 300}, {"share": 0.01}])
def test_weighted_averages_are_those_of_all_rows_in_the_mean(spark: SparkSession, how: dict[str, Any]) -> None:
    """Fifty datasets at once, each with strata of unlike sizes and values, of which the small one is taken too often."""
    value = {i: 0.9 if i < 5 else 0.2 + 0.1 * (i % 3) for i in range(200)}
    rows = [(f"{copy}-{i}", f"{copy} {'rare' if i < 5 else 'usual'}") for copy in range(50) for i in value]
    found = chosen(spark, rows, stratify_by="lang", **how)
    plain, weighted = [], []
    for copy in range(50):
        mine = [(value[int(id.partition("-")[2])], weight) for id, weight in found.items() if id.startswith(f"{copy}-")]
        plain.append(statistics.fmean(score for score, _ in mine))
        weighted.append(sum(score * weight for score, weight in mine) / sum(weight for _, weight in mine))
    full, error = statistics.fmean(value.values()), statistics.stdev(weighted) / 50**0.5
    assert abs(statistics.fmean(weighted) - full) < 3.5 * error < 0.05
    assert statistics.fmean(plain) - full > 0.05, "without weights the rare ones count too much"


def test_a_column_of_ids_is_no_stratum(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"sample\.n is 10, but id has 30 different values.*at least 30"):
        chosen(spark, languages(30, en=1), n=10, stratify_by="id")
    monkeypatch.setattr("rageval_spark.spark.sampling.MOST_STRATA", 20)
    with pytest.raises(InputError, match="id has more than 20 different values"):
        chosen(spark, languages(30, en=1), share=0.1, stratify_by="id")


@pytest.mark.parametrize(("sample", "says"), [
    ({}, "either n, a number of rows, or share"), ({"n": 5, "share": 0.5}, "either n"), ({"share": 0}, r"sample\.share"),
    ({"share": 1.5}, "less than or equal to 1"), ({"n": 0}, "greater than 0"), ({"n": 2.5}, r"sample\.n"),
    ({"n": True}, r"sample\.n"),
    ({"n": 5, "seed": "x"}, r"sample\.seed"), ({"n": 5, "stratify": "lang"}, "did you mean stratify_by"),
    ({"n": 5, "stratify_by": 3}, r"sample\.stratify_by"),
])  # fmt: skip
def test_a_mistake_in_the_config_is_named(sample: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse({"evaluate": [{"metrics": ["exact_match"]}], "sample": sample})
    with pytest.raises(ConfigError, match=says):
        evaluate(_Frame(), ["exact_match"], sample=sample)  # type: ignore[arg-type]


class _Frame:
    """As far as a DataFrame is looked at before the mistake is found."""

    sparkSession = None


def test_statistics_are_weighted_and_counts_are_not(spark: SparkSession) -> None:
    group = FieldGroup({"response": "a"}, (MetricUse(AnswerAccuracy(), "f1"), MetricUse(ExactMatch(), "exact")))
    scored = [(0.25, 10.0, "en"), (0.5, 10.0, "en"), (1.0, 2.0, "zh"), (0.75, 2.0, "zh"), (0.0, 2.0, "zh")]
    empty = dict.fromkeys(spark.createDataFrame([], SCORES).columns)
    rows = [{**empty, "sample_id": str(place), "field_group": group.key, "metric": metric, "score": value, "weight": weight,
             "status": "scored", "passed": value >= 0.5, "slices": {"lang": lang},
             "measures": {"right" if value >= 0.75 else "wrong": 1.0}}
            for place, (score, weight, lang) in enumerate(scored)
            for metric, value in (("f1", score), ("exact", float(score > 0.4)))]
    rows.append({**rows[-2], "sample_id": "failed", "score": None, "status": "failed", "passed": None, "weight": 4.0, "measures": {}})
    whole, exact, *parts = stats(spark.createDataFrame(rows, SCORES), [group], ["lang"], "r")
    average = (10 * 0.75 + 2 * 1.75) / 26
    spread = ((10 * (0.25**2 + 0.5**2) + 2 * (1 + 0.75**2)) / 26 - average**2) ** 0.5
    effective = 26**2 / (2 * 100 + 3 * 4)
    assert (whole["total"], whole["count"], whole["n_failed"], whole["coverage"]) == (6, 5, 1, 5 / 6)
    assert (whole["average"], whole["std_dev"]) == pytest.approx((average, spread))
    assert (whole["ci_low"], whole["ci_high"]) == pytest.approx(interval(average, spread, effective, binary=False))
    assert whole["extra"]["share_right"] == pytest.approx((2 + 2) / 26)
    assert whole["pass_rate"] == pytest.approx((10 + 2 + 2) / 26)
    assert (whole["average_low"], whole["average_high"]) == pytest.approx((26 * average / 30, (26 * average + 4) / 30))
    assert (whole["min"], whole["p50"], whole["max"]) == (0.0, 0.5, 1.0)
    share = (10 + 2 + 2) / 26
    assert (exact["ci_low"], exact["ci_high"]) == pytest.approx(interval(share, 0.5, effective, binary=True))
    by_lang = {part["slice_value"]: part["average"] for part in parts if part["metric"] == "f1"}
    assert (20 * by_lang["en"] + 6 * by_lang["zh"]) / 26 == pytest.approx(average)


def test_one_weight_for_all_leaves_statistics_as_they_are(spark: SparkSession) -> None:
    group = FieldGroup({"response": "a"}, (MetricUse(TokenF1(), "f1"),))
    empty = dict.fromkeys(spark.createDataFrame([], SCORES).columns)
    found = []
    for weight in (None, 1.0, 123.45):
        rows: list[dict[str, Any]] = [{
            **empty, "sample_id": str(i), "field_group": group.key, "metric": "f1", "score": (i * 37 % 101) / 101,
            "status": "scored", "passed": i % 3 == 0, "measures": {}, "weight": weight} for i in range(101)]
        found += stats(spark.createDataFrame(rows, SCORES).coalesce(1), [group], [], "r")
    same = [{name: value for name, value in one.items() if name not in ("average_low", "average_high")} for one in found]
    assert found[0] == found[1]
    assert same[0] == same[2]


def of(folder: Path, judge: JudgeServer, mode: str = "live", **changes: Any) -> Config:
    lines = [json.dumps({"id": f"s{i}", "question": f"How deep is lake {i}?", "answer": f"Lake {i} is {i} m deep.",
                         "contexts": [f"Lake {i} is {i} m deep."], "lang": "zh" if i % 10 == 0 else "en"}) for i in range(60)]
    (folder / "rows.jsonl").write_text("\n".join([*lines, "{not json"]) + "\n")
    return parse({
        "input": {"path": str(folder / "rows.jsonl")}, "output": {"path": str(folder / "out")},
        "judge": {"model": "judge", "base_url": judge.url, "mode": mode}, "slices": ["lang"],
        "evaluate": [{"metrics": ["faithfulness"]}], "sample": {"n": 20, "stratify_by": "lang"},
        "gates": {"coverage": 0.5}, **changes})


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_only_what_is_chosen_is_asked_and_paid_once(spark: SparkSession, tmp_path: Path, judge: JudgeServer, mode: str,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    config = of(tmp_path, judge, mode)
    foretold = forecast(config)
    assert next(lines(foretold)) == "20 of 61 rows, stratified by lang; played dry: all"
    done = run(config, run_id="one")
    asked = [*judge.chats(), *judge.batched][1:]  # all but the preflight's
    texts = "".join(json.dumps(request.body) for request in asked)
    scores = done.scores.collect()
    assert len({row.sample_id for row in scores}) == len(scores) == 20
    assert len(asked) == 2 * 19 == foretold.totals["prompts"].value, "two for each; the row that cannot be read costs nothing"
    for i in range(60):
        assert (f"lake {i}?" in texts or f"Lake {i} is" in texts) == any(row.sample_id == f"s{i}" for row in scores)
    assert sum(row.weight for row in scores) == pytest.approx(61)
    assert Counter(row.slices["lang"] for row in scores) == {"en": 17, "zh": 2, "null": 1}
    sample = {"n": 20, "share": None, "seed": 7, "stratify_by": ["lang"], "of": 61, "chosen": 20}
    manifest = done.folder.read_json("manifest.json")
    assert done.summary["sample"] == manifest["sample"] == sample
    assert manifest["rows"] == done.summary["total"] == 20
    show(done.summary, {})
    assert "a part of the dataset: 20 of 61 rows, stratified by lang" in capsys.readouterr().out
    if mode == "live":
        judge.reset()
        run(config, run_id="one")
        assert len(judge.chats()) == 1, "the preflight's"


def test_the_doctor_tells_how_many_and_a_wrong_column_costs_nothing(spark: SparkSession, tmp_path: Path,
                                                                    judge: JudgeServer) -> None:
    found = {finding.what: finding.said for finding in examined(of(tmp_path, judge, sample={"share": 0.25}))}
    assert found["sample"].endswith(" of 61 rows")
    assert found["rows"] == "61"
    wrong = of(tmp_path, judge, sample={"n": 5, "stratify_by": "tenant"})
    assert any(finding.said.startswith("no column 'tenant'") for finding in examined(wrong) if finding.state == "wrong")
    judge.reset()
    with pytest.raises(InputError, match=r"no column 'tenant' to stratify by; the columns are .*lang"):
        run(wrong)
    assert not judge.requests


def test_evaluate_takes_a_sample(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(f"q {i}?", f"It is {i}.") for i in range(50)], "question string, answer string")
    done = evaluate(frame.withColumn("reference", frame["answer"]), ["exact_match"], judge=EmbeddedJudge(),
                    output=str(tmp_path), sample={"share": 0.2, "seed": 1})
    assert done.summary["sample"]["of"] == 50
    assert done.summary["total"] == done.summary["sample"]["chosen"] == done.stats.collect()[0]["count"]
    assert {row.weight for row in done.scores.collect()} == {50 / done.summary["total"]}
