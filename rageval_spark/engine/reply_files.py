"""Reply files from a Batch API, an offline engine or a person, checked line by line. Every unusable line is reported.

Usable lines are written to a new file: the request's id, a tab, the line as JSON. Tasks read only that file.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

from rageval_spark.judges import wire
from rageval_spark.judges.server_errors import Unanswered
from rageval_spark.score import Usage

GZIP = b"\x1f\x8b"
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
LINES_SHOWN = 10
FAULTS = {
    "broken": "cannot be read",
    "unknown": "answer no request of this file",
    "repeated": "repeat an id that was answered before; the first answer counts",
}
"""Kinds of faults of lines → the predicate of the sentence that reports them."""


@dataclass
class Fault:
    """Lines with the same fault: their count, the numbers of the first LINES_SHOWN, and the reason of the very first."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    reason: str = ""

    def add(self, number: int, reason: str) -> None:
        self.count += 1
        self.reason = self.reason or reason
        if len(self.lines) < LINES_SHOWN:
            self.lines.append(number)


@dataclass
class Receipt:
    """What a reply file contains. `prompts` counts conversations whose first turn is answered or refused for good, `answers` all
    replies that were paid for, `errors` requests with an error alone, `unanswered` requests without any line."""

    lines: int = 0
    prompts: int = 0
    answers: int = 0
    errors: int = 0
    unanswered: int = 0
    usage: Usage = Usage()
    served: list[str] = field(default_factory=list)
    faults: dict[str, Fault] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether any line answers a request. If not, the file is empty or belongs to something else."""
        return bool(self.answers or self.errors)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Receipt:
        faults = {name: Fault(**fault) for name, fault in values["faults"].items()}
        return cls(**{**values, "usage": Usage(**values["usage"]), "faults": faults})

    def sentences(self, file: str) -> list[str]:
        """Return a sentence for each fault of the file."""
        sentences = []
        for name, fault in self.faults.items():
            first = ", ".join(map(str, fault.lines)) + (", …" if fault.count > len(fault.lines) else "")
            why = f": {fault.reason}" if fault.reason else ""
            sentences.append(f"{file}: {fault.count:,} of {self.lines:,} lines {FAULTS[name]} (line {first}{why})")
        if self.unanswered and self.fits:
            sentences.append(f"{file}: {self.unanswered:,} requests have no line; what is still needed of them is asked again")
        return sentences


def check(stream: BinaryIO, asked: set[str], embedding: bool, keep: Callable[[bytes], object], before: bytes = b"") -> Receipt:
    """Read a reply file to its end, pass each usable line to `keep`, and return a receipt.

    `asked` holds the ids of the file's requests. Of each id at most one error and one answer are kept. `before` are the lines
    kept of an earlier state of the file: they are kept again, and count in the receipt.
    """
    receipt = Receipt()
    state = _State(receipt, asked, embedding, keep)
    for kept in before.splitlines():
        state.use(kept.decode().partition("\t")[2])
    known = set(state.answered)
    number = 0
    lines = _lines(stream)
    while True:
        number += 1
        try:
            line = next(lines)
        except StopIteration:
            break
        except (EOFError, OSError, zlib.error, UnicodeError) as error:
            receipt.lines += 1
            state.note("broken", number, f"the file breaks off or is damaged ({type(error).__name__})")
            break
        if not line.strip():
            continue
        receipt.lines += 1
        try:
            id, _ = wire.batch_result(line)
        except ValueError as error:
            state.note("broken", number, str(error))
            continue
        if id not in asked:
            state.note("unknown", number, f"id {id[:80]!r}")
        elif id in state.answered:
            if id not in known:
                state.note("repeated", number, f"id {id!r}")
        else:
            state.use(line)
    receipt.prompts = len(state.settled)
    receipt.unanswered = len(asked - state.answered - state.refused)
    receipt.served.sort()
    return receipt


@dataclass
class _State:
    """The ids seen in a reply file so far. `settled` are those of first turns that are answered or refused for good."""

    receipt: Receipt
    asked: set[str]
    embedding: bool
    keep: Callable[[bytes], object]
    answered: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    settled: set[str] = field(default_factory=set)

    def note(self, name: str, number: int, reason: str) -> None:
        self.receipt.faults.setdefault(name, Fault()).add(number, reason)

    def use(self, line: str) -> None:
        """Keep a line of a known id that was not answered yet, and count what it brought."""
        id, result = wire.batch_result(line)
        refusal = result if isinstance(result, Unanswered) else _take(self.receipt, result, self.embedding)
        if refusal is None:
            self.answered.add(id)
        elif id in self.refused:
            return  # a second error for the same request says nothing new
        else:
            self.refused.add(id)
            self.receipt.errors += 1
        if not self.embedding and id.endswith("-0") and (refusal is None or not refusal.transient):
            self.settled.add(id)
        # Spark ends a line at a carriage return, too; within JSON it can only be white space
        self.keep(f"{id}\t{line.strip()}\n".replace("\r", " ").encode())


def _take(receipt: Receipt, body: bytes, embedding: bool) -> Unanswered | None:
    """Count an answer and its usage in the receipt. Returns the error if its body holds no completion."""
    try:
        if embedding:
            _, usage, served = wire.embeddings(body, 1, 0.0)
        else:
            completion = wire.completion(body, 0.0)
            usage, served = completion.usage, completion.model
    except Unanswered as refusal:
        return refusal
    receipt.answers += 1
    receipt.usage += usage
    if served and served not in receipt.served:
        receipt.served.append(served)
    return None


def _lines(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of a text file in UTF-8, or in UTF-16 with a byte order mark, compressed by gzip or not.

    Bytes that are not UTF-8 become lone surrogates, which `wire.batch_result` refuses: they cost only their own line.
    """
    whole: io.BufferedReader[Any] = io.BufferedReader(stream)
    if whole.peek(2).startswith(GZIP):
        whole = io.BufferedReader(gzip.GzipFile(fileobj=whole))
    start = whole.peek(3)
    encoding = next((name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark)), "utf-8")
    errors = "replace" if encoding == "utf-16" else "surrogateescape"
    yield from io.TextIOWrapper(whole, encoding=encoding, errors=errors, newline="\n")
