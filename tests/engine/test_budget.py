"""Budgets: never overrun, used to the end, by one task and by several that learn of each other once a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rageval_spark.engine.budget import Budget, earlier
from rageval_spark.errors import JudgeFault
from rageval_spark.score import Usage
from tests.engine.simulation import simulate

LATENCY_S = 0.2


class Job:
    """Tasks that beat once a second, each with so many prompts to ask and so many places in its window."""

    def __init__(self, clock: Callable[[], float], limits: dict[str, float], prompts: list[int], window: int = 8,
                 spent: dict[str, float] | None = None):
        self.clock, self.window, self.sent, self.failed = clock, window, 0, 0
        self.budgets = [Budget(limits, clock=clock) for _ in prompts]
        self.told: list[dict[str, Any]] = [{} for _ in prompts]
        self.earlier = [{"done": True, "budget": {"spent": spent}}] if spent else []
        self.prompts = prompts

    async def beat(self, index: int) -> None:
        while not self.told[index].get("done"):
            others = [told for place, told in enumerate(self.told) if place != index and told] + self.earlier
            self.budgets[index].renew(others, len(self.prompts) + len(self.earlier), self.window)
            self.told[index] = {"done": False, "budget": self.budgets[index].told()}
            await asyncio.sleep(1)

    async def task(self, index: int) -> None:
        places, budget = asyncio.Semaphore(self.window), self.budgets[index]

        async def ask() -> None:
            async with places:
                try:
                    await budget.take(prompt=True)
                except JudgeFault as fault:
                    self.failed += fault.code == "BUDGET"
                    return
                self.sent += 1
                await asyncio.sleep(LATENCY_S)
                budget.paid(Usage(prompt_tokens=90, completion_tokens=10), 0.5)

        beating = asyncio.ensure_future(self.beat(index))
        await asyncio.sleep(0)
        await asyncio.gather(*(ask() for _ in range(self.prompts[index])))
        self.told[index] = {"done": True, "budget": budget.told()}
        await beating

    async def run(self) -> None:
        await asyncio.gather(*map(self.task, range(len(self.prompts))))


def played(limits: dict[str, float], prompts: list[int], **settings: Any) -> Job:
    async def play(clock: Callable[[], float]) -> Job:
        job = Job(clock, limits, prompts, **settings)
        await job.run()
        return job

    return simulate(play)


@pytest.mark.parametrize(("limit", "prompts"), [
    (100, [1000]), (100, [500, 500]), (100, [20, 500]), (7, [50, 50, 50, 50]), (1, [5]), (1000, [300, 300, 300, 300, 300])])
def test_prompts_are_asked_up_to_the_limit_and_not_beyond(limit: int, prompts: list[int]) -> None:
    job = played({"max_prompts": limit}, prompts)
    assert limit - len(prompts) < job.sent <= limit
    assert job.sent + job.failed == sum(prompts)


def test_a_budget_that_is_not_reached_fails_nothing() -> None:
    job = played({"max_prompts": 500, "max_tokens": 1e9, "max_cost": 1e9}, [240, 240])
    assert (job.sent, job.failed) == (480, 0)


@pytest.mark.parametrize(("name", "each"), [("max_tokens", 100), ("max_cost", 0.5)])
def test_what_is_known_afterwards_overruns_by_a_window_at_most(name: str, each: float) -> None:
    job = played({name: 100 * each}, [300, 300])
    assert 90 <= job.sent <= 100 + 2 * job.window


def test_what_an_earlier_attempt_spent_counts() -> None:
    job = played({"max_prompts": 100}, [200, 200], spent={"max_prompts": 60.0})
    assert 38 <= job.sent <= 40


def test_time_runs_out() -> None:
    async def play(clock: Callable[[], float]) -> None:
        budget = Budget({}, until=clock() + 10, clock=clock)
        await budget.take(prompt=True)
        await asyncio.sleep(11)
        with pytest.raises(JudgeFault, match="max_hours"):
            await budget.take(prompt=True)

    simulate(play)


def test_a_request_without_an_answer_is_given_back() -> None:
    async def play(clock: Callable[[], float]) -> None:
        budget = Budget({"max_prompts": 1}, clock=clock)
        budget.renew([], 1, 4)
        for _ in range(3):
            await budget.take(prompt=True)
            budget.give_back(prompt=True)
        await budget.take(prompt=True)
        assert budget.told()["spent"]["max_prompts"] == 1

    simulate(play)


def test_the_last_beats_tell_what_was_spent() -> None:
    told = [{"done": True, "budget": {"spent": {"max_prompts": 3}, "granted": {"max_prompts": 9}}}, {}]
    assert earlier(told) == {"max_prompts": 3}
    killed = {"budget": {"spent": {"max_prompts": 4, "max_cost": 0.1}, "granted": {"max_prompts": 9}}}
    assert earlier([*told, killed]) == {"max_prompts": 12, "max_cost": 0.1}, "it may have asked more after its last beat"
