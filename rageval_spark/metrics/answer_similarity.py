"""Answer similarity: do response and reference mean about the same?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.errors import ConfigError
from rageval_spark.measures.vectors import similarity
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score


@dataclass(frozen=True)
class AnswerSimilarity(Metric):
    """Share of meaning that the response has in common with the reference (cosine of their embeddings).

    In [0, 1], higher is better; 0 where the response is blank, exactly 1 for equal texts; a negative cosine is clamped,
    flagged. Of several references the nearest counts. With `at_least` the score is 1 from that cosine on, else 0. A
    cosine of embeddings stands in for a cross-encoder: it tells little of numbers and negations.
    No threshold unless you give one: what a cosine means depends on the embedding model.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE); failed where an embedding cannot be used.
    Prompts: none; 1 embedding for the response and 1 per reference.
    Source: semantic answer similarity (arXiv 2108.06130), with a bi-encoder.
    """

    name: ClassVar[str] = "answer_similarity"
    default_threshold: ClassVar[float | None] = None
    reads: ClassVar[tuple[str, ...]] = ("response", "reference")
    asks: ClassVar[tuple[str, ...]] = ("embed",)
    aliases: ClassVar[tuple[str, ...]] = ("semantic_similarity",)
    layer: ClassVar[Layer] = "generation"

    at_least: float | None = None

    def __post_init__(self) -> None:
        if self.at_least is not None and not 0 <= self.at_least <= 1:
            raise ConfigError(f"answer_similarity: at_least is a cosine from 0 to 1, not {self.at_least}")

    def score(self, sample: Sample) -> Flow:
        if sample.response is None:
            return Score.skipped("NO_ANSWER")
        references = [text for text in sample.reference or () if not blank(text)]
        if not references:
            return Score.skipped("NO_REFERENCE")
        if blank(sample.response):
            return Score.of(0.0, "the response is blank", flags=("EMPTY_ANSWER",))
        nearest, flags = yield from similarity(sample.response, references)
        value = nearest if self.at_least is None else float(nearest >= self.at_least)
        return Score.of(value, f"cosine {nearest:.3f}", flags=flags, cosine=nearest)
