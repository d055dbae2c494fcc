"""How well metrics agree with people's labels: those that need no judge, and those that the embedded judge can answer.

    python -m benchmarks.agreement DATA [--draws 500]

DATA is a folder of JSON lines, or one file. A record is a sample with labels; MEASURES says which labels are read, which
metric is held against them and how. A record without the label plays no part; one that has it and gets no score (no answer,
no contexts, a refusal) is counted under "none". The 95 % interval is a bootstrap over source documents, since answers over
one document are no independent draws.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import labelled
from benchmarks.labelled import Reader, Record, whole
from rageval_spark.metric import Metric
from rageval_spark.metrics.answer_correctness import AnswerCorrectness
from rageval_spark.metrics.bleu import Bleu
from rageval_spark.metrics.chrf import Chrf
from rageval_spark.metrics.context_precision import ContextPrecision
from rageval_spark.metrics.context_recall import ContextRecall
from rageval_spark.metrics.context_relevancy import ContextRelevancy
from rageval_spark.metrics.context_sentence_relevancy import ContextSentenceRelevancy
from rageval_spark.metrics.exact_match import ExactMatch
from rageval_spark.metrics.faithfulness import Faithfulness
from rageval_spark.metrics.rouge import Rouge
from rageval_spark.metrics.token_f1 import TokenF1
from rageval_spark.score import Score
from rageval_spark.statistics.agreement import FIGURES, Figure, Point, figures

DECIDED = ("balanced accuracy", "kappa", "share right")
BINARY = ("AUC", *DECIDED)
GRADED = ("Spearman", "Pearson")


@dataclass(frozen=True)
class Measure:
    """A row of the table for each file that has the label. `read` gives what was labelled in a record with its scores.

    `contexts_only`: the response plays no part, so that of several records with the same question and contexts one counts.
    """

    metric: str
    label: str
    read: Reader
    figures: tuple[str, ...] = BINARY
    contexts_only: bool = False


def support(found: Score) -> float | None:
    return found.details.get("support")


WORDS: Mapping[str, Metric] = {
    "exact_match": ExactMatch(),
    "token_f1": TokenF1(),
    "rouge-1": Rouge(type="rouge1"),
    "rouge-L": Rouge(),
    "bleu": Bleu(),
    "chrf": Chrf(),
    "answer_correctness, claims only": AnswerCorrectness(weights=(1, 0)),
}
"""What holds a response against a reference."""
MEASURES = (
    Measure("faithfulness", "faithful", whole(Faithfulness(), labelled.faithful, support)),
    Measure("faithfulness, passes at 1", "faithful", whole(Faithfulness(), labelled.faithful, support, passes=1), DECIDED),
    Measure("none: the shorter response", "faithful", labelled.shorter, ("AUC",)),
    Measure("faithfulness", "mean rating", whole(Faithfulness(), lambda record: record.get("label_faithfulness"), support),
            GRADED),
    Measure("faithfulness, each claim", "supported", labelled.claims_in_spans, DECIDED),
    Measure("faithfulness, each sentence", "supported", labelled.labelled_sentences, DECIDED),
    Measure("refusal_accuracy", "declines", labelled.refusals, DECIDED),
    Measure("context_relevancy, each chunk", "relevant", labelled.chunks(ContextRelevancy(), lambda one: one["mean"], 1),
            BINARY, contexts_only=True),
    Measure("context_precision, each chunk", "relevant", labelled.chunks(ContextPrecision(), lambda one: one["verdict"], 1),
            DECIDED, contexts_only=True),
    Measure("context_recall", "answer is there", whole(ContextRecall(), labelled.holds_reference), contexts_only=True),
    Measure("context_sentence_relevancy, each sentence", "helps", labelled.context_sentences, DECIDED, contexts_only=True),
    Measure("context_sentence_relevancy, each sentence", "helps, where one does", labelled.sentences_of_answered, DECIDED,
            contexts_only=True),
    Measure("context_sentence_relevancy", "share that helps", whole(ContextSentenceRelevancy(), labelled.share_selected),
            GRADED, contexts_only=True),
    Measure("context_sentence_relevancy", "focused", whole(ContextSentenceRelevancy(), labelled.focused), ("AUC",),
            contexts_only=True),
    *(Measure(name, "right", whole(metric, lambda record: record.get("label_answer_correct")))
      for name, metric in WORDS.items()),
    *(Measure(name, f"better: {label}", labelled.preferred(rated, f"label_{label}"), GRADED)
      for label in ("overall", "correctness", "completeness")
      for name, rated in (*((name, labelled.by(metric)) for name, metric in WORDS.items() if name != "exact_match"),
                          ("none: the longer response", labelled.length))),
    Measure("tool_call_f1@accepted_values", "right", labelled.tool_calls, DECIDED),
    Measure("recall, precision, hit_rate, mrr, ndcg, map", "figure of trec_eval", labelled.published, ("largest difference",)),
)


@dataclass(frozen=True)
class Row:
    measure: Measure
    data: str
    points: Sequence[Point]
    without: int
    per_second: float

    def cells(self, draws: int) -> list[str]:
        measure = self.measure
        two_classes = not {"AUC", "share right"}.isdisjoint(measure.figures)
        good = f" ({sum(one.label == 1 for one in self.points)})" if two_classes else ""
        found = figures(self.points, measure.figures, draws)
        return [measure.metric, self.data, measure.label, f"{len(self.points)}{good}", str(self.without or ""),
                *(shown(name, found[name]) if name in found else "" for name in FIGURES), f"{self.per_second:,.0f}"]


HEADINGS = ("metric", "data", "label", "n (of them so)", "none", *FIGURES, "records per CPU second")


def shown(name: str, figure: Figure) -> str:
    if np.isnan(figure.value):
        return ""
    return f"{figure.value:.1g}" if name == "largest difference" else f"{figure.value:.3f} ({figure.low:.2f}–{figure.high:.2f})"


def row(measure: Measure, data: str, records: Sequence[Record]) -> Row | None:
    """None where no record has the label."""
    points, without, read, began = [], 0, 0, time.process_time()
    seen: Counter[str] = Counter()
    for record in records:
        document = json.dumps(record.get("retrieved_contexts") or record.get("user_input") or record.get("id"))
        asked = json.dumps([record.get("user_input"), document])
        if measure.contexts_only and seen[asked]:
            continue
        scored = list(measure.read(record))
        seen[asked] += bool(scored)
        read += bool(scored)
        without += sum(value is None for _, value, _ in scored)
        points += [Point(document, label, value, passed) for label, value, passed in scored if value is not None]
    seconds = time.process_time() - began
    return Row(measure, data, points, without, read / seconds if seconds else 0.0) if points else None


def rows(files: Sequence[Path]) -> Iterator[Row]:
    """Measure by measure, file by file."""
    data = {file.stem: [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] for file in files}
    for measure in MEASURES:
        for name, records in data.items():
            if (found := row(measure, name, records)) is not None:
                yield found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--draws", type=int, default=500)
    given = parser.parse_args(arguments)
    files = sorted(given.data.glob("*.jsonl")) if given.data.is_dir() else [given.data]
    for cells in (HEADINGS, ["---"] * len(HEADINGS)):
        print("|", " | ".join(cells), "|")
    for found in rows(files):
        print("|", " | ".join(found.cells(given.draws)), "|", flush=True)


if __name__ == "__main__":
    main()
