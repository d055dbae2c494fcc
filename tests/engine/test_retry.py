"""How often and how long a prompt is tried."""

from __future__ import annotations

import pytest

from rageval_spark.engine.retry import LONGEST_WAIT_S, Patience
from rageval_spark.judges.server_errors import Unanswered

SERVER = Unanswered("JUDGE_HTTP", "HTTP 500", transient=True, status=500)
BUSY = Unanswered("JUDGE_RATE_LIMIT", "HTTP 429", transient=True, throttled=True, status=429)
WRONG = Unanswered("JUDGE_HTTP", "HTTP 400", status=400)


def test_what_cannot_succeed_is_not_tried_again() -> None:
    assert Patience(6, 600).wait_s(WRONG, 0.0) is None


def test_failures_are_counted_and_their_waits_grow() -> None:
    patience = Patience(6, 10_000)
    waits = [patience.wait_s(SERVER, 0.0) for _ in range(6)]
    assert waits[-1] is None
    for times, wait in enumerate(waits[:-1]):
        assert wait is not None
        assert 0.5 * 0.5 * 2**times <= wait <= 1.5 * 0.5 * 2**times


def test_being_throttled_counts_against_the_deadline_alone() -> None:
    patience = Patience(2, 600)
    patience.begin(100.0)
    waits = [patience.wait_s(BUSY, 100.0) for _ in range(50)]
    assert all(wait is not None and wait <= 1.5 * LONGEST_WAIT_S for wait in waits)
    assert patience.wait_s(SERVER, 100.0) is not None
    assert patience.wait_s(SERVER, 100.0) is None


def test_the_server_says_when() -> None:
    later = Unanswered("JUDGE_RATE_LIMIT", "HTTP 429", transient=True, throttled=True, status=429, retry_after_s=7.0)
    wait = Patience(6, 600).wait_s(later, 0.0)
    assert wait is not None
    assert 7.0 <= wait <= 7.0 * 1.25


def test_it_is_given_up_when_the_next_attempt_would_come_after_the_deadline() -> None:
    later = Unanswered("JUDGE_RATE_LIMIT", "HTTP 429", transient=True, throttled=True, status=429, retry_after_s=70.0)
    assert Patience(6, 60).wait_s(later, 0.0) is None
    patience = Patience(6, 60)
    patience.begin(1000.0)
    patience.begin(1050.0)
    assert patience.wait_s(BUSY, 1030.0) is not None
    assert patience.wait_s(BUSY, 1059.9) is None


@pytest.mark.parametrize(("trouble_since", "again"), [(None, True), (995.0, True), (930.0, False)])
def test_where_nothing_succeeds_for_a_whole_deadline_there_is_one_attempt(
        trouble_since: float | None, again: bool) -> None:
    patience = Patience(6, 60)
    patience.begin(1000.0)
    assert (patience.wait_s(BUSY, 1000.0, trouble_since) is not None) is again
