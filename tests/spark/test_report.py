"""The page of a run: what it is made of, and what it says; how it looks and works in a browser is test_page.py's."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from rageval_spark.cli import app
from rageval_spark.config import parse
from rageval_spark.report.page import Page, make, rendered
from rageval_spark.report.page.gather import fitted
from rageval_spark.report.page.marks import absent, marked, words
from rageval_spark.report.terminal import show
from rageval_spark.run import Run, evaluate, run
from rageval_spark.score import SKIPPED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
RIGHT = "Paris lies on the Seine."
SCRIPT = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
FIELDS = {"user_input": "question", "response": "answer", "retrieved_contexts": "contexts", "reference": "truth"}
METRICS: Sequence[Any] = ["faithfulness", {"token_f1": {"threshold": 0.7}}, "rouge", "noise_sensitivity", "answer_relevancy"]


def hostile(count: int = 40) -> list[dict[str, Any]]:
    """Samples of all kinds; what would do harm as HTML or script stands in every text."""
    rows: list[dict[str, Any]] = [
        {"id": f"{i:03}", "question": f"Where does Paris lie? {i}", "answer": " ".join(RIGHT.split()[:i % 6]) or "Elsewhere",
         "contexts": [RIGHT, "Lyon is big."], "truth": RIGHT, "lang": ["en", "中文", None][i % 3], "<b>x</b>": "y"}
        for i in range(count)]
    rows[0] |= {"id": SCRIPT, "answer": f"{SCRIPT} javascript:alert(1) [a](javascript:alert(2))", "<b>x</b>": '"><script>'}
    rows[1] |= {"id": '" onclick="x', "answer": "a\u2028b\u202ec\u2066d\x07e\r\nf", "question": "{{ 7 * 7 }} {% raw %}"}
    rows[2] |= {"answer": "Seine " * 2000, "contexts": ["巴黎在塞纳河上。" * 300] * 20}
    rows[3] |= {"answer": "巴黎在塞纳河上，有12座桥。", "contexts": ["巴黎在塞纳河上，有7座桥。"], "question": "👩‍👩‍👧 多少？"}
    rows[4] |= {"answer": "", "contexts": []}
    rows[5] |= {"contexts": [], "truth": ""}
    return rows


def scored(folder: Path, rows: Sequence[dict[str, Any]], run_id: str = "one", **changes: Any) -> Run:
    folder.mkdir(exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return run(parse({
        "input": {"path": str(folder / "rows.jsonl")}, "slices": ["lang", "<b>x</b>"], "judge": {"provider": "embedded"},
        "output": {"path": str(folder / "out")}, "evaluate": [{"fields": FIELDS, "metrics": METRICS}, {
            "fields": {"user_input": "question", "response": "answer", "reference": "question"}, "metrics": ["token_f1"]}],
        **changes}), run_id=run_id)


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return scored(tmp_path_factory.mktemp("a report"), hostile(), scale=10, gates={"token_f1": 9.0, "coverage": 0.9})


def data(of: Run) -> dict[str, Any]:
    found: dict[str, Any] = of.folder.read_json("report.json")
    return found


def html(of: Run) -> str:
    return of.folder.read("report.html").decode()


def rageval(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_the_page_is_there_before_the_run_is_complete(made: Run) -> None:
    folder = Path(str(made.folder))
    assert (folder / "report.html").stat().st_mtime_ns <= (folder / "manifest.json").stat().st_mtime_ns
    assert made.page == f"{folder}/report.html"
    assert "2 of 3 gates not met" in html(made)
    assert "Judged by the embedded judge" in html(made)


def test_distributions_are_those_of_the_scores(made: Run) -> None:
    rows = made.scores.where("score is not null").collect()
    bars = {(one["slice"], one["slice_value"], one["field_group"], one["metric"]): one["counts"]
            for one in data(made)["histograms"]}
    assert {key[:2] for key in bars} == {(None, None), ("lang", "en"), ("lang", "中文"), ("lang", "null"), ("<b>x</b>", "y"),
                                         ("<b>x</b>", '"><script>')}
    for (name, value, group, metric), counts in bars.items():
        mine = [row["score"] for row in rows if (row["field_group"], row["metric"]) == (group, metric)
                and (name is None or row["slices"][name] == value)]
        assert counts == np.histogram(np.add(mine, 1e-9).clip(max=1), 20, (0, 1))[0].tolist(), (name, value, metric)


def test_the_samples_that_are_shown(made: Run) -> None:
    rows, samples = made.scores.collect(), data(made)["samples"]
    assert len(samples) <= 60
    group = "question,answer,contexts,truth"
    rouge = f"rouge-L (fields {group})"
    missed = {row["sample_id"]: abs(row["score"] - row["threshold"]) for row in rows
              if (row["field_group"], row["metric"], row["passed"]) == (group, "rouge-L", False)}
    worst = [one["sample_id"] for one in samples if rouge in one["how"].get("worst", ())]
    assert worst
    assert all(missed[id] >= sorted(missed.values())[-10] for id in worst)
    assert sum("random" in one["how"] for one in samples) == 10
    assert any(f"faithfulness (fields {group})" in one["how"].get("unscored", ()) for one in samples)
    assert [one["sample_id"] for one in samples if "most" in one["how"]] == [one["sample_id"] for one in samples][:5] == \
        list(made.worst(5))
    near = [score for one in samples for score in one["scores"]
            if f"{score['metric']} (fields {score['field_group']})" in one["how"].get("borderline", ())]
    assert near
    assert all(abs(score["score"] - score["threshold"]) <= 0.15 + 1e-9 for score in near)
    for one in samples:
        assert len(one["scores"]) == len(one["details"]) == 6 or isinstance(one["details"], str)
        assert all(values["response"] is not None for values in one["texts"].values()) or one["sample_id"] == "004"


def test_all_that_is_text_is_text(made: Run) -> None:
    page = html(made)
    assert len(page.encode()) < 300_000  # where the data is larger
    assert page.count("<script>") == 1
    assert "<img" not in page
    assert "{{ 7 * 7 }}" in page or all("7 * 7" not in json.dumps(one) for one in data(made)["samples"])
    assert not re.search("[\u2028\u202e\u2066\x07]", page)
    assert "http" not in re.sub(r"http-equiv|http://www\.w3\.org/(2000/svg|1999/xlink)", "", page)
    assert page.count("lower is better") == 1
    assert SKIPPED["JUDGE_UNSUPPORTED"] in page


def test_texts_are_cut_and_it_is_said() -> None:
    long = {"answer": "a" * 50_000, "contexts": ["b" * 9000] * 200, "n": float("nan"), "half": "x\ud800"}
    found = fitted(long, 12_000)
    assert len(json.dumps(found)) <= 12_000
    assert "more characters]" in found["answer"]
    assert found["contexts"][-1].endswith("more]")
    assert (found["n"], found["half"]) == ("nan", "x?")
    assert fitted({"a": "b"}, 100) == {"a": "b"}
    assert fitted({f"k{i}": i for i in range(9999)}, 500).startswith("too long to be shown")


def test_marks() -> None:
    missing = absent("New parents get 20 weeks, not <16>.", ["New parents get 16 weeks."])
    assert missing == ["20"]
    assert marked("20 <b> weeks", set(missing), "absent") == '<mark class="absent">20</mark> &lt;b&gt; weeks'
    assert marked("the full pay of it", set(words("full pay")), "found") == 'the <mark class="found">full pay</mark> of it'
    assert marked("巴黎在北方", set(absent("巴黎在北方", ["巴黎在南方"])), "absent") == '巴黎<mark class="absent">在北方</mark>'
    assert marked("", set(), "found") == ""


def test_the_page_is_made_again_from_the_files(made: Run) -> None:
    before, kept = html(made), made.folder.read("report.json")
    found = rageval("report", str(made.folder))
    assert (found.exit_code, found.stdout.strip()) == (0, made.page)
    assert html(made) == before
    textless = {**json.loads(kept), "samples": [{**one, "texts": {}} for one in json.loads(kept)["samples"]]}
    made.folder.write_json("report.json", textless)  # as where the data was gone for a while
    made.folder.delete("report.html")
    assert isinstance(made.report(), Page)
    assert json.loads(made.folder.read("report.json")) == json.loads(kept)
    assert html(made) == before == made.report()
    assert made.report()._repr_html_().count("<script>") == 0  # it is within an attribute


def test_a_comparison_is_on_the_page(made: Run, tmp_path: Path) -> None:
    rows = hostile()
    for row in rows[6:]:
        row["answer"] = RIGHT
    better = scored(tmp_path, rows[3:], scale=10)
    assert "Compared with" not in html(better)
    found = rageval("report", str(better.folder), "--compare", str(made.folder))
    assert found.exit_code == 0, found.exception
    assert re.search(r"Compared with.*better", html(better), re.S)
    page = html(better).partition("Compared with")[2].partition("<section")[0]
    changed = sum(map(int, re.findall(r'data-label="(?:mended|worsened)">(\d+)<', page)))
    listed = page.partition("sides of the threshold")[2]
    count = listed.count("<tr><th scope")
    assert listed.startswith(f" ({count} of {changed})</summary>")
    assert changed > count > 0
    told = rageval("compare", str(made.folder), str(better.folder)).stdout
    assert f"sides of the threshold ({count} of {changed}):\n  faithfulness (fields question,answer,contexts,truth)  0" in told


def test_findings_and_the_noise_of_the_judge_are_on_the_page(made: Run) -> None:
    manifest = made.folder.read_json("manifest.json")
    assert "What to mend first" not in rendered(manifest, {**made.summary, "diagnosis": []}, data(made))
    shown = {"axis": "recall", "metric": "context_recall", "level": "low", "average": 0.41234, "low": 0.3, "high": 0.5,
             "count": 5, "threshold": 0.85, "direction": "higher", "share": None}
    finding = {"code": "NOT_FOUND", "field_group": "q", "slice": "lang", "slice_value": "<b>", "part": "retrieval", "sure": True,
               "finding": "The text is not found", "advice": "Look", "also_in": [], "heuristic": False, "evidence": [shown]}
    shift = {"count": 9, "mean": 0.01, "low": -0.02, "high": 0.04, "std_dev": 0.1, "decisions": 30, "agreed": 28}
    noise = {"prompts": 20, "since": "one", "samples": 9, "metrics": {"q": {"faithfulness": shift}}, "drift": ["it says <no>"]}
    page = rendered(manifest, {**made.summary, "diagnosis": [finding] * 12, "noise": noise}, data(made))
    for said in ("The text is not found", "context_recall 0.412 (likely 0.300–0.500, of 5; under 0.850 is bad)", "&lt;b&gt;",
                 "2 more in summary.json", "28 of 30", "+0.100",
                 '<td class="long" data-label="fields"><bdi>q</bdi></td>', "it says &lt;no&gt;"):
        assert said in page, said


def test_what_is_no_run_is_told(made: Run, tmp_path: Path) -> None:
    for path in (str(tmp_path), str(tmp_path / "not there"), str(made.folder).rpartition("/runs/")[0]):
        found = rageval("report", path)
        assert "holds no run" in str(found.exception)
        found = rageval("report", str(made.folder), "--compare", path)
        assert "holds no run" in str(found.exception)


def test_a_page_that_cannot_be_made_costs_nothing(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                  caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(make, "DATA", "no\0file")  # as what no file system takes
    with caplog.at_level(logging.WARNING):
        done = scored(tmp_path, hostile(7))
    assert done.page is None
    assert done.folder.read_json("manifest.json")["status"] == "complete"
    assert f"rageval report {done.folder}" in caplog.text
    monkeypatch.undo()
    assert "of 7 samples miss a threshold</h1>" in done.report()


def test_a_run_of_a_frame_keeps_its_texts_for_the_page(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("Where?", "In Paris", "In <Paris>")], "question string, answer string, reference string")
    done = evaluate(frame, ["token_f1"], output=str(tmp_path))
    assert "In &lt;Paris&gt;" in done.report()
    done.folder.delete("report.html")
    assert "In &lt;Paris&gt;" in done.report()
    done.folder.delete("report.json")
    done.folder.delete("report.html")
    assert "made from a DataFrame, which cannot be read again" in done.report()


def test_values_of_slices_are_shown_short_and_never_as_nothing(spark: SparkSession, tmp_path: Path,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**row, "lang": value} for row, value in zip(hostile(9)[6:], ("v" * 5000, "", "  "), strict=True)]
    few = scored(tmp_path, rows, gates={"token_f1": {"slices": {"lang": {"average": 9.9, "least": 1}}}}, scale=10)
    page = html(few)
    shown = re.sub("<[^>]*>", "", page)  # what is read
    assert "v" * 61 not in shown
    for said in ("v" * 60 + "…", "(empty)", "(blank)", "token_f1.average, lang (empty) (", "All 3 samples.", "3 rows"):
        assert said in shown, said
    assert 'data-metric="token_f1 (fields question,answer,question)"' in page
    show(few.summary, few.worst())
    told = capsys.readouterr().out
    assert "v" * 61 not in told
    assert "by lang (fields question,answer,contexts,truth)" in told
    assert "lang (empty): " in told
    assert re.search(r"rouge-L \(fields question,answer,contexts,truth\) \d\.\d{3}: ", told)


def test_scores_of_0_and_1_are_not_borderline(spark: SparkSession, tmp_path: Path) -> None:
    few = scored(tmp_path, hostile(9)[6:], evaluate=[{"fields": FIELDS, "metrics": ["exact_match"]}])
    assert [list(one["how"]) for one in data(few)["samples"]] == [["most", "worst", "random"]] * 3
    assert "3 of 3 samples miss a threshold</h1>" in html(few)
    one = {**few.summary, "num_bad": 1, "total": 1}
    assert "1 of 1 sample misses a threshold</h1>" in rendered(few.folder.read_json("manifest.json"), one, data(few))


def test_runs_with_little_to_show(spark: SparkSession, tmp_path: Path) -> None:
    nothing = scored(tmp_path / "a", hostile(6)[4:5],
                     evaluate=[{"fields": FIELDS, "metrics": ["faithfulness", "answer_relevancy"]}])
    assert "Nothing was scored" in html(nothing)
    bad = scored(tmp_path / "b", [hostile()[9]] * 50, output={"path": str(tmp_path / "b"), "good": False})
    assert len(data(bad)["samples"]) == 1
    assert max(max(one["counts"]) for one in data(bad)["histograms"]) == 50
    bad.folder.delete("report.json")
    assert rageval("report", str(bad.folder)).exit_code == 0
    assert "there are no distributions" in html(bad)
