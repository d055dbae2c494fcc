"""Token F1: how many words do response and reference share?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.lexical import Overlap, best, squad_tokens, texts
from rageval_spark.metric import Layer, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class TokenF1(Metric):
    """Share of words that response and reference have in common (F1; the best of several references).

    In [0, 1], higher is better. Words are casefolded and without punctuation and a, an, the; in scripts without spaces
    each character is one. A number is one word, by its value: 1.0 is 1, 3.14 is not 314, 50% is not 50; how a bare "1.200"
    is read depends on the question's language. Order does not count. 1 if neither text has a word left, 0 if one has none.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE); a blank one counts, with the flag EMPTY_ANSWER.
    Prompts: none.
    Source: SQuAD 2 (arXiv 1806.03822), with Unicode's punctuation for ASCII's, so that symbols
    stay, and numbers kept whole: sign, point and per cent are no punctuation.
    """

    name: ClassVar[str] = "token_f1"
    reads: ClassVar[tuple[str, ...]] = ("response", "reference")
    reads_too: ClassVar[tuple[str, ...]] = ("user_input",)
    layer: ClassVar[Layer] = "end_to_end"
    aliases: ClassVar[tuple[str, ...]] = ("f1_score",)

    def score(self, sample: Sample) -> Score:
        response, references = texts(sample, blank_too=True)
        question = sample.user_input
        return best(response, {rank: Overlap.of(squad_tokens(response, question, text), squad_tokens(text, question, response))
                               for rank, text in references.items()})
