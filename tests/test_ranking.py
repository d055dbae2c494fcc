"""What the metrics of a ranking share: the same numbers as trec_eval's, properties, codes, flags, parameters."""

from __future__ import annotations

import random
from typing import Any

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, Success, nDCG

from rageval_spark.config.metrics import metric_of
from rageval_spark.engine.plan import FieldGroup
from rageval_spark.engine.single import score
from rageval_spark.engine.work import Row, sample_of
from rageval_spark.errors import ConfigError, SampleFault
from rageval_spark.metrics import CATALOGUE, NAMED
from rageval_spark.sample import Sample
from rageval_spark.score import Score
from tests.playing import played

RANKINGS = ("recall", "precision", "hit_rate", "mrr", "ndcg", "map")
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in RANKINGS), ("recall", {"capped": True}), ("precision", {"retrieved": True}),
    ("ndcg", {"gain": "exponential"}), ("map", {"norm": "capped"}),
]  # fmt: skip
CUTS = (None, 1, 2, 3, 5, 10, 20)
EXPONENTIAL = {grade: 2 ** max(0, grade) - 1 for grade in range(-1, 5)}


def measured(name: str, sample: dict[str, Any], **parameters: Any) -> Score:
    try:
        found, _ = played(CATALOGUE[name](**parameters), sample)
    except SampleFault as fault:
        return Score.failed(fault.code, str(fault))
    return found


def value(name: str, sample: dict[str, Any], **parameters: Any) -> float | None:
    return measured(name, sample, **parameters).value


# computed twice


def drawn(chance: random.Random) -> dict[str, Any]:
    """A ranking with repeats, gaps and, in half of them, scores with ties; grades from -1 to 4, some of ids not retrieved."""
    known = [f"d{i}" for i in range(30)]
    ids = chance.choices(known, k=chance.randint(0, 25))
    sample: dict[str, Any] = {"retrieved_ids": ids}
    if chance.random() < 0.5:
        ids = sample["retrieved_ids"] = list(dict.fromkeys(ids))
        sample["retrieved_scores"] = [chance.randint(-3, 3) for _ in ids]
    sample["relevance"] = {id: chance.randint(-1, 4) for id in chance.sample(known, chance.randint(1, 15))}
    return sample


def by_trec_eval(sample: dict[str, Any]) -> dict[tuple[str, int | None, bool], float]:
    """The measures by name, k and whether gains are exponential. An id that is repeated becomes one that is not relevant."""
    ids: list[str] = []
    for rank, id in enumerate(sample["retrieved_ids"]):
        ids.append(f"repeat {rank}" if id in ids else id)
    scores = sample.get("retrieved_scores") or [-rank for rank in range(len(ids))]
    run = {"q": dict(zip(ids, map(float, scores), strict=True))}
    qrels = {"q": sample["relevance"]}
    wanted: dict[tuple[str, int | None, bool], Any] = {
        ("mrr", None, False): RR, ("ndcg", None, False): nDCG, ("ndcg", None, True): nDCG(gains=EXPONENTIAL),
        ("map", None, False): AP,
    }  # fmt: skip
    for k in filter(None, CUTS):
        wanted |= {("recall", k, False): R @ k, ("precision", k, False): P @ k, ("hit_rate", k, False): Success @ k,
                   ("ndcg", k, False): nDCG @ k, ("ndcg", k, True): nDCG(gains=EXPONENTIAL) @ k, ("map", k, False): AP @ k}
    found = ir_measures.pytrec_eval.calc_aggregate(list(wanted.values()), qrels, run)
    return {key: found[measure] for key, measure in wanted.items()}


def test_equal_to_trec_eval() -> None:
    chance, compared = random.Random(11), 0
    for _ in range(300):
        sample = drawn(chance)
        if not sample["retrieved_ids"] or max(sample["relevance"].values()) <= 0:
            continue
        for (name, k, exponential), expected in by_trec_eval(sample).items():
            found = value(name, sample, k=k, **({"gain": "exponential"} if exponential else {}))
            assert found == pytest.approx(expected, abs=1e-9), (name, k, sample)
            compared += 1
    assert compared > 10_000


# properties

IDS = st.sampled_from([f"d{i}" for i in range(12)])
SAMPLES = st.builds(
    lambda ids, relevance, scores: {"retrieved_ids": ids, "relevance": relevance,
                                    "retrieved_scores": None if scores is None or ids is None else scores[:len(ids)]},
    st.none() | st.lists(IDS, max_size=15),
    st.none() | st.dictionaries(IDS, st.floats(-1, 2000) | st.integers(-1, 4), max_size=8),
    st.none() | st.lists(st.floats(allow_nan=True), min_size=15, max_size=15),
)
PARAMETERS = st.tuples(st.sampled_from(OPTIONS), st.sampled_from(CUTS))


@settings(deadline=None)
@given(SAMPLES, PARAMETERS)
def test_a_share_or_a_code(sample: dict[str, Any], metric: tuple[tuple[str, dict[str, Any]], int | None]) -> None:
    (name, parameters), k = metric
    found = measured(name, sample, k=k, **parameters)
    if found.value is None:
        assert found.code in ("NO_RELEVANT_IDS", "NO_RETRIEVED_IDS", "INVALID_SCORE", "INVALID_INPUT")
    else:
        assert 0.0 <= found.value <= 1.0
        assert found.code is None


@settings(deadline=None)
@given(SAMPLES, PARAMETERS, st.permutations([f"d{i}" for i in range(12)]))
def test_names_do_not_matter_without_ties(
    sample: dict[str, Any], metric: tuple[tuple[str, dict[str, Any]], int | None], others: list[str]
) -> None:
    (name, parameters), k = metric
    names = {f"d{i}": other for i, other in enumerate(others)}
    sample["retrieved_scores"] = None
    renamed = {"retrieved_ids": sample["retrieved_ids"] and [names[id] for id in sample["retrieved_ids"]],
               "relevance": sample["relevance"] and {names[id]: grade for id, grade in sample["relevance"].items()}}
    assert value(name, sample, k=k, **parameters) == value(name, renamed, k=k, **parameters)


@settings(deadline=None)
@given(SAMPLES, st.sampled_from(["map", "mrr", "recall", "ndcg", "hit_rate"]), st.sampled_from(CUTS))
def test_an_irrelevant_id_at_the_end_changes_nothing(sample: dict[str, Any], name: str, k: int | None) -> None:
    if sample["retrieved_ids"] is not None:
        sample["retrieved_scores"] = None
        longer = {**sample, "retrieved_ids": [*sample["retrieved_ids"], "never relevant"]}
        assert value(name, longer, k=k) == value(name, sample, k=k)


# codes and flags, alike for all


@pytest.mark.parametrize(("name", "parameters"), OPTIONS)
@pytest.mark.parametrize(
    ("fields", "code", "reason"),
    [
        ({"relevant_ids": None}, "NO_RELEVANT_IDS", "nothing to find"),
        ({"relevant_ids": []}, "NO_RELEVANT_IDS", "nothing to find"),
        ({"relevant_ids": {}}, "NO_RELEVANT_IDS", "nothing to find"),
        ({"relevance": {"a": 0, "b": -1}}, "NO_RELEVANT_IDS", "nothing to find"),
        ({"retrieved_ids": None}, "NO_RETRIEVED_IDS", "missing"),
        ({"retrieved_scores": [1, float("nan")]}, "INVALID_SCORE", "expected a number, found nothing"),
        ({"retrieved_scores": ["NaN", 1]}, "INVALID_SCORE", "the score of 'a' is NaN"),
        ({"retrieved_scores": [1, "high"]}, "INVALID_SCORE", 'expected a number, found a text "high"'),
        ({"retrieved_scores": [1, None]}, "INVALID_SCORE", "expected a number, found nothing"),
        ({"retrieved_scores": [1]}, "INVALID_INPUT", "there are 1 for 2 retrieved_ids"),
        ({"retrieved_ids": ["a", 1.5]}, "INVALID_ID", "found a number 1.5"),
        ({"relevant_ids": [1.0]}, "INVALID_ID", "found a number 1.0"),
        ({"relevance": {1.5: 1}}, "INVALID_ID", "found a number 1.5"),
        ({"retrieved_ids": "a"}, "INVALID_INPUT", "expected a list of ids"),
        ({"relevance": {"a": float("inf")}}, "INVALID_INPUT", "expected a finite grade"),
    ],
)
def test_no_number_but_a_code(name: str, parameters: dict[str, Any], fields: dict[str, Any], code: str, reason: str) -> None:
    found = measured(name, {"retrieved_ids": ["a", "x"], "relevant_ids": ["a"], **fields}, **parameters)
    assert (found.value, found.code) == (None, code)
    assert reason in str(found.reason)


def test_the_code_of_a_fault_is_that_of_the_score_with_and_without_a_dataset() -> None:
    group = FieldGroup({"retrieved_ids": "got"}, ())
    sample = sample_of(Row("1", 0, {"got": [1.5]}, {}), group)
    assert isinstance(sample, Sample)
    for row in ({"retrieved_ids": [1.5]}, sample):
        assert score(CATALOGUE["recall"](), row).code == "INVALID_ID"


@pytest.mark.parametrize(("name", "parameters"), OPTIONS)
@pytest.mark.parametrize("k", CUTS)
def test_nothing_retrieved_and_nothing_found_is_0(name: str, parameters: dict[str, Any], k: int | None) -> None:
    for retrieved in ([], ["x"]):
        assert value(name, {"retrieved_ids": retrieved, "relevant_ids": ["a"]}, k=k, **parameters) == 0.0


@pytest.mark.parametrize("name", RANKINGS)
def test_flags(name: str) -> None:
    sample = {"retrieved_ids": ["a", "b", "a"], "relevant_ids": ["a"]}
    assert measured(name, sample).flags == ("DUPLICATE_IDS",)
    assert measured(name, {**sample, "retrieved_scores": [3, 2, 1]}).flags == ("DUPLICATE_IDS",)
    assert measured(name, {**sample, "retrieved_scores": [3, 2, 2]}).flags == ("DUPLICATE_IDS", "SCORE_TIES")
    assert measured(name, {**sample, "retrieved_ids": ["a", "b", "c"]}).flags == ()


def test_scores_give_the_order_and_ids_by_their_bytes_where_they_are_equal() -> None:
    sample = {"retrieved_ids": ["b", "a", "é", "z"], "retrieved_scores": [0.5, "Infinity", 0.5, 0.5]}
    for id, rank in {"a": 1, "é": 2, "z": 3, "b": 4}.items():
        assert value("mrr", {**sample, "relevant_ids": [id]}) == 1 / rank


def test_whole_numbers_are_ids_and_texts_are_compared_as_they_are() -> None:
    assert value("recall", {"retrieved_ids": [1, "2"], "relevant_ids": ["1", 2]}) == 1.0
    assert value("recall", {"retrieved_ids": ["A", "b ", "1.0"], "relevant_ids": ["a", "b", 1]}) == 0.0


def test_grades_decide_alone_where_they_are_given() -> None:
    sample = {"retrieved_ids": ["a", "b"], "relevant_ids": ["a"], "relevance": {"a": -1, "b": 1}}
    assert value("mrr", sample) == 1 / 2
    assert value("mrr", {**sample, "relevance": None}) == 1.0
    read = Sample.parse({"relevant_ids": {"a": 0, 7: 2}})
    assert (read.relevant_ids, read.relevance) == (("7",), {"a": 0.0, "7": 2.0})


# parameters


@pytest.mark.parametrize("name", RANKINGS)
@pytest.mark.parametrize("k", [0, -1, True])
def test_k_is_above_0(name: str, k: int) -> None:
    with pytest.raises(ConfigError, match=rf"{name}\.k is a whole number above 0.*found {k}.*INVALID_K"):
        CATALOGUE[name](k=k)  # type: ignore[call-arg]  # a parameter of these


@pytest.mark.parametrize("k", [0, 2.5, "many"])
def test_a_config_with_such_a_k_is_refused(k: Any) -> None:
    with pytest.raises(ConfigError, match="k"):
        metric_of("recall", {"k": k})


@pytest.mark.parametrize("name", RANKINGS)
def test_two_rows_never_share_a_name(name: str) -> None:
    suffixes = [CATALOGUE[name](**{"k": k, **parameters}).suffix for k in CUTS for one, parameters in OPTIONS if one == name]
    assert len(set(suffixes)) == len(suffixes)


@pytest.mark.parametrize(("alias", "name"), [
    ("mean_average_precision", "map"), ("reciprocal_rank", "mrr"), ("mean_reciprocal_rank", "mrr"), ("hit_ratio", "hit_rate"),
    ("success", "hit_rate"), ("id_based_context_recall", "recall"), ("id_based_context_precision", "precision"),
])  # fmt: skip
def test_other_tools_names(alias: str, name: str) -> None:
    assert NAMED[alias] is CATALOGUE[name]


def test_none_asks_a_judge() -> None:
    assert {name for name, metric in CATALOGUE.items() if not metric.asks} >= set(RANKINGS)
    assert {CATALOGUE[name].layer for name in RANKINGS} == {"retrieval"}
