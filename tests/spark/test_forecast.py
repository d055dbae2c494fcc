"""What a run will take, foretold and then seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rageval_spark.config import Config, parse
from rageval_spark.config.schema import Limits
from rageval_spark.forecast import Forecast, answered, forecast, lines
from rageval_spark.metric import Reply, play, played
from rageval_spark.metrics import CATALOGUE
from rageval_spark.prompts.embedding import Embed
from rageval_spark.run import run
from rageval_spark.sample import Sample
from tests.judge_server import JudgeServer
from tests.playing import built

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIVE = ["faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision"]
SAMPLES = Path(__file__).parents[2] / "rageval_spark" / "quickstart" / "samples.jsonl"


@pytest.fixture
def of(spark: SparkSession, judge: JudgeServer, tmp_path: Path) -> Config:
    """English samples, some of whose questions come twice, with a judge over HTTP."""
    rows = [row for row in map(json.loads, SAMPLES.read_text().splitlines()) if row["language"] == "en"]  # four letters a token
    other = "It is not known. Ask Ellen Moran in the support team."
    rows += [{**row, "id": f"{row['id']}-again", "answer": other} for row in rows[::3]]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    price = {"prompt": 1000, "completion": 3000}
    values: dict[str, Any] = {
        "input": {"path": str(tmp_path / "rows.jsonl")}, "output": {"path": str(tmp_path / "out")},
        "judge": {"model": "judge", "base_url": judge.url, "price": price, "requests_per_minute": 60_000},
        "embeddings": {"model": "vectors", "base_url": judge.url, "price": 10}, "evaluate": [{"metrics": FIVE}]}
    return parse(values)


def share(found: Forecast, name: str, seen: float) -> float:
    return found.totals[name].value / seen


def test_it_is_what_the_run_then_takes_and_nothing_once_it_is_paid(of: Config, judge: JudgeServer) -> None:
    before = forecast(of)
    assert judge.requests == []
    usage = run(of).summary["usage"]
    assert share(before, "prompts", usage["prompts"]) == pytest.approx(1, abs=0.05)
    assert share(before, "prompt_tokens", usage["models"]["judge"]["prompt_tokens"]) == pytest.approx(1, abs=0.15)
    assert before.cost is not None
    assert before.cost.value == pytest.approx(usage["cost"], rel=0.15)
    after = forecast(of)
    assert after.totals["prompts"].value == 0
    assert after.totals["reused"].value == pytest.approx(usage["prompts"], rel=0.05)


def test_a_part_of_the_rows_tells_of_all_with_an_error(of: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = forecast(of)
    assert whole.totals["prompts"].error == 0
    monkeypatch.setattr("rageval_spark.forecast.ROWS", 40)
    part = forecast(of)
    assert 20 <= part.played <= 40 < part.rows == whole.rows
    assert abs(part.totals["prompts"].value - whole.totals["prompts"].value) <= 2 * part.totals["prompts"].error
    assert 0 < part.totals["prompts"].error < 0.5 * whole.totals["prompts"].value


def test_it_is_told_with_three_prompts(of: Config) -> None:
    said = "\n".join(lines(forecast(of)))
    assert "54 rows; played dry: all" in said
    assert "in batches" in said
    assert said.count("\n--- ") == 3
    assert "<data-" in said
    assert "limits." not in said
    assert "a reply: 0." in said
    few = of.model_copy(update={"limits": Limits(max_prompts=40, max_tokens=10**9, max_cost=0.001)})
    said = "\n".join(lines(forecast(few)))
    assert "limits.max_prompts is 40, less than this takes" in said
    assert "limits.max_cost is 0.001, less" in said
    assert "limits.max_tokens" not in said


@pytest.mark.parametrize("name", [name for name, metric in CATALOGUE.items() if metric.asks])
def test_every_metric_is_played_to_its_end(name: str) -> None:
    sample = Sample.parse({
        "question": "How tall is it, and since when?", "answer": "It is 300 m tall [1]. It was built in 1889 [2].",
        "contexts": ["It is 300 m tall.", "Built in 1889."], "ground_truth": "The tower is 300 m tall since 1889.",
        "messages": [{"role": "user", "content": "Book it."}, {"role": "assistant", "content": "Done."}]})

    def reply(prompt: Any) -> Reply:
        return Reply(np.ones(8, dtype="<f4") if isinstance(prompt, Embed) else prompt.value(answered(prompt)))

    found = played(play(built(name), sample), reply)
    assert found is not None
    assert found.code in (None, "NO_LABEL"), found.reason
