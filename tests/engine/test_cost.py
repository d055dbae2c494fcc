"""What all judged metrics of the catalogue cost together on one sample: prompts that really go over the wire."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rageval_spark.engine.plan import FieldGroup, MetricUse, Plan
from rageval_spark.engine.work import Row
from rageval_spark.metric import Metric
from rageval_spark.metrics import CATALOGUE
from rageval_spark.metrics.turn_efficiency import TurnEfficiency
from tests.engine.scene import embeddings_at, judge_at, run, values, work_of
from tests.judge_server import Answer, JudgeServer
from tests.playing import built

OF_THE_USER = ("rubric", "aspect")
"""They ask what a user words, one prompt each, and nothing that another metric asks."""
JUDGED = [name for name, metric in CATALOGUE.items() if metric.asks]
SHARED = [built(name) for name in JUDGED if name not in OF_THE_USER] + [TurnEfficiency(goal="judged")]
FIELDS = {name: name for name in ("user_input", "response", "retrieved_contexts", "reference", "messages", "reference_turns")}


def row_of(chunks: int, sentences: int, name: str = "s") -> Row:
    """Each sentence cites two chunks that support it only together; the entities of the reference are in no chunk."""
    half = [f"Sentence {i} says {word} here." for i in range(sentences) for word in ("left", "right")]
    contexts = (half + [f"Other chunk {i}." for i in range(chunks)])[:chunks]
    said = [f"Sentence {i} says left right here [{2 * i % chunks + 1}][{(2 * i + 1) % chunks + 1}]." for i in range(sentences)]
    messages = [{"role": "user", "content": "What is said, and where?"}, {"role": "assistant", "content": "This is."}]
    return Row(name, 0, {"user_input": "What is said, and where?", "response": " ".join(said), "retrieved_contexts": contexts,
                         "reference": "Zurich says it. Nobody else.", "messages": messages, "reference_turns": 1}, {})


def cost(metrics: Sequence[Metric], rows: Sequence[Row], folder: Path, **scripted: Any) -> tuple[JudgeServer, dict[Any, Any]]:
    """The judge that was asked, and what it brought about: one task, one store."""
    with JudgeServer() as judge:
        for kind, answer in scripted.items():
            judge.always(kind, answer)
        asked, embeddings = judge_at(judge.url), embeddings_at(judge.url)
        uses = tuple(MetricUse(metric, metric.name + metric.suffix, judge=asked, embeddings=embeddings) for metric in metrics)
        found = values(run(work_of(Plan((FieldGroup(FIELDS, uses),)), folder), rows))
    assert judge.repeats_after_ok == 0
    return judge, found


def distinct(judge: JudgeServer) -> int:
    """How many prompts went out, none of them twice."""
    prompts = [request.digest for request in judge.chats()]
    assert len(set(prompts)) == len(prompts)
    return len(prompts)


@pytest.mark.parametrize(("chunks", "sentences"), [(2, 1), (4, 2), (6, 3), (10, 5)])
def test_all_metrics_together(chunks: int, sentences: int, tmp_path: Path) -> None:
    judge, found = cost(SHARED, [row_of(chunks, sentences)], tmp_path)
    assert {type(value) for value in found.values()} == {float}  # all of them are scored
    bound = 24 + 2 * chunks + sentences
    assert distinct(judge) == bound
    assert len({text for request in judge.embeddings() for text in request.texts}) == 6
    joint = [request for request in judge.chats("verify_claims") if len((request.data or {}).get("contexts", [])) == 2]
    assert len(joint) >= sentences
    asked = len(judge.requests)
    judge, again = cost([*SHARED, *map(built, OF_THE_USER)], [row_of(chunks, sentences)], tmp_path / "other")
    assert (distinct(judge), len(judge.requests)) == (bound + len(OF_THE_USER), asked + len(OF_THE_USER))
    assert again.items() >= found.items()


def test_what_metrics_share_is_paid_for_once(tmp_path: Path) -> None:
    row = row_of(4, 2)
    alone = {metric.name + metric.suffix: distinct(cost([metric], [row], tmp_path / metric.name)[0]) for metric in SHARED}
    together = distinct(cost(SHARED, [row], tmp_path / "all")[0])
    assert (sum(alone.values()), together) == (58, 34)
    assert len({alone[name] for name in ("citation_recall", "citation_precision", "citation_f1")}) == 1


def test_a_reference_is_taken_apart_once_for_all_responses(tmp_path: Path) -> None:
    one = row_of(4, 2)
    other = Row("t", 0, {**one.values, "response": "Sentence 1 says nothing."}, {})
    judge, _ = cost([built("context_recall")], [one, other], tmp_path)
    assert distinct(judge) == 2
    judge, _ = cost([built("answer_correctness"), built("intent_coverage")], [one, other], tmp_path / "other")
    texts = [(request.data or {})["text"] for request in judge.chats("list_claims")]
    assert (texts.count(one.values["reference"]), len(texts), len(judge.chats("list_intents"))) == (1, 3, 1)


@pytest.mark.parametrize("claims", [..., {"claims": []}])
def test_the_first_five(claims: Any, tmp_path: Path) -> None:
    five = [built(name) for name in list(CATALOGUE)[:5]]
    judge, found = cost(five, [row_of(10, 5)], tmp_path, list_claims=Answer(content=claims))
    assert len(found) == 5
    assert distinct(judge) == (8 if claims is ... else 8 + 2 + 1)  # do they decline; the longer one once more


def test_the_first_five_where_both_texts_decline(tmp_path: Path) -> None:
    row = row_of(10, 5)
    declining = Row("s", 0, {**row.values, "response": "I do not know.", "reference": "There is no information on that."}, {})
    judge, _ = cost([built(name) for name in list(CATALOGUE)[:5]], [declining], tmp_path)
    assert distinct(judge) <= 8
