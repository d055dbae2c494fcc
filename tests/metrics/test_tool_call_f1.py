"""Tool call F1 and what the three tool call metrics share, worked out by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_spark.config.metrics import metric_of
from rageval_spark.metrics.tool_call_f1 import ToolCallF1
from tests.playing import played


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args}


A, B, C = call("a"), call("b"), call("c")
X = call("weather", city="X")


def f1(made: Any, expected: Any, **parameters: Any) -> float | None:
    score, asked = played(ToolCallF1(**parameters), {"tool_calls": made, "reference_tool_calls": expected})
    assert asked == []
    return score.value


@pytest.mark.parametrize(
    ("made", "expected", "value"),
    [
        ([X, X, X], [X], 0.5),
        ([A, B], [A], 2 / 3),
        ([], [A], 0.0),
        ([A], [], 0.0),
        ([], [], 1.0),
        ([A], [A], 1.0),
        ([A, A], [A, A], 1.0),
        ([A], [A, A], 2 / 3),
        ([B, A], [A, B], 1.0),
        ([A, B], [C], 0.0),
        ([call("a", x=1)], [A], 0.0),
    ],
)
def test_each_call_is_matched_once(made: Any, expected: Any, value: float) -> None:
    assert f1(made, expected) == value


@pytest.mark.parametrize(
    ("made", "expected", "equal", "lenient"),
    [
        (1, 1.0, True, True),
        (True, 1, False, False),
        (False, 0, False, False),
        ("1", 1, False, True),
        (" Paris ", "Paris", False, True),
        ("paris", "Paris", False, False),
        ("true", True, False, True),
        ("1", 1.0, False, True),
        ("0.5", 0.5, False, True),
        ([1, 2], [2, 1], False, False),
        ([1, True], [1.0, True], True, True),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True, True),
        ({"a": 1, "b": None}, {"a": 1}, True, True),
        ([None], [], False, False),
        (None, 1, False, False),
        ("", None, False, False),
        ("北京", "北京", True, True),
        (10**30, 10**30 + 1, False, False),
    ],
)
def test_when_arguments_are_equal(made: Any, expected: Any, equal: bool, lenient: bool) -> None:
    for one, other in ((made, expected), (expected, made)):
        assert f1([call("t", x=one)], [call("t", x=other)]) == float(equal)
        assert f1([call("t", x=one)], [call("t", x=other)], lenient=True) == float(lenient)


def test_an_argument_that_is_null_is_not_given() -> None:
    assert f1([call("t", x=1, y=None)], [call("t", x=1)]) == 1.0
    assert f1([call("t", x=None)], [call("t")], match="arg_credit") == 1.0


@pytest.mark.parametrize("form", [
    {"name": "t", "args": {"x": 1}}, {"name": "t", "arguments": {"x": 1}}, {"name": "t", "parameters": {"x": 1}},
    {"name": "t", "arguments": '{"x": 1}'}, {"type": "function", "function": {"name": "t", "arguments": '{"x": 1.0}'}},
    {"id": "7", "type": "function", "function": {"name": "t", "arguments": {"x": 1}}}, '{"name": "t", "args": {"x": 1}}',
    {"name": "t", "args": {"x": 1, "y": None}, "function": None}, {"type": "tool_use", "name": "t", "input": {"x": 1}},
    {"name": "t", "input_parameters": {"x": 1}},
])  # fmt: skip
def test_a_call_is_read_in_the_forms_that_people_have(form: Any) -> None:
    assert f1([form], [call("t", x=1)]) == f1([call("t", x=1)], [form]) == 1.0


@pytest.mark.parametrize("form", [{"name": "t"}, {"name": "t", "args": None}, {"name": "t", "arguments": ""}])
def test_a_call_may_have_no_arguments(form: Any) -> None:
    assert f1([form], [call("t")]) == 1.0


@pytest.mark.parametrize("form", [{"args": {}}, "t", 5, None, [], {"name": 5}, {"t": {"x": [1]}}, {}])
@pytest.mark.parametrize("field", ["tool_calls", "reference_tool_calls"])
def test_what_is_no_call_is_named(form: Any, field: str) -> None:
    score, _ = played(ToolCallF1(), {"tool_calls": [A], "reference_tool_calls": [A], field: [form]})
    assert (score.status, score.code) == ("failed", "INVALID_INPUT")
    assert str(score.reason).startswith(field)


@pytest.mark.parametrize("arguments", [
    "{x: 1}", "[1]", [1], 5, '{"city": "Oslo"', '{"x": Infinity}', {"x": float("inf")}, "no JSON",
])  # fmt: skip
def test_a_call_with_unreadable_arguments_is_wrong_and_the_others_count(arguments: Any) -> None:
    weather, mail = call("get_weather", city="Oslo"), call("send_mail", to="team")
    sample = {"tool_calls": [{"name": "get_weather", "arguments": arguments}, mail], "reference_tool_calls": [weather, mail]}
    score, _ = played(ToolCallF1(), sample)
    assert (score.value, score.flags) == (0.5, ("UNREADABLE_ARGUMENTS",))
    assert score.reason == ("2 calls made, 2 expected; 1 matched, 1 extra, missing: get_weather; "
                            "arguments that cannot be read: get_weather")
    assert score.details["extra"][0]["unreadable"]
    assert played(ToolCallF1(match="arg_credit"), sample)[0].value == 0.5
    assert played(ToolCallF1(match="name_only"), sample)[0].value == 1.0
    expected = {"tool_calls": [weather, mail], "reference_tool_calls": sample["tool_calls"]}
    assert played(ToolCallF1(), expected)[0].code == "INVALID_INPUT"  # the mistake of the dataset, not of the agent


@pytest.mark.parametrize("arguments", [
    "{'city': 'Oslo', 'days': 2}", '{"city": "Oslo", "days": 2}', json.dumps('{"city": "Oslo", "days": 2}'),
    {"city": "Oslo", "days": 2, "unit": None}, {"city": "Oslo", "days": 2.0, "unit": float("nan")},
])  # fmt: skip
def test_arguments_are_read_as_objects_as_json_and_as_python_prints_them(arguments: Any) -> None:
    assert f1([{"name": "t", "arguments": arguments}], [call("t", city="Oslo", days=2)]) == 1.0


def test_half_a_character_can_be_written() -> None:
    score, _ = played(ToolCallF1(), {"tool_calls": [call("t", x="\ud83d")], "reference_tool_calls": [A]})
    assert json.dumps(score.to_dict(), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"tool_calls": [A]}, "NO_REFERENCE"),
        ({"tool_calls": []}, "NO_REFERENCE"),
        ({"reference_tool_calls": [A]}, "NO_CALLS"),
        ({"reference_tool_calls": []}, "NO_CALLS"),
    ],
)
def test_skipped_where_calls_are_not_known(fields: dict[str, Any], code: str) -> None:
    score, _ = played(ToolCallF1(), fields)
    assert (score.status, score.code, score.value) == ("skipped", code, None)


def test_calls_are_found_in_messages() -> None:
    messages = [
        {"role": "user", "content": "Weather in X?", "tool_calls": None},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "weather", "arguments": '{"city": "X"}'}}]},
        {"role": "tool", "content": "sunny"},
        {"role": "assistant", "content": "Sunny.", "function_call": {"name": "b", "arguments": "{}"}},
    ]
    sample = {"messages": messages, "reference_tool_calls": [X]}
    score, _ = played(ToolCallF1(), sample)
    assert (score.value, score.details["extra"]) == (2 / 3, [B])
    assert played(ToolCallF1(), {**sample, "tool_calls": [X]})[0].value == 1.0  # where both are given, the calls hold
    assert played(ToolCallF1(), {"messages": messages[:1], "reference_tool_calls": [X]})[0].value == 0.0
    assert played(ToolCallF1(), {"messages": [], "reference_tool_calls": []})[0].value == 1.0
    for odd in (["said"], [{"content": "x"}], [{"role": "assistant", "tool_calls": "book"}]):
        assert played(ToolCallF1(), {"messages": odd, "reference_tool_calls": [X]})[0].code == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("made", "expected", "name_only", "arg_credit"),
    [
        ([call("t", x=1)], [call("t", x=2)], 1.0, 0.0),
        ([call("t", x=1, y=2)], [call("t", x=1, y=3)], 1.0, 0.5),
        ([call("t", x=1)], [call("t", x=1, y=3)], 1.0, 0.5),
        ([call("t", x=1, z=9)], [call("t", x=1, y=3)], 1.0, 1 / 3),
        ([call("t")], [call("t")], 1.0, 1.0),
        ([call("t")], [call("t", x=1)], 1.0, 0.0),
        ([call("u", x=1)], [call("t", x=1)], 0.0, 0.0),
        # the first made call is worth most with the second expected one, and so is the second: 1/2 + 1 beats 1 + 0
        ([call("t", x=1, y=1), call("t", x=1, y=2)], [call("t", x=1, y=3), call("t", x=1, y=2)], 1.0, 0.75),
        ([call("t", x=1), call("t", x=1, y=2)], [call("t", x=1, y=2)], 2 / 3, 2 / 3),
    ],
)
def test_names_alone_and_credit_for_arguments(made: Any, expected: Any, name_only: float, arg_credit: float) -> None:
    assert f1(made, expected, match="name_only") == name_only
    assert f1(made, expected, match="arg_credit") == pytest.approx(arg_credit, abs=1e-12)


@pytest.mark.parametrize(
    ("made", "expected", "in_any", "ordered", "sequence"),
    [
        ([A, B, C], [A, B, C], 1.0, 1.0, 1.0),
        ([B, A], [A, B], 1.0, 0.5, 0.0),
        ([A, C, B], [A, B, C], 1.0, 2 / 3, 0.0),
        ([A, B, C], [A, C], 0.8, 0.8, 0.0),
        ([A], [A, B], 2 / 3, 2 / 3, 0.0),
        ([], [], 1.0, 1.0, 1.0),
        ([], [A], 0.0, 0.0, 0.0),
    ],
)
def test_the_order_of_calls(made: Any, expected: Any, in_any: float, ordered: float, sequence: float) -> None:
    assert f1(made, expected) == pytest.approx(in_any)
    assert f1(made, expected, order="ordered") == pytest.approx(ordered)
    assert f1(made, expected, order="sequence") == sequence


def accepted(made: Any, expected: Any, **parameters: Any) -> float | None:
    return f1(made, expected, accepted_values=True, **parameters)


@pytest.mark.parametrize(
    ("made", "expected", "value"),
    [
        ({"city": "Rome"}, {"city": ["Rome", "Rome, Italy"]}, 1.0),
        ({"city": "Rome, Italy"}, {"city": ["Rome", "Rome, Italy"]}, 1.0),
        ({"city": "Milan"}, {"city": ["Rome", "Rome, Italy"]}, 0.0),
        ({}, {"unit": ["C", ""]}, 1.0),
        ({"unit": None}, {"unit": ["C", ""]}, 1.0),
        ({"unit": "F"}, {"unit": ["C", ""]}, 0.0),
        ({}, {"unit": ["C"]}, 0.0),
        ({"extra": 1}, {}, 0.0),
        ({"names": ["a", "b"]}, {"names": [["a", "b"], ["b", "a"]]}, 1.0),
        ({"names": ["a"]}, {"names": [["a", "b"]]}, 0.0),
        ({"n": 1}, {"n": 1}, 1.0),
        ({"where": {"x": 2}}, {"where": [{"x": [1, 2], "y": [3, ""]}]}, 1.0),
        ({"where": {"x": 3}}, {"where": [{"x": [1, 2]}]}, 0.0),
        ({"where": {"x": 1, "z": 1}}, {"where": [{"x": [1, 2]}]}, 0.0),
        ({"rows": [{"x": 2}, {"x": 5}]}, {"rows": [[{"x": [1, 2]}, {"x": [5]}]]}, 1.0),
        ({"flag": True}, {"flag": [1]}, 0.0),
    ],
)
def test_accepted_values(made: dict[str, Any], expected: dict[str, Any], value: float) -> None:
    assert accepted([call("t", **made)], [call("t", **expected)]) == value
    assert accepted([call("t", **made)], [{"t": expected}]) == value  # as BFCL writes it


def test_a_list_is_a_list_unless_accepted_values_are_asked_for() -> None:
    listed = [call("t", names=["a", "b"])]
    assert f1(listed, listed) == 1.0
    assert f1([call("t", names="a")], listed) == 0.0


def test_with_accepted_values_the_most_calls_are_matched() -> None:
    expected = [call("t", x=[1, 2]), call("t", x=[1])]  # the first must leave 1 to the second
    assert accepted([call("t", x=1), call("t", x=2)], expected) == 1.0


def test_credit_does_not_count_what_may_be_left_out() -> None:
    assert accepted([call("t", x=1)], [call("t", x=[1], y=[2], z=["", 3])], match="arg_credit") == 0.5


def test_details_tell_which_calls_matched() -> None:
    score, _ = played(ToolCallF1(), {"tool_calls": [A, X, X], "reference_tool_calls": [X, B]})
    assert score.details == {"matched": [{"made": X, "expected": X, "credit": 1.0}], "extra": [A, X], "missing": [B]}
    assert score.reason == "3 calls made, 2 expected; 1 matched, 2 extra, missing: b"
    assert score.measures == {"true_positives": 1.0, "calls_made": 3.0, "calls_expected": 2.0, "extra_calls": 2.0, "samples": 1.0}
    assert set(score.measures) == set(ToolCallF1.measured)


def test_over_samples() -> None:
    sums = {"true_positives": 3.0, "calls_made": 6.0, "calls_expected": 4.0, "extra_calls": 3.0, "samples": 2.0}
    assert ToolCallF1().extra(sums) == {
        "micro_precision": 0.5, "micro_recall": 0.75, "micro_f1": 0.6, "extra_calls_per_sample": 1.5}  # fmt: skip
    assert ToolCallF1().extra({}) == {}


def test_the_suffix_tells_variants_apart() -> None:
    assert ToolCallF1().suffix == ""
    assert ToolCallF1(match="name_only").suffix == "@name_only"
    assert ToolCallF1("arg_credit", "ordered", True, True).suffix == "@arg_credit-ordered-lenient-accepted_values"
    assert metric_of("tool_call_f1", {"order": "sequence"}) == ToolCallF1(order="sequence")
    assert (ToolCallF1(order="sequence").binary, ToolCallF1().binary) == (True, False)


calls = st.lists(st.sampled_from([A, B, C, X, call("weather", city="Y")]), max_size=6)


@settings(max_examples=100, deadline=None)
@given(calls, calls, st.randoms(use_true_random=False))
def test_exact_matches_are_the_multiset_intersection(made: list[Any], expected: list[Any], random: Any) -> None:
    rest = list(expected)
    for one in made:
        if one in rest:
            rest.remove(one)
    total = len(made) + len(expected)
    value = f1(made, expected)
    assert value == pytest.approx(2 * (len(expected) - len(rest)) / total if total else 1.0)
    assert f1(random.sample(made, len(made)), random.sample(expected, len(expected))) == value
    ordered, credited, sequence = (f1(made, expected, order="ordered"), f1(made, expected, match="arg_credit"),
                                   f1(made, expected, order="sequence"))
    assert None not in (value, ordered, credited, sequence)
    assert (sequence or 0.0) <= (ordered or 0.0) <= (value or 0.0) <= (credited or 0.0) <= 1.0


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": [{"type": "text", "text": "So."}, {"type": "tool_use", "name": "a", "input": {"x": 1}}]},
        {"type": "function_call", "name": "a", "arguments": '{"x": 1}'},
        {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}]},
    ],
)  # fmt: skip
def test_calls_in_the_messages_of_several_interfaces(message: dict[str, Any]) -> None:
    user = {"role": "user", "content": "Do it."}
    score, _ = played(ToolCallF1(), {"messages": [user, message], "reference_tool_calls": [call("a", x=1)]})
    assert score.value == 1.0
    score, _ = played(ToolCallF1(), {"messages": [user, message], "reference_tool_calls": []})
    assert score.value == 0.0
