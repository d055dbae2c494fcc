"""Budgets of a run: how many prompts, tokens and how much money all its tasks together may spend, and until when."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rageval_spark.engine.beats import added, read
from rageval_spark.engine.files import Folder
from rageval_spark.errors import JudgeFault
from rageval_spark.score import Usage

PROMPTS, TOKENS, COST, HOURS = "max_prompts", "max_tokens", "max_cost", "max_hours"
LOOK_S = 0.05
ROUNDS = "rounds"
"""The name of the beat of a run in rounds, which has what all its processes spent."""
EARLIER = "earlier"
"""The name of the beat that tells what earlier attempts at the same run spent."""


@dataclass
class Budget:
    """One task's part of the budgets. What it may spend is granted to it beat by beat, a few seconds' worth at most.

    `limits` are those of the job, by the names of the config; `until` is when max_hours are over (seconds since 1970).
    What is reached makes prompts fail with BUDGET; a grant that is used up is waited for. Belongs to one event loop;
    `renew` and `told` may be called from another thread.
    """

    limits: Mapping[str, float]
    until: float | None = None
    clock: Callable[[], float] = time.time
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    granted: dict[str, float] = field(default_factory=dict)
    reached: str | None = None
    _asked: int = 0
    _answered: int = 0
    _before: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.granted = dict.fromkeys(self.limits, 0.0)

    async def take(self, prompt: bool) -> None:
        """Count one request, of a prompt or for embeddings, once it may be sent. Raises JudgeFault (BUDGET)."""
        while True:
            if self.until is not None and self.clock() >= self.until:
                self.reached = HOURS
            if self.reached:
                raise JudgeFault("BUDGET", f"limits.{self.reached} is reached; raise it and run again to go on")
            if all(self._expected(name) + (name == PROMPTS) <= self.granted[name] for name in self.limits
                   if prompt or name != PROMPTS):
                break
            await asyncio.sleep(LOOK_S)
        self._asked += 1
        self.spent[PROMPTS] += prompt

    def give_back(self, prompt: bool) -> None:
        """A request that was counted brought no answer."""
        self._asked -= 1
        self.spent[PROMPTS] -= prompt

    def paid(self, usage: Usage, cost: float) -> None:
        """What an answered request took."""
        self._answered += 1
        self.spent[TOKENS] += (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        self.spent[COST] += cost

    def _expected(self, name: str) -> float:
        """What is spent once all that is on its way is answered."""
        on_its_way = self._asked - self._answered if name != PROMPTS and self._answered else 0
        return self.spent[name] * (1 + on_its_way / max(1, self._answered))

    def renew(self, others: Sequence[Mapping[str, Any]], planned: int, window: int) -> None:
        """Take a share of what no task was granted yet. `others` are the last beats of the other tasks, those that have
        left included, `planned` is how many tasks there will be, `window` how many requests may be in flight."""
        left = sum(bool(beat.get("done")) for beat in others)
        running = max(1 + len(others) - left, planned - left)
        told = [beat.get("budget", {}) for beat in others]
        for name, limit in self.limits.items():
            spent = self.spent[name] + sum(one.get("spent", {}).get(name, 0.0) for one in told)
            held = sum(one.get("granted" if not beat.get("done") else "spent", {}).get(name, 0.0)
                       for one, beat in zip(told, others, strict=True))
            if limit - spent < (running if name == PROMPTS else 1e-9):
                self.reached = name
            free = limit - held - max(self.granted[name], self.spent[name])
            lately = self.spent[name] - self._before.get(name, 0.0)
            each = self.spent[name] / self._answered if self._answered and name != PROMPTS else 1.0
            wanted = self.spent[name] + max(2.0 * lately, 2.0 * window * each)
            self.granted[name] = max(min(wanted, max(self.granted[name], self.spent[name]) + max(0.0, free) / running),
                                     self.spent[name])
            self._before[name] = self.spent[name]

    def told(self) -> dict[str, dict[str, float]]:
        """What the other tasks need to know, for this task's beat."""
        return {"spent": {name: self.spent[name] for name in (PROMPTS, TOKENS, COST)}, "granted": dict(self.granted)}


def earlier(told: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What the tasks of an earlier attempt spent, as their last beats tell it; of a task that was killed, what it was granted:
    it may have spent that after its last beat."""
    spent = added(told, "budget", "spent")
    killed = [beat for beat in told if not beat.get("done")]
    granted, known = added(killed, "budget", "granted"), added(killed, "budget", "spent")
    return {name: amount + max(0.0, granted.get(name, 0.0) - known.get(name, 0.0)) for name, amount in spent.items()}


def carry_over(folder: Folder, resumes: bool, in_rounds: bool) -> dict[str, float]:
    """Return what earlier attempts at a run took of the budgets, and replace their beats by one with the sum.

    The beat of a run in rounds does not count: what such a run took is read from its rounds.
    """
    before = [beat for beat in read(folder) if not (in_rounds and beat["name"] == ROUNDS)]
    spent = earlier(before) if resumes else {}
    folder.delete("")
    if spent:
        folder.write_json(f"{EARLIER}.json", {"name": EARLIER, "index": -1, "sequence": 1, "at": 0.0, "held": {}, "done": True,
                                              "budget": {"spent": spent}})
    return spent
