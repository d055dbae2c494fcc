"""Task files of Dingo run as they are: what they come to as a plan, and what of them is not supported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rageval_spark.config import Config, load, planned
from rageval_spark.errors import ConfigError
from rageval_spark.judges.preflight import key_of
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge

KEY = "sk-dingo-5ecr3t"
LLM = {"model": "judge", "key": KEY, "api_url": "http://127.0.0.1:1/v1"}
FIELDS = {"prompt": "user_input", "content": "response", "context": "retrieved_contexts", "reference": "reference"}


def task(*evals: dict[str, Any], **changes: Any) -> dict[str, Any]:
    evals = evals or ({"name": "LLMRAGFaithfulness", "config": LLM},)
    return {"task_name": "rag_evaluation", "input_path": "samples.jsonl", "output_path": "results",
            "dataset": {"source": "local", "format": "jsonl"}, "executor": {"max_workers": 8, "result_save": {"good": True}},
            "evaluator": [{"fields": FIELDS, "evals": list(evals)}], **changes}


def loaded(folder: Path, values: dict[str, Any]) -> Config:
    (folder / "task.json").write_text(json.dumps(values))
    return load(folder / "task.json")


def test_names_thresholds_and_scale_stay_those_of_the_task(tmp_path: Path) -> None:
    config = loaded(tmp_path, task(
        {"name": "LLMRAGFaithfulness", "config": {**LLM, "threshold": 7}}, {"name": "LLMRAGContextRecall", "config": LLM},
        {"name": "LLMRAGContextPrecision", "config": {
            **LLM, "model": "large", "parameters": {"temperature": 0.3, "top_p": 0.9}}}))
    [group] = planned(config).groups
    assert [(use.name, use.metric.name, use.threshold) for use in group.uses] == [
        ("LLMRAGFaithfulness", "faithfulness", 0.7), ("LLMRAGContextRecall", "context_recall", 0.5),
        ("LLMRAGContextPrecision", "context_precision", 0.5)]
    assert group.key == "user_input,response,retrieved_contexts,reference"
    assert (config.name, config.scale, config.output.path, config.output.good) == ("rag_evaluation", 10, "results", True)
    assert config.input is not None
    assert (config.input.path, config.input.format) == ("samples.jsonl", "json")
    one, two, three = (use.judge for use in group.uses)
    assert one == two
    assert isinstance(one, HttpJudge)
    assert (one.model, one.max_concurrency) == ("judge", 8)
    assert isinstance(three, HttpJudge)
    assert (three.model, three.temperature, dict(three.extra_body)) == ("large", 0.3, {"top_p": 0.9})


def test_inline_keys_are_used_and_written_nowhere(tmp_path: Path) -> None:
    config = loaded(tmp_path, task({"name": "LLMRAGAnswerRelevancy", "config": {**LLM, "embedding_config": {
        "model": "vectors", "api_url": "http://127.0.0.1:2/v1", "key": "sk-other-5ecr3t"}}}))
    judge, embeddings = planned(config).endpoints()
    assert (key_of(judge, config.environment).value, key_of(embeddings, config.environment).value) == (KEY, "sk-other-5ecr3t")
    assert embeddings.base_url == "http://127.0.0.1:2/v1"
    for text in (repr(config), json.dumps(config.public()), repr(planned(config)), repr(judge)):
        assert "5ecr3t" not in text


def test_embeddings_are_those_of_the_judges_server_where_none_are_named(tmp_path: Path) -> None:
    config = loaded(tmp_path, task({"name": "LLMRAGAnswerRelevancy", "config": {**LLM, "strictness": 2}}))
    [use] = planned(config).groups[0].uses
    assert vars(use.metric)["strictness"] == 2
    assert isinstance(use.embeddings, HttpEmbeddings)
    assert (use.embeddings.model, use.embeddings.base_url) == ("text-embedding-3-large", LLM["api_url"])
    assert key_of(use.embeddings, config.environment).value == KEY


def test_good_rows_may_be_left_out(tmp_path: Path) -> None:
    assert loaded(tmp_path, task(executor={"result_save": {"good": False, "bad": True}})).output.good is False


@pytest.mark.parametrize(("changes", "says"), [
    ({"evaluator": [{"fields": FIELDS, "evals": [{"name": "LLMTextQualityV4"}]}]}, ["LLMTextQualityV4", "LLMRAGFaithfulness"]),
    ({"evaluator": [{"fields": FIELDS, "evals": []}]}, ["evaluator.0.evals is empty"]),
    ({"evaluator": [{"evals": [{"name": "LLMRAGFaithfulness", "config": {"model": "m"}}]}]}, ["api_url"]),
    ({"dataset": {"source": "hugging_face"}}, ["dataset.source", "hugging_face", "local"]),
    ({"dataset": {"format": "plaintext"}}, ["dataset.format", "plaintext", "jsonl"]),
    ({"executor": {"end_index": 10}}, ["end_index"]),
    ({"custom_config": {}}, ["custom_config", "supported are"]),
])
def test_what_is_not_supported_is_named(tmp_path: Path, changes: dict[str, Any], says: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        planned(loaded(tmp_path, task(**changes)))
    for word in says:
        assert word in str(error.value)
