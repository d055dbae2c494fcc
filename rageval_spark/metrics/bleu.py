"""BLEU: how many of the response's runs of one to four words stand in the reference?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from rageval_spark.measures.lexical import UNSPACED_CHARACTER, emptiness, texts
from rageval_spark.metric import Layer, Metric
from rageval_spark.prompts.detection import HAN, KANA, LETTER
from rageval_spark.sample import Sample
from rageval_spark.score import Score

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

ORDERS = range(1, 5)


@dataclass(frozen=True)
class Bleu(Metric):
    """Share of the response's runs of one to four words that the references have (geometric mean, with brevity penalty).

    In [0, 1], higher is better. The response is one segment, whatever its sentences; with fewer than four words, their
    number is the longest run. `stats.extra` has `corpus_bleu`, from summed counts, without that allowance.
    No threshold unless you give one: a right answer in other words does not reach 1.
    Skipped without a response (NO_ANSWER) or a reference (NO_REFERENCE), or where the reference has no word (NO_NGRAMS).
    A blank response is 0, with the flag EMPTY_ANSWER.
    Prompts: none.
    Source: BLEU (Papineni et al. 2002) as in sacreBLEU (arXiv 1804.08771), over 100: exponential smoothing, effective
    order, all references at once; words by 13a, in Chinese by zh, characters in other scripts without spaces.
    """

    name: ClassVar[str] = "bleu"
    default_threshold: ClassVar[float | None] = None
    reads: ClassVar[tuple[str, ...]] = ("response", "reference")
    layer: ClassVar[Layer] = "end_to_end"
    aliases: ClassVar[tuple[str, ...]] = ("bleu_score", "sacrebleu")
    measured: ClassVar[tuple[str, ...]] = (*(f"{what}_{n}" for what in ("matches", "totals") for n in ORDERS),
                                           "response_length", "reference_length")

    def score(self, sample: Sample) -> Score:
        response, references = texts(sample)
        bleu = _bleu(tokenizer("\n".join(references.values())))
        found = bleu.sentence_score(response, list(references.values()))
        if not found.ref_len:
            return Score.skipped("NO_NGRAMS")
        same = found.counts == found.totals and found.bp == 1.0  # of which sacreBLEU makes 1.0000000000000004
        value = 1.0 if same else min(1.0, found.score / 100)
        measures = {**{f"matches_{n}": count for n, count in zip(ORDERS, found.counts, strict=True)},
                    **{f"totals_{n}": total for n, total in zip(ORDERS, found.totals, strict=True)},
                    "response_length": found.sys_len, "reference_length": found.ref_len}
        return Score.of(value, f"{found.counts[0]} of {found.totals[0]} words, {found.counts[3]} of {found.totals[3]} runs of 4",
                        flags=emptiness(response), measures=measures, matches=found.counts, totals=found.totals,
                        brevity_penalty=found.bp, response_length=found.sys_len, reference_length=found.ref_len,
                        signature=str(bleu.get_signature()))

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        if not measures:
            return {}
        from sacrebleu.metrics.bleu import BLEU

        counts, totals = ([int(measures[f"{what}_{n}"]) for n in ORDERS] for what in ("matches", "totals"))
        found = BLEU.compute_bleu(counts, totals, int(measures["response_length"]), int(measures["reference_length"]), "exp")
        return {"corpus_bleu": min(1.0, found.score / 100)}


def tokenizer(text: str) -> str:
    """The name of the sacreBLEU tokenizer for the text's script; MeCab for Japanese is a package of its own."""
    if len(UNSPACED_CHARACTER.findall(text)) * 4 <= len(LETTER.findall(text)):
        return "13a"
    return "zh" if HAN.search(text) and not KANA.search(text) else "char"


@cache
def _bleu(tokenize: str) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU  # 0.1 s, for this metric only

    return BLEU(tokenize=tokenize, smooth_method="exp", effective_order=True)
