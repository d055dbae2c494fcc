"""ROUGE: how much of the wording, in pairs of words or in order, do response and reference share?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from rageval_spark.measures.lexical import (
    Overlap,
    best,
    common_subsequence,
    maybe_english,
    ngrams,
    stem,
    texts,
    union_overlap,
    words,
)
from rageval_spark.metric import Layer, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class Rouge(Metric):
    """Share of words, word pairs or words in order that response and reference have in common (F1; the best of several).

    In [0, 1], higher is better. `type`: rouge1 compares words, rouge2 pairs of words, rougeL the longest sequence of
    words in both, rougeLsum that line by line (elsewhere a newline is a space). Words are casefolded runs of letters
    and digits; in scripts without spaces each character is one. `stem`: Porter's stems of English words.
    No threshold unless you give one: a right answer in other words does not reach 1.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE), and where the reference has too few words
    (NO_NGRAMS). A blank response is 0, with the flag EMPTY_ANSWER.
    Prompts: none.
    Source: ROUGE (Lin 2004) as in rouge-score, which knows no letters but a to z.
    """

    name: ClassVar[str] = "rouge"
    default_threshold: ClassVar[float | None] = None
    reads: ClassVar[tuple[str, ...]] = ("response", "reference")
    layer: ClassVar[Layer] = "end_to_end"
    aliases: ClassVar[tuple[str, ...]] = ("rouge_score",)
    several: ClassVar[tuple[str, ...]] = ("type",)

    type: Literal["rouge1", "rouge2", "rougeL", "rougeLsum"] = "rougeL"
    stem: bool = False

    @property
    def suffix(self) -> str:
        return "-" + self.type.removeprefix("rouge")

    def score(self, sample: Sample) -> Score:
        response, references = texts(sample)
        stemmed = self.stem and maybe_english(sample.reference_text)
        overlaps = {rank: self._overlap(response, text, stemmed) for rank, text in references.items()}
        long_enough = {rank: overlap for rank, overlap in overlaps.items() if overlap.in_reference}
        return best(response, long_enough) if long_enough else Score.skipped("NO_NGRAMS")

    def _overlap(self, response: str, reference: str, stemmed: bool) -> Overlap:
        def tokens(text: str) -> list[str]:
            return [stem(word) for word in words(text)] if stemmed else words(text)

        if self.type == "rougeLsum":
            return union_overlap([tokens(line) for line in response.split("\n")],
                                 [tokens(line) for line in reference.split("\n")])
        a, b = tokens(response), tokens(reference)
        if self.type == "rougeL":
            return Overlap(len(common_subsequence(b, a)), len(a), len(b))
        n = int(self.type.removeprefix("rouge"))
        return Overlap.of(ngrams(a, n), ngrams(b, n))
