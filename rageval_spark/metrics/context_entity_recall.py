"""Context entity recall: does what was retrieved name what the reference names?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.measures.entities import norm, occurs
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.entities import ListEntities
from rageval_spark.prompts.steps import chunks_of, unfound
from rageval_spark.sample import Sample
from rageval_spark.score import Score


@dataclass(frozen=True)
class ContextEntityRecall(Metric):
    """Share of the entities of the reference that the contexts name.

    In [0, 1], higher is better; 0 where contexts were retrieved but all are blank or there are none. Forms that differ
    in case, articles, digits' script or separators are one entity. An entity is found where it stands in the contexts'
    text, or among the entities that the judge lists of them.
    Skipped without a reference (NO_REFERENCE), where it names none (NO_ENTITIES), and where the data has no contexts
    (NO_CONTEXT).
    Prompts: 1 for the reference; 1 for the contexts, where an entity does not stand in them as it is written.
    Source: RAGAS context entities recall, over distinct entities.
    """

    name: ClassVar[str] = "context_entity_recall"
    reads: ClassVar[tuple[str, ...]] = ("retrieved_contexts", "reference")
    asks: ClassVar[tuple[str, ...]] = ("list_entities",)
    aliases: ClassVar[tuple[str, ...]] = ("context_entities_recall",)
    layer: ClassVar[Layer] = "retrieval"

    def score(self, sample: Sample) -> Flow:
        if (known := unfound(sample)) is not None:
            return known
        listed = yield ListEntities(sample.reference_text)
        wanted = {norm(name): name for name in reversed(listed) if norm(name)}
        if not wanted:
            return Score.skipped("NO_ENTITIES")
        chunks = chunks_of(sample)
        texts = [norm(text) for _, text in chunks.judged]
        found = {name for name in wanted if any(occurs(name, text) for text in texts)}
        if len(found) < len(wanted):
            named = {norm(name) for name in (yield ListEntities(contexts=chunks.judged))}
            found |= wanted.keys() & named
        entities = [{"name": wanted[name], "found": int(name in found)} for name in reversed(wanted)]
        missing = [wanted[name] for name in reversed(wanted) if name not in found]
        reason = f"{len(found)} of {len(wanted)} entities named" + (f"; not: {', '.join(missing[:5])}" if missing else "")
        return Score.of(len(found) / len(wanted), reason, entities=entities, numerator=len(found), denominator=len(wanted))
