"""Exact match: is the response the reference, to the letter?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.lexical import emptiness, language_of, squad, texts, trim
from rageval_spark.metric import Layer, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class ExactMatch(Metric):
    """Share of responses that equal the reference, or one of several.

    0 or 1, higher is better. Texts are equal after NFKC, without invisible characters and white space at their ends.
    With `squad` they are also casefolded, without punctuation and a, an, the; numbers are compared by value and keep their
    sign, point and per cent. Both blank is 1: the reference says that there is no answer.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE); a blank one counts, with the flag EMPTY_ANSWER.
    Prompts: none.
    Source: SQuAD 2 (arXiv 1806.03822) with `squad`, but with Unicode's punctuation in place of ASCII's, so that
    symbols stay, and numbers by value: 1.0 is 1, and 3.14 is not 314.
    """

    name: ClassVar[str] = "exact_match"
    reads: ClassVar[tuple[str, ...]] = ("response", "reference")
    layer: ClassVar[Layer] = "end_to_end"
    binary: ClassVar[bool] = True

    squad: bool = False

    @property
    def suffix(self) -> str:
        return "_squad" if self.squad else ""

    def score(self, sample: Sample) -> Score:
        response, references = texts(sample, blank_too=True)
        language = language_of(*references.values(), response) if self.squad else None
        wanted = self._compared(response, language)
        equal = [rank for rank, text in references.items() if self._compared(text, language) == wanted]
        return Score.of(bool(equal), "equal to the reference" if equal else "differs from the reference",
                        flags=emptiness(response), reference=equal[0] if equal else None, references=len(references))

    def _compared(self, text: str, language: str | None) -> str:
        return squad(text, language) if self.squad else trim(text)
