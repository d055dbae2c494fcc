"""What a row of a production log tells without a judge, and the sums of it over many rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rageval_spark.engine.plan import FieldGroup
from rageval_spark.errors import SampleFault
from rageval_spark.judges.refusals import language_in_doubt, refused
from rageval_spark.measures.markers import cited, unknown_marker
from rageval_spark.prompts.detection import language_name, script
from rageval_spark.prompts.language import word_tokens
from rageval_spark.sample import Sample, blank

READ = ("user_input", "response", "retrieved_contexts", "retrieved_ids")
"""Sample fields that signals are read from."""
RATES: Mapping[str, tuple[str, str]] = {
    "malformed": ("lower", "rows of the day that cannot be read"),
    "empty_retrieval": ("lower", "questions for which no chunk was retrieved"),
    "empty_answer": ("lower", "answers without a word"),
    "refusal": ("lower", "answers that decline to answer"),
    "cited": ("higher", "answers that cite a chunk"),
    "citation_hit": ("higher", "citing answers all of whose citations are of retrieved chunks"),
    "negative_feedback": ("lower", "rated answers that people rated bad"),
}
"""Shares of rows by name: which direction is better, and of what they are the share."""
EMPTY = ("empty_retrieval", "empty_answer")
"""Rates of what may be missing altogether: a null counts as empty if other rows of the window have a value."""
ROWS, LENGTH_DRIFT, LANGUAGE_DRIFT = "rows", "question_length_drift", "question_language_drift"
DIRECTIONS: Mapping[str, str] = {ROWS: "higher", **{name: direction for name, (direction, _) in RATES.items()},
                                 LENGTH_DRIFT: "lower", LANGUAGE_DRIFT: "lower"}
"""The figures that need no judge, and which direction is better. All but ROWS lie in [0, 1]."""
NEGATIVE = ("-1", "false", "down", "thumbs_down", "thumbsdown", "negative", "bad", "dislike", "no", "👎")
POSITIVE = ("1", "true", "up", "thumbs_up", "thumbsup", "positive", "good", "like", "yes", "👍")
NO_FEEDBACK = ("", "0", "null", "none", "nan", "neutral")
"""Values of a feedback column that rate nothing, unless a config says otherwise."""
LONGEST_QUESTION = 1000
"""Words up to which questions are counted by their length."""
MOST_UNKNOWN = 20
"""Different unknown values of feedback that a task counts."""
WORDS, LANGUAGE, UNKNOWN = "words", "language", "unknown_feedback"
"""Counts of questions by number of words and by language, and of feedback that is no known value."""
UNKNOWN_REFUSALS = "unknown_refusals"
"""Counts of answers by language that are not in the rate of refusals, since it is unknown whether they decline."""

Key = tuple[str, str | None, str | None, str, str]
"""Day, slice and its value (both None for all rows), name, and for counts by value that value."""


def word(value: Any) -> str:
    """A value of feedback as it is compared: -1, "-1.0" and " -1" are one, True and "TRUE" too."""
    text = str(value).strip().casefold()
    whole, point, rest = text.partition(".")
    return whole if point and whole.lstrip("-").isdigit() and not rest.strip("0") else text


@dataclass(frozen=True)
class Watch:
    """What is read of rows: through which columns, whether there is feedback and which values are which, and which number
    stands for the first chunk in a citation; `pattern` is a regular expression of the user's own for citations."""

    group: FieldGroup
    feedback: bool = False
    negative: Sequence[str] = NEGATIVE
    positive: Sequence[str] = POSITIVE
    first: int = 1
    pattern: str | None = None

    def rates(self) -> list[str]:
        """The RATES that the columns tell."""
        retrieval = "retrieved_contexts" in self.group.fields or "retrieved_ids" in self.group.fields
        answer = "response" in self.group.fields
        told = {"malformed": True, "empty_retrieval": retrieval, "empty_answer": answer, "refusal": answer,
                "cited": answer and retrieval, "citation_hit": answer and retrieval, "negative_feedback": self.feedback}
        return [name for name in RATES if told[name]]

    def signals(self, sample: Sample, feedback: str) -> dict[str, bool]:
        """By rate whether the row counts for it; left out where the row does not tell.

        Retrieval is empty if neither an id nor a chunk with a word is there. A row whose columns of both are null does not tell;
        whether it counts as EMPTY can only be said of the whole window. An answer that cites in an unknown style does not
        tell whether it cites. A citation hits if its number is that of a retrieved chunk, by their order.
        """
        holds: dict[str, bool] = {}
        contexts, ids, answer = sample.retrieved_contexts, sample.retrieved_ids, sample.response
        if known := contexts is not None or ids is not None:
            holds["empty_retrieval"] = not ids and not sample.has_context
        if answer is not None:
            holds["empty_answer"] = blank(answer)
            if not blank(answer):
                if (declines := refused(answer, sample.user_input or "")) is not None:
                    holds["refusal"] = declines
                if known:
                    chunks = max(len(contexts or ()), len(ids or ()))
                    sentences = cited(answer, contexts=chunks, first=self.first, pattern=self.pattern)
                    numbers = [number for sentence in sentences for number in sentence.numbers]
                    if numbers or unknown_marker(answer) is None:
                        holds["cited"] = bool(numbers)
                    if numbers:
                        holds["citation_hit"] = all(self.first <= number < self.first + chunks for number in numbers)
        if word(feedback) in (*self.negative, *self.positive):
            holds["negative_feedback"] = word(feedback) in self.negative
        return holds


@dataclass
class Sums:
    """For each key how many rows tell it, and of how many it holds."""

    watch: Watch
    counts: dict[Key, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    unknown: set[str] = field(default_factory=set)

    def add(self, day: str, slices: Mapping[str, str], values: Mapping[str, Any], feedback: str, fault: str | None) -> None:
        """Count a row: its mapped columns in `values`, `fault` where it could not be read."""
        sample = None
        if fault is None:
            with suppress(SampleFault):
                sample = self.watch.group.sample("", values)
        signals = {"malformed": sample is None} | (self.watch.signals(sample, feedback) if sample else {})
        for slice, value in ((None, None), *slices.items()):
            for name in self.watch.rates():
                self._count((day, slice, value, name, ""), int(name in signals), int(signals.get(name, False)))
        if sample is not None and "refusal" not in signals and not blank(sample.response):
            self._count((day, None, None, UNKNOWN_REFUSALS, language_in_doubt(sample.response or "", sample.user_input or "")), 1)
        if sample is not None and not blank(sample.user_input):
            question = sample.user_input or ""
            words = min(len(word_tokens(question)), LONGEST_QUESTION)
            self._count((day, None, None, WORDS, str(words)), 1)
            self._count((day, None, None, LANGUAGE, language_name(question) or f"other ({script(question)} script)"), 1)
        if self.watch.feedback and word(feedback) not in (*self.watch.negative, *self.watch.positive):
            self._rates_nothing(day, word(feedback)[:40])

    def _rates_nothing(self, day: str, value: str) -> None:
        if value == "0" or (value not in NO_FEEDBACK and (value in self.unknown or len(self.unknown) < MOST_UNKNOWN)):
            self.unknown.add(value)
            self._count((day, None, None, UNKNOWN, value), 1)

    def _count(self, key: Key, count: int, hits: int = 0) -> None:
        sums = self.counts[key]
        sums[0] += count
        sums[1] += hits

    def rows(self) -> Iterator[tuple[Any, ...]]:
        return ((*key, *sums) for key, sums in self.counts.items())
