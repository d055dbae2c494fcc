"""Scoring through batch files: rounds of collecting what is missing, having it answered, and replaying, until nothing is.

What is under way lies under `<output>/batches/<round>/`, whatever becomes of the process: `prompts/` (what is asked and which
buckets wait for it), `requests-0001.jsonl` …, `round.json` (whose it is, which batch answers which file, and what each reply file
brought), `replies-0001.jsonl` …, and of these what can be used, as `answers-0001.jsonl`.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from rageval_spark.engine.budget import COST, HOURS, PROMPTS, ROUNDS, TOKENS
from rageval_spark.engine.files import Folder
from rageval_spark.engine.replay import UNANSWERED
from rageval_spark.engine.reply_files import Receipt, check
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
"""Rounds of batches after which a run ends with what it has: each may take a day."""
STATE = "round.json"
LONGEST_POLL_S = 60.0


@dataclass
class Round:
    """One round on disk: the run that asked it, its number in that run, its files of requests, and where each stands.
    `missing` is the same number for the same requests, `parts` are the values of the state file."""

    folder: Folder
    run_id: str
    mode: str
    number: int
    missing: int
    began: float
    parts: list[dict[str, Any]] = field(default_factory=list)
    closed: bool = False

    @classmethod
    def read(cls, folder: Folder) -> Round:
        return cls(folder, **folder.read_json(STATE))

    @property
    def open_parts(self) -> list[dict[str, Any]]:
        return [part for part in self.parts if not part["answered"]]

    @property
    def usable(self) -> list[str]:
        """The files of usable replies, as Spark takes them."""
        return [self.folder.for_spark(_answers(part)) for part in self.parts if part["answered"]]

    def receipts(self) -> Iterator[tuple[dict[str, Any], Receipt]]:
        for part in self.parts:
            if part.get("receipt"):
                yield part, Receipt.from_json(part["receipt"])

    def save(self) -> None:
        values = {name: value for name, value in vars(self).items() if name != "folder"}
        self.folder.write_json(STATE, values)


def rounds_of(output: Folder) -> list[Round]:
    """The rounds of all runs of an output, oldest first; those without a state, whose files were not all written, are left out."""
    batches = output / "batches"
    rounds = []
    for folder in (batches / name for name in batches.folders()):
        if not folder.exists(STATE):
            continue
        try:
            rounds.append(Round.read(folder))
        except (ValueError, TypeError) as error:
            log.warning("%s/%s cannot be read and is left out: %s", folder, STATE, error)
    return rounds


class Rounds:
    """The rounds of one run, over all its processes. Replies to the rounds of other runs are used, too, and what those wait for
    is waited for rather than asked twice; they stay theirs, and so does what they cost.

    With `resumes`, rounds that the run has finished count among what it spent.
    """

    def __init__(self, spark: SparkSession, work: Work, output: Folder, folder: Folder, tasks: int, wait: bool,
                 earlier: Mapping[str, float], resumes: bool):
        self._spark, self._work, self._plan, self._tasks, self._wait = spark, work, work.plan, tasks, wait
        self._output, self._folder, self._earlier = output, folder, earlier
        self._endpoints = self._plan.endpoints()
        self._mode = self._plan.mode
        self._own: list[Round] = []
        self._others: list[Round] = []
        oldest = max(work.oldest.values(), default=0.0)
        for round in rounds_of(output):
            if round.run_id != work.run_id:
                if not round.closed and round.began >= oldest and self._can_answer(round):
                    self._others.append(round)
            elif round.closed and not resumes:
                round.folder.delete("")  # of an earlier run of this name, which was completed
            else:
                self._own.append(round)

    def _can_answer(self, round: Round) -> bool:
        """Whether a round of another run is answered in the way of this run, by servers that its config names."""
        known = {endpoint.base_url for endpoint in self._endpoints}
        return round.mode == self._mode and all(part["base_url"] in known for part in round.parts)

    @property
    def _open(self) -> list[Round]:
        """The rounds whose replies are not all in the store."""
        return [*(round for round in self._own if not round.closed), *self._others]

    def score(self, samples: DataFrame) -> None:
        """Write the scores of placed samples. Raises Pending if replies are still to come and are not waited for."""
        own = [round for round in self._own if not round.closed]
        if not self._read_again(own):
            self._answer(own)
        unanswered = UNANSWERED
        while True:
            found = self._pass(samples)
            waiting = [round for round in self._open if round.open_parts]
            missing, needed = passes.divide(self._spark, passes.requests(found), [
                [round.folder.for_spark(part["requests"]) for part in round.open_parts] for round in waiting])
            size = passes.measured(missing)
            count = size["count"] if self._may_ask(size["which"]) else 0
            if count:
                limit, share = self._affordable(size)
                if limit is not None:
                    unanswered = ("BUDGET", f"limits.{limit} is reached")
                    count = int(share * count)
                    missing = passes.some(missing, count)
            awaited = [waiting[index] for index in needed]
            if count:
                awaited.append(self._ask(missing, size["which"]))
                log.warning("round %d: %s requests", awaited[-1].number, f"{count:,}")
            if not awaited:
                break
            self._answer(awaited)
        rows = passes.scored(self._rows(samples), self._work, unanswered)
        with causes_told():
            rows.write.mode("overwrite").parquet(self._folder.for_spark("scores"))
        self._report_usage()

    def _read_again(self, rounds: Sequence[Round]) -> bool:
        """Take in reply files that were changed since they were read: what a later round still waits for may stand in them."""
        if self._mode != "files":
            return False
        answered = [(round, part) for round in rounds for part in round.parts if part["answered"]]
        changed = [self._take_in(round, part) for round, part in answered]
        return any(changed)

    def _may_ask(self, which: int) -> bool:
        """Whether a further round could bring anything: the last ones did if not the same requests are missing again."""
        asked = [round for round in self._own if not round.closed]
        if self._mode == "batch" and len(asked) >= MOST_ROUNDS:
            return False
        return which not in {round.missing for round in asked}

    def close(self) -> None:
        """End the rounds of a complete run, and leave what others may still want: the replies are in the store by now."""
        (self._folder / "rounds").delete("")
        for round in self._own:
            if round.closed:
                continue
            round.closed = True
            round.save()
            names = [_answers(part) for part in round.parts]
            if self._mode == "batch":
                names += ["prompts", *(part[kind] for part in round.parts for kind in ("requests", "replies"))]
            for name in names:
                round.folder.delete(name)

    def notes(self) -> list[str]:
        """What is wrong with the reply files of this run, in sentences."""
        return [sentence for round in self._own for part, receipt in round.receipts()
                for sentence in receipt.sentences(_named(round, part))]

    def _affordable(self, size: Any) -> tuple[str | None, float]:
        """The budget that does not allow all of these requests, and the share of them that it allows; None and 1."""
        if self._work.until is not None and time.time() >= self._work.until:
            return HOURS, 0.0
        taken = {name: amount + self._earlier.get(name, 0.0) for name, amount in self._taken(reserve=True).items()}
        ahead = sum(self._cost_ahead(place, sent) for place, sent in size["tokens"].items())
        wanted = {PROMPTS: size["prompts"], TOKENS: sum(size["tokens"].values()), COST: ahead}
        shares = {name: max(0.0, (limit - taken[name]) / wanted[name])
                  for name, limit in self._work.limits.items() if wanted[name]}
        name, share = min(shares.items(), key=lambda item: item[1], default=(None, 1.0))
        return (name, share) if share < 1 else (None, 1.0)

    def _cost_ahead(self, place: int, tokens: int) -> float:
        """What it costs at least to send so many tokens to an endpoint."""
        return self._endpoints[place].cost(Usage(prompt_tokens=tokens, completion_tokens=0)) or 0.0

    def _endpoint(self, part: Mapping[str, Any]) -> HttpJudge | HttpEmbeddings | None:
        """The endpoint of this config that a file of requests is for."""
        kind = HttpJudge if part["path"] == passes.CHAT else HttpEmbeddings
        same = [endpoint for endpoint in self._endpoints if isinstance(endpoint, kind) and endpoint.model == part["model"]]
        return next((endpoint for endpoint in same if endpoint.base_url == part["base_url"]), same[0] if same else None)

    def _taken(self, reserve: bool = False) -> dict[str, float]:
        """What the run asked and paid for so far, in all its processes; with `reserve`, what is on its way is counted, too."""
        taken = dict.fromkeys((PROMPTS, TOKENS, COST), 0.0)
        for round in self._own:
            for part, receipt in round.receipts():
                endpoint = self._endpoint(part)
                taken[PROMPTS] += receipt.answers if part["path"] == passes.CHAT else 0
                taken[TOKENS] += (receipt.usage.prompt_tokens or 0) + (receipt.usage.completion_tokens or 0)
                taken[COST] += (endpoint.cost(receipt.usage) or 0.0) if endpoint else 0.0
            for part in round.open_parts if reserve else ():
                endpoint = self._endpoint(part)
                taken[PROMPTS] += part["count"] if part["path"] == passes.CHAT else 0
                taken[TOKENS] += part["tokens"]
                taken[COST] += self._cost_ahead(self._endpoints.index(endpoint), part["tokens"]) if endpoint else 0.0
        return taken

    def _rows(self, samples: DataFrame) -> DataFrame:
        """What a pass reads: the samples, the store, and the usable replies to all open rounds."""
        assert self._work.store is not None
        prompts = [round.folder.for_spark("prompts") for round in self._open if round.usable]
        files: dict[str, list[str]] = {}
        for round in self._open:
            if round.usable:
                files.setdefault(round.run_id, []).extend(round.usable)
        return passes.stream(samples, passes.stored(self._spark, self._work.store),
                             passes.results(self._spark, prompts, files), self._tasks)

    def _pass(self, samples: DataFrame) -> DataFrame:
        """Replay once: keeps the replies that results became, returns all that was found, written down."""
        path = (self._folder / "rounds").for_spark(str(len(self._own) + 1))
        rows = self._rows(samples).mapInPandas(passes.collecting(self._work), passes.FOUND)
        with causes_told():
            rows.write.mode("overwrite").parquet(path)
        found = self._spark.read.schema(passes.FOUND).parquet(path)
        assert self._work.store is not None
        passes.keep(found, self._work.store)
        return found

    def _ask(self, missing: DataFrame, which: int) -> Round:
        """Make a round of what is missing: its table, its files of requests, and at last its state."""
        number = 1 + max((round.number for round in self._own), default=0)
        self._delete_unfinished()
        name = f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{self._work.run_id}-{number}"
        round = Round(self._output / "batches" / name, self._work.run_id, self._mode, number, which, time.time())
        missing.write.mode("overwrite").parquet(round.folder.for_spark("prompts"))
        file: RequestFile | None = None
        for id, endpoint, path, body, tokens in passes.asked(self._spark, round.folder.for_spark("prompts")):
            line = request_line(id, path, body)
            if file is None or (file.endpoint, file.path) != (endpoint, path) or file.is_full(line):
                if file is not None:
                    self._put(round, file)
                file = RequestFile(endpoint, path)
            file.add(line, tokens)
        if file is not None:
            self._put(round, file)
        round.save()
        self._own.append(round)
        return round

    def _delete_unfinished(self) -> None:
        """Delete rounds of this run that a killed process did not finish writing: nothing of them was sent, and requests that lie
        about are answered for nothing."""
        batches = self._output / "batches"
        for name in batches.folders():
            folder = batches / name
            if f"-{self._work.run_id}-" in name and not folder.exists(STATE) and not folder.names("replies-0001.jsonl"):
                folder.delete("")

    def _put(self, round: Round, file: RequestFile) -> None:
        number = f"{len(round.parts) + 1:04d}"
        endpoint = self._endpoints[file.endpoint]
        round.folder.write(f"requests-{number}.jsonl", b"".join(file.lines))
        round.parts.append({"requests": f"requests-{number}.jsonl", "replies": f"replies-{number}.jsonl", "batch": None,
                            "base_url": endpoint.base_url, "model": endpoint.model, "path": file.path,
                            "count": len(file.lines), "tokens": file.tokens, "answered": False})

    def _answer(self, rounds: Sequence[Round]) -> None:
        """Have these rounds answered. Raises Pending."""
        if self._mode == "files":
            self._answer_by_files(rounds)
        else:
            self._answer_by_batches(rounds)

    def _answer_by_files(self, rounds: Sequence[Round]) -> None:
        for round in rounds:
            for part in round.open_parts:
                self._take_in(round, part)
        waiting = [(round, part) for round in rounds for part in round.open_parts]
        if not waiting:
            return
        round, part = waiting[0]
        problems = [sentence for round, part in waiting if part.get("receipt")
                    for sentence in _problems(round, part)]
        raise Pending(" ".join([
            f"round {round.number} of run {round.run_id}: waiting for replies to {len(waiting)} "
            f"file{'s' if len(waiting) > 1 else ''}, first {round.folder / part['requests']}: put them beside it as "
            f"{part['replies']} (or {part['replies']}.gz), in the format of the Batch API's output, and run the same command again.",
            *problems]))

    def _take_in(self, round: Round, part: dict[str, Any]) -> bool:
        """Check the reply file of a part if there is one that was not seen as it is now; whether there was.

        A file none of whose lines answers a request leaves the part open: it is empty, or belongs to something else. What an
        earlier state of the file answered stands: it is in the store, and was counted.
        """
        stamps = {name: round.folder.stamp(name) for name in (part["replies"], f"{part['replies']}.gz")}
        name, stamp = next(((name, stamp) for name, stamp in stamps.items() if stamp), (None, None))
        if name is None or stamp == part.get("stamp"):
            return False
        with round.folder.reading(part["requests"]) as lines:
            asked = {json.loads(line)["custom_id"] for line in _split(lines)}
        before = round.folder.read(_answers(part)) if part["answered"] else b""
        with round.folder.reading(name) as replies, round.folder.writing(_answers(part)) as answers:
            receipt = check(replies, asked, part["path"] != passes.CHAT, answers.write, before)
        part.update(stamp=stamp, receipt=receipt.to_json(), answered=receipt.fits or self._mode == "batch")
        round.save()
        for sentence in receipt.sentences(_named(round, part)):
            log.warning("%s", sentence)
        return True

    def _answer_by_batches(self, rounds: Sequence[Round]) -> None:
        poll_s, began, shown = 1.0, time.monotonic(), 0.0
        while True:
            open_parts = [(round, part) for round in rounds for part in round.open_parts]
            if not open_parts:
                return
            running = 0
            for round, part in open_parts:
                running += self._look_after(round, part, running)
            counts = [part for _, part in open_parts if not part["answered"]]
            if not counts:
                continue
            done = sum(part.get("done", 0) for part in counts)
            state = (f"round {max(round.number for round, _ in open_parts)}: {done:,} of "
                     f"{sum(part['count'] for part in counts):,} prompts answered in {len(counts)} batches")
            if not self._wait:
                raise Pending(f"{state}. Nothing is lost: run the same command again to go on")
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                log.warning("%s, waiting for the rest since %d s", state, time.monotonic() - began)
            time.sleep(poll_s)
            poll_s = min(LONGEST_POLL_S, 1.2 * poll_s)

    def _look_after(self, round: Round, part: dict[str, Any], running: int) -> int:
        """Bring one file of requests a step on; 1 if a batch is at work on it, else 0."""
        api, endpoint = self._api(part)
        tag = f"{round.folder.uri.rsplit('/', 1)[-1]}/{part['requests']}"
        if part["batch"] is None:
            if part.get("held") and running:
                return 0  # the queue was full: after the others
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
        self._take_in(round, part)

    def _api(self, part: Mapping[str, Any]) -> tuple[BatchApi, HttpJudge | HttpEmbeddings]:
        """The API that answers a file."""
        endpoint = next((endpoint for endpoint in self._endpoints if endpoint.base_url == part["base_url"]), None)
        if endpoint is None:
            raise Pending(f"a batch of this run waits at {part['base_url']}, which this config does not name. Run the config that "
                          f"asked it again first, or delete {self._output}/batches")
        return BatchApi(endpoint, self._plan.keys[endpoint]), endpoint

    def _report_usage(self) -> None:
        """Leave one heartbeat, from which the summary takes what the run took in all its processes."""
        counts: Counter[str] = Counter(reused=passes.reused(self._spark, self._folder.for_spark("scores")))
        usage: dict[str, Usage] = {}
        served: dict[str, list[str]] = {}
        for round in self._own:
            for part, receipt in round.receipts():
                chat = part["path"] == passes.CHAT
                counts["prompts" if chat else "embedding_requests"] += receipt.prompts if chat else receipt.answers
                endpoint = self._endpoint(part)
                label = endpoint.label if endpoint else part["model"]
                usage[label] = usage.get(label, Usage()) + receipt.usage
                served.setdefault(part["model"], []).extend(receipt.served)
        tokens = {label: {name: getattr(spent, name) for name in ("prompt_tokens", "completion_tokens", "cached_tokens")}
                  for label, spent in usage.items()}
        (self._folder / "beats").write_json(f"{ROUNDS}.json", {
            "name": ROUNDS, "index": 0, "sequence": 1, "done": True, "at": time.time(), "held": {}, "in_flight": {},
            "counts": counts, "usage": tokens, "served": served, "budget": {"spent": self._taken()}})


def _answers(part: Mapping[str, Any]) -> str:
    return str(part["replies"]).replace("replies", "answers")


def _named(round: Round, part: Mapping[str, Any]) -> str:
    return f"batches/{round.folder.uri.rsplit('/', 1)[-1]}/{part['replies']}"


def _problems(round: Round, part: Mapping[str, Any]) -> list[str]:
    """Why the reply file that is there does not answer a part."""
    receipt = Receipt.from_json(part["receipt"])
    if not receipt.lines:
        return [f"{_named(round, part)} is there, but empty."]
    return [f"{sentence}; is it the file of another round?" for sentence in receipt.sentences(_named(round, part))]


def _split(stream: Any) -> Iterator[bytes]:
    """The lines of a stream that are not blank."""
    rest = b""
    while piece := stream.read(1 << 20):
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line for line in lines if line.strip())
    if rest.strip():
        yield rest
