"""The window in simulated time: who is served first, never too many, never too fast, nothing lost on the way."""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import chain, starmap

import pytest

from rageval_spark.engine.window import CUT, UNMEASURED_S, Closed, Window
from tests.engine.simulation import simulate

Clock = Callable[[], float]


def window(clock: Clock, capacity: int = 1, **settings: float) -> Window:
    return Window(capacity, clock=clock, **settings)  # type: ignore[arg-type]  # all settings are numbers


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_samples_that_came_first_are_served_first_whenever_they_ask() -> None:
    async def play(clock: Clock) -> list[int]:
        one, served = window(clock), list[int]()

        async def ask(order: int) -> None:
            await one.acquire(order)
            served.append(order)
            await asyncio.sleep(1)
            one.release()

        first = asyncio.ensure_future(ask(9))
        await settle()
        await asyncio.gather(first, *(ask(order) for order in (7, 3, 5, 3, 1)))
        return served

    assert simulate(play) == [9, 1, 3, 3, 5, 7]


def test_never_more_than_the_limit_and_never_fewer_while_some_wait() -> None:
    async def play(clock: Clock) -> tuple[int, float]:
        one, peak = window(clock, 5), 0

        async def ask(order: int) -> None:
            nonlocal peak
            await one.acquire(order)
            peak = max(peak, one.in_flight)
            await asyncio.sleep(1)
            one.release()

        await asyncio.gather(*(ask(order) for order in range(50)))
        assert (one.in_flight, one.waiting) == (0, 0)
        return peak, clock()

    peak, seconds = simulate(play)
    assert peak == 5
    assert seconds == pytest.approx(10)


def test_a_larger_share_is_used_at_once_and_a_smaller_one_as_places_come_back() -> None:
    async def play(clock: Clock) -> None:
        one = window(clock, 2)
        asking = [asyncio.ensure_future(one.acquire(order)) for order in range(10)]
        await settle()
        assert one.in_flight == 2
        one.resize(6, 1.0)
        await settle()
        assert (one.in_flight, one.waiting) == (6, 4)
        one.resize(3, 1.0)
        for left in (5, 4, 3, 3, 3):
            one.release()
            await settle()
            assert one.in_flight == left
        one.resize(0, 0.0)
        one.release()
        await settle()
        assert one.in_flight == 2
        one.close()
        assert isinstance((await asyncio.gather(*asking, return_exceptions=True))[-1], Closed)

    simulate(play)


def test_a_share_is_a_lease() -> None:
    async def play(clock: Clock) -> None:
        one = window(clock, 4)
        one.resize(4, 1.0, clock() + 2)
        await one.acquire(0)
        await asyncio.sleep(3)
        late = asyncio.ensure_future(one.acquire(1))
        one.release()
        await settle()
        assert one.size == 0
        assert not late.done()
        one.resize(4, 1.0, clock() + 2)
        await late

    simulate(play)


def test_closing_turns_away_all_that_wait_and_all_that_come() -> None:
    async def play(clock: Clock) -> None:
        one = window(clock)
        await one.acquire(0)
        waiting = [asyncio.ensure_future(one.acquire(order)) for order in range(3)]
        await settle()
        one.close()
        assert all(isinstance(end, Closed) for end in await asyncio.gather(*waiting, return_exceptions=True))
        with pytest.raises(Closed):
            await one.acquire(0)
        assert one.in_flight == 1
        one.release()
        assert one.in_flight == 0

    simulate(play)


async def asking_behind_one(one: Window) -> tuple[asyncio.Future[None], asyncio.Future[None]]:
    """Two that wait for the only place, of which the first was just given it and does not know yet."""
    await one.acquire(0)
    admitted, waiting = (asyncio.ensure_future(one.acquire(order)) for order in (1, 2))
    await settle()
    one.release()
    assert (one.in_flight, one.waiting) == (1, 1)
    return admitted, waiting


def test_who_is_admitted_as_the_window_closes_gives_the_place_back() -> None:
    async def play(clock: Clock) -> None:
        one = window(clock)
        asking = await asking_behind_one(one)
        one.close()
        ends = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(end, Closed) for end in ends)
        assert one.in_flight == 0

    simulate(play)


def test_who_is_cancelled_gives_the_place_back() -> None:
    async def play(clock: Clock) -> None:
        one = window(clock)
        admitted, waiting = await asking_behind_one(one)
        admitted.cancel()
        await waiting
        with pytest.raises(asyncio.CancelledError):
            await admitted
        assert one.in_flight == 1

    simulate(play)


def test_who_is_cancelled_while_waiting_is_passed_over() -> None:
    async def play(clock: Clock) -> None:
        one = window(clock)
        await one.acquire(0)
        gone, waiting = (asyncio.ensure_future(one.acquire(order)) for order in (1, 2))
        await settle()
        gone.cancel()
        await settle()
        one.release()
        await waiting
        assert (one.in_flight, one.waiting) == (1, 0)

    simulate(play)


def test_who_is_cancelled_as_the_window_closes_holds_no_place() -> None:
    async def play(clock: Clock) -> None:
        one = window(clock)
        asking = await asking_behind_one(one)
        one.close()
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        assert one.in_flight == 0

    simulate(play)


def test_it_is_cut_once_per_round_trip_and_grows_back_by_one() -> None:
    async def play(clock: Clock) -> None:
        one = window(clock, 100)
        for _ in range(100):
            one.answered(1.0)
        await asyncio.gather(*(one.acquire(order) for order in range(100)))
        sent = clock()
        await asyncio.sleep(1)
        for _ in range(40):
            one.throttled(sent)
        assert one.size == math.floor(100 * CUT)
        await asyncio.sleep(0.5)
        one.throttled(clock() - 0.1)  # begun when the cut could not be felt yet
        assert one.size == math.floor(100 * CUT)
        await asyncio.sleep(5)
        one.throttled(clock())
        assert one.size == math.floor(80 * CUT)
        before = one.size
        for _ in range(before + 1):
            one.answered(1.0)
        assert one.size == before + 1
        for _ in range(10_000):
            one.answered(1.0)
        assert one.size == 100

    simulate(play)


def test_it_is_never_cut_to_nothing() -> None:
    async def play(clock: Clock) -> None:
        one = window(clock, 3)
        await one.acquire(0)
        for _ in range(20):
            await asyncio.sleep(10 * UNMEASURED_S)
            one.throttled(clock())
        assert one.size == 1

    simulate(play)


async def starts(one: Window, clock: Clock, count: int, tokens: Sequence[int] = (0,)) -> list[float]:
    """When each of so many requests starts, all asked for at once."""
    times = []
    for order in range(count):
        await one.acquire(order, tokens[order % len(tokens)])
        times.append(clock())
        one.release()
    return times


def most_within(seconds: float, times: Sequence[float]) -> int:
    return max(bisect_right(times, time + seconds) - i for i, time in enumerate(times))


def test_requests_per_minute_are_spread_evenly() -> None:
    async def play(clock: Clock) -> list[float]:
        return await starts(window(clock, 64, requests_per_minute=600), clock, 200)

    times = simulate(play)
    assert most_within(0.999, times) <= 11
    assert times[-1] == pytest.approx(199 * 0.1, abs=0.2)


def test_tokens_per_minute_hold_whatever_the_lengths() -> None:
    async def play(clock: Clock) -> list[float]:
        one = window(clock, 64, requests_per_minute=6000, tokens_per_minute=60_000)
        return await starts(one, clock, 90, tokens=(100, 500, 3000))

    times = simulate(play)
    assert times[-1] == pytest.approx(29 * 3.6 + 0.6, abs=0.2)


def test_a_fraction_of_the_rates_slows_and_a_larger_one_quickens_at_once() -> None:
    async def play(clock: Clock) -> tuple[list[float], float]:
        one = window(clock, 64, requests_per_minute=60)
        one.resize(64, 0.25)
        slow = await starts(one, clock, 5)
        waiting = asyncio.ensure_future(starts(one, clock, 1))
        await asyncio.sleep(1)
        one.resize(64, 1.0)
        [next_one] = await waiting
        return slow, next_one

    slow, next_one = simulate(play)
    assert slow == pytest.approx([0, 4, 8, 12, 16], abs=0.2)
    assert next_one == pytest.approx(17, abs=0.2)


def test_four_tasks_together_keep_the_rate_and_reach_it() -> None:
    async def play(clock: Clock) -> list[float]:
        tasks = [window(clock, 64, requests_per_minute=600, fraction=0.25) for _ in range(4)]
        return sorted(chain(*await asyncio.gather(*(starts(one, clock, 100) for one in tasks))))

    times = simulate(play)
    assert most_within(0.999, times) <= 12
    assert most_within(59.999, times) <= 610
    assert 400 / times[-1] >= 9


def test_a_pause_by_rate_does_not_make_up_for_idle_time() -> None:
    async def play(clock: Clock) -> list[float]:
        one = window(clock, 64, requests_per_minute=60)
        await starts(one, clock, 1)
        await asyncio.sleep(100)
        return await starts(one, clock, 5)

    assert simulate(play) == pytest.approx([100, 101, 102, 103, 104], abs=0.2)


def test_the_first_of_a_prefix_goes_ahead_of_the_others() -> None:
    async def play(clock: Clock) -> list[tuple[int, str]]:
        one, starts = window(clock, 2), list[tuple[float, int, str]]()

        async def ask(order: int, prefix: str) -> None:
            await one.acquire(order, prefix=prefix)
            starts.append((clock(), order, prefix))
            await asyncio.sleep(1 + order / 100)
            one.release(prefix, answered=True)

        busy = [(-1, ""), (-1, "")]
        await asyncio.gather(*starmap(ask, [*busy, (0, "a"), (0, "a"), (0, "a"), (1, "b"), (1, "b"), (2, "c")]))
        assert (one.in_flight, one.waiting) == (0, 0)
        await asyncio.gather(*starmap(ask, [*busy, (3, "a"), (3, "a"), (4, "c")]))  # both are known by now
        return [(order, prefix) for _, order, prefix in sorted(starts) if prefix]

    # b's first rather than a's second, which follows as soon as a's first is answered
    assert simulate(play) == [(0, "a"), (1, "b"), (0, "a"), (0, "a"), (1, "b"), (2, "c"), (3, "a"), (3, "a"), (4, "c")]


def test_the_window_does_not_run_empty_for_a_prefix() -> None:
    async def play(clock: Clock) -> float:
        one = window(clock, 4)

        async def ask() -> None:
            await one.acquire(0, prefix="a")
            await asyncio.sleep(1)
            one.release("a", answered=True)

        await asyncio.gather(*(ask() for _ in range(4)))
        return clock()

    assert simulate(play) == pytest.approx(1)


def test_a_first_that_is_not_answered_is_followed_by_another_first() -> None:
    async def play(clock: Clock) -> list[float]:
        one, starts = window(clock, 2), list[float]()

        async def ask(prefix: str, answered: bool) -> None:
            await one.acquire(0, prefix=prefix)
            starts.append(clock())
            await asyncio.sleep(1)
            one.release(prefix, answered)

        others = [asyncio.ensure_future(ask("", True)) for _ in range(9)]
        await settle()
        await asyncio.gather(ask("a", False), ask("a", True), ask("a", True), *others)
        assert (one.in_flight, one.waiting) == (0, 0)
        return starts

    assert len(simulate(play)) == 12


def test_closing_turns_away_those_behind_a_prefix_too() -> None:
    async def play(clock: Clock) -> tuple[int, int]:
        one = window(clock, 1)
        await one.acquire(0, prefix="a")
        turned_away = [asyncio.ensure_future(one.acquire(0, prefix="a")) for _ in range(3)]
        await settle()
        one.close()
        said = await asyncio.gather(*turned_away, return_exceptions=True)
        return sum(isinstance(error, Closed) for error in said), one.waiting

    assert simulate(play) == (3, 0)
