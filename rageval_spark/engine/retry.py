"""When a prompt is tried again, and when it is given up."""

from __future__ import annotations

import random
from dataclasses import dataclass

from rageval_spark.judges.server_errors import THROTTLED, Unanswered

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0


@dataclass
class Patience:
    """The attempts of one prompt. Being throttled is no failure of the prompt: it counts against the deadline alone.

    `began` is when the prompt first had a place in the window: it is the judge's time that runs, not our own queue's.
    """

    max_attempts: int
    deadline_s: float
    began: float | None = None
    failures: int = 0
    throttles: int = 0

    def begin(self, now: float) -> None:
        if self.began is None:
            self.began = now

    def wait_s(self, refusal: Unanswered, now: float, trouble_since: float | None = None) -> float | None:
        """Seconds until the next attempt, or None when there is none.

        `trouble_since`: since when the judge has answered nothing; after a whole deadline of it, one attempt is all.
        """
        if not refusal.transient:
            return None
        if refusal.status in THROTTLED:
            self.throttles += 1
        else:
            self.failures += 1
        tries = self.failures + self.throttles
        backoff = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(tries - 1, 10)) * random.uniform(0.5, 1.5)
        # a time that is over already says nothing: to ask again at once would only add to the load
        wait = refusal.retry_after_s * random.uniform(1.0, 1.25) if refusal.retry_after_s else backoff
        began = min(time for time in (self.began, trouble_since, now) if time is not None)
        if self.failures >= self.max_attempts or now + wait > began + self.deadline_s:
            return None
        return wait
