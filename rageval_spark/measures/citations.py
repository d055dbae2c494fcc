"""The flow that the citation metrics share: which sentences their citations support, and which citations are of use."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.measures.markers import Cited, check_pattern, cited, unknown_marker
from rageval_spark.metric import Layer, Metric
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.sentences import FindStatements
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Skip


@dataclass
class Statement:
    """A sentence that states a fact. `valid` are the contexts that it cites, `invalid` numbers of none; `alone` those
    contexts that support it by themselves, `precise` those that are of use to it."""

    text: str
    valid: tuple[int, ...]
    invalid: tuple[int, ...]
    alone: set[int] = field(default_factory=set)
    supported: bool = False
    precise: tuple[int, ...] = ()

    def details(self) -> dict[str, Any]:
        return {"text": self.text, "citations": [*self.valid, *self.invalid], "invalid": list(self.invalid),
                "supported": int(self.supported), "precise": list(self.precise)}


@dataclass(frozen=True)
class Citations:
    """The statements of a response, and what is counted of them."""

    statements: tuple[Statement, ...]

    @property
    def count(self) -> int:
        """All citations, those of no context included."""
        return sum(len(one.valid) + len(one.invalid) for one in self.statements)

    @property
    def recall(self) -> float:
        return sum(one.supported for one in self.statements) / len(self.statements)

    @property
    def precision(self) -> float | None:
        """None where nothing is cited."""
        return sum(len(one.precise) for one in self.statements) / self.count if self.count else None

    @property
    def f1(self) -> float:
        precision = self.precision or 0.0
        return 2 * precision * self.recall / (precision + self.recall) if precision + self.recall else 0.0

    @property
    def flags(self) -> tuple[str, ...]:
        return () if self.count else ("NO_CITATIONS",)

    def details(self) -> dict[str, Any]:
        return {"statements": [one.details() for one in self.statements], "citations": self.count,
                "recall": self.recall, "precision": self.precision, "f1": self.f1}


@dataclass(frozen=True)
class CitationMetric(Metric):
    """A metric of the citations of a response. A subclass gives `name`, and the number that counts.

    `first` is the number of the marker that stands for the first context. `pattern` is a regular expression of your own
    for the markers, whose first group holds the number or numbers. Raises ConfigError if it is none.
    """

    reads: ClassVar[tuple[str, ...]] = ("user_input", "response", "retrieved_contexts")
    asks: ClassVar[tuple[str, ...]] = ("find_statements", "verify_claims")
    layer: ClassVar[Layer] = "generation"

    first: int = 1
    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None:
            try:
                check_pattern(self.pattern)
            except ValueError as error:
                raise ConfigError(f"{self.name}: pattern {self.pattern!r}: {error}") from None


def citations_of(sample: Sample, first: int, pattern: str | None = None) -> Generator[Any, Any, Citations]:
    """The citations of a response, judged; marker `first` stands for the first context.

    Raises Skip NO_ANSWER, NO_CONTEXT (the data has none), NO_CLAIMS (no sentence states a fact) or UNKNOWN_CITATIONS (marks of
    a style that is not known), and JudgeFault if a verdict is missing or `pattern` takes too long.
    """
    if sample.response is None or blank(sample.response):
        raise Skip("NO_ANSWER")
    if sample.retrieved_contexts is None:
        raise Skip("NO_CONTEXT", "the data has no retrieved contexts")
    try:
        sentences = cited(sample.response, contexts=len(sample.retrieved_contexts), first=first, pattern=pattern)
    except TimeoutError:
        raise JudgeFault("INVALID_INPUT", f"the pattern {pattern!r} takes too long over this response") from None
    if not sentences:
        raise Skip("NO_CLAIMS")
    if not any(sentence.numbers for sentence in sentences) and (mark := unknown_marker(sample.response)):
        raise Skip("UNKNOWN_CITATIONS", f"{mark[:60]!r} looks like a citation, but names no context by its number; "
                                        f"give the metric a pattern")
    [stating] = yield [FindStatements(tuple(enumerate((one.text for one in sentences), 1)), sample.user_input or "",
                                      sample.history)]
    if isinstance(stating, JudgeFault):
        raise stating
    contexts = dict(enumerate(sample.retrieved_contexts, first))
    statements = [_statement(one, contexts) for id, one in enumerate(sentences, 1) if stating[id].value]
    if not statements:
        raise Skip("NO_CLAIMS")
    yield from _alone(statements, contexts)
    yield from _together(statements, contexts)
    return Citations(tuple(statements))


def _statement(sentence: Cited, contexts: dict[int, str]) -> Statement:
    valid = tuple(number for number in sentence.numbers if number in contexts)
    return Statement(sentence.text, valid, tuple(number for number in sentence.numbers if number not in contexts))


def _alone(statements: list[Statement], contexts: dict[int, str]) -> Generator[Any, Any, None]:
    """Which cited context supports which statement by itself: one prompt per cited context."""
    cites = {number: [(id, one.text) for id, one in enumerate(statements, 1) if number in one.valid] for number in contexts}
    asked = {number: tuple(claims) for number, claims in cites.items() if claims and contexts[number].strip()}
    verdicts = yield from _asked(VerifyClaims(claims, ((number, contexts[number]),)) for number, claims in asked.items())
    for (number, claims), decided in zip(asked.items(), verdicts, strict=True):
        for id, _ in claims:
            if decided[id].value:
                statements[id - 1].alone.add(number)
    for one in statements:
        one.supported = bool(one.alone)
        one.precise = tuple(number for number in one.valid if number in one.alone)


def _together(statements: list[Statement], contexts: dict[int, str]) -> Generator[Any, Any, None]:
    """Statements that no cited context supports alone: do all together, and which of them cannot be left out?"""
    def joint(one: Statement, without: int | None = None) -> VerifyClaims:
        return VerifyClaims(((1, one.text),), tuple((number, contexts[number]) for number in said(one) if number != without))

    def said(one: Statement) -> tuple[int, ...]:
        return tuple(number for number in one.valid if contexts[number].strip())

    several = [one for one in statements if not one.alone and len(said(one)) > 1]
    for one, decided in zip(several, (yield from _asked(map(joint, several))), strict=True):
        one.supported = bool(decided[1].value)
        if one.supported and len(said(one)) == 2:
            one.precise = said(one)  # neither supports it alone
    left_out = [(one, number) for one in several if one.supported and len(said(one)) > 2 for number in said(one)]
    for (one, number), decided in zip(left_out, (yield from _asked(joint(*pair) for pair in left_out)), strict=True):
        if not decided[1].value:
            one.precise += (number,)


def _asked(prompts: Iterable[VerifyClaims]) -> Generator[Any, Any, list[Any]]:
    """The decisions of each prompt. Raises the first JudgeFault."""
    asked = list(prompts)
    answers = (yield asked) if asked else []
    if fault := next((one for one in answers if isinstance(one, JudgeFault)), None):
        raise fault
    return list(answers)
