"""Flows asked side by side: each gets its own answers, and the first one's failure is the outcome."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_spark.errors import JudgeFault
from rageval_spark.measures.side_by_side import ask, ask_together
from rageval_spark.score import Skip


def drive(answers: dict[str, Any], *flows: Any) -> tuple[Any, list[list[str]]]:
    """What the flows return together, and which prompts went out in each round."""
    together, rounds = ask_together(*flows), []
    try:
        prompts = next(together)
        while True:
            rounds.append(prompts)
            prompts = together.send([answers[prompt] for prompt in prompts])
    except StopIteration as end:
        return end.value, rounds


def steps(*prompts: Any) -> Any:
    collected = []
    for prompt in prompts:
        collected.append((yield prompt))
    return collected


def fail_after(prompt: str, error: Exception) -> Any:
    yield prompt
    raise error


def test_each_flow_is_sent_its_own_answers() -> None:
    answers = {name: name.upper() for name in "abcdef"}
    outcome, rounds = drive(answers, steps("a", ["b", "c"]), steps(), ask(["d"]), steps("e", "f"))
    assert outcome == [["A", ["B", "C"]], [], ["D"], ["E", "F"]]
    assert rounds == [["a", "d", "e"], ["b", "c", "f"]]


def test_a_fault_is_raised_in_its_flow_alone_and_stands_in_a_list() -> None:
    fault = JudgeFault("JUDGE_HTTP", "down")

    def careful() -> Any:
        try:
            yield "a"
        except JudgeFault as raised:
            return raised.code

    assert drive({"a": fault, "b": "B"}, careful(), steps("b"), ask(["a"]))[0] == ["JUDGE_HTTP", ["B"], [fault]]


def test_the_outcome_is_that_of_asking_one_after_the_other() -> None:
    """The second flow fails first; the failure of the first one counts all the same."""
    slow = steps("a", "b")

    def first() -> Any:
        yield from slow
        raise Skip("NO_CLAIMS")

    with pytest.raises(Skip, match="NO_CLAIMS"):
        drive({"a": 1, "b": 2, "c": 3}, first(), fail_after("c", Skip("NO_REFERENCE_CLAIMS")))
    with pytest.raises(JudgeFault):
        drive({"a": 1, "b": 2, "c": 3}, steps("a", "b"), fail_after("c", JudgeFault("JUDGE_HTTP", "down")))


def test_nothing_more_is_asked_once_the_first_failed() -> None:
    asked: list[Any] = []

    def second() -> Any:
        for prompt in "cde":
            asked.append(prompt)
            yield prompt

    with pytest.raises(Skip):
        drive(dict.fromkeys("acde"), fail_after("a", Skip("NO_CLAIMS")), second())
    assert asked == ["c", "d"]
