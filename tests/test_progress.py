"""The progress line, from beats as tasks write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rageval_spark.engine.files import Folder
from rageval_spark.report.progress import Progress


def beat(scored: int, **more: Any) -> dict[str, Any]:
    return {"scores": {"scored": scored}, "in_flight": {"server": 8}, "done": False, **more,
            "counts": {"prompts": 10 * scored, **more.get("counts", {})}}


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be set."""
    now = [1000.0]
    monkeypatch.setattr("rageval_spark.report.progress.time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def shown(at: list[float], tmp_path: Path) -> Progress:
    return Progress(Folder(str(tmp_path)), 1000, shown=False).__enter__()


def test_time_left_goes_by_the_last_minute(shown: Progress, at: list[float]) -> None:
    assert shown.line([]).endswith("starting")
    at[0] += 10
    assert "100 of 1,000 judgements · 100 prompts/s · 8 in flight" in shown.line([beat(100)])
    for _ in range(5):  # it slows down
        at[0] += 20
        line = shown.line([beat(100)])
    assert line.endswith("stalled")


def test_a_silent_judge_and_the_causes_of_retries_are_named(shown: Progress, at: list[float]) -> None:
    at[0] += 10
    told = [beat(1, silent_s=75.0, counts={"retry_429": 3, "retry_no connection": 2}), beat(0, silent_s=400.0, done=True)]
    line = shown.line(told)
    assert "5 retries (429 3, no connection 2)" in line
    assert "NO ANSWER from the judge for 1 min 15 s" in line


def test_that_the_rates_hold_it_is_told(shown: Progress, at: list[float]) -> None:
    at[0] += 10
    assert "held to the rate limits" not in shown.line([beat(1, waits={"rate_s": 2.0})])
    assert "held to the rate limits" in shown.line([beat(1, waits={"rate_s": 8.0})])
