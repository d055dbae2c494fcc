"""Exact match: is the response the reference, to the letter?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.lexical import emptiness, squad, texts
from rageval_spark.metric import Layer, Metric
from rageval_spark.prompts.language import compatible
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class ExactMatch(Metric):
    """Share of responses that equal the reference, or one of several.

    0 or 1, higher is better. Texts are equal after NFKC, without white space at their ends and signs that nobody sees; with
    `squad`, also casefolded, without punctuation and a, an, the, and with numbers of equal value (1.0, 1). Both blank is
    1: the reference says that there is no answer. The question's language says how a bare number ("1.200") is read.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE); a blank one counts, with the flag EMPTY_ANSWER.
    Prompts: none.
    Source: SQuAD 2 (arXiv 1806.03822) where `squad`, with Unicode's punctuation for ASCII's, so that symbols
    stay, and numbers kept whole: sign, point and per cent are no punctuation.
    """

    name: ClassVar[str] = "exact_match"
    reads: ClassVar[tuple[str, ...]] = ("response", "reference")
    reads_too: ClassVar[tuple[str, ...]] = ("user_input",)
    layer: ClassVar[Layer] = "end_to_end"
    binary: ClassVar[bool] = True

    squad: bool = False

    @property
    def suffix(self) -> str:
        return "_squad" if self.squad else ""

    def score(self, sample: Sample) -> Score:
        response, references = texts(sample, blank_too=True)
        question = sample.user_input
        if self.squad:
            equal = [rank for rank, text in references.items()
                     if squad(text, question, response) == squad(response, question, text)]
        else:
            equal = [rank for rank, text in references.items() if _trimmed(text) == _trimmed(response)]
        return Score.of(bool(equal), "equal to the reference" if equal else "differs from the reference",
                        flags=emptiness(response), reference=equal[0] if equal else None, references=len(references))


def _trimmed(text: str) -> str:
    return compatible(text).strip()
