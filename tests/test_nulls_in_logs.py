"""Logs in which a part of the system is down: nulls in place of what was retrieved, and of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.engine.signals import DIRECTIONS, Sums, Watch
from rageval_spark.report import watched
from rageval_spark.report.alerts import Raised, raised
from rageval_spark.report.watched import Counts

SAT, SUN = "2026-11-28", "2026-11-29"
WATCH = Watch(FieldGroup({"user_input": "q", "response": "a", "retrieved_contexts": "c"}, ()))
Row = tuple[str, Any, Any]
"""Day, contexts, answer"""


def counted(rows: Sequence[Row], watch: Watch = WATCH) -> Counts:
    sums = Sums(watch)
    for place, (day, contexts, answer) in enumerate(rows):
        sums.add(day, {"tenant": f"t{place % 2}"}, {"q": "How tall is it?", "a": answer, "c": contexts}, "", None)
    return Counts(sums.rows())


def figure(counts: Counts, day: str, name: str, tenant: str | None = None) -> tuple[Any, int]:
    [row] = [row for row in watched.figures(counts, day, {}) if (row["figure"], row["slice_value"]) == (name, tenant)]
    return row["value"], row["count"]


def alerted(counts: Counts, day: str, alerts: Mapping[str, float]) -> list[Raised]:
    given = {name: {"limit": limit, "above": None, "below": None, "drop": None, "least": 10, "sure": False, "slices": ()}
             for name, limit in alerts.items()}
    return raised(given, list(watched.figures(counts, day, {})), [], DIRECTIONS, 1)


def notes(counts: Counts, days: Sequence[str]) -> list[str]:
    return [note for note in watched.notes(WATCH, counts, days, 0, "at") if "null" in note]


DOWN = [(SUN, None, "I cannot find that.")] * 175 + [(SUN, ["It is 330 m tall."], "It is 330 m tall.")] * 25


def test_nulls_of_a_retriever_that_is_down_count_as_empty() -> None:
    counts = counted(DOWN)
    assert figure(counts, SUN, "empty_retrieval") == (pytest.approx(0.875), 200)
    assert [figure(counts, SUN, "empty_retrieval", tenant)[1] for tenant in ("t0", "t1")] == [100, 100]
    assert figure(counts, SUN, "cited") == (0.0, 25), "a row without what was retrieved has no citation to check"
    [alert] = alerted(counts, SUN, {"empty_retrieval": 0.2})
    assert alert.raised is True
    assert alert.value == pytest.approx(0.875)
    assert notes(counts, [SUN]) == ["null in c counts as empty, since other rows have values (empty_retrieval): 175 of 200 rows "
                                    f"on {SUN}; they tell nothing of cited, citation_hit"]


def test_a_day_without_any_value_is_empty_if_another_day_has_values() -> None:
    counts = counted([(SAT, ["c"], "So.")] * 30 + [(SUN, None, "So.")] * 40)
    assert figure(counts, SAT, "empty_retrieval") == (0.0, 30)
    assert figure(counts, SUN, "empty_retrieval") == (1.0, 40)
    [alert] = alerted(counts, SUN, {"empty_retrieval": 0.2})
    assert alert.raised is True
    assert alerted(counts, SAT, {"empty_retrieval": 0.2}) == []
    assert notes(counts, [SAT, SUN])[0].endswith(f"40 of 40 rows on {SUN}; they tell nothing of cited, citation_hit")


def test_a_column_that_is_null_throughout_is_missing_and_told() -> None:
    counts = counted([(SUN, None, "So.")] * 40)
    assert figure(counts, SUN, "empty_retrieval") == (None, 0)
    [alert] = alerted(counts, SUN, {"empty_retrieval": 0.2})
    assert (alert.raised, alert.value) == (True, None)
    assert alert.said.endswith(f"on {SUN}: nothing is known of it, no row tells it")
    assert notes(counts, [SUN]) == ["null in c in every row, so that nothing is known of empty_retrieval, cited, citation_hit: "
                                    f"40 of 40 rows on {SUN}"]


def test_answers_that_are_null_are_empty_too() -> None:
    counts = counted([(SUN, ["c"], None)] * 15 + [(SUN, ["c"], "So.")] * 5 + [(SUN, ["c"], " ")] * 5)
    assert figure(counts, SUN, "empty_answer") == (0.8, 25)
    assert figure(counts, SUN, "refusal") == (0.0, 5), "what is blank declines nothing"


def test_an_alert_of_what_no_row_can_tell_is_noted() -> None:
    counts = counted([(SUN, ["c"], "So.")] * 20)
    [alert] = alerted(counts, SUN, {"citation_hit": 0.5})
    assert (alert.raised, alert.value) == (None, None), "where nothing is cited nothing is wrong"
    assert alerted(counts, SAT, {"citation_hit": 0.5, "empty_retrieval": 0.5}) == [], "a day without rows has no figures"
