"""`rageval agree` over a real run: figures computed once more from its files, and what is told of labels of every kind."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from typer.testing import CliRunner

from rageval_spark.cli import app
from rageval_spark.config import parse
from rageval_spark.errors import RagevalError
from rageval_spark.finished.agree import agree
from rageval_spark.report.agreement import show
from rageval_spark.statistics.agreement import FIGURES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANDOM = np.random.default_rng(11)
IDS = [f"00{place}" if place < 5 else f"塔-{place}" if place < 10 else f"s {place}" for place in range(80)]
FOUND = {sample: int(RANDOM.integers(0, 11)) for sample in IDS}
"""How many of ten relevant ids a sample retrieved: its recall in tenths."""
GOOD = {sample: bool(RANDOM.random() < 0.1 + 0.08 * found) for sample, found in FOUND.items()}
TRUE, FALSE = "The tower is 330 metres tall.", "The tower is made of gold."
A, B = "a,ref", "b,ref"


def rows() -> list[Any]:
    """Eighty samples; one without ids, one that cannot be read, two of one id."""
    some = [{"id": sample, "lang": None if place % 3 == 0 else ("en", "zh")[place % 2], "q": f"{sample}?",
             "got": [str(one) for one in range(FOUND[sample])], "want": [str(one) for one in range(10)],
             "a": "x y" if GOOD[sample] else "x z", "b": "z", "ref": "x y",
             "told": FALSE if place % 4 == 0 else TRUE, "ctx": [f"{FALSE} {TRUE}"], "true": TRUE}
            for place, sample in enumerate(IDS)]
    return [*some, {**some[0], "id": "none", "want": []}, {**some[0], "id": "twice"}, {**some[1], "id": "twice"}, "{oops"]


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in a folder whose name has a blank, its scores told from 0 to 10."""
    from rageval_spark.run import run as run_config

    folder = tmp_path_factory.mktemp("agree") / "with blank"
    folder.mkdir()
    (folder / "rows.jsonl").write_text("".join(
        (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows()), encoding="utf-8")
    run_config(parse({
        "input": {"path": str(folder / "rows.jsonl")}, "output": {"path": str(folder / "out")}, "scale": 10,
        "judge": {"provider": "embedded"}, "slices": ["lang"], "gates": {"coverage": 0.5},
        "evaluate": [
            {"fields": {"sample_id": "id", "response": "a", "reference": "ref"}, "metrics": ["exact_match", "token_f1"]},
            {"fields": {"sample_id": "id", "response": "b", "reference": "ref"}, "metrics": ["exact_match"]},
            {"fields": {"sample_id": "id", "retrieved_ids": "got", "relevant_ids": "want"},
             "metrics": [{"recall": {"threshold": 6}}]},
            {"fields": {"sample_id": "id", "user_input": "q", "response": "told", "retrieved_contexts": "ctx",
                        "reference": "true"}, "metrics": ["noise_sensitivity"]}],
    }), run_id="first")
    return folder / "out/runs/first"


Write = Callable[..., str]


@pytest.fixture
def labels(tmp_path: Path) -> Write:
    """Writes a file of labels, whose lines are rows or texts; returns its path."""
    def write(lines: Sequence[Mapping[str, Any] | str], name: str = "labels of people.jsonl") -> str:
        file = tmp_path / name
        if name.endswith(".parquet"):
            pq.write_table(pa.Table.from_pylist([dict(line) for line in lines if not isinstance(line, str)]), file)
        elif name.endswith(".csv"):
            with file.open("w", encoding="utf-8-sig", newline="") as out:
                made = csv.DictWriter(out, list(lines[0]), delimiter=";" if "semicolon" in name else ",")
                made.writeheader()
                made.writerows(line for line in lines if not isinstance(line, str))
        else:
            file.write_text("".join((line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)) + "\n"
                                    for line in lines), encoding="utf-8")
        return str(file)
    return write


def recall_labels(samples: Sequence[str] = IDS[:50], word: Callable[[bool], Any] = bool) -> list[dict[str, Any]]:
    return [{"sample_id": sample, "recall": word(GOOD[sample])} for sample in samples]


def only(found: Mapping[str, Any]) -> dict[str, Any]:
    [one] = found["metrics"]
    return dict(one)


def test_the_figures_are_those_of_an_independent_computation(run: Path, labels: Write) -> None:
    one = only(agree(str(run), labels(recall_labels())))
    label = np.array([GOOD[sample] for sample in IDS[:50]], dtype=float)
    value = np.array([FOUND[sample] / 10 for sample in IDS[:50]])
    passed = (value >= 0.6).astype(float)
    by_chance = label.mean() * passed.mean() + (1 - label.mean()) * (1 - passed.mean())
    assert (one["n_labelled"], one["n_scored"], one["n_decided"], one["threshold"]) == (50, 50, 50, 6)
    assert one["agreement"]["value"] == pytest.approx((label == passed).mean())
    assert one["kappa"]["value"] == pytest.approx(((label == passed).mean() - by_chance) / (1 - by_chance))
    good, bad = value[label == 1], value[label == 0]
    assert one["auc"]["value"] == pytest.approx(stats.mannwhitneyu(good, bad).statistic / (len(good) * len(bad)))
    assert one["spearman"]["value"] == pytest.approx(stats.spearmanr(label, value).statistic)
    assert one["confusion"] == {"good_passed": sum(label * passed), "good_missed": sum(label * (1 - passed)),
                                "bad_passed": sum((1 - label) * passed), "bad_missed": sum((1 - label) * (1 - passed))}
    at_best = max(FIGURES["balanced accuracy"](label, value, (value >= cut).astype(float)) for cut in np.arange(0, 1, 0.05))
    assert one["best_balanced_accuracy"] == pytest.approx(at_best)
    for name in ("agreement", "kappa", "balanced_accuracy", "auc", "spearman"):
        assert one[name]["low"] < one[name]["value"] < one[name]["high"]
    best = one["best_threshold"]
    assert 0 <= best["low"] <= best["value"] <= best["high"] <= 10


def test_the_corrected_average_is_that_of_all_scores(run: Path, labels: Write) -> None:
    found = only(agree(str(run), labels(recall_labels(IDS[:30]))))["corrected"]
    score = {row["sample_id"]: row["score"] for row in pq.read_table(run / "scores").to_pylist()
             if row["metric"] == "recall" and row["score"] is not None and row["sample_id"] != "twice"}
    twice = [row["score"] for row in pq.read_table(run / "scores").to_pylist()
             if row["metric"] == "recall" and row["sample_id"] == "twice"]
    mine = np.array([score.pop(sample) for sample in IDS[:30]])
    rest, label = np.array([*score.values(), *twice]), np.array([float(GOOD[sample]) for sample in IDS[:30]])
    pooled = np.concatenate([mine, rest]).var(ddof=1)
    weight = min(1.0, np.cov(label, mine)[0, 1] / ((1 + 30 / len(rest)) * pooled))
    average = label.mean() + weight * (rest.mean() - mine.mean())
    assert (found["weight"], found["average"]) == (pytest.approx(weight), pytest.approx(10 * average))
    assert (found["n_labelled"], found["n_others"]) == (30, len(rest))
    assert found["run_average"] == pytest.approx(10 * np.concatenate([mine, rest]).mean())
    assert found["low"] < found["average"] < found["high"]
    assert found["labelled_part"]["average"] == pytest.approx(10 * label.mean())


def test_a_label_says_good_also_where_a_low_score_is(run: Path, labels: Write) -> None:
    good = [{"sample_id": sample, "noise_sensitivity": place % 4 != 0} for place, sample in enumerate(IDS[:40])]
    found = agree(str(run), labels(good))
    one = only(found)
    assert one["direction"] == "lower"
    assert (one["agreement"]["value"], one["auc"]["value"], one["spearman"]["value"]) == (1, 1, pytest.approx(1))
    assert one["threshold"] == one["best_threshold"]["value"] == 5
    assert one["corrected"]["labelled_part"]["average"] == pytest.approx(2.5), "on the metric's scale: a quarter is noise"
    assert found["disagreements"] == []
    worse = [{**row, "noise_sensitivity": not row["noise_sensitivity"]} for row in good]
    assert only(agree(str(run), labels(worse)))["auc"]["value"] == 0


@pytest.mark.parametrize("name", ["l.csv", "semicolon.csv", "l.parquet", "l.jsonl"])
def test_every_format_and_word(run: Path, labels: Write, name: str) -> None:
    words = [("yes", "No"), ("GOOD", "bad"), ("pass", "Fail"), ("1", "0"), ("TRUE", "false"), ("ok", "0.0")]
    said = [{"sample_id": sample, "recall": words[place % 6][not GOOD[sample]]} for place, sample in enumerate(IDS[:12])]
    found = agree(str(run), labels([*said, {"sample_id": IDS[70], "recall": ""}], name))
    confusion = only(found)["confusion"]
    assert confusion["good_passed"] + confusion["good_missed"] == sum(GOOD[sample] for sample in IDS[:12])
    assert (only(found)["n_scored"], found["rows_without_label"]) == (12, 1)


def test_the_long_form_holds_several_metrics_and_fields(run: Path, labels: Write) -> None:
    long = [{"sample_id": sample, "field_group": group, "metric": metric, "score": 0.1, "label": label, "comment": ""}
            for sample in IDS[:10] for group, metric, label in ((A, "exact_match", "good"), (B, "exact_match", "bad"),
                                                                (A, "token_f1", None), (A, "other", "good"))]
    found = agree(str(run), labels(long, "long.csv"))
    assert [(one["field_group"], one["metric"]) for one in found["metrics"]] == [(A, "exact_match"), (B, "exact_match")]
    assert found["labels_elsewhere"] == {f"other ({A})": 10}
    assert found["rows_without_label"] == 10
    first, second = found["metrics"]
    assert first["agreement"]["value"] == np.mean([GOOD[sample] for sample in IDS[:10]])
    assert second["agreement"]["value"] == 1
    assert second["kappa"] is second["auc"] is second["best_threshold"] is None, "people call all of them bad"
    assert [row["sample_id"] for row in found["disagreements"]] == sorted(sample for sample in IDS[:10] if not GOOD[sample])
    assert found["disagreements"][0]["reason"]


def test_what_has_no_score_is_counted(run: Path, labels: Write, capsys: pytest.CaptureFixture[str]) -> None:
    oops = next(row["sample_id"] for row in pq.read_table(run / "scores").to_pylist() if row["code"] == "INVALID_INPUT")
    found = agree(str(run), labels([{"sample_id": one, "recall": 1} for one in (IDS[0], "none", "twice", "nobody", oops)]))
    one = only(found)
    assert (one["n_labelled"], one["n_scored"], one["n_skipped"], one["n_failed"]) == (5, 1, 1, 1)
    assert (one["n_not_in_run"], one["n_repeated_id"]) == (1, 1)
    assert one["codes"] == {"NO_RELEVANT_IDS": 1, "INVALID_INPUT": 1}
    assert one["corrected"]["low"] is None
    show(found)
    printed = capsys.readouterr().out
    assert "5 samples labelled, 1 with a score; 1 skipped; 1 failed (NO_RELEVANT_IDS 1, INVALID_INPUT 1)" in printed
    assert "1 not in the run; 1 left out, whose id several rows of the run have" in printed
    none = only(agree(str(run), labels([{"sample_id": "none", "recall": 1}])))
    assert (none["n_scored"], none["agreement"], none["spearman"], none["corrected"]) == (0, None, None, None)


def test_people_who_differ(run: Path, labels: Write, capsys: pytest.CaptureFixture[str]) -> None:
    thrice = recall_labels(IDS[:3], lambda one: not one)
    found = agree(str(run), labels([*recall_labels(IDS[:20]), *recall_labels(IDS[:10]), *thrice]))
    one = only(found)
    assert (one["people"]["n_several"], one["people"]["n_differ"]) == (10, 3)
    assert one["n_decided"] == 20
    tied = only(agree(str(run), labels([*recall_labels(IDS[:20]), *recall_labels(IDS[:2], lambda one: not one)])))
    assert (tied["n_scored"], tied["n_decided"]) == (20, 18)
    assert tied["people"]["kappa"] == pytest.approx(-1)
    show(found)
    assert "10 samples labelled more than once: people differ on 3 (kappa among people 0." in capsys.readouterr().out


def test_grades_have_an_order_and_a_cut(run: Path, labels: Write) -> None:
    graded = [{"sample_id": sample, "recall": 1 + FOUND[sample] * 4 // 10} for sample in IDS[:40]]
    one = only(agree(str(run), labels(graded), scale=5))
    assert one["spearman"]["value"] > 0.9
    assert one["agreement"] is one["kappa"] is one["auc"] is one["best_threshold"] is None
    assert one["corrected"]["labelled_part"]["average"] == pytest.approx(
        10 * np.mean([(row["recall"] - 1) / 4 for row in graded]))  # type: ignore[operator]
    cut = only(agree(str(run), labels(graded), scale=5, good_from=4))
    assert cut["auc"]["value"] == 1
    assert cut["best_threshold"]["value"] == pytest.approx(7.5)


def test_slices_add_up(run: Path, labels: Write, capsys: pytest.CaptureFixture[str]) -> None:
    found = agree(str(run), labels(recall_labels(IDS)), slices=True)
    assert {row["slice_value"] for row in found["slices"]} == {"en", "zh", "null"}
    assert sum(row["n_scored"] for row in found["slices"]) == only(found)["n_scored"] == 80
    for row in found["slices"]:
        mine = [FOUND[sample] for place, sample in enumerate(IDS) if (
            "null" if place % 3 == 0 else ("en", "zh")[place % 2]) == row["slice_value"]]
        assert row["n_scored"] == len(mine)
        assert row["corrected"]["n_others"] == {"null": 1, "zh": 1}.get(row["slice_value"], 0)
    show(found)
    assert "by lang" in capsys.readouterr().out


def test_samples_that_were_picked_are_no_random_part(run: Path, labels: Write, capsys: pytest.CaptureFixture[str]) -> None:
    picked = agree(str(run), labels([{**row, "picked": "worst"} for row in recall_labels(IDS[:20])]))
    assert only(picked)["corrected"] is None
    show(picked)
    assert "NOT a random part of the run: 20 of their labels are of samples that were picked as worst" in capsys.readouterr().out
    worst = sorted(IDS, key=lambda sample: FOUND[sample])[:20]
    found = agree(str(run), labels(recall_labels(worst)))
    assert "spread otherwise" in only(found)["not_random"]
    show(found)
    assert "to publish" not in capsys.readouterr().out
    assert only(agree(str(run), labels(recall_labels(IDS[:30]))))["not_random"] is None
    one_language = [sample for place, sample in enumerate(IDS) if place % 3 and place % 2]
    assert "mix of lang" in only(agree(str(run), labels(recall_labels(one_language))))["not_random"]


@pytest.mark.parametrize(("lines", "options", "says"), [
    ([{"sample_id": IDS[0], "recall": "maybe"}, {"sample_id": IDS[1], "recall": 3}], {},
     ["row 1: the label 'maybe' of sample 000", "row 2: the label '3'", "--scale 5"]),
    ([{"sample_id": IDS[0], "recall": 6}], {"scale": 5}, ["row 1", "'6'", "a grade from 1 to 5"]),
    ([{"sample_id": IDS[0], "recall": float("nan")}], {}, ["'NaN'"]),
    ([{"sample_id": None, "recall": 1}, {"sample_id": "a", "recall": 1}], {}, ["row 1: the label '1' has no sample_id"]),
    ([{"sample_id": "x1", "recall": 1}], {}, ["no sample in common", "x1", "the run has"]),
    ([{"sample_id": IDS[0], "recall": None, "other": 1}], {}, ["holds no label: all of 1 are empty"]),
    ([{"sample": IDS[0], "recall": 1}], {}, ["no column sample_id", "sample"]),
    ([{"sample_id": IDS[0], "good": 1}], {}, ["no column of labels", "good, sample_id", "--label", "noise_sensitivity"]),
    ([{"sample_id": IDS[0], "good": 1}], {"label": "good", "metric": "recal"}, ["no metric 'recal'", "did you mean recall?"]),
    ([{"sample_id": IDS[0], "good": 1}], {"label": "bad"}, ["no column 'bad'", "good, sample_id"]),
    ([{"sample_id": IDS[0], "label": 1, "metric": "mrr"}], {}, ["are of mrr", "the run has exact_match"]),
    ([{"sample_id": IDS[0], "exact_match": 1}], {}, ["several fields", A, B, "field_group"]),
    ([{"sample_id": IDS[0], "recall": 1}], {"good_from": 4}, ["--good-from", "--scale 5"]),
    ([{"sample_id": IDS[0], "recall": 1}], {"scale": 1}, ["--scale", "found 1"]),
    ([{"sample_id": IDS[0], "recall": 1}, "{oops"], {}, ["row 2 cannot be read", "oops"]),
])  # fmt: skip
def test_a_mistake_is_told(run: Path, labels: Write, lines: list[Any], options: dict[str, Any], says: list[str]) -> None:
    with pytest.raises(RagevalError) as error:
        agree(str(run), labels(lines), **options)
    assert error.value.exit_code == 2
    for word in says:
        assert word in str(error.value)


def test_the_only_judged_metric_is_meant(run: Path, labels: Write) -> None:
    assert only(agree(str(run), labels([{"sample_id": IDS[0], "label": "ok"}])))["metric"] == "noise_sensitivity"
    named = labels([{"id": IDS[0], "good": 1, "recall": 0.3}])
    assert only(agree(str(run), named, label="good", metric="recall"))["n_scored"] == 1
    beside = [{"sample_id": sample, "recall": 0.123, "recall_label": 1} for sample in IDS[:3]]
    assert only(agree(str(run), labels(beside)))["confusion"] is not None


def test_a_run_without_its_good_scores_is_refused(run: Path, labels: Write, tmp_path: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["config"]["output"]["good"] = False
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "summary.json").write_bytes((run / "summary.json").read_bytes())
    with pytest.raises(RagevalError, match=r"output\.good: false"):
        agree(str(tmp_path), labels(recall_labels()))
    file = labels(recall_labels())
    for wrong in (str(tmp_path / "nowhere"), file):
        with pytest.raises(RagevalError, match="holds no run"):
            agree(wrong, file)


def test_the_command(run: Path, labels: Write) -> None:
    done = CliRunner().invoke(app, ["agree", str(run), labels(recall_labels()), "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    assert json.loads(done.stdout)["run_id"] == "first"
    printed = CliRunner().invoke(app, ["agree", str(run), labels(recall_labels()), "--slices"], catch_exceptions=False).stdout
    for part in ("people and the metric agree on", "by chance it would be", "kappa", "AUC", "the number to publish", "by lang",
                 "people and the metric differ on"):
        assert part in printed
