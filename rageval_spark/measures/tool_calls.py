"""What the three tool call metrics share: the calls made and expected, how they match, and what adds up of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from rageval_spark.measures.calls import Comparison, Match
from rageval_spark.measures.conversation import calls_in, conversation_of
from rageval_spark.measures.matching import Order, Pairs, matched
from rageval_spark.messages import Call, read_calls
from rageval_spark.metric import Layer, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score, Skip


@dataclass(frozen=True)
class Matched:
    """The calls of a sample with the pairs that match; `found` is what the pairs are worth, a whole number unless
    arguments are credited."""

    made: tuple[Call, ...]
    expected: tuple[Call, ...]
    pairs: Pairs
    credit: tuple[Fraction, ...]

    @property
    def found(self) -> Fraction:
        return sum(self.credit, Fraction(0))

    def score(self, value: Fraction) -> Score:
        extra = [call.shown() for place, call in enumerate(self.made) if place not in {row for row, _ in self.pairs}]
        missing = [call.shown() for place, call in enumerate(self.expected) if place not in {column for _, column in self.pairs}]
        pairs = [{"made": self.made[row].shown(), "expected": self.expected[column].shown(), "credit": float(credit)}
                 for (row, column), credit in zip(self.pairs, self.credit, strict=True)]
        parts = [f"{len(pairs)} matched", *([f"{len(extra)} extra"] if extra else []),
                 *([f"missing: {', '.join(call['name'] for call in missing)}"] if missing else [])]
        reason = f"{len(self.made)} calls made, {len(self.expected)} expected; {', '.join(parts)}"
        measures = {"true_positives": float(self.found), "calls_made": float(len(self.made)),
                    "calls_expected": float(len(self.expected)), "extra_calls": float(len(extra)), "samples": 1.0}
        unreadable = [call.name for call in self.made if call.unreadable is not None]
        if unreadable:
            reason += f"; arguments that cannot be read: {', '.join(unreadable)}"
        return Score.of(float(value), reason, flags=["UNREADABLE_ARGUMENTS"] if unreadable else [], measures=measures,
                        matched=pairs, extra=extra, missing=missing)


@dataclass(frozen=True)
class ToolCallMetric(Metric):
    """A metric of the calls made beside those expected. A subclass gives `name`, and the `value` of what matched."""

    reads: ClassVar[tuple[str, ...]] = ("tool_calls", "reference_tool_calls")
    instead: ClassVar[Mapping[str, str]] = {"tool_calls": "messages"}
    layer: ClassVar[Layer] = "agent"
    several: ClassVar[tuple[str, ...]] = ("match", "order")
    measured: ClassVar[tuple[str, ...]] = ("true_positives", "calls_made", "calls_expected", "extra_calls", "samples")

    match: Match = "exact"
    order: Order = "any"
    lenient: bool = False
    accepted_values: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "binary", self.order == "sequence")

    @property
    def suffix(self) -> str:
        parts = (self.match != "exact" and self.match, self.order != "any" and self.order, self.lenient and "lenient",
                 self.accepted_values and "accepted_values")
        return "@" + "-".join(part for part in parts if part) if any(parts) else ""

    def score(self, sample: Sample) -> Score:
        found = self.matched(sample)
        return found.score(self.value(found))

    def value(self, found: Matched) -> Fraction:
        """The score of what matched. Raises Skip where it is undefined."""
        raise NotImplementedError

    def matched(self, sample: Sample) -> Matched:
        """Raises Skip where the calls that were made or expected are not known, SampleFault where they are no calls."""
        if sample.reference_tool_calls is None:
            raise Skip("NO_REFERENCE", "the calls that were expected are missing")
        if sample.tool_calls is None and sample.messages is None:
            raise Skip("NO_CALLS", "the calls that were made are missing: a list that may be empty, or messages")
        expected = read_calls("reference_tool_calls", sample.reference_tool_calls, named_by_key=self.accepted_values, made=False)
        made = (read_calls("tool_calls", sample.tool_calls) if sample.tool_calls is not None
                else calls_in(conversation_of(sample)))
        compare = Comparison(self.match, self.lenient, self.accepted_values)
        credits = [[compare.credit(one, other) for other in expected] for one in made]
        pairs = matched(credits, self.order, len(expected))
        return Matched(made, expected, pairs, tuple(credits[row][column] for row, column in pairs))


def precision(found: Matched) -> Fraction:
    """Raises Skip(NO_CALLS) where calls were expected and none was made; 1 where none was expected either."""
    if not found.made and found.expected:
        raise Skip("NO_CALLS", "no tool was called")
    return found.found / len(found.made) if found.made else Fraction(1)


def recall(found: Matched) -> Fraction:
    """Raises Skip(NO_CALLS) where calls were made and none was expected; 1 where none was made either."""
    if not found.expected and found.made:
        raise Skip("NO_CALLS", "no call was expected")
    return found.found / len(found.expected) if found.expected else Fraction(1)


def f1(found: Matched) -> Fraction:
    total = len(found.made) + len(found.expected)
    return 2 * found.found / total if total else Fraction(1)


def distinct(calls: Sequence[Call]) -> int:
    """How many calls there are without exact repeats."""
    plain = Comparison().plain
    return len({(call.name, plain(call.args), call.unreadable) for call in calls})


def share(measures: Mapping[str, float], part: str, *whole: str) -> float | None:
    """What one sum is of others together; None where they are nothing."""
    total = sum(measures.get(name, 0.0) for name in whole)
    return measures.get(part, 0.0) / total if total else None
