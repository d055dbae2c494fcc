"""Scoring through batch files: rounds of collecting what is missing, having it answered, and replaying, until nothing is.

What is under way lies under `<output>/batches/<round>/`, whatever becomes of the run: `prompts/` (what is asked and which
buckets wait for it), `requests-0001.jsonl` …, `round.json` (which batch answers which file), and `replies-0001.jsonl` ….
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from rageval_spark.engine.budget import COST, HOURS, PROMPTS, TOKENS
from rageval_spark.engine.files import Folder
from rageval_spark.engine.replay import UNANSWERED
from rageval_spark.engine.work import Work
from rageval_spark.errors import Pending
from rageval_spark.judges.batch import Batch, BatchApi, RequestFile, request_line
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.score import Usage
from rageval_spark.spark import rounds as passes
from rageval_spark.spark.score import causes_told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

MOST_ROUNDS = 6
STATE = "round.json"
LONGEST_POLL_S = 60.0


@dataclass
class Round:
    """One round on disk: its files of requests, and where each stands. `parts` are the values of its state file."""

    folder: Folder
    parts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def open(self) -> list[dict[str, Any]]:
        return [part for part in self.parts if not part["answered"]]

    def replies(self) -> list[str]:
        return [self.folder.for_spark(part["replies"]) for part in self.parts if self.folder.exists(part["replies"])]

    def save(self, closed: bool = False) -> None:
        self.folder.write_json(STATE, {"parts": self.parts, "closed": closed})


class Rounds:
    """The rounds of one run; those that an earlier run of the same output left open are taken up first."""

    def __init__(self, spark: SparkSession, work: Work, output: Folder, folder: Folder, tasks: int, wait: bool,
                 earlier: Mapping[str, float]):
        self._spark, self._work, self._plan, self._tasks, self._wait = spark, work, work.plan, tasks, wait
        self._output, self._folder, self._earlier = output, folder, earlier
        self._endpoints = self._plan.endpoints()
        self._mode = self._plan.mode
        self._rounds = list(self._left_open())
        self._spent: dict[str, Any] = {"counts": Counter(), "usage": {}, "served": {}}

    def score(self, samples: DataFrame) -> None:
        """Write the scores of placed samples. Raises Pending where answers are still to come and are not waited for."""
        asked_before: set[int] = set()
        unanswered = UNANSWERED
        for number in range(1, MOST_ROUNDS + 2):
            self._answered()
            found = self._pass(samples, number)
            missing = passes.requests(found)
            size = passes.measured(missing)
            if not size["count"] or number > MOST_ROUNDS or size["which"] in asked_before:
                break  # the same prompts again: the last round brought nothing for them
            asked_before.add(size["which"])
            limit, share = self._affordable(size)
            if limit is not None:
                unanswered = ("BUDGET", f"limits.{limit} is reached")
                missing = passes.some(missing, int(share * size["count"]))
            if not share:
                break
            log.warning("round %d: %s requests", number, f"{int(share * size['count']):,}")
            self._ask(missing)
        rows = passes.scored(self._rows(samples), self._work, unanswered)
        with causes_told():
            rows.write.mode("overwrite").parquet(self._folder.for_spark("scores"))
        self._tell()
        self._close()

    def _close(self) -> None:
        """Leave what others may still want: the replies are in the store by now."""
        (self._folder / "rounds").delete("")
        for one in self._rounds:
            one.save(closed=True)
            if self._mode == "batch":
                for name in ("prompts", *(part[kind] for part in one.parts for kind in ("requests", "replies"))):
                    one.folder.delete(name)

    def _affordable(self, size: Any) -> tuple[str | None, float]:
        """The budget that does not allow all of these requests, and the share of them that it allows; None and 1."""
        if self._work.until is not None and time.time() >= self._work.until:
            return HOURS, 0.0
        taken = {name: amount + self._earlier.get(name, 0.0) for name, amount in self._taken().items()}
        ahead = sum(self._endpoints[place].cost(Usage(prompt_tokens=sent, completion_tokens=0)) or 0.0
                    for place, sent in size["tokens"].items())
        wanted = {PROMPTS: size["prompts"], TOKENS: sum(size["tokens"].values()), COST: ahead}
        shares = {name: max(0.0, (limit - taken[name]) / wanted[name])
                  for name, limit in self._work.limits.items() if wanted[name]}
        name, share = min(shares.items(), key=lambda one: one[1], default=(None, 1.0))
        return (name, share) if share < 1 else (None, 1.0)

    def _taken(self) -> dict[str, float]:
        """What this attempt asked and paid for so far."""
        asked = sum(part["count"] for one in self._rounds for part in one.parts if part["path"] == passes.CHAT)
        models = self._spent["usage"].values()
        tokens = sum((spent["prompt_tokens"] or 0) + (spent["completion_tokens"] or 0) for spent in models)
        by_label = {endpoint.label: endpoint for endpoint in self._endpoints}
        cost = sum(by_label[label].cost(Usage(**spent)) or 0.0 for label, spent in self._spent["usage"].items())
        return {PROMPTS: asked, TOKENS: tokens, COST: cost}

    def _left_open(self) -> Iterator[Round]:
        batches = self._output / "batches"
        for name in batches.folders():
            folder = batches / name
            if folder.exists(STATE):
                state = folder.read_json(STATE)
                if not state["closed"]:
                    yield Round(folder, state["parts"])

    def _rows(self, samples: DataFrame) -> DataFrame:
        """What a pass reads: the samples, the store, and the results of all open rounds."""
        assert self._work.store is not None
        prompts = [one.folder.for_spark("prompts") for one in self._rounds]
        files = [file for one in self._rounds for file in one.replies()]
        return passes.stream(samples, passes.stored(self._spark, self._work.store),
                             passes.results(self._spark, prompts, files), self._tasks)

    def _pass(self, samples: DataFrame, number: int) -> DataFrame:
        """Replay once: keeps the replies that results became, returns all that was found, written down."""
        path = (self._folder / "rounds").for_spark(str(number))
        rows = self._rows(samples).mapInPandas(passes.collecting(self._work), passes.FOUND)
        with causes_told():
            rows.write.mode("overwrite").parquet(path)
        found = self._spark.read.schema(passes.FOUND).parquet(path)
        assert self._work.store is not None
        passes.keep(found, self._work.store)
        self._count(found)
        return found

    def _ask(self, missing: DataFrame) -> None:
        """Make a round of what is missing: its table, its files of requests."""
        name = f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{self._work.run_id}-{len(self._rounds) + 1}"
        one = Round(self._output / "batches" / name)
        missing.write.mode("overwrite").parquet(one.folder.for_spark("prompts"))
        file: RequestFile | None = None
        for id, endpoint, path, body, tokens in passes.asked(self._spark, one.folder.for_spark("prompts")):
            line = request_line(id, path, body)
            if file is None or (file.endpoint, file.path) != (endpoint, path) or file.is_full(line):
                if file is not None:
                    self._put(one, file)
                file = RequestFile(endpoint, path)
            file.add(line, tokens)
        if file is not None:
            self._put(one, file)
        one.save()
        self._rounds.append(one)

    def _put(self, one: Round, file: RequestFile) -> None:
        number = f"{len(one.parts) + 1:04d}"
        endpoint = self._endpoints[file.endpoint]
        one.folder.write(f"requests-{number}.jsonl", b"".join(file.lines))
        one.parts.append({"requests": f"requests-{number}.jsonl", "replies": f"replies-{number}.jsonl", "batch": None,
                          "base_url": endpoint.base_url, "model": endpoint.model, "path": file.path,
                          "count": len(file.lines), "tokens": file.tokens, "answered": False})

    def _answered(self) -> None:
        """Have every open round answered. Raises Pending."""
        if self._mode == "files":
            self._answered_by_files()
        else:
            self._answered_by_batches()

    def _answered_by_files(self) -> None:
        waiting = []
        for one in self._rounds:
            for part in one.open:
                part["answered"] = one.folder.exists(part["replies"])
            one.save()
            waiting += [(one.folder / part["requests"], part["replies"]) for part in one.open]
        if waiting:
            asked, replies = waiting[0]
            raise Pending(f"waiting for answers to {len(waiting)} files, first {asked}: put them beside it as {replies}, in the "
                          f"format of the Batch API's output, and run the same command again")

    def _answered_by_batches(self) -> None:
        poll_s, began, told = 1.0, time.monotonic(), 0.0
        while True:
            open_parts = [(one, part) for one in self._rounds for part in one.open]
            if not open_parts:
                return
            running = 0
            for one, part in open_parts:
                running += self._look_after(one, part, running)
            counts = [part for _, part in open_parts if not part["answered"]]
            if not counts:
                continue
            done = sum(part.get("done", 0) for part in counts)
            said = f"{done:,} of {sum(part['count'] for part in counts):,} prompts answered in {len(counts)} batches"
            if not self._wait:
                raise Pending(f"{said}. Nothing is lost: run the same command again to go on")
            if time.monotonic() - told > 30:
                told = time.monotonic()
                log.warning("%s, waiting for the rest since %d s", said, time.monotonic() - began)
            time.sleep(poll_s)
            poll_s = min(LONGEST_POLL_S, 1.2 * poll_s)

    def _look_after(self, one: Round, part: dict[str, Any], running: int) -> int:
        """Bring one file of requests a step on; 1 where a batch is at work on it, else 0."""
        api, endpoint = self._api(part)
        tag = f"{one.folder.uri.rsplit('/', 1)[-1]}/{part['requests']}"
        if part["batch"] is None:
            if part.get("held") and running:
                return 0  # the queue was full: after the others
            batch = api.find(tag) if part.get("sent") else None
            part["sent"] = True
            one.save()  # before it is sent: a crash in between must not send it twice
            batch = batch or api.submit(one.folder.read(part["requests"]), part["requests"], part["path"], tag)
            part.update(batch=batch.id, since=time.time())
            one.save()
        batch = api.look(part["batch"])
        part["done"] = batch.done
        overdue = time.time() - part["since"] > 3600 * endpoint.deadline_h
        if batch.queue_is_full and (running or not part.get("held")):
            part.update(batch=None, sent=False, held=True)
            one.save()
            return 0
        if overdue and not batch.ended:
            log.warning("batch %s has not ended within %g h and is cancelled", batch.id, endpoint.deadline_h)
            api.cancel(batch.id)
            batch = api.look(batch.id)
        if not batch.ended and not overdue:
            return 1
        self._fetch(api, batch, one, part)
        return 0

    def _fetch(self, api: BatchApi, batch: Batch, one: Round, part: dict[str, Any]) -> None:
        if batch.status != "completed":
            log.warning("batch %s ended as %s%s; what it did not answer is asked again", batch.id, batch.status,
                        f" ({batch.why})" if batch.why else "")
        with one.folder.writing(part["replies"]) as out:
            for file in batch.files:
                with api.content(file) as pieces:
                    for piece in pieces:
                        out.write(piece)
                out.write(b"\n")
        part["answered"] = True
        one.save()

    def _api(self, part: Mapping[str, Any]) -> tuple[BatchApi, HttpJudge | HttpEmbeddings]:
        """The API that answers a file; that of another run's judge where it has the same address."""
        found = next((endpoint for endpoint in self._endpoints if endpoint.base_url == part["base_url"]), None)
        if found is None:
            raise Pending(f"a batch of an earlier run waits at {part['base_url']}, which this config does not name. Run that "
                          f"config again first, or delete {self._output}/batches")
        return BatchApi(found, self._plan.keys[found]), found

    def _count(self, found: DataFrame) -> None:
        """Add up what the replies of a pass took, as the beats of a live run would tell it."""
        for said in passes.took(found):
            embedding = said["kind"] == "embed"
            self._spent["counts"]["embedding_requests" if embedding else "prompts"] += said["count"]
            label = next((endpoint.label for endpoint in self._endpoints if endpoint.model == said["model"]
                          and isinstance(endpoint, HttpEmbeddings) == embedding), None)
            if label is None:
                continue  # of another run's batch, which this one took up
            mine = self._spent["usage"].setdefault(label, dict.fromkeys(passes.TOKENS, 0))
            for name in passes.TOKENS:
                unknown = mine[name] is None or said[f"no_{name}"]
                mine[name] = None if unknown else mine[name] + said[name]
            if said["served_model"]:
                self._spent["served"].setdefault(said["model"], []).append(said["served_model"])

    def _tell(self) -> None:
        """Leave one beat, from which the summary takes what the run took."""
        counts = {**self._spent["counts"], "reused": passes.reused(self._spark, self._folder.for_spark("scores"))}
        (self._folder / "beats").write_json("rounds.json", {
            "name": "rounds", "index": 0, "sequence": 1, "done": True, "at": time.time(), "held": {}, "in_flight": {},
            **self._spent, "counts": counts, "budget": {"spent": self._taken()}})
