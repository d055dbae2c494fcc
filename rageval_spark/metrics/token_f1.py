"""Token F1: how many words do response and reference share?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.lexical import Overlap, best, language_of, squad_tokens, texts
from rageval_spark.metric import Layer, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class TokenF1(Metric):
    """Share of words that response and reference have in common (F1; the best of several references).

    In [0, 1], higher is better. Words are casefolded and without punctuation and a, an, the; in scripts without spaces
    each character is one. Numbers are compared by value and keep their sign, point and per cent. The order of words does
    not count. 1 if neither text has a word left, 0 if one has none.
    No threshold unless you give one: a right answer in other words does not reach 1.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE); a blank one counts, with the flag EMPTY_ANSWER.
    Prompts: none.
    Source: SQuAD 2 (arXiv 1806.03822), with Unicode's punctuation in place of ASCII's, so that
    symbols stay, and numbers by value: 1.0 is 1, and 3.14 is not 314.
    """

    name: ClassVar[str] = "token_f1"
    default_threshold: ClassVar[float | None] = None
    reads: ClassVar[tuple[str, ...]] = ("response", "reference")
    layer: ClassVar[Layer] = "end_to_end"
    aliases: ClassVar[tuple[str, ...]] = ("f1_score",)

    def score(self, sample: Sample) -> Score:
        response, references = texts(sample, blank_too=True)
        language = language_of(*references.values(), response)
        tokens = squad_tokens(response, language)
        return best(response, {rank: Overlap.of(tokens, squad_tokens(text, language)) for rank, text in references.items()})
