"""What `--fail-on` understands, and when it holds."""

from __future__ import annotations

import pytest

from rageval_spark.errors import ConfigError
from rageval_spark.report.comparison import Compared
from rageval_spark.report.conditions import condition
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
    ("faithfulness rises >= 0.02", line(0.03, "better"), True),
])
def test_conditions(text: str, compared: Compared, holds: bool) -> None:
    assert condition(text, ["faithfulness"]).holds(compared, 1) is holds


def test_limits_are_on_the_scale_of_the_runs() -> None:
    assert condition("faithfulness drops > 0.2", ["faithfulness"]).holds(line(-0.03, "worse"), 10)


@pytest.mark.parametrize(("text", "said"), [
    ("faithfulness falls", "drops|rises|worsens"), ("", "found ''"), ("faithfulness drops > much", "such as"),
    ("rouge drops", "compared; those are faithfulness, or any"),
])
def test_what_is_no_condition(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        condition(text, ["faithfulness"])
    assert said in str(error.value)
