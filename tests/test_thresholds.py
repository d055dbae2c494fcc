"""Which scores are good and which are bad: the thresholds of the metrics, and those of a config."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.config import metric_of, parse, planned, use_of
from rageval_spark.errors import ConfigError
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.metrics import CATALOGUE
from rageval_spark.score import Score
from tests.playing import played

JUDGE = HttpJudge(model="judge", base_url="http://127.0.0.1:1/v1")
EMBEDDINGS = HttpEmbeddings(model="embedder", base_url="http://127.0.0.1:1/v1")
NEEDED: dict[str, dict[str, Any]] = {
    "aspect": {"question": "Is it polite?"},
    "rubric": {"question": "How polite is it?", "levels": {level: f"level {level}" for level in range(1, 6)}},
}
NONE = {"precision", "context_relevancy", "context_sentence_relevancy", "answer_similarity", "token_f1", "rouge", "bleu", "chrf"}
"""Metrics that a flawless system does not bring to 1, or whose scale is another model's."""


def use(name: str, given: dict[str, Any] | None = None, scale: int = 1, **parameters: Any) -> Any:
    return use_of(metric_of(name, {**NEEDED.get(name, {}), **parameters}), JUDGE, EMBEDDINGS, given or {}, scale)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_perfect_score_passes_and_the_worst_does_not_unless_there_is_no_threshold(name: str) -> None:
    one = use(name)
    best, worst = (1.0, 0.0) if one.metric.direction == "higher" else (0.0, 1.0)
    expected = (None, None) if name in NONE else (True, False)
    assert (one.passed(Score.of(best, "")), one.passed(Score.of(worst, ""))) == expected
    assert (one.threshold is None) is (name in NONE)


@pytest.mark.parametrize(("name", "value", "passed"), [
    ("faithfulness", 0.5, False), ("faithfulness", 0.79, False), ("faithfulness", 0.8, True), ("context_recall", 0.5, False),
    ("noise_sensitivity", 0.2, True), ("noise_sensitivity", 0.5, False), ("answer_relevance", 0.5, False),
    ("answer_relevance", 0.75, True), ("answer_accuracy", 0.5, False), ("answer_correctness", 0.6, False),
    ("tool_call_f1", 0.5, False), ("rubric", 0.5, False), ("rubric", 0.75, True), ("mrr", 0.5, True), ("exact_match", 1.0, True),
])  # fmt: skip
def test_half_right_is_not_good(name: str, value: float, passed: bool) -> None:
    assert use(name).passed(Score.of(value, "")) is passed


@pytest.mark.parametrize(("name", "parameters", "sample"), [
    ("precision", {"k": 3}, {"retrieved_ids": ["a", "b", "c"], "relevant_ids": ["a"]}),
    ("precision", {}, {"retrieved_ids": ["a", "b", "c"], "relevant_ids": ["a"]}),
    ("precision", {"k": 3, "retrieved": True}, {"retrieved_ids": ["a", "b", "c"], "relevant_ids": ["a"]}),
    ("recall", {"k": 2}, {"retrieved_ids": ["a", "b"], "relevant_ids": ["a", "b", "c", "d", "e"]}),
    ("map", {"k": 2}, {"retrieved_ids": ["a", "b"], "relevant_ids": ["a", "b", "c", "d", "e"]}),
    ("recall", {"k": 2, "capped": True}, {"retrieved_ids": ["a", "b"], "relevant_ids": ["a", "b", "c", "d", "e"]}),
    ("map", {"k": 2, "norm": "capped"}, {"retrieved_ids": ["a", "b"], "relevant_ids": ["a", "b", "c", "d", "e"]}),
    ("ndcg", {"k": 2}, {"retrieved_ids": ["a", "b"], "relevant_ids": ["a", "b", "c", "d", "e"]}),
    ("mrr", {"k": 3}, {"retrieved_ids": ["a", "b", "c"], "relevant_ids": ["a"]}),
    ("hit_rate", {"k": 3}, {"retrieved_ids": ["a", "b", "c"], "relevant_ids": ["a"]}),
])  # fmt: skip
def test_perfect_retrieval_is_never_bad(name: str, parameters: dict[str, Any], sample: dict[str, Any]) -> None:
    one = use(name, **parameters)
    result, _ = played(one.metric, sample)
    assert result.value is not None
    assert one.passed(result) is (True if result.value == 1 else None)
    assert one.label(one.passed(result)) == (f"QUALITY_GOOD.{one.name.upper()}_PASS" if result.value == 1 else None)


@pytest.mark.parametrize(("name", "given", "scale", "threshold"), [
    ("faithfulness", {}, 10, 0.5), ("precision", {}, 10, 0.5), ("noise_sensitivity", {}, 10, 0.5),
    ("faithfulness", {"threshold": 7}, 10, 0.7), ("faithfulness", {"threshold": 0.3}, 1, 0.3),
    ("precision", {"threshold": 0.3}, 1, 0.3),
    ("faithfulness", {"threshold": None}, 1, None), ("faithfulness", {"threshold": None}, 10, None), ("faithfulness", {}, 1, 0.8),
])  # fmt: skip
def test_a_config_has_the_last_word_and_dingos_scale_its_half(name: str, given: Any, scale: int, threshold: float | None) -> None:
    assert use(name, given, scale).threshold == threshold


@pytest.mark.parametrize("threshold", [-0.1, 1.1, "0.5", True, float("nan")])
def test_a_threshold_outside_of_the_scale_is_refused(threshold: Any) -> None:
    with pytest.raises(ConfigError, match=r"faithfulness.threshold lies in \[0, 1\], or is null for none"):
        use("faithfulness", {"threshold": threshold})


def test_a_share_that_passes_needs_a_threshold() -> None:
    def config(gate: Any, metric: Any) -> Any:
        return parse({"evaluate": [{"metrics": [metric]}], "gates": {"token_f1": gate}, "slices": ["lang"]})

    for gate in ({"pass_rate": 0.9}, {"average": 0.5, "slices": {"lang": {"pass_rate": 0.9}}}):
        with pytest.raises(ConfigError, match=r"gates.token_f1.pass_rate: token_f1 has no threshold .*\{threshold: …\}"):
            planned(config(gate, "token_f1"))
        planned(config(gate, {"token_f1": {"threshold": 0.5}}))
    planned(config({"average": 0.5}, "token_f1"))
