"""Scoring through batch files: rounds of collecting what is missing, having it answered, and replaying, until nothing is.

What is under way lies under `<output>/batches/<round>/`, whatever becomes of the process: `prompts/` (what is asked and which
buckets wait for it), `requests-0001.jsonl` …, `round.json` (whose it is, which batch answers which file, and what each reply file
brought), `replies-0001.jsonl` …, and of these what can be used, as `answers-0001.jsonl`.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from rageval_spark.engine.answering import BatchAnswering, answer_by_files
from rageval_spark.engine.budget import COST, HOURS, PROMPTS, ROUNDS, TOKENS
from rageval_spark.engine.files import Folder
from rageval_spark.engine.replay import UNANSWERED
from rageval_spark.engine.round_files import CHAT, STATE, Round, answers_file, rounds_of, take_in
from rageval_spark.engine.work import Work
from rageval_spark.errors import ConfigError
from rageval_spark.judges.batch import RequestFile, request_line
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.report.manifest import Manifest, manifest_of
from rageval_spark.score import Usage
from rageval_spark.spark import rounds as passes
from rageval_spark.spark.score import causes_told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

MOST_ROUNDS = 6
"""Rounds of batches after which a run ends with what it has: each may take a day."""


class Rounds:
    """The rounds of one run, over all its processes.

    Replies to the rounds of other runs are used too. Requests that those wait for are waited for, rather than asked twice; such
    rounds and their cost stay with the other runs. `resumes`: rounds that the run has finished count among what it spent.
    """

    def __init__(self, spark: SparkSession, work: Work, output: Folder, folder: Folder, tasks: int, wait: bool,
                 earlier: Mapping[str, float], resumes: bool):
        self._spark, self._work, self._plan, self._tasks = spark, work, work.plan, tasks
        self._output, self._folder, self._earlier = output, folder, earlier
        self._endpoints = self._plan.endpoints()
        self._mode = self._plan.mode
        self._answering = answer_by_files if self._mode == "files" else BatchAnswering(self._plan, output, wait).answer
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
            self._answering(own)
        unanswered = UNANSWERED
        while True:
            replayed = self._pass(samples)
            waiting = [round for round in self._open if round.open_parts]
            missing, needed = passes.divide(self._spark, passes.requests(replayed), [
                [round.folder.for_spark(part["requests"]) for part in round.open_parts] for round in waiting])
            size = passes.measured(missing)
            count = size["count"] if self._may_ask(size["which"]) else 0
            if count:
                limit, share = self._affordable(size)
                if limit is not None:
                    unanswered = ("BUDGET", f"limits.{limit} is reached; raise it and run again to go on")
                    count = int(share * count)
                    missing = passes.some(missing, count)
            awaited = [waiting[index] for index in needed]
            if count:
                awaited.append(self._ask(missing, size["which"]))
                log.warning("round %d: %s requests", awaited[-1].number, f"{count:,}")
            if not awaited:
                break
            self._answering(awaited)
        rows = passes.scored(self._rows(samples), self._work, unanswered)
        with causes_told():
            rows.write.mode("overwrite").parquet(self._folder.for_spark("scores"))
        self._report_usage()

    def _read_again(self, rounds: Sequence[Round]) -> bool:
        """Take in reply files that changed since they were read: they may hold what a later round waits for. Returns whether any
        did."""
        if self._mode != "files":
            return False
        answered = [(round, part) for round in rounds for part in round.parts if part["answered"]]
        changed = [take_in(round, part) for round, part in answered]
        return any(changed)

    def _may_ask(self, which: int) -> bool:
        """Return whether a further round may help: not if the same requests (`which`) were asked in a round before."""
        asked = [round for round in self._own if not round.closed]
        if self._mode == "batch" and len(asked) >= MOST_ROUNDS:
            return False
        return which not in {round.missing for round in asked}

    def close(self) -> None:
        """Close the rounds of a complete run and delete their files: the replies are in the store. State files stay, as do
        requests and reply files in mode "files"."""
        (self._folder / "rounds").delete("")
        for round in self._own:
            if round.closed:
                continue
            round.closed = True
            round.save()
            names = [answers_file(part) for part in round.parts]
            if self._mode == "batch":
                names += ["prompts", *(part[kind] for part in round.parts for kind in ("requests", "replies"))]
            for name in names:
                round.folder.delete(name)

    def notes(self) -> list[str]:
        """Return a sentence for each fault of this run's reply files."""
        return [sentence for round in self._own for part, receipt in round.receipts()
                for sentence in receipt.sentences(round.name_of(part))]

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
        kind = HttpJudge if part["path"] == CHAT else HttpEmbeddings
        same = [endpoint for endpoint in self._endpoints if isinstance(endpoint, kind) and endpoint.model == part["model"]]
        return next((endpoint for endpoint in same if endpoint.base_url == part["base_url"]), same[0] if same else None)

    def _taken(self, reserve: bool = False) -> dict[str, float]:
        """What the run asked and paid for so far, in all its processes; with `reserve`, what is on its way is counted, too."""
        taken = dict.fromkeys((PROMPTS, TOKENS, COST), 0.0)
        for round in self._own:
            for part, receipt in round.receipts():
                endpoint = self._endpoint(part)
                taken[PROMPTS] += receipt.answers if part["path"] == CHAT else 0
                taken[TOKENS] += (receipt.usage.prompt_tokens or 0) + (receipt.usage.completion_tokens or 0)
                taken[COST] += (endpoint.cost(receipt.usage) or 0.0) if endpoint else 0.0
            for part in round.open_parts if reserve else ():
                endpoint = self._endpoint(part)
                taken[PROMPTS] += part["count"] if part["path"] == CHAT else 0
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

    def _report_usage(self) -> None:
        """Leave one heartbeat, from which the summary takes what the run took in all its processes."""
        counts: Counter[str] = Counter(reused=passes.reused(self._spark, self._folder.for_spark("scores")))
        usage: dict[str, Usage] = {}
        served: dict[str, list[str]] = {}
        for round in self._own:
            for part, receipt in round.receipts():
                chat = part["path"] == CHAT
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


def run_that_waits(output: Folder, made: Manifest, run_id: str, named: bool) -> str:
    """Return the id of the run of the same config that waits for replies on this output, or `run_id` if there is none or if the
    user named it. Logs which runs of other configs wait. Raises ConfigError if several runs of this config wait."""
    same: list[str] = []
    other: list[str] = []
    for waiting in sorted({round.run_id for round in rounds_of(output) if not round.closed} - {run_id}):
        recorded = manifest_of(output / "runs" / waiting)
        if recorded.get("status") != "complete":
            (same if made.made_like(recorded) else other).append(waiting)
    if other:
        log.warning("runs of another config wait for replies under %s: %s. Each goes on with its config and --run-id; what they "
                    "asked is not asked again", output, ", ".join(other))
    if named or not same:
        return run_id
    if len(same) > 1:
        raise ConfigError(f"{len(same)} runs of this config wait for replies under {output}: {', '.join(same)}. Say which one is "
                          f"to go on with --run-id")
    log.warning("run %s of this config waits for replies: it goes on. Another --run-id begins a new one", same[0])
    return same[0]
