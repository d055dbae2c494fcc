"""Config files: what is read, and how mistakes are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rageval_spark.config import load, load_monitor, metric_of, parse, planned
from rageval_spark.errors import ConfigError
from rageval_spark.judges.settings import EmbeddedJudge, HttpJudge, Reuse
from rageval_spark.metrics.context_precision import ContextPrecision

JUDGE = {"model": "judge", "base_url": "http://127.0.0.1:1/v1"}
EMBEDDINGS = {"model": "embedder", "base_url": "http://127.0.0.1:1/v1"}
ROOT = Path(__file__).parents[1]


def config(**changes: Any) -> dict[str, Any]:
    return {"input": {"path": "x.jsonl"}, "judge": JUDGE, "evaluate": [{"metrics": ["faithfulness"]}], **changes}


@pytest.mark.parametrize("file", sorted((ROOT / "conf").glob("*.yaml")), ids=lambda file: file.name)
def test_every_shipped_config_can_be_planned(file: Path) -> None:
    monitors = file.name == "monitor.yaml"
    config = load_monitor(file, environment={}).of_day("true") if monitors else load(file, environment={})
    plan = planned(config)
    assert plan.groups
    assert all(group.uses for group in plan.groups)


@pytest.mark.parametrize(("changes", "says"), [
    ({"jugde": JUDGE}, ["jugde", "did you mean judge"]),
    ({"judge": {**JUDGE, "modle": "x"}}, ["judge.modle", "did you mean mode or model", "max_concurrency"]),
    ({"judge": {"model": "x"}}, ["judge.base_url is missing"]),
    ({"judge": {**JUDGE, "base_url": "localhost:8000"}}, ["must start with http:// or https://, found 'localhost:8000'"]),
    ({"judge": {**JUDGE, "max_concurrency": 0}}, ["judge.max_concurrency", "found 0"]),
    ({"judge": {**JUDGE, "mode": "btach"}}, ["judge.mode", "btach"]),
    ({"judge": {**JUDGE, "provider": "local"}}, ["judge", "provider http", "provider embedded"]),
    ({"judge": {**JUDGE, "prompts": "mine/"}}, ["judge.prompts", "there is no folder mine", "<kind>.<language>.txt"]),
    ({"judge": {**JUDGE, "repeat": 3, "mode": "batch"}}, ["repeat asks at once", "mode: live", "batch"]),
    ({"judge": {**JUDGE, "repeat": -1}}, ["judge.repeat", "greater than or equal to 0"]),
    ({"gates": {"faithfulness": {"max_drop": 2}}}, ["gates.faithfulness.max_drop is at most 1"]),
    ({"limits": {"max_prompt": 3}}, ["limits.max_prompt", "max_prompts"]),
    ({"limits": {"max_prompts": 0}}, ["limits.max_prompts", "greater than 0"]),
    ({"input": {"path": "a", "table": "b"}}, ["input", "either path or table"]),
    ({"input": {"pth": "a"}}, ["input.pth", "did you mean path"]),
    ({"evaluate": []}, ["evaluate"]),
    ({"evaluate": [{"metrics": []}]}, ["evaluate.0.metrics is empty", "faithfulness"]),
    ({"evaluate": [{"metrics": ["faithfullness"]}]}, ["faithfullness", "did you mean faithfulness", "context_recall"]),
    ({"evaluate": [{"metrics": [{"faithfulness": {"k": 3}}]}]}, ["faithfulness has no parameter 'k'", "threshold"]),
    ({"evaluate": [{"metrics": [{"faithfulness": {"threshold": 7}}]}]}, ["threshold lies in [0, 1]", "7"]),
    *[({"evaluate": [{"metrics": [{"faithfulness": {"votes": votes}}]}]}, ["faithfulness: votes", "1, 3 or 5", repr(votes)])
      for votes in (0, 2, -1, "3", 1.0, True, None)],
    ({"evaluate": [{"metrics": ["faithfulness", "faithfulness"]}]}, ["two metrics are called 'faithfulness'", "as:"]),
    ({"evaluate": [{"metrics": ["answer_relevancy"]}]}, ["answer_relevancy needs embeddings"]),
    ({"evaluate": [{"fields": {"respnse": "a"}, "metrics": ["faithfulness"]}]}, ["respnse", "response"]),
    ({"evaluate": [{"metrics": ["no.such:Thing"]}]}, ["no.such:Thing", "cannot be imported"]),
    ({"evaluate": [{"metrics": ["pathlib:Path"]}]}, ["pathlib:Path", "subclass of rageval_spark.Metric"]),
    ({"judge": None}, ["faithfulness asks a judge"]),
    ({"gates": {"faithfulnes": {"average": 0.8}}}, ["gates.faithfulnes", "faithfulness"]),
    ({"gates": {"faithfulness": {"avrage": 0.8}}}, ["gates", "avrage"]),
    ({"scale": 5}, ["scale", "5"]),
    ({"gates": {"coverage": 95}}, ["gates.coverage", "from 0 to 1"]),
    ({"gates": {"faithfulness": {}}}, ["gates.faithfulness is empty"]),
    ({"gates": {"faithfulness": 8}}, ["gates.faithfulness.average is at most 1"]),
    ({"judge": {**JUDGE, "kinds": {"list_claim": {}}}}, ["list_claim", "list_claims"]),
    ({"judge": {**JUDGE, "kinds": {"list_claims": {"modle": "x"}}}}, ["modle", "model"]),
])  # fmt: skip
def test_a_mistake_is_named_with_what_is_possible(changes: dict[str, Any], says: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        planned(parse(config(**changes)))
    for word in says:
        assert word in str(error.value)
    assert str(error.value).count(", found ") <= 1


def test_votes_are_of_the_use() -> None:
    metrics = [{"faithfulness": {"votes": 3, "threshold": 0.8}}, "context_recall"]
    [group] = planned(parse(config(evaluate=[{"metrics": metrics}]))).groups
    assert [(use.name, use.threshold, use.votes) for use in group.uses] == [("faithfulness", 0.8, 3), ("context_recall", 0.8, 1)]


def test_variables_are_expanded_and_a_missing_one_is_named() -> None:
    headers = {"headers": {"api-key": "${AZURE_KEY}"}, "model": "${MODEL:-small}"}
    loaded = parse(config(judge={**JUDGE, **headers}), environment={"AZURE_KEY": "k"})
    assert isinstance(loaded.judge, HttpJudge)
    assert loaded.judge.headers == {"api-key": "k"}
    assert loaded.judge.model == "small"
    empty = parse(config(judge={**JUDGE, **headers}), environment={"AZURE_KEY": "k", "MODEL": ""})
    assert empty.judge is not None
    assert empty.judge.model == "small"
    with pytest.raises(ConfigError, match=r"judge\.headers\.api-key.*AZURE_KEY"):
        parse(config(judge={**JUDGE, **headers}), environment={})


def test_any_key_can_be_overridden(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("input: {path: a}\njudge: {model: m, base_url: 'http://x/v1'}\n"
                                     "evaluate:\n  - metrics: [faithfulness]\n")
    loaded = load(tmp_path / "c.yaml", ["judge.model=other", "judge.temperature=0.5", "evaluate.0.metrics.0=context_recall",
                                        "output.path=/tmp/o", "slices=[language]"])
    assert isinstance(loaded.judge, HttpJudge)
    assert (loaded.judge.model, loaded.judge.temperature, loaded.output.path) == ("other", 0.5, "/tmp/o")
    assert planned(loaded).groups[0].uses[0].name == "context_recall"
    assert list(loaded.slices) == ["language"]
    for wrong in ("judge.model", "evaluate.7.metrics=x", "judge.model.x=1"):
        with pytest.raises(ConfigError, match="--set"):
            load(tmp_path / "c.yaml", [wrong])


def test_below_free_names_a_dotted_key_is_one(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("input: {path: a, options: {b.c: d}}\nevaluate: [{metrics: [recall]}]\n"
                                     "judge: {model: m, base_url: 'http://x/v1'}\n")
    loaded = load(tmp_path / "c.yaml", ["spark.conf.spark.sql.session.timeZone=Europe/Berlin", "spark.conf.spark.a.b=8",
                                        "spark.master=local[1]", "input.options.b.c=true", "judge.headers.x.y='1'",
                                        "judge.extra_body.chat.thinking=false", "evaluate.0.fields.response=a.b"])
    assert loaded.spark.conf == {"spark.sql.session.timeZone": "Europe/Berlin", "spark.a.b": "8"}
    assert (loaded.spark.master, loaded.required_input().options) == ("local[1]", {"b.c": "true"})
    assert isinstance(loaded.judge, HttpJudge)
    assert (loaded.judge.headers, loaded.judge.extra_body) == ({"x.y": "1"}, {"chat": {"thinking": False}})
    assert loaded.evaluate[0].fields == {"response": "a.b"}


@pytest.mark.parametrize(("text", "says"), [
    ("name: a\nlimits: {}\nname: b\n", ", line 3: the key 'name' is there already, in line 1; put what both say under one"),
    ("judge:\n  model: a\n  model: b\n", ", line 3: the key 'model' is there already, in line 2"),
    ("evaluate: [{metrics: [{recall: {k: 1, k: 2}}]}]\n", "line 1: the key 'k'"),
    ('{"time": "at", "time": "t"}', "line 1: the key 'time'"),
    ("1: a\n'1': b\n", "line 2: the key '1'"),
])
def test_a_key_that_is_there_twice_is_a_mistake(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "c.json").write_text(text)
    for read in (load, load_monitor):
        with pytest.raises(ConfigError) as error:
            read(tmp_path / "c.json")
        assert str(error.value).startswith(str(tmp_path / "c.json"))
        assert says in str(error.value)


def test_one_key_in_two_mappings_or_merged_is_none_twice(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("judge: &j {model: m, base_url: 'http://x/v1'}\nembeddings: {<<: *j, model: e}\n"
                                     "evaluate: [{metrics: [recall]}, {metrics: [mrr]}]\n")
    loaded = load(tmp_path / "c.yaml")
    assert loaded.embeddings is not None
    assert loaded.embeddings.model == "e"
    with pytest.raises(ConfigError, match="--set embeddings, line 1: the key 'model'"):
        load(tmp_path / "c.yaml", ["embeddings={model: a, model: b}"])


def test_a_limit_of_1_on_a_scale_to_10_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    metrics = [{"faithfulness": {"threshold": 0.8}}, {"context_recall": {"threshold": 8}}]
    gates = {"faithfulness": {"average": 6, "pass_rate": 0.5, "slices": {"tenant": 0.6}}, "context_recall": 0.7, "coverage": 0.9}
    values = config(evaluate=[{"metrics": metrics}], gates=gates, slices=["tenant"])
    parse({**values, "gates": {}})
    assert not caplog.messages
    parse({**values, "scale": 10})
    assert caplog.messages == [f"the config: {what} on a scale to 10; write {meant} if that is meant" for what, meant in [
        ("the threshold of faithfulness is 0.8", 8), ("gates.faithfulness.slices.tenant.average is 0.6", 6),
        ("gates.context_recall.average is 0.7", 7)]]


def test_a_file_that_is_no_config_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nope\.yaml"):
        load(tmp_path / "nope.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1\n")
    with pytest.raises(ConfigError, match="is not YAML"):
        load(tmp_path / "bad.yaml")
    (tmp_path / "list.yaml").write_text("- a\n")
    with pytest.raises(ConfigError, match="must hold keys"):
        load(tmp_path / "list.yaml")


def test_thresholds_are_on_the_configs_scale() -> None:
    entries = [{"faithfulness": {"threshold": 7}}, "context_recall"]
    uses = planned(parse(config(scale=10, evaluate=[{"metrics": entries}]))).groups[0].uses
    assert [use.threshold for use in uses] == [0.7, 0.5]


def test_a_list_of_k_makes_a_row_of_each_and_no_judge_is_needed() -> None:
    entries = [{"recall": {"k": [1, 5, 10], "threshold": 0.8}}, {"recall": {"k": [5], "capped": True}}, "mean_reciprocal_rank"]
    uses = planned(parse(config(judge=None, evaluate=[{"metrics": entries}], gates={"recall@5": 0.8}))).groups[0].uses
    assert [use.name for use in uses] == ["recall@1", "recall@5", "recall@10", "recall@5_capped", "mrr"]
    assert {(use.judge, use.threshold) for use in uses[:3]} == {(None, 0.8)}
    with pytest.raises(ConfigError, match="INVALID_K"):
        planned(parse(config(evaluate=[{"metrics": [{"recall": {"k": [5, 0]}}]}])))


def test_a_metric_can_have_another_name_and_another_judge() -> None:
    entry = {"context_precision": {"judge": {"model": "large"}, "as": "precision_large", "isolated": True}}
    [use] = planned(parse(config(evaluate=[{"metrics": [entry]}]))).groups[0].uses
    assert use.name == "precision_large"
    assert use.metric == ContextPrecision(isolated=True)
    assert isinstance(use.judge, HttpJudge)
    assert (use.judge.model, use.judge.base_url) == ("large", JUDGE["base_url"])


def test_another_judge_answers_one_kind_of_prompt() -> None:
    judge = HttpJudge.model_validate({**JUDGE, "kinds": {"list_claims": {"model": "small"}}})
    assert judge.for_kind("list_claims").model == "small"
    assert judge.for_kind("verify_claims").model == "judge"


def test_parameters_are_checked_by_type() -> None:
    with pytest.raises(ConfigError, match="strictness"):
        metric_of("answer_relevancy", {"strictness": "many"})
    with pytest.raises(ConfigError, match="strictness must be from 1 to 20"):
        metric_of("answer_relevancy", {"strictness": 0})


def test_gates_of_a_metric_may_be_a_bare_average() -> None:
    loaded = parse(config(gates={"faithfulness": 0.8, "coverage": 1}))
    assert loaded.metric_gates["faithfulness"].average == 0.8
    assert loaded.coverage_gate == 1.0


def test_reuse_takes_an_age() -> None:
    loaded = parse(config(judge={**JUDGE, "reuse": {"max_age_days": 30}}))
    assert isinstance(loaded.judge, HttpJudge)
    assert loaded.judge.reuse == Reuse(max_age_days=30)


def test_another_server_is_not_sent_this_ones_key() -> None:
    judge = HttpJudge.model_validate({**JUDGE, "api_key_env": "KEY", "headers": {"x": "y"}})
    other = judge.altered({"base_url": "http://127.0.0.1:2/v1"})
    assert (other.api_key_env, dict(other.headers)) == (None, {})
    assert judge.altered({"model": "m"}).api_key_env == "KEY"


def test_what_may_hold_a_secret_is_written_down_by_name() -> None:
    judge = {**JUDGE, "base_url": "http://me:s3cret@127.0.0.1:1/v1", "extra_body": {"a": "s3cret"}, "query": {"b": "s3cret"}}
    metrics = [{"faithfulness": {"judge": {"headers": {"c": "s3cret"}}}}]
    loaded = parse(config(judge=judge, evaluate=[{"metrics": metrics}], spark={"conf": {"d": "s3cret"}}))
    written = str(loaded.public()) + str([endpoint.public() for endpoint in planned(loaded).endpoints()])
    assert "s3cret" not in written
    assert all(f"'{name}'" in written for name in "abcd")


def test_no_secret_is_in_what_is_written_down() -> None:
    judge = HttpJudge.model_validate({**JUDGE, "headers": {"api-key": "sk-5ecret"}})
    assert "sk-5ecret" not in repr(judge) + str(judge.public())


def test_a_preset_stands_for_its_metrics() -> None:
    [group] = planned(parse(config(judge={"provider": "embedded"}, evaluate=[
        {"metrics": [{"preset": "production"}, "context_recall"]}]))).groups
    assert [use.name for use in group.uses] == ["faithfulness", "answer_relevancy", "context_relevancy", "context_recall"]
    with pytest.raises(ConfigError, match="no preset is called 'prod'; the presets are full, production, evaluation, retrieval"):
        planned(parse(config(evaluate=[{"metrics": [{"preset": "prod"}]}])))


def test_the_embedded_judge_needs_nothing() -> None:
    loaded = parse(config(judge={"provider": "embedded"}, embeddings=None, evaluate=[{"metrics": [{"preset": "full"}]}]))
    assert isinstance(loaded.judge, EmbeddedJudge)
    assert planned(loaded).endpoints() == []
    with pytest.raises(ConfigError, match="judge: the embedded judge has nothing to set; leave out model"):
        parse(config(judge={"provider": "embedded", "model": "m"}))
    entry = {"faithfulness": {"judge": {"provider": "embedded"}, "as": "screen"}}
    uses = planned(parse(config(evaluate=[{"metrics": [entry, "faithfulness"]}]))).groups[0].uses
    assert [type(use.judge) for use in uses] == [EmbeddedJudge, HttpJudge]


def test_a_name_of_ones_own_is_taken_as_it_is_and_told_apart_only_in_lists() -> None:
    entries = [{"precision": {"k": 5, "retrieved": True, "as": "mine"}}, {"recall": {"k": [1, 5], "as": "found"}},
               {"mrr": {"k": 3}}]
    plan = planned(parse({"input": {"path": "x.jsonl"}, "output": {"path": "out"}, "evaluate": [{"metrics": entries}]}))
    assert [use.name for use in plan.groups[0].uses] == ["mine", "found@1", "found@5", "mrr@3"]


@pytest.mark.parametrize("k", [True, "2", 2.0, "ten"])
def test_k_is_a_whole_number_and_nothing_like_one(k: Any) -> None:
    with pytest.raises(ConfigError, match="recall: k: Input should be a valid integer"):
        metric_of("recall", {"k": k})
