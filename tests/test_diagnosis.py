"""What is found in the statistics of a run: constructed ones, each with one thing that is wrong."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_spark.config import Diagnosis, field_group, metric_of, parse, planned, use_of
from rageval_spark.engine.plan import Plan
from rageval_spark.errors import ConfigError
from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, HttpJudge
from rageval_spark.metrics import CATALOGUE, NAMED
from rageval_spark.report.axes import AXES, LEAST
from rageval_spark.report.diagnosis import MOST_OF_SLICES, TEXTS, Part, diagnosed
from rageval_spark.statistics.intervals import interval

JUDGE = HttpJudge(model="judge", base_url="http://127.0.0.1:1/v1")
EMBEDDINGS = HttpEmbeddings(model="embedder", base_url="http://127.0.0.1:1/v1")
C, F, A, R = "context_relevancy", "faithfulness", "answer_relevancy", "context_recall"
GOOD, MIDDLE, BAD = 0.93, 0.65, 0.2


def row(metric: str, average: float | None, group: str = "a", slice: str | None = None, value: str | None = None, *,
        n: int = 60, spread: float = 0.1, failed: int = 0, unanswered: int = 0) -> dict[str, Any]:
    """A row of the statistics: `n` scores of this average, `failed` ones, and responses without an answer."""
    count = 0 if average is None else n
    low, high = interval(average, spread, count, False)
    judged = count + failed
    bounds = [None, None] if average is None else [average * count / judged, (average * count + failed) / judged]
    return {"slice": slice, "slice_value": value, "field_group": group, "metric": metric, "total": n + failed, "count": count,
            "n_failed": failed, "average": average, "ci_low": low, "ci_high": high, "average_low": bounds[0],
            "average_high": bounds[1], "n_answered": n - unanswered, "n_unanswered": unanswered}


def plan(*names: str, judge: Any = JUDGE, group: str = "a", **called: str) -> Plan:
    """A plan of these metrics, and of others under names of their own."""
    uses = [use_of(metric_of(name, {}), judge, EMBEDDINGS) for name in names]
    uses += [use_of(metric_of(name, {}), judge, EMBEDDINGS, {"as": mine}) for mine, name in called.items()]
    return Plan((field_group({"response": group}, uses, "test"),))


def found(averages: dict[str, float | None], complaints: Any = None, thresholds: Diagnosis | None = None, judge: Any = JUDGE,
          scale: int = 1, **how: Any) -> list[dict[str, Any]]:
    rows = [row(metric, average, **how) for metric, average in averages.items()]
    findings = diagnosed(plan(*averages, judge=judge), rows, thresholds or Diagnosis(), complaints)
    return [one.to_dict(scale) for one in findings]


@pytest.mark.parametrize(("averages", "more", "codes"), [
    ({C: GOOD, F: GOOD, A: GOOD}, {}, ["HEALTHY"]),
    ({C: BAD, F: GOOD, A: GOOD}, {}, ["IRRELEVANT"]),
    ({C: GOOD, F: BAD, A: GOOD}, {}, ["UNSUPPORTED"]),
    ({C: GOOD, F: GOOD, A: BAD}, {}, ["OFF_POINT"]),
    ({C: BAD, F: BAD, A: BAD}, {}, ["NOTHING_FITS"]),
    ({C: BAD, F: BAD, A: BAD, R: BAD}, {}, ["NOTHING_FITS", "NOT_FOUND"]),
    ({C: GOOD, F: BAD, A: BAD}, {}, ["UNSUPPORTED", "OFF_POINT"]),
    ({C: BAD, F: BAD, A: GOOD}, {}, ["IRRELEVANT", "UNSUPPORTED"]),
    ({C: BAD, F: GOOD, A: BAD}, {}, ["IRRELEVANT"]),
    ({C: MIDDLE, F: GOOD, A: GOOD}, {}, ["IRRELEVANT"]),
    ({C: MIDDLE, F: BAD, A: GOOD}, {}, ["UNSUPPORTED", "IRRELEVANT"]),
    ({C: MIDDLE, F: MIDDLE, A: MIDDLE}, {}, ["IRRELEVANT", "UNSUPPORTED", "OFF_POINT"]),
    ({F: BAD, A: BAD, R: 0.7, C: GOOD}, {}, ["NOT_FOUND", "UNSUPPORTED"]),
    ({C: BAD, F: GOOD, A: GOOD, R: GOOD}, {}, ["NOISY"]),
    ({R: GOOD, F: GOOD, A: MIDDLE}, {"unanswered": 20}, ["UNANSWERED"]),
    ({C: GOOD, F: GOOD}, {"unanswered": 60}, ["UNANSWERED"]),
    ({R: BAD, F: GOOD, A: BAD}, {"unanswered": 20}, ["NOT_FOUND"]),
    ({F: GOOD}, {"unanswered": 20}, ["DECLINED"]),
    ({F: GOOD, "answer_correctness": GOOD, "citation_f1": BAD}, {}, ["MISCITED"]),
    ({"answer_accuracy": GOOD, "citation_recall": BAD}, {}, ["MISCITED"]),
    ({F: GOOD, "citation_precision": BAD}, {}, ["MISCITED"]),
    ({"citation_precision": BAD}, {}, ["MISCITED"]),
    ({"citation_recall": GOOD, "citation_f1": MIDDLE}, {}, ["MISCITED"]),
    ({"answer_accuracy": BAD, "citation_recall": BAD}, {}, ["UNSUPPORTED"]),
    ({C: GOOD, F: GOOD, A: GOOD, "answer_correctness": BAD}, {}, ["OUTDATED"]),
    ({"answer_correctness": BAD}, {}, ["UNEXPLAINED"]),
    ({"noise_sensitivity": 0.6, C: GOOD}, {}, ["MISLED"]),
    ({"noise_sensitivity": 0.05, C: GOOD, F: GOOD, A: GOOD}, {}, ["HEALTHY"]),
    ({C: GOOD, F: GOOD, A: GOOD}, {"complaints": 0.3}, ["DRIFT"]),
    ({C: GOOD, F: GOOD, A: GOOD}, {"complaints": 0.1}, ["HEALTHY"]),
    ({C: GOOD, F: BAD, A: GOOD}, {"complaints": 0.3}, ["UNSUPPORTED"]),
    ({"rouge": BAD, "tool_call_f1": BAD}, {}, ["LOW"]),
    ({"rouge": BAD}, {}, []),
    ({"recall": GOOD, "exact_match": 0.533}, {}, ["UNEXPLAINED"]),
    ({"recall": GOOD, "exact_match": 0.9}, {"unanswered": 20}, ["UNANSWERED"]),
    ({"recall": GOOD, "exact_match": GOOD}, {}, ["UNMEASURED"]),
    ({C: GOOD, F: GOOD, A: GOOD, "turn_efficiency": BAD}, {}, ["LOW"]),
    ({C: GOOD, F: GOOD, A: GOOD, "bleu": BAD}, {}, ["HEALTHY"]),
    ({F: GOOD, "answer_correctness": MIDDLE}, {}, ["OUTDATED"]),
    ({F: BAD, "turn_efficiency": BAD}, {}, ["UNSUPPORTED", "LOW"]),
])  # fmt: skip
def test_what_is_to_be_mended_first_comes_first(averages: dict[str, float | None], more: dict[str, Any],
                                                codes: list[str]) -> None:
    told = found(averages, **more)
    assert [one["code"] for one in told] == codes
    for one in told:
        assert one["sure"] is (one["code"] != "DECLINED")
        assert (one["part"], one["advice"]) == (TEXTS[one["code"]].part, TEXTS[one["code"]].advice)
        assert one["finding"].startswith("Perhaps: ") is not one["sure"]
        assert one["finding"].count(".") == 1, "one sentence"
        assert one["evidence"][0]["count"] in (60, None)


def test_every_metric_of_the_axes_is_there() -> None:
    assert {name for names in AXES.values() for name in names} <= CATALOGUE.keys()
    assert {text.part for text in TEXTS.values()} == set(get_args(Part))


@pytest.mark.parametrize(("averages", "says"), [
    ({C: 0.45}, "Perhaps: much of"), ({C: 0.65}, "Perhaps in part: much of"), ({C: 0.2}, "Much of"), ({R: 0.8}, "Perhaps: retr"),
    ({C: 0.85, F: GOOD, A: GOOD}, "Perhaps: nothing to mend was found."),
    ({C: GOOD, F: GOOD}, "Perhaps: nothing is low in what was measured, which is not all; not measured: answer relevance."),
    ({F: BAD, C: GOOD}, "The answers claim what the retrieved chunks do not say (hallucination), although what is retrie"),
])
def test_what_an_interval_leaves_open_is_told_as_perhaps(averages: dict[str, float | None], says: str) -> None:
    [told] = found(averages, n=20, spread=0.4)
    assert told["finding"].startswith(says)
    assert told["sure"] is not says.startswith("Perhaps")


def test_few_scores_that_are_all_alike_are_not_sure_to_stay_so() -> None:
    assert [found({F: 1.0}, n=n, spread=0.0)[0]["sure"] for n in (10, 30)] == [False, True]


def test_recall_comes_first_however_unsure() -> None:
    rows = [row(R, 0.82, spread=0.5), row(C, GOOD), row(F, BAD)]
    assert [(one.found.code, one.sure) for one in diagnosed(plan(R, C, F), rows, Diagnosis())] == [
        ("NOT_FOUND", False), ("UNSUPPORTED", True)]


def test_many_values_of_a_slice_are_told_as_far_as_a_person_reads() -> None:
    rows = [row(F, GOOD), *(row(F, place / 10_000, slice="user", value=str(place)) for place in range(2_000))]
    told = diagnosed(plan(F), rows, Diagnosis())
    assert [one.slice_value for one in told] == [None, *map(str, range(MOST_OF_SLICES))]


def test_what_failed_leaves_open_what_it_might_have_made() -> None:
    [sure], [unsure] = (found({F: 0.4}, failed=failed) for failed in (1, 20))
    assert (sure["sure"], unsure["sure"]) == (True, False)
    assert unsure["evidence"][0]["high"] == pytest.approx((0.4 * 60 + 20) / 80)


@pytest.mark.parametrize("averages", [{F: None}, {F: None, A: None, C: None, R: None}])
def test_nothing_judged_tells_nothing(averages: dict[str, float | None]) -> None:
    assert diagnosed(plan(*averages), [], Diagnosis(), 0.9) == []
    assert found(averages, n=0) == []
    assert found(averages, n=0, failed=90, complaints=0.9) == []


def test_few_samples_tell_nothing() -> None:
    assert found({F: 0.0}, n=LEAST - 1) == []
    assert [one["code"] for one in found({F: 0.0}, n=LEAST)] == ["UNSUPPORTED"]


def test_blank_answers_alone_are_told() -> None:
    """Nothing is scored where every response is blank."""
    [told] = diagnosed(plan(F, R), [row(F, None, n=30, unanswered=30), row(R, GOOD)], Diagnosis())
    assert (told.found.code, told.sure) == ("UNANSWERED", True)
    assert told.to_dict(10)["evidence"][0] == {
        "axis": "unanswered", "metric": F, "level": "low", "average": 1.0, "low": pytest.approx(0.886, abs=1e-3),
        "high": pytest.approx(1.0), "count": 30, "threshold": 0.2, "direction": "lower", "share": True}


def test_evidence_is_on_the_scale_of_the_scores_and_thresholds_are_not() -> None:
    [told] = found({"noise_sensitivity": 0.6}, scale=10, thresholds=Diagnosis(low=0.5))
    [evidence] = told["evidence"]
    assert (evidence["average"], evidence["threshold"], evidence["direction"]) == (6.0, 5.0, "lower")


def test_lower_is_better_is_turned() -> None:
    assert [found({"noise_sensitivity": value})[0]["code"] for value in (0.9, 0.3, 0.1)] == ["MISLED", "MISLED", "UNMEASURED"]
    sure, unsure = (found({"noise_sensitivity": value}, spread=0.3)[0] for value in (0.8, 0.55))
    assert (sure["sure"], unsure["sure"]) == (True, False)


@pytest.mark.parametrize(("thresholds", "code"), [
    (Diagnosis(), "UNMEASURED"), (Diagnosis(preset="lenient"), "UNMEASURED"), (Diagnosis(preset="strict"), "UNSUPPORTED"),
    (Diagnosis(preset="strict", high=0.85), "UNMEASURED"), (Diagnosis(low=0.9, high=0.95), "UNSUPPORTED"),
])  # fmt: skip
def test_thresholds_are_those_of_the_config(thresholds: Diagnosis, code: str) -> None:
    assert found({F: 0.87}, spread=0.05, thresholds=thresholds)[0]["code"] == code


def test_metrics_are_known_by_what_they_are_not_by_their_name() -> None:
    alias = next(alias for alias in NAMED if alias.startswith("LLMRAG") and NAMED[alias].name == F)
    for one in (plan(mine=F), plan(mine=alias)):
        [told] = diagnosed(one, [row("mine", BAD)], Diagnosis())
        assert (told.found.code, told.to_dict(1)["evidence"][0]["metric"]) == ("UNSUPPORTED", "mine")
    assert diagnosed(plan(faithfulness="rouge"), [row("faithfulness", BAD)], Diagnosis()) == []


def test_the_preferred_metric_that_is_scored_counts_and_of_several_ranks_the_most() -> None:
    values = parse({"evaluate": [{"fields": {"response": "a"}, "metrics": [{"recall": {"k": [1, 20, 5]}}, {"ndcg": {"k": 3}}]}]})
    ranked = planned(values)
    rows = [row("recall@1", BAD), row("recall@20", 0.9), row("recall@5", 0.7), row("ndcg@3", BAD)]
    [told] = [one.to_dict(1) for one in diagnosed(ranked, rows, Diagnosis())]
    assert (told["code"], [one["metric"] for one in told["evidence"]]) == ("NOISY", ["ndcg@3", "recall@20"])
    both = diagnosed(plan(R, "hit_rate"), [row(R, None, n=0), row("hit_rate", BAD)], Diagnosis())
    assert [one.reading.metric for one in both] == ["hit_rate"]


def test_a_heuristic_is_told_as_one() -> None:
    [told] = found({F: BAD}, judge=EmbeddedJudge())
    assert told["heuristic"] is True
    assert told["finding"].endswith("; this rests on comparing words, a heuristic.")
    assert found({F: BAD})[0]["heuristic"] is False


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted({name for names in AXES.values() for name in names} - {"aspect", "rubric"})),
                       st.tuples(st.one_of(st.none(), st.floats(0, 1)), st.integers(0, 40), st.integers(0, 30),
                                 st.integers(0, 30), st.floats(0, 0.5)), min_size=1))
def test_whatever_is_measured_what_is_found_agrees_with_itself(averages: dict[str, Any]) -> None:
    rows = []
    for metric, (average, n, failed, unanswered, spread) in averages.items():
        n = max(n, 1, unanswered)
        rows += [row(metric, average, n=n, spread=spread, failed=failed, unanswered=unanswered),
                 row(metric, average, slice="lang", value="zh", n=n, spread=spread, failed=failed, unanswered=unanswered)]
    told = diagnosed(plan(*averages), rows, Diagnosis())
    codes = [one.found.code for one in told]
    assert len(set(codes)) == len(codes), "a slice that is all samples adds nothing"
    assert all(one.slice is None for one in told)
    if {"HEALTHY", "UNMEASURED", "DRIFT"} & set(codes):
        assert len(codes) == 1
    if {"OUTDATED", "UNEXPLAINED"} & set(codes):
        assert len(set(codes) - {"LOW"}) == 1
    if "NOT_FOUND" in codes:
        assert codes.index("NOT_FOUND") == int("NOTHING_FITS" in codes)
    if {"HEALTHY", "UNMEASURED"} & set(codes):
        assert {one.level for one in told[0].found.because} == {"high"}
    for one in told:
        text = json.dumps(one.to_dict(10), allow_nan=False)
        assert text
        for reading in one.evidence:
            assert 0 <= reading.low <= reading.average + 1e-12
            assert reading.average <= reading.high + 1e-12
            assert reading.count is not None
            assert reading.count >= LEAST


def sliced(**values: float | None) -> list[dict[str, Any]]:
    return [row(F, average, slice="lang", value=value) for value, average in values.items()]


def test_a_slice_is_told_where_it_says_more() -> None:
    told = diagnosed(plan(F), [row(F, GOOD), *sliced(en=0.97, zh=BAD)], Diagnosis())
    assert [(one.found.code, one.slice_value) for one in told] == [("UNMEASURED", None), ("UNSUPPORTED", "zh")]
    told = diagnosed(plan(F), [row(F, 0.4), *sliced(en=0.41, zh=0.38, null=0.1)], Diagnosis())
    assert [(one.slice_value, one.also_in) for one in told] == [(None, [("lang", "zh"), ("lang", "en")]), ("null", [])]
    told = diagnosed(plan(F), [row(F, 0.82), *sliced(en=0.79, zh=0.85)], Diagnosis())
    assert [one.slice_value for one in told] == [None], "what chance makes of a part is no finding"
    few = [row(F, GOOD), row(F, 0.0, slice="lang", value="zh", n=LEAST - 1)]
    assert [one.slice_value for one in diagnosed(plan(F), few, Diagnosis())] == [None]


def test_values_of_a_slice_that_are_not_sure_are_told_once() -> None:
    rows = [row(F, GOOD), *(row(F, average, slice="user", value=value, n=8, spread=spread)
                            for value, average, spread in (("a", 0.3, 0.1), ("b", 0.45, 0.4), ("c", 0.4, 0.4), ("d", 0.2, 0.1)))]
    told = diagnosed(plan(F), rows, Diagnosis())[1:]
    assert [(one.slice_value, one.sure, one.also_in) for one in told] == [
        ("d", True, [("user", "c"), ("user", "b")]), ("a", True, [])]


def test_field_groups_are_told_apart_and_ordered_together() -> None:
    both = Plan((*plan(F, C, group="a").groups, *plan(R, group="b").groups))
    rows = [row(F, BAD), row(C, GOOD), row(R, BAD, "b"), row(R, BAD, "b", "lang", "zh")]
    told = diagnosed(both, rows, Diagnosis())
    assert [(one.field_group, one.found.code, one.also_in) for one in told] == [
        ("b", "NOT_FOUND", [("lang", "zh")]), ("a", "UNSUPPORTED", [])]


def test_complaints_may_be_a_value_of_a_slice() -> None:
    thumbs = {"up": 20, "down": 20, "null": 60}
    rows = [row(F, GOOD), *(row(F, GOOD, slice="thumb", value=value, n=n) for value, n in thumbs.items())]
    [told] = diagnosed(plan(F), rows, Diagnosis(), {"thumb": "down"})
    assert (told.found.code, told.reading.average, told.reading.count) == ("DRIFT", 0.5, 40)
    assert [one.found.code for one in diagnosed(plan(F), rows, Diagnosis(), {"thumb": "sideways"})] == ["UNMEASURED"]
    assert [one.found.code for one in diagnosed(plan(F), rows[:1], Diagnosis(), {"thumb": "down"})] == ["UNMEASURED"]


@pytest.mark.parametrize(("given", "says"), [
    ({"low": 5}, ["diagnosis.low", "less than or equal to 1", "found 5"]),
    ({"low": 0.9}, ["diagnosis", "low lies below high", "0.9"]),
    ({"preset": "lenient", "low": 0.75}, ["low lies below high, found low 0.75 and high 0.7"]),
    ({"preset": "strickt"}, ["diagnosis.preset", "strict", "lenient", "strickt"]),
    ({"preset": ["strict"]}, ["diagnosis.preset"]),
    ({"lo": 0.3}, ["diagnosis.lo", "did you mean low"]),
    ({"complaints": 3}, ["diagnosis.complaints", "found 3"]),
    ({"complaints": {"thumb": "down"}}, ["complaints.thumb is no slice of this config", "lang. Add the column to slices"]),
    ({"complaints": {}}, ["complaints is a share, or one slice and its value"]),
    ({"complaints": {"lang": False}}, ["diagnosis.complaints", "string", "found False"]),
    ("strict", ["diagnosis"]),
])  # fmt: skip
def test_a_mistake_is_named(given: Any, says: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        parse({"evaluate": [{"metrics": ["rouge"]}], "slices": ["lang"], "diagnosis": given})
    for word in says:
        assert word in str(error.value), str(error.value)


def test_what_was_not_measured_is_never_praised() -> None:
    [told] = found({"recall": GOOD, "exact_match": GOOD, "token_f1": 0.3})
    assert (told["code"], told["part"]) == ("UNMEASURED", "none")
    assert told["finding"] == ("Nothing is low in what was measured, which is not all; not measured: context relevance, "
                               "faithfulness, answer relevance.")
    assert "add context_relevancy" in told["advice"].lower()
    assert ("token_f1", 0.3) in [(one["metric"], one["average"]) for one in told["evidence"]], "what is low is named"


def test_what_is_low_names_its_metrics() -> None:
    [told] = found({"tool_call_f1": BAD, "goal_achievement": 0.3, "turn_efficiency": GOOD})
    assert [one["metric"] for one in told["evidence"]] == ["tool_call_f1", "goal_achievement"]
    assert told["finding"] == "Scores are low, and the rules know no cause."


@pytest.mark.parametrize(("lost", "averages", "code", "said"), [
    (F, {F: GOOD, A: BAD, C: GOOD}, "OFF_POINT", ""),
    (C, {F: BAD, C: GOOD}, "UNSUPPORTED", ""),
    (R, {R: GOOD, C: BAD}, "IRRELEVANT", ""),
    (F, {F: GOOD, "answer_correctness": BAD}, "UNEXPLAINED", ""),
    (F, {C: GOOD, F: GOOD, A: GOOD}, "UNMEASURED", "; failed for the most part: faithfulness"),
    (F, {C: GOOD, F: GOOD}, "UNMEASURED", "; not measured: answer relevance; failed for the most part: faithfulness"),
    (F, {F: GOOD}, None, ""),
])
def test_what_failed_for_the_most_part_is_not_praised(lost: str, averages: dict[str, float], code: str | None, said: str) -> None:
    rows = [row(name, average, failed=61 if name == lost else 0) for name, average in averages.items()]
    told = [one.to_dict(1) for one in diagnosed(plan(*averages), rows, Diagnosis(), None)]
    assert [one["code"] for one in told] == ([code] if code else [])
    assert all(shown["share"] or shown["metric"] != lost for one in told for shown in one["evidence"])
    assert all("although" not in one["finding"] and one["finding"].endswith(f"{said}.") for one in told)
