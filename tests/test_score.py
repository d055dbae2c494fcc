"""A score is a number in [0, 1] or none with a code; what it took is known or unknown, never a guess."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.score import FAILED, FLAGS, SKIPPED, Score, Skip, Usage


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0001, 1.0001, 4.2])
def test_no_score_outside_its_range(value: float) -> None:
    with pytest.raises(ValueError, match="a score lies in"):
        Score.of(value)


@pytest.mark.parametrize("value", [0, 0.5, 1, True])
def test_a_score_is_a_float(value: float) -> None:
    assert isinstance(Score.of(value).value, float)


@pytest.mark.parametrize(
    "given",
    [
        (None, "scored"),
        (0.5, "scored", "NO_ANSWER"),
        (0.0, "skipped", "NO_ANSWER"),
        (0.0, "failed", "JUDGE_PARSE"),
        (None, "skipped", None),
        (None, "failed", None),
        (None, "skipped", "JUDGE_PARSE"),
        (None, "failed", "NO_ANSWER"),
        (None, "failed", "judge_parse"),
    ],
)
def test_value_status_and_code_agree(given: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="score"):
        Score(*given)


def test_every_code_has_a_meaning_that_is_the_reason_by_default() -> None:
    assert not SKIPPED.keys() & FAILED.keys()
    assert all((*SKIPPED.values(), *FAILED.values(), *FLAGS.values()))
    assert Score.skipped("NO_ANSWER").reason == SKIPPED["NO_ANSWER"]
    assert Score.failed("JUDGE_PARSE", "it wrote prose").reason == "it wrote prose"
    with pytest.raises(ValueError, match="no code of a skipped score"):
        Score.skipped("NO_IDEA")


def test_a_score_as_the_columns_of_its_row() -> None:
    score = Score.of(0.5, "half", flags=["REPAIRED"], measures={"turns": 2}, claims=[{"id": 1}])
    row = score.to_dict()
    assert row == {
        "score": 0.5, "status": "scored", "code": None, "reason": "half", "flags": ["REPAIRED"], "measures": {"turns": 2},
        "details": {"claims": [{"id": 1}]}, "judge": None, "n_prompts": 0, "n_reused": 0, "prompt_tokens": 0,
        "completion_tokens": 0, "cached_tokens": 0, "latency_ms": 0.0,
    }  # fmt: skip
    assert json.loads(json.dumps(row)) == row


def test_usage_adds_up_and_what_is_unknown_stays_unknown() -> None:
    known = Usage(1, 1, 10, 5, 2, 1.5)
    assert known + known == Usage(2, 2, 20, 10, 4, 3.0)
    assert known + Usage(1, 0, None, 5, None, 0.5) == Usage(2, 1, None, 10, None, 2.0)
    assert Usage(prompt_tokens=None) + known == Usage(1, 1, None, 5, 2, 1.5)
    assert known + Usage() == Usage() + known == known


def test_a_skip_carries_its_score() -> None:
    skip = Skip("NO_CLAIMS", flags=("REFUSAL",), claims=[])
    assert (skip.score.status, skip.score.code, skip.score.flags) == ("skipped", "NO_CLAIMS", ("REFUSAL",))


def test_a_fault_of_the_judge_survives_pickling() -> None:
    fault = JudgeFault("JUDGE_PARSE", "prose", partial={2: "x"}, usage=Usage(prompts=1))
    again = pickle.loads(pickle.dumps(fault))
    assert (again.code, again.reason, again.partial, again.usage) == ("JUDGE_PARSE", "prose", {2: "x"}, Usage(prompts=1))
