"""Prompts that ask one decision for each of several items, matched by id and never by position."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from pydantic import ValidationError

from rageval_spark.errors import JudgeFault
from rageval_spark.prompts.length import packed
from rageval_spark.prompts.prompt import (
    DRAWS,
    Accepted,
    Binary,
    Id,
    Prompt,
    Rating,
    Reason,
    ReplyModel,
    Text,
    Unacceptable,
    fault_of,
)

T = TypeVar("T")


class Item(ReplyModel):
    id: Id


class Verdict(Item):
    reason: Reason = ""
    verdict: Binary


class Verdicts(ReplyModel):
    verdicts: list[Verdict]


class Rated(Item):
    reason: Reason = ""
    rating: Rating


class Ratings(ReplyModel):
    ratings: list[Rated]


@dataclass(frozen=True)
class Decision:
    """The judge's verdict (0 or 1) or rating (0 to 2) on one item, with its reason (may be empty)."""

    value: int
    reason: str = ""


class Decisions(dict[int, Decision]):
    """Decisions by item id. `support` in [0, 1] says how well the items hold together, where the judge tells it."""

    support: float | None = None


@dataclass(frozen=True)
class ItemPrompt(Prompt):
    """A prompt over items; its value is Decisions.

    `replies_in` and `decides` name the reply's list and the field of its elements that decides; `best` is the
    decision after which no other part of the contexts can change it.
    """

    replies_in: ClassVar[str]
    decides: ClassVar[str]
    element: ClassVar[type[Item]]
    best: ClassVar[int] = 1
    max_items: ClassVar[int]

    @property
    def items(self) -> tuple[Text, ...]:
        raise NotImplementedError

    def with_items(self, items: tuple[Text, ...]) -> ItemPrompt:
        raise NotImplementedError

    def accept(self, reply: Any) -> Accepted:
        listed = reply.get(self.replies_in) if isinstance(reply, Mapping) else None
        if not isinstance(listed, list):
            raise Unacceptable("JUDGE_SCHEMA", f'the reply has no list under "{self.replies_in}"')
        asked = dict(self.items)
        good: dict[int, dict[str, Any]] = {}
        bad: dict[int, tuple[str, str]] = {}
        surplus = False
        unplaced: tuple[str, str] | None = None
        not_asked: dict[int, None] = {}
        for item in listed:
            try:
                one = self.element.model_validate(item).model_dump()
            except ValidationError as error:
                id = _id_of(item)
                bad[id] = fault_of(error)
                if id == 0 and isinstance(item, Mapping) and item.get(self.decides) is not None:
                    unplaced = bad[id]
                if id not in asked and id != 0:
                    not_asked[id] = None
                continue
            id = one["id"]
            surplus |= id not in asked or id in good
            if id not in asked:
                not_asked[id] = None
            if id in good and good[id][self.decides] != one[self.decides]:
                bad[id] = ("JUDGE_COUNT_MISMATCH", f"id {id} has two different answers")
            elif id in asked:
                good.setdefault(id, one)
        absent = ("JUDGE_COUNT_MISMATCH", "no answer")
        missing = {id: bad.get(id, bad.get(0, absent)) for id in asked if id not in good or id in bad}
        if unplaced and not missing:  # a decision too many, which may contradict any of the others
            raise Unacceptable(*unplaced)
        kept = [good[id] for id in asked if id not in missing]
        return Accepted({self.replies_in: kept}, missing, surplus, tuple(not_asked))

    def value(self, reply: Mapping[str, Any]) -> Decisions:
        in_order = sorted(reply[self.replies_in], key=lambda one: one["id"])  # a vote has them in another
        decisions = Decisions((one["id"], Decision(one[self.decides], one.get("reason", ""))) for one in in_order)
        decisions.support = reply.get("support")
        return decisions

    def merge(self, replies: Sequence[dict[str, Any]]) -> dict[str, Any]:
        merged = [one for reply in replies for one in reply[self.replies_in]]
        return {self.replies_in: sorted(merged, key=lambda one: one["id"])}

    def only(self, ids: Sequence[int]) -> ItemPrompt:
        return self.with_items(tuple(item for item in self.items if item[0] in ids))

    def halves(self) -> Sequence[Prompt]:
        middle = len(self.items) // 2
        return (self.with_items(self.items[:middle]), self.with_items(self.items[middle:])) if middle else ()

    def for_vote(self, vote: int) -> ItemPrompt:
        """Also with its items in another order, the same one every time."""
        drawn = replace(self, draw=self.draw + vote * DRAWS)
        items = sorted(self.items, key=lambda item: hashlib.blake2b(f"{vote} {item[0]}".encode(), digest_size=8).digest())
        return drawn.with_items(tuple(items) if tuple(items) != self.items else self.items[::-1])

    def join(self, parts: Sequence[Any], answers: Sequence[Any]) -> dict[int, Decision]:
        """The best decision of each id over the parts. What a part left open matters where the best is not reached.

        Raises JudgeFault whose `partial` holds the ids that are decided all the same.
        """
        best: dict[int, Decision] = {}
        left_open: dict[int, JudgeFault] = {}
        for part, answer in zip(parts, answers, strict=True):
            decisions = answer.partial if isinstance(answer, JudgeFault) else answer
            for id, _ in part.items:
                if id not in decisions:
                    left_open.setdefault(id, answer)
                elif id not in best or decisions[id].value > best[id].value:
                    best[id] = decisions[id]
        decided = {id: best[id] for id in sorted(best) if id not in left_open or best[id].value == self.best}
        for id, fault in left_open.items():
            if id not in decided:
                raise JudgeFault(fault.code, fault.reason, partial=decided)
        return decided


@dataclass(frozen=True)
class ContextItemPrompt(ItemPrompt):
    """One decision per context: at most ten contexts a prompt, one where `isolated`."""

    max_items: ClassVar[int] = 10
    contexts: tuple[Text, ...] = ()
    isolated: bool = False

    @property
    def items(self) -> tuple[Text, ...]:
        return self.contexts

    def with_items(self, items: tuple[Text, ...]) -> ItemPrompt:
        return replace(self, contexts=items)

    def divide(self, token_limit: int) -> Sequence[Prompt]:
        groups, split = packed(self.contexts, self.room(token_limit), 1 if self.isolated else self.max_items)
        return [replace(self, contexts=group, context_split=split) for group in groups]

    def room(self, token_limit: int) -> int:
        """Tokens that the limit leaves for contexts."""
        raise NotImplementedError


def chunked(items: Sequence[T], size: int) -> Iterable[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _id_of(item: Any) -> int:
    """The id of a faulty item; 0, which stands for every item left out, where it has none."""
    try:
        return Item.model_validate(item).id
    except ValidationError:
        return 0
