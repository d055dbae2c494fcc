"""Prompts asked once more after a run, over HTTP, and again after the next run."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_spark.config import parse
from rageval_spark.finished.comparison import compare
from rageval_spark.report.terminal import show
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPEAT = 8
DECIDING = "verify_claims"


def config(folder: Path, judge: JudgeServer, rows: int = 12, **changes: Any) -> Any:
    data = [{"id": f"s{place}", "q": f"How tall is tower {place}?", "ctx": [f"Tower {place} is {place * 10} m tall."],
             "a": f"Tower {place} is {place * 10} m tall. It is made of gold."} for place in range(1, rows + 1)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
    return parse({"input": {"path": str(folder / "rows.jsonl")}, "output": {"path": str(folder / "out")},
                  "judge": {"model": "judge", "base_url": judge.url, "max_concurrency": 8, "repeat": REPEAT, **changes},
                  "evaluate": [{"fields": {"user_input": "q", "retrieved_contexts": "ctx", "response": "a", "sample_id": "id"},
                                "metrics": ["faithfulness"]}]})


def test_a_judge_is_asked_again_and_found_out(spark: SparkSession, judge: JudgeServer, tmp_path: Path,
                                              caplog: pytest.LogCaptureFixture,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    from rageval_spark.run import run

    monday = run(config(tmp_path, judge), run_id="monday")
    told = monday.summary["noise"]
    assert told["prompts"] == judge.repeats_after_ok == REPEAT, "word for word, and no more than allowed"
    assert len(judge.chats("list_claims")) == 12, "what later prompts are about is not asked again"
    shift = told["metrics"]["q,a,ctx"]["faithfulness"]
    assert (shift["count"], shift["mean"], shift["std_dev"]) == (REPEAT, 0.0, 0.0)
    assert (shift["decisions"], shift["agreed"]) == (2 * REPEAT, 2 * REPEAT)
    assert monday.summary["usage"]["prompts"] == 24 + REPEAT

    judge.reset()
    run(config(tmp_path, judge), run_id="monday")
    assert judge.chats(DECIDING) == [], "the same run pays for none of it again"

    judge.reset()
    judge.always(DECIDING, {"verdicts": [{"id": 1, "reason": "", "verdict": 0}, {"id": 2, "reason": "", "verdict": 1}]})
    with caplog.at_level(logging.WARNING):
        tuesday = run(config(tmp_path, judge), run_id="tuesday")
    assert len(judge.chats(DECIDING)) == REPEAT, "of the same samples, whose stored replies it scored"
    told = tuesday.summary["noise"]
    assert told["since"] == "monday"
    assert told["metrics"]["q,a,ctx"]["faithfulness"]["agreed"] == 0
    assert "the judge has drifted: faithfulness: the judge agrees with its earlier decisions in 0 of 16 cases" in caplog.text
    show(tuesday.summary, {})
    shown = capsys.readouterr().out
    assert "8 prompts were asked once more, of samples that run monday judged:" in shown
    assert "faithfulness: 0 of 16 decisions are the same, the average of 8 samples moves by +0.000, a sample by 0.000" in shown
    assert "THE JUDGE HAS DRIFTED: faithfulness" in shown

    judge.reset()
    judge.always(DECIDING, {"verdicts": [{"id": 1, "reason": "", "verdict": 0}, {"id": 2, "reason": "", "verdict": 0}]})
    wednesday = run(config(tmp_path, judge), run_id="wednesday")
    assert "moved by -0.500 since the last run" in wednesday.summary["noise"]["drift"][0]
    [line] = compare(monday, wednesday).lines
    assert line.noise == pytest.approx(0.5)
    assert line.within_noise


def test_repeated_prompts_count_in_the_limits_of_the_run(spark: SparkSession, judge: JudgeServer, tmp_path: Path) -> None:
    from rageval_spark.run import run

    whole = config(tmp_path, judge, rows=4)
    limited = whole.model_copy(update={"limits": whole.limits.model_copy(update={"max_prompts": 11})})
    done = run(limited, run_id="limited")
    assert done.summary["usage"]["prompts"] <= 11
    assert len(judge.chats()) <= 12, "one more of them is the preflight"
    assert done.summary["noise"]["prompts"] == 3
