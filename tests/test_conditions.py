"""What `--fail-on` understands, and when it holds."""

from __future__ import annotations

import pytest

from rageval_spark.errors import ConfigError
from rageval_spark.report.comparison import Compared
from rageval_spark.report.conditions import condition, held
from rageval_spark.statistics.paired import Difference


def line(difference: float, verdict: str, direction: str = "higher") -> Compared:
    return Compared("faithfulness", "q,a", None, None, direction, {}, Difference(100, 0.5, 0.5 + difference, difference),
                    verdict=verdict)


@pytest.mark.parametrize(("text", "compared", "holds"), [
    ("faithfulness drops > 0.02", line(-0.03, "no difference shown"), True),
    ("faithfulness drops > 0.03", line(-0.03, "worse"), False),
    ("faithfulness drops>0.02", line(0.03, "better"), False),
    ("faithfulness drops", line(-0.03, "no difference shown"), False),
    ("faithfulness drops", line(-0.03, "worse"), True),
    ("faithfulness drops", line(-0.03, "not ranked"), False),
    ("any worsens", line(-0.03, "worse"), True),
    ("any worsens > .01", line(0.03, "worse", "lower"), True),
    ("any worsens", line(-0.03, "better", "lower"), False),
    ("faithfulness rises >= 0.02", line(0.03, "worse", "lower"), True),
    ("faithfulness drops > 0.02", line(-0.03, "not ranked"), False),
])
def test_conditions(text: str, compared: Compared, holds: bool) -> None:
    assert condition(text).holds(compared, 1) is holds


def test_limits_are_on_the_scale_of_the_runs() -> None:
    assert condition("faithfulness drops > 0.2").holds(line(-0.03, "worse"), 10)


@pytest.mark.parametrize(("text", "said"), [
    ("faithfulness falls", "drops|rises|worsens"), ("", "found ''"), ("faithfulness drops > much", "such as"),
    ("rouge drops", "compared; those are faithfulness, or any"), ("faithfulness rises", "faithfulness higher is better"),
])
def test_what_is_no_condition(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        held([condition(text)], [line(0.1, "better")], 1)
    assert said in str(error.value)


def test_any_is_of_what_gets_worse() -> None:
    lines = [line(-0.1, "better", "lower"), line(-0.1, "worse")]
    assert held([condition("any drops > 0.05")], lines, 1) == [(condition("any drops > 0.05"), lines[1])]
