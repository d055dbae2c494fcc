"""What of a record of labelled data was labelled, and what the metrics make of it: the readers of benchmarks/agreement.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rageval_spark import EmbeddedJudge, Score, score
from rageval_spark.judges import embedded
from rageval_spark.measures.ranking import RankingMetric
from rageval_spark.metric import Metric
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.metrics.hit_rate import HitRate
from rageval_spark.metrics.map import MAP
from rageval_spark.metrics.mrr import MRR
from rageval_spark.metrics.ndcg import NDCG
from rageval_spark.metrics.precision import Precision
from rageval_spark.metrics.recall import Recall
from rageval_spark.metrics.refusal_accuracy import RefusalAccuracy
from rageval_spark.metrics.tool_call_f1 import ToolCallF1
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.sentences import JudgeSentences
from rageval_spark.statistics.agreement import NAN

Record = Mapping[str, Any]
Scored = tuple[float, float | None, float]
"""A label, the score (None: there is none), and what the score decides (NaN: nothing)."""
Reader = Callable[[Record], Iterator[Scored]]
"""What was labelled in a record, one or many; nothing where it has no such label."""
THRESHOLD = 0.5
"""From which a score passes unless a config says otherwise."""


def whole(metric: Metric, label: Callable[[Record], float | None],
          value: Callable[[Score], float | None] = lambda found: found.value, passes: float = THRESHOLD) -> Reader:
    """Reads one label a record, beside the record's score (or another `value` of it) and whether the score passes."""
    def read(record: Record) -> Iterator[Scored]:
        if (said := label(record)) is not None:
            found = score(metric, record, EmbeddedJudge())
            yield said, value(found), NAN if found.value is None else found.value >= passes
    return read


def preferred(rated: Callable[[Record], float | None], label: str) -> Reader:
    """Reads which of two responses people preferred (above 0: `response_b`), beside the difference of what they are rated."""
    def read(record: Record) -> Iterator[Scored]:
        if "response_b" in record and record.get(label) is not None:
            first, second = (rated({**record, "response": record[name]}) for name in ("response", "response_b"))
            yield record[label], None if first is None or second is None else second - first, NAN
    return read


def by(metric: Metric) -> Callable[[Record], float | None]:
    return lambda record: score(metric, record, EmbeddedJudge()).value


def length(record: Record) -> float:
    """What any metric of a response must do better than."""
    return float(len(record["response"]))


def shorter(record: Record) -> Iterator[Scored]:
    """Short responses taken for faithful."""
    if (label := faithful(record)) is not None:
        yield label, -length(record), NAN


def faithful(record: Record) -> float | None:
    """Not hallucinated; or rated 3 or more, of 4, on the average."""
    if record.get("label_hallucinated") is not None:
        return float(not record["label_hallucinated"])
    rated = record.get("label_faithfulness")
    return None if rated is None else float(rated >= 3)


def declines(record: Record) -> float | None:
    """What the response does; where only what it should do is told, for responses that people wrote."""
    if record.get("label_refused") is not None:
        return float(record["label_refused"])
    response = record.get("response")
    by_people = response is not None and (record.get("model") == "reference" or response == record.get("reference"))
    told = "label_answerability" in record and record.get("should_refuse") is not None
    return float(record["should_refuse"]) if by_people and told else None


def refusals(record: Record) -> Iterator[Scored]:
    if (label := declines(record)) is not None:
        refused = score(RefusalAccuracy(), record, EmbeddedJudge()).details.get("refused")
        yield label, refused, NAN if refused is None else refused


def holds_reference(record: Record) -> float | None:
    """RGB: the passages of `noise` hold the right answer, those of `negative-rejection` do not, by construction."""
    return {"noise": 1.0, "negative-rejection": 0.0}.get(record.get("task") or "")


HARMLESS = frozenset({"Benign", "Consistent"})
"""Types of span that leave a response faithful."""


def claims_in_spans(record: Record) -> Iterator[Scored]:
    """Each claim of a response: supported where it overlaps none of the spans that people marked as a fault."""
    if record.get("label_spans") is None or record.get("label_hallucinated") is None:
        return
    spans, start = [one for one in record["label_spans"] if not one["type"] or not HARMLESS.issuperset(one["type"])], 0
    for claim in score(Faithfulness(), record, EmbeddedJudge()).details.get("claims", ()):
        start = record["response"].find(claim["text"], start)
        if start < 0:  # not in the response's own words, so that it cannot be placed
            return
        end = start + len(claim["text"])
        yield float(not any(span["start"] < end and start < span["end"] for span in spans)), claim["verdict"], claim["verdict"]
        start = end


def labelled_sentences(record: Record) -> Iterator[Scored]:
    """Each sentence of a response that people found supported or not, verified as a claim of its own."""
    labels = {"Supported": 1.0, "Not Supported": 0.0}
    rated = [one for one in record.get("label_sentences") or () if one["factuality"] in labels]
    if not rated:
        return
    prompt = VerifyClaims(tuple(enumerate((one["sentence"] for one in rated), 1)),
                          tuple(enumerate(record.get("retrieved_contexts") or (), 1)))
    for one, verdict in zip(rated, embedded.answer(prompt)["verdicts"], strict=True):
        yield labels[one["factuality"]], verdict["verdict"], verdict["verdict"]


def context_sentences(record: Record) -> Iterator[Scored]:
    """Each sentence of the contexts, as the data divides them, and whether people selected it."""
    told = record.get("context_sentences") or ()
    prompt = JudgeSentences(tuple(enumerate(told)), record["user_input"] or "")
    for one in embedded.answer(prompt)["verdicts"]:
        yield float(one["id"] in record["label_relevant_sentences"]), one["verdict"], one["verdict"]


def sentences_of_answered(record: Record) -> Iterator[Scored]:
    """Those of contexts that hold an answer: at least one was selected."""
    return context_sentences(record) if record.get("label_relevant_sentences") else iter(())


def share_selected(record: Record) -> float | None:
    told = record.get("context_sentences")
    return len(record["label_relevant_sentences"]) / len(told) if told else None


def focused(record: Record) -> float | None:
    """WikiEval: contexts as they were, or with more that does not help."""
    return {"focused": 1.0, "diluted": 0.0}.get(record.get("label_context_relevance") or "")


def chunks(metric: Metric, read: Callable[[Mapping[str, Any]], float], passes: float) -> Reader:
    """Each chunk, and whether its id is among the relevant ones."""
    def each(record: Record) -> Iterator[Scored]:
        ids, relevant = record.get("retrieved_ids"), record.get("relevant_ids")
        if record.get("retrieved_contexts") and ids and relevant is not None:
            judged = {one["id"]: read(one) for one in score(metric, record, EmbeddedJudge()).details.get("chunks", ())}
            for rank, id in enumerate(ids, 1):
                value = judged.get(rank)
                yield float(id in relevant), value, NAN if value is None else value >= passes
    return each


def tool_calls(record: Record) -> Iterator[Scored]:
    if record.get("label_tool_call_correct") is not None:
        found = score(ToolCallF1(accepted_values=True), record).value
        yield record["label_tool_call_correct"], found, NAN if found is None else found == 1


TREC_EVAL: Mapping[str, type[RankingMetric]] = {
    "map": MAP, "map_cut": MAP, "recip_rank": MRR, "P": Precision, "recall": Recall, "ndcg": NDCG, "ndcg_cut": NDCG,
    "success": HitRate, "set_P": Precision, "set_recall": Recall,
}  # fmt: skip
"""By trec_eval's name, without the cut-off."""


def published(record: Record) -> Iterator[Scored]:
    """Each figure that trec_eval printed, with four decimals, and ours."""
    for name, figure in (record.get("expected_measures") or {}).items():
        stem, _, cut = name.rpartition("_")
        stem, cut = (stem, cut) if cut.isdigit() else (name, "")
        if stem in TREC_EVAL:
            yield figure, score(TREC_EVAL[stem](k=int(cut) if cut else None), record).value, NAN


def correct(record: Record) -> float | None:
    return record.get("label_answer_correct")
