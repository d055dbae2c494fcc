"""A prompt: what a metric puts to a judge, and what it takes for an answer. No I/O and no HTTP here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from rageval_spark.values import well_formed

Reasons = Literal["failed", "all", "none"]
Text = tuple[int, str]
"""An item of the data: its id and its text."""


DRAWS = 1_000_000
"""How many draws a vote has to itself, so that those of one are never those of another."""


class Unacceptable(Exception):
    """A reply that cannot be used at all: a code of score.FAILED and what is wrong, worded for the judge."""

    def __init__(self, code: str, why: str):
        super().__init__(code, why)
        self.code = code
        self.why = why


@dataclass(frozen=True)
class Accepted:
    """The usable part of a reply. `missing` maps the ids of items that are not usable to the code and the fault.

    `not_asked` are the ids in the reply that the prompt does not have; `surplus` says that it had such, or one id twice.
    """

    reply: dict[str, Any]
    missing: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    surplus: bool = False
    not_asked: tuple[int, ...] = ()


class ReplyModel(BaseModel):
    """Shape of a reply; fields that it does not know are ignored."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True)
class Prompt:
    """Data, wording and reply shape of one prompt. A subclass is one kind; equal prompts have equal keys.

    `draw` numbers independent replies to the same prompt, a metric's own below DRAWS; `context_split` marks a part of
    a divided prompt and is no part of the key. `deciding` is false where the reply is what later prompts are about.
    """

    kind: ClassVar[str]
    deciding: ClassVar[bool] = True
    wording: ClassVar[Mapping[str, str]]
    """Instruction by language; `{name}` places of `fill_in` are replaced, other braces stay as they are."""
    model: ClassVar[type[ReplyModel]]

    draw: int = field(default=0, kw_only=True)
    context_split: bool = field(default=False, kw_only=True, compare=False)

    def data(self) -> dict[str, Any]:
        """The sample's data by name, in the fixed order of names that gives prompts of a sample one prefix."""
        raise NotImplementedError

    def fill_in(self, language: str) -> Mapping[str, str]:
        """What stands for the `{name}` places of the wording."""
        return {}

    def accept(self, reply: Any) -> Accepted:
        """The usable part of a parsed JSON value. Raises Unacceptable where nothing of it can be used."""
        try:
            return Accepted(self.model.model_validate(reply).model_dump())
        except ValidationError as error:
            raise Unacceptable(*fault_of(error)) from None

    def value(self, reply: Mapping[str, Any]) -> Any:
        """What the metric is sent for an accepted reply."""
        raise NotImplementedError

    def merge(self, replies: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """One reply from those to the pieces of this prompt, whose items are disjoint."""
        return replies[0]

    def only(self, ids: Sequence[int]) -> Prompt:
        """The same prompt with these items alone; the whole prompt where it has no items."""
        return self

    def halves(self) -> Sequence[Prompt]:
        """Two prompts that together ask the same with shorter replies; empty where it cannot be halved."""
        return ()

    def divide(self, token_limit: int) -> Sequence[Prompt]:
        """The prompts that this one is asked as: itself, or parts that keep within the limits."""
        return (self,)

    def join(self, parts: Sequence[Any], answers: Sequence[Any]) -> Any:
        """One value from the values (or JudgeFaults) of the parts; raises JudgeFault where one is needed."""
        raise NotImplementedError

    def for_vote(self, vote: int) -> Prompt:
        """This prompt as a further vote asks it, numbered from 1: with a reply of its own."""
        return replace(self, draw=self.draw + vote * DRAWS)

    def repeated(self, draw: int) -> Prompt:
        """This prompt asked once more, word for word, where its reply decides something."""
        return replace(self, draw=self.draw + draw) if self.deciding else self


def fault_of(error: ValidationError) -> tuple[str, str]:
    """The code and the wording of a reply's first fault."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the reply"
    code = "JUDGE_OUT_OF_RANGE" if first["type"] == "out_of_range" else "JUDGE_SCHEMA"
    return code, f"{where}: {first['msg']}"


BINARY = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}


def _binary(value: Any) -> int:
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return int(value)
    if isinstance(value, str) and value.strip().casefold() in BINARY:
        return BINARY[value.strip().casefold()]
    raise PydanticCustomError("binary", "must be 0 or 1")


def _whole(value: Any) -> int:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise PydanticCustomError("whole", "must be a whole number")


def _within(low: int, high: int) -> Callable[[Any], int]:
    def rating(value: Any) -> int:
        rated = _whole(value)
        if not low <= rated <= high:
            raise PydanticCustomError("out_of_range", "must be a whole number from {low} to {high}", {"low": low, "high": high})
        return rated

    return rating


ReplyText = Annotated[str, AfterValidator(well_formed)]
Reason = Annotated[str, BeforeValidator(lambda value: well_formed(value) if isinstance(value, str) else "")]
"""Never a fault, whatever the judge puts there."""
Id = Annotated[int, BeforeValidator(_whole), WithJsonSchema({"type": "integer"})]
Binary = Annotated[int, BeforeValidator(_binary), WithJsonSchema({"type": "integer", "enum": [0, 1]})]
"""A verdict: 0, 1, true, false, or "0", "1", "yes", "no", "true", "false". Anything else is a fault, never truthy."""
Rating = Annotated[int, BeforeValidator(_within(0, 2)), WithJsonSchema({"type": "integer", "enum": [0, 1, 2]})]
Level = Annotated[int, BeforeValidator(_within(1, 5)), WithJsonSchema({"type": "integer", "enum": [1, 2, 3, 4, 5]})]
