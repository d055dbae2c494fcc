"""The rounds of runs that are answered by batches or files, as they lie on disk."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rageval_spark.engine.files import Folder
from rageval_spark.engine.reply_files import Receipt, check

log = logging.getLogger(__name__)

STATE = "round.json"
CHAT = "chat/completions"


@dataclass
class Round:
    """One round on disk: the run that asked it, its number in that run, its files of requests, and the state of each.

    `missing` is a number that is equal for equal sets of requests. `began` is in seconds since 1970. Each of `parts` describes a
    file of requests, as the state file has it.
    """

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
    def name(self) -> str:
        return self.folder.uri.rsplit("/", 1)[-1]

    @property
    def open_parts(self) -> list[dict[str, Any]]:
        return [part for part in self.parts if not part["answered"]]

    @property
    def usable(self) -> list[str]:
        """Paths of the files of usable replies, for Spark's readers."""
        return [self.folder.for_spark(answers_file(part)) for part in self.parts if part["answered"]]

    def receipts(self) -> Iterator[tuple[dict[str, Any], Receipt]]:
        for part in self.parts:
            if part.get("receipt"):
                yield part, Receipt.from_json(part["receipt"])

    def name_of(self, part: Mapping[str, Any]) -> str:
        """Return the path of a part's reply file within the output, for messages."""
        return f"batches/{self.name}/{part['replies']}"

    def save(self) -> None:
        values = {name: value for name, value in vars(self).items() if name != "folder"}
        self.folder.write_json(STATE, values)


def rounds_of(output: Folder) -> list[Round]:
    """Return the rounds of all runs of an output, oldest first. Folders without a state file are incomplete, and left out."""
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


def take_in(round: Round, part: dict[str, Any]) -> bool:
    """Check the reply file of a part if it is new or has changed since. Returns whether it was checked.

    If no line answers a request, the part stays open: the file is empty, or belongs to something else. Answers of an earlier
    state of the file stay: they are in the store and were counted.
    """
    stamps = {name: round.folder.stamp(name) for name in (part["replies"], f"{part['replies']}.gz")}
    name, stamp = next(((name, stamp) for name, stamp in stamps.items() if stamp), (None, None))
    if name is None or stamp == part.get("stamp"):
        return False
    with round.folder.reading(part["requests"]) as lines:
        asked = {json.loads(line)["custom_id"] for line in _split(lines)}
    before = round.folder.read(answers_file(part)) if part["answered"] else b""
    with round.folder.reading(name) as replies, round.folder.writing(answers_file(part)) as answers:
        receipt = check(replies, asked, part["path"] != CHAT, answers.write, before)
    part.update(stamp=stamp, receipt=receipt.to_json(), answered=receipt.fits or round.mode == "batch")
    round.save()
    for sentence in receipt.sentences(round.name_of(part)):
        log.warning("%s", sentence)
    return True


def answers_file(part: Mapping[str, Any]) -> str:
    """The name of the file of a part's usable replies."""
    return str(part["replies"]).replace("replies", "answers")


def problems_of(round: Round, part: Mapping[str, Any]) -> list[str]:
    """Return sentences that say why the reply file that is there does not answer a part."""
    receipt = Receipt.from_json(part["receipt"])
    if not receipt.lines:
        return [f"{round.name_of(part)} is there, but empty."]
    return [f"{sentence}; is it the file of another round?" for sentence in receipt.sentences(round.name_of(part))]


def _split(stream: Any) -> Iterator[bytes]:
    """Yield the lines of a stream that are not blank."""
    rest = b""
    while piece := stream.read(1 << 20):
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line for line in lines if line.strip())
    if rest.strip():
        yield rest
