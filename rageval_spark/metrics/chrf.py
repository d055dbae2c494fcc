"""chrF: how many runs of characters do response and reference share?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.lexical import Overlap, emptiness, texts
from rageval_spark.metric import Layer, Metric
from rageval_spark.sample import Sample
from rageval_spark.score import Score

ORDERS = range(1, 7)
BETA = 2
COUNTS = ("matches", "totals", "reference_totals")


@dataclass(frozen=True)
class Chrf(Metric):
    """Share of runs of one to six characters that response and reference have in common (F2; the best of several).

    In [0, 1], higher is better; recall counts twice as much as precision. White space does not count, case does. Runs
    longer than one of the texts are left out. `stats.extra` has `corpus_chrf`, from summed counts.
    No threshold unless you give one: a right answer in other words does not reach 1.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE). A blank response is 0, with the flag EMPTY_ANSWER.
    Prompts: none.
    Source: chrF2 (Popović 2015) as in sacreBLEU (arXiv 1804.08771), over 100.
    """

    name: ClassVar[str] = "chrf"
    default_threshold: ClassVar[float | None] = None
    reads: ClassVar[tuple[str, ...]] = ("response", "reference")
    layer: ClassVar[Layer] = "end_to_end"
    aliases: ClassVar[tuple[str, ...]] = ("chrf_score",)
    measured: ClassVar[tuple[str, ...]] = tuple(f"{what}_{n}" for what in COUNTS for n in ORDERS)

    def score(self, sample: Sample) -> Score:
        from sacrebleu.metrics.helpers import extract_all_char_ngrams  # 0.1 s, for this metric only

        response, references = texts(sample)
        runs = extract_all_char_ngrams(response, len(ORDERS))
        found = {rank: [Overlap.of(*pair) for pair in zip(runs, extract_all_char_ngrams(text, len(ORDERS)), strict=True)]
                 for rank, text in references.items()}
        rank = max(found, key=lambda rank: chrf(found[rank]))
        by_order = found[rank]
        precision, recall = _means(by_order)
        counts = {"matches": [order.matched for order in by_order],
                  "totals": [order.in_response if order.in_reference else 0 for order in by_order],
                  "reference_totals": [order.in_reference for order in by_order]}
        measures = {f"{what}_{n}": count for what in COUNTS for n, count in zip(ORDERS, counts[what], strict=True)}
        return Score.of(chrf(by_order), f"character precision {precision:.3f}, recall {recall:.3f}", flags=emptiness(response),
                        measures=measures, precision=precision, recall=recall, reference=rank, **counts)

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        if not measures:
            return {}
        return {"corpus_chrf": chrf([Overlap(*(int(measures[f"{what}_{n}"]) for what in COUNTS)) for n in ORDERS])}


def chrf(by_order: Sequence[Overlap]) -> float:
    """F-score of the mean precision and recall; 0 where nothing matches."""
    precision, recall = _means(by_order)
    return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall) if precision + recall else 0.0


def _means(by_order: Sequence[Overlap]) -> tuple[float, float]:
    """Precision and recall, averaged over the orders that both texts have."""
    shared = [order for order in by_order if order.in_response and order.in_reference]
    if not shared:
        return 0.0, 0.0
    return (sum(order.matched / order.in_response for order in shared) / len(shared),
            sum(order.matched / order.in_reference for order in shared) / len(shared))
