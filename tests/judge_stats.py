"""What a judge server counts of its requests: how busy it was kept, what came twice, what shared its beginning."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from itertools import pairwise
from typing import Any

from tests import oracle
from tests.oracle import EMBEDDINGS, Answer, Request

CONTROL = ("/stats", "/reset", "/config")


class Stats:
    """How the judge was used; neither a request nor a look at it costs more the longer it has run."""

    def __init__(self, in_flight: int = 0) -> None:
        self.in_flight = self.max_in_flight = in_flight
        self.arrivals = array("d")
        self.times, self.levels, self.areas = array("d", [0.0]), array("d", [in_flight]), array("d", [0.0])
        self.by_kind, self.statuses = Counter[str](), Counter[int]()
        self.seen, self.answered = dict[bytes, int](), dict[bytes, float]()  # how often; when first answered well
        self.embedding_texts = self.prompt_chars = self.repeats_after_ok = 0
        self.peak_second = self._second_from = self._shared = self._shareable = 0
        self.prefixes: dict[int, str] = {}  # of the latest contexts only: prompts of one sample come close together
        self.ready: set[int] = set()  # those of them over which a prompt was answered: a server would have the prefix
        self._repeats = self._ready_repeats = 0

    def arrive(self, request: Request) -> None:
        self.arrivals.append(request.at)
        while self.arrivals[self._second_from] <= request.at - 1.0:
            self._second_from += 1
        self.peak_second = max(self.peak_second, len(self.arrivals) - self._second_from)
        self.seen[request.digest] = self.seen.get(request.digest, 0) + 1
        self.repeats_after_ok += request.digest in self.answered
        self.by_kind[request.kind] += 1
        self.prompt_chars += sum(map(len, request.texts))
        self.embedding_texts += len(request.texts) if request.path == EMBEDDINGS else 0
        if request.data and request.data.get("contexts"):
            contexts = hash(str(request.data["contexts"]))
            if (before := self.prefixes.pop(contexts, None)) is not None:
                self._shared += oracle.common_prefix(before, request.prefix)
                self._shareable += len(request.prefix)
                self._repeats += 1
                self._ready_repeats += contexts in self.ready
            elif len(self.prefixes) >= 2000:
                oldest = next(iter(self.prefixes))
                del self.prefixes[oldest]
                self.ready.discard(oldest)
            self.prefixes[contexts] = request.prefix

    def answer(self, request: Request, answer: Answer, now: float) -> None:
        self.statuses[answer.status] += request.path not in CONTROL
        if answer.is_well():  # of twins that were in flight together, the second is paid twice as well
            self.repeats_after_ok += request.at < self.answered.setdefault(request.digest, now) < now
            if request.data and request.data.get("contexts"):
                self.ready.add(hash(str(request.data["contexts"])))

    def move(self, change: int, now: float) -> None:
        self.areas.append(self.area(now))
        self.times.append(now)
        self.in_flight += change
        self.levels.append(self.in_flight)
        self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def area(self, until: float) -> float:
        """The integral of in_flight up to a moment."""
        i = bisect_right(self.times, until) - 1
        return self.areas[i] + self.levels[i] * (until - self.times[i])

    def mean_in_flight(self, begin: float, end: float) -> float:
        return round((self.area(end) - self.area(begin)) / (end - begin), 3) if end > begin else 0.0

    def scoring_from(self) -> float:
        """When the first prompt of a score came: after the longest pause, which the preflight's requests come before."""
        pauses = ((after - before, after) for before, after in pairwise(self.arrivals))
        return max(pauses, default=(0.0, self.times[-1]))[1]

    def dump(self) -> dict[str, Any]:
        first, last = len(self.arrivals) // 10, len(self.arrivals) * 9 // 10 - 1
        begin, end = (self.arrivals[first], self.arrivals[last]) if last > first else (0.0, 0.0)
        counts = {name: n for name, n in vars(self).items() if isinstance(n, (int, Counter)) and name[0] != "_"}
        return counts | {
            "chats": len(self.arrivals) - self.by_kind["embeddings"],
            "embeddings": self.by_kind["embeddings"],
            "mean_in_flight": self.mean_in_flight(self.arrivals[0], self.times[-1]) if self.arrivals else 0.0,
            "scoring_from": self.scoring_from(), "scoring_in_flight": self.mean_in_flight(self.scoring_from(), self.times[-1]),
            "steady_in_flight": self.mean_in_flight(begin, end),
            "steady_rps": round((last - first) / (end - begin), 3) if end > begin else 0.0,
            "shared_prefix": round(self._shared / self._shareable, 4) if self._shareable else 0.0,
            "prefix_ready": round(self._ready_repeats / self._repeats, 4) if self._repeats else 0.0,
        }
