"""When a prompt is tried again, and when it is given up."""

from __future__ import annotations

import random
from dataclasses import dataclass

from rageval_spark.judges.wire import THROTTLED, Unanswered

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0


@dataclass
class Patience:
    """The attempts of one prompt. Being throttled is no failure of the prompt: it counts against the deadline alone."""

    max_attempts: int
    give_up_at: float
    failures: int = 0
    throttles: int = 0

    def wait_s(self, refusal: Unanswered, now: float) -> float | None:
        """Seconds until the next attempt, or None when there is none."""
        if not refusal.transient:
            return None
        if refusal.status in THROTTLED:
            self.throttles += 1
        else:
            self.failures += 1
        tries = self.failures + self.throttles
        backoff = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(tries - 1, 10)) * random.uniform(0.5, 1.5)
        wait = backoff if refusal.retry_after_s is None else refusal.retry_after_s * random.uniform(1.0, 1.25)
        if self.failures >= self.max_attempts or now + wait > self.give_up_at:
            return None
        return wait
