"""Waiting for the answers to rounds, on the driver: for batches of a server, or for reply files beside the requests."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rageval_spark.engine.files import Folder
from rageval_spark.engine.plan import Plan
from rageval_spark.engine.round_files import Round, problems_of, take_in
from rageval_spark.errors import Pending
from rageval_spark.judges.batch import Batch, BatchApi
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge

log = logging.getLogger(__name__)

LONGEST_POLL_S = 60.0


def answer_by_files(rounds: Sequence[Round]) -> None:
    """Take in the reply files of these rounds. Raises Pending if one is still to come."""
    for round in rounds:
        for part in round.open_parts:
            take_in(round, part)
    waiting = [(round, part) for round in rounds for part in round.open_parts]
    if not waiting:
        return
    round, part = waiting[0]
    problems = [sentence for round, part in waiting if part.get("receipt") for sentence in problems_of(round, part)]
    raise Pending(" ".join([
        f"round {round.number} of run {round.run_id}: waiting for replies to {len(waiting)} "
        f"file{'s' if len(waiting) > 1 else ''}, first {round.folder / part['requests']}: put them beside it as "
        f"{part['replies']} (or {part['replies']}.gz), in the format of the Batch API's output, and run the same command again.",
        *problems]))


class BatchAnswering:
    """The batches of a run. Without `wait`, batches under way raise Pending."""

    def __init__(self, plan: Plan, output: Folder, wait: bool):
        self._plan, self._output, self._wait = plan, output, wait

    def answer(self, rounds: Sequence[Round]) -> None:
        """Have these rounds answered. Raises Pending if batches are under way and are not waited for."""
        poll_s, began, shown = 1.0, time.monotonic(), 0.0
        while True:
            open_parts = [(round, part) for round in rounds for part in round.open_parts]
            if not open_parts:
                return
            running = 0
            for round, part in open_parts:
                running += self._look_after(round, part, running)
            unanswered = [part for _, part in open_parts if not part["answered"]]
            if not unanswered:
                continue
            done = sum(part.get("done", 0) for part in unanswered)
            state = (f"round {max(round.number for round, _ in open_parts)}: {done:,} of "
                     f"{sum(part['count'] for part in unanswered):,} prompts answered in {len(unanswered)} batches")
            if not self._wait:
                raise Pending(f"{state}. Nothing is lost: run the same command again to go on")
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                log.warning("%s, waiting for the rest since %d s", state, time.monotonic() - began)
            time.sleep(poll_s)
            poll_s = min(LONGEST_POLL_S, 1.2 * poll_s)

    def _look_after(self, round: Round, part: dict[str, Any], running: int) -> int:
        """Submit one file of requests, look at its batch, or fetch its answers. Returns 1 if a batch is at work on it, else 0.

        `running` is how many other batches are at work.
        """
        api, endpoint = self._api(part)
        tag = f"{round.name}/{part['requests']}"
        if part["batch"] is None:
            if part.get("held") and running:
                return 0  # the server's queue was full: it is sent after the others
            batch = api.find(tag) if part.get("sent") else None
            part["sent"] = True
            round.save()  # before it is sent: a crash in between must not send it twice
            batch = batch or api.submit(round.folder.read(part["requests"]), part["requests"], part["path"], tag)
            part.update(batch=batch.id, since=time.time())
            round.save()
        batch = api.look(part["batch"])
        part["done"] = batch.done
        overdue = time.time() - part["since"] > 3600 * endpoint.deadline_h
        if batch.queue_is_full and (running or not part.get("held")):
            part.update(batch=None, sent=False, held=True)
            round.save()
            return 0
        if overdue and not batch.ended:
            log.warning("batch %s has not ended within %g h and is cancelled", batch.id, endpoint.deadline_h)
            api.cancel(batch.id)
            batch = api.look(batch.id)
        if not batch.ended and not overdue:
            return 1
        self._fetch(api, batch, round, part)
        return 0

    def _fetch(self, api: BatchApi, batch: Batch, round: Round, part: dict[str, Any]) -> None:
        if batch.status != "completed":
            log.warning("batch %s ended as %s%s; what it did not answer is asked again", batch.id, batch.status,
                        f" ({batch.why})" if batch.why else "")
        with round.folder.writing(part["replies"]) as out:
            for file in batch.files:
                with api.content(file) as pieces:
                    for piece in pieces:
                        out.write(piece)
                out.write(b"\n")
        take_in(round, part)

    def _api(self, part: Mapping[str, Any]) -> tuple[BatchApi, HttpJudge | HttpEmbeddings]:
        """Return the API and the endpoint that answer a file of requests. Raises Pending if the config does not name it."""
        endpoint = next((endpoint for endpoint in self._plan.endpoints() if endpoint.base_url == part["base_url"]), None)
        if endpoint is None:
            raise Pending(f"a batch of this run waits at {part['base_url']}, which this config does not name. Run the config "
                          f"that asked it again first, or delete {self._output}/batches")
        return BatchApi(endpoint, self._plan.keys[endpoint]), endpoint
