"""What `--fail-on` understands, and when it holds."""

from __future__ import annotations

import pytest

from rageval_spark.errors import ConfigError
from rageval_spark.report.comparison import Compared, list_slices
from rageval_spark.report.conditions import condition, held, undecided
from rageval_spark.statistics.paired import Difference


def line(difference: float, verdict: str, direction: str = "higher", column: str | None = None, value: str | None = None,
         p: float | None = None) -> Compared:
    return Compared("faithfulness", "q,a", column, value, direction, {}, Difference(100, 0.5, 0.5 + difference, difference, p=p),
                    verdict=verdict)


ACME = line(-0.159, "worse", column="tenant", value="acme")
UMBRELLA = line(0.05, "better", column="tenant", value="umbrella")
NOBODY = line(-0.2, "no difference shown", column="tenant")
GERMAN = line(-0.3, "worse", column="language", value="de")
PARTS = [line(0.0, "no difference shown"), ACME, UMBRELLA, NOBODY, GERMAN]


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
    ("faithfulness drops >= 0.03", line(-0.03, "no difference shown"), True),
    ("any worsens > 1e-2", line(-0.03, "no difference shown"), True),
    ("any worsens", line(-0.03, "negligible"), False),
    ("any worsens", ACME, False),
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


@pytest.mark.parametrize(("text", "by"), [
    ("any worsens", []),
    ("any worsens in tenant=acme", [ACME]),
    ("faithfulness worsens in tenant = acme", [ACME]),
    ("faithfulness drops > 0.1 in tenant=acme", [ACME]),
    ("faithfulness drops > 0.2 in tenant=acme", []),
    ("any worsens in tenant=umbrella", []),
    ("any worsens in tenant", [ACME]),
    ("any drops > 0.1 in tenant", [ACME, NOBODY]),
    ("any drops > 0.1 in tenant=null", [NOBODY]),
    ("any worsens in any slice", [ACME, GERMAN]),
])
def test_a_condition_may_be_of_a_part_of_the_samples(text: str, by: list[Compared]) -> None:
    assert [found for _, found in held([condition(text)], PARTS, 1)] == by


def test_values_with_signs_and_blanks_are_named_as_they_are() -> None:
    odd = line(-0.2, "worse", column="team a", value="x = y in z")
    assert held([condition("any worsens in team a=x = y in z")], [odd], 1)


@pytest.mark.parametrize(("text", "lines", "said"), [
    ("any worsens in tenant=acne", PARTS, "tenant has no such value; its values are acme, umbrella, null"),
    ("any worsens in region", PARTS, "no slice of both runs is called 'region'; those are tenant, language"),
    ("any worsens in region=north", PARTS, "no slice of both runs is called 'region'; those are tenant, language"),
    ("any worsens in tenant", PARTS[:1], "no slice in common"),
    ("any worsens in", PARTS, "any worsens in tenant=acme"),
])
def test_a_condition_of_an_unknown_part_names_those_there_are(text: str, lines: list[Compared], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        held([condition(text)], lines, 1)
    assert said in str(error.value)


def test_a_condition_of_a_part_that_is_not_ranked_is_undecided() -> None:
    lost = line(-0.5, "not ranked", column="tenant", value="acme")
    parts = [line(0.0, "no difference shown"), lost, UMBRELLA]
    conditions = [condition("any worsens in tenant=acme"), condition("any worsens in tenant=umbrella"), condition("any worsens")]
    assert held(conditions, parts, 1) == []
    assert undecided(conditions, parts) == [(conditions[0], lost)]


def test_slices_list_what_is_shown_and_then_what_is_least_likely_chance() -> None:
    shown = [line(-0.02, "worse", column="c", value="1", p=0.001), line(0.4, "better", column="c", value="2", p=0.001)]
    unsure = [line(-0.1 * place, "no difference shown", column="c", value=f"u{place}", p=0.06 * place) for place in range(1, 9)]
    nothing = [line(0.0001, "no difference shown", column="c", value="n", p=0.01),
               line(0.2, "negligible", column="c", value="small", p=0.01), line(0.3, "not ranked", column="c", value="lost")]
    listed = list_slices([*nothing, *unsure, *shown], 0.01)
    assert [one.slice_value for one in listed] == ["2", "1", "u5", "u4", "u3", "u2", "u1"]


def test_a_difference_that_only_the_correction_hides_is_perhaps_there() -> None:
    department = Compared("faithfulness", "q,a", "department", "legal", "higher", {},
                          Difference(30, 0.9, 0.741, -0.159, -0.27, -0.05, p=0.008), p=0.064, verdict="no difference shown")
    assert department.sentence("a", "b").startswith(
        "b is perhaps worse (p = 0.008, or 0.064 corrected for the values of department) on faithfulness where department is ")
