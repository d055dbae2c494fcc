"""Reading the one JSON object in a judge's reply."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from rageval_spark.judges.lenient import NOT_CLOSED, Broken, RepeatedKey, read_object
from rageval_spark.judges.thinking import CLOSES, ENDS, next_landmark
from rageval_spark.prompts.prompt import Accepted, Prompt, Unacceptable

NAME = re.compile(r"\w{1,20}", re.A)
MOST_OBJECTS = 1000
MOST_UNCLOSED = 3
"""Objects that a reply may leave open. Each makes the reader look to the end of the text, so that many would be slow."""
NOTHING_MORE = re.compile(r"(?:[\s`]|<\|[^<>|\s]{1,40}\|>|(?i:</?(?:answer|response|output|json)>)|\[END FINAL RESPONSE\])*\Z")
"""What may stand behind the last object of a reply that may have ended too early: fences, tokens, closing tags."""


def read(prompt: Prompt, text: str, *, cut: bool = False) -> Accepted:
    """Return the accepted part of a reply's text.

    Only the single object outside all thinking that has the reply's shape counts. Free text is never searched for numbers, and
    of two different objects neither is taken. An object in thinking that is never closed counts if it is the only one and the
    reply ends with it. If the reply was `cut` by the output limit, its object must stand at the end, outside all thinking.

    Raises Unacceptable with JUDGE_PARSE, JUDGE_SCHEMA, JUDGE_OUT_OF_RANGE, JUDGE_AMBIGUOUS or JUDGE_COUNT_MISMATCH.
    """
    reply = scan(_unquote(text))
    objects = reply.objects + ([] if cut else reply.thoughts)
    fault: Unacceptable | None = None
    accepted: dict[str, Accepted] = {}
    for written in objects:
        if written.repeats is not None:
            # the judge is shown the fault outside the data's fence, so that it must not quote free text of the reply
            key = repr(written.repeats) if NAME.fullmatch(written.repeats) else "a key"
            raise Unacceptable("JUDGE_AMBIGUOUS", f"{key} stands twice in one object")
        if written.fault:
            fault = fault or Unacceptable("JUDGE_PARSE", f"the JSON object in the reply is broken: {written.fault}")
            continue
        try:
            accepted[json.dumps(written.value, sort_keys=True)] = prompt.accept(written.value)
        except Unacceptable as unacceptable:
            fault = fault or unacceptable
    if len(accepted) > 1:
        raise Unacceptable("JUDGE_AMBIGUOUS", f"the reply holds {len(accepted)} different JSON objects")
    if not accepted:
        raise fault or Unacceptable("JUDGE_PARSE", reply.thinking or "the reply is not a JSON object")
    last = objects[-1]
    if last.fault:
        raise Unacceptable("JUDGE_PARSE", f"the last JSON object in the reply is broken: {last.fault}")
    if (cut or reply.thoughts) and not NOTHING_MORE.match(reply.text, last.end):
        raise Unacceptable("JUDGE_PARSE", reply.thinking or "the reply goes on after its JSON object and was cut")
    return next(iter(accepted.values()))


@dataclass(frozen=True)
class Written:
    """An object in a reply: its value, or its `fault`, or the key that it `repeats`. `end` is the position behind it."""

    end: int
    value: dict[str, Any] = field(default_factory=dict)
    fault: str = ""
    repeats: str | None = None


@dataclass
class Scan:
    """The outermost objects of a reply: `objects` outside all thinking, and `thoughts` in thinking that is never closed.

    `thinking` is a sentence if the reply has such thinking, else "". An object that is repeated to the letter stands once.
    """

    text: str
    objects: list[Written] = field(default_factory=list)
    thoughts: list[Written] = field(default_factory=list)
    thinking: str = ""
    seen: set[str] = field(default_factory=set)

    def add(self, start: int, written: Written) -> None:
        source = self.text[start : written.end]
        if source not in self.seen:
            self.seen.add(source)
            (self.thoughts if self.thinking else self.objects).append(written)

    def forget(self) -> None:
        """Drop all objects so far: they turn out to stand in thinking."""
        self.objects, self.thoughts, self.thinking, self.seen = [], [], "", set()


def scan(text: str) -> Scan:
    """Find the objects of a reply. Marks within their strings are text. Takes time in proportion to the text.

    Raises Unacceptable if there are too many objects, or too many that are not closed.
    """
    reply = Scan(text)
    never_closed: set[int] = set()
    position, objects, unclosed, answering = 0, 0, 0, False
    while landmark := next_landmark(text, position):
        kind, start, position = landmark.lastgroup or "", landmark.start(), landmark.end()
        if kind == "object":
            written = _read(text, start)
            reply.add(start, written)
            position = written.end
            objects += 1
            unclosed += written.fault == NOT_CLOSED
            if objects > MOST_OBJECTS or unclosed > MOST_UNCLOSED:
                raise Unacceptable("JUDGE_PARSE", "the reply holds too many JSON objects, whole or broken")
        elif kind == "answers":
            if reply.thinking or not answering:  # a second answer does not replace the first: the two may contradict each other
                reply.forget()
            answering = True
        elif kind == "closes":
            reply.forget()
        else:
            family = int(kind.removeprefix("opens_"))
            closing = None if family in never_closed else CLOSES[family].search(text, position)
            if closing:
                position = closing.end()
            else:
                never_closed.add(family)
                reply.thinking = "it ends in thinking that is not closed"
    return reply


def answer_in_thinking(text: str) -> str:
    """Return the answer in what a server sent as thinking: one JSON object, perhaps in a code fence, and nothing else.

    It may follow thinking that is closed. Returns "" if there is none.
    """
    closing = [mark.end() for mark in ENDS.finditer(text)]
    return next((part for part in (text, text[closing[-1] :] if closing else "") if _is_object(part)), "")


def _is_object(text: str) -> bool:
    bare = text.strip().strip("`").removeprefix("json").strip()
    if not bare.startswith("{"):
        return False
    written = _read(bare, 0)
    return not written.fault and written.end == len(bare)


def _read(text: str, start: int) -> Written:
    """Read the object at `start`. One that is not closed ends where thinking does, or with the text."""
    try:
        value, end = read_object(text, start)
    except RepeatedKey as error:
        return Written(error.end, repeats=error.key)
    except Broken as error:
        if error.end is not None:
            return Written(error.end, fault=error.reason)
        mark = ENDS.search(text, start)
        return Written(mark.start() if mark else len(text), fault=error.reason)
    return Written(end, value)


def _unquote(text: str) -> str:
    """The text within a reply that is one JSON string, as some gateways send it."""
    if text.strip()[:1] != '"':
        return text
    try:
        inner = json.loads(text)
    except ValueError:
        return text
    return inner if isinstance(inner, str) else text
