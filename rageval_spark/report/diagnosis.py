"""What to mend first: findings from the statistics of a run.

Rules and thresholds are rules of thumb. What is low is mended before what is middling, and of both what comes first in the
path of an answer: the documents, then retrieval, then generation, then citations. A finding of a slice stands only where it
says more than that of all samples does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from rageval_spark.engine.plan import Plan
from rageval_spark.report.axes import (
    ANSWERS,
    CITATIONS,
    COMPLAINTS,
    CORRECTNESS,
    FAITHFULNESS,
    NOISE,
    OTHER,
    RECALL,
    RELEVANCE,
    UNANSWERED,
    Reading,
    Row,
    Thresholds,
    complained,
    readings,
)  # fmt: skip

TRIAD = (RELEVANCE, FAITHFULNESS, ANSWERS)
Part = Literal["data", "retrieval", "generation", "citation", "none"]
"""What a finding is about; "none" where nothing is known to be broken."""
LEVELS = ("low", "middle", "high")
MOST_OF_SLICES = 100


class Text(NamedTuple):
    part: Part
    finding: str
    advice: str


TEXTS: Mapping[str, Text] = {
    "NOTHING_FITS": Text(
        "data", "what is retrieved does not fit the questions, and the answers fit neither",
        "Start from the data: do the documents hold what is asked, and is it whole in the chunks they are cut into? Prompts "
        "and models come later."),
    "NOT_FOUND": Text(
        "retrieval", "retrieval misses a part of what the right answers need",
        "Mend this before anything about the model: retrieve more chunks (k), loosen filters, try other chunk sizes, another "
        "embedding model, or words and vectors together (hybrid search)."),
    "IRRELEVANT": Text(
        "retrieval", "much of what is retrieved has nothing to do with the question",
        "Look at the embedding model, at how documents are cut into chunks, at the number of chunks (k) and at filters."),
    "NOISY": Text(
        "retrieval", "what the answers need is found, but among much that has nothing to do with the question",
        "Rerank what is retrieved, then pass on fewer chunks (k) or filter them."),
    "UNANSWERED": Text(
        "generation", "many responses are blank or decline to answer, although what they need is retrieved",
        "The model does not find it in its chunks: cut smaller ones, and put those that matter first (reranking). See, too, "
        "whether the prompt has it decline too soon. Where declining is right, refusal_accuracy leaves it out."),
    "DECLINED": Text(
        "generation", "many responses are blank or decline to answer",
        "Whether what they need is retrieved was not measured, or is not clear: add context_recall. Where it is, cut smaller "
        "chunks and look at the prompt; where it is not, mend retrieval."),
    "UNSUPPORTED": Text(
        "generation", "the answers claim what the retrieved chunks do not say (hallucination)",
        "Have the prompt demand answers from the context only, and a plain word where it holds none; or try another model."),
    "MISLED": Text(
        "generation", "the answers take over statements of the chunks that are wrong by the reference",
        "Rerank or filter chunks that do not help, have the prompt say which sources count, and look for documents that are "
        "out of date."),
    "OFF_POINT": Text(
        "generation", "the answers are incomplete or beside the question",
        "Have the prompt ask for the conclusion first, and then for each thing that was asked and nothing else."),
    "MISCITED": Text(
        "citation", "what the answers cite is not what supports them",
        "Check the citation markers: that the prompt asks for them, and that their numbers are those of the chunks as the "
        "model was given them."),
    "OUTDATED": Text(
        "data", "the answers keep to what is retrieved, and are wrong by the references",
        "Compare documents and references where they differ: one of the two is out of date or incomplete."),
    "UNEXPLAINED": Text(
        "none", "the answers are wrong by the references, and nothing that was measured tells why",
        "Add context_recall, context_relevancy and faithfulness, which tell whether retrieval or generation is at fault."),
    "LOW": Text(
        "none", "scores are low, and the rules know no cause", "Look at the samples that did worst by these metrics."),
    "DRIFT": Text(
        "data", "what was measured is well with these samples, and yet users complain",
        "Users may ask other things than these samples do: compare the questions with production logs, and add what is missing."),
    "UNMEASURED": Text(
        "none", "nothing is low in what was measured, which is not all",
        "What was not measured may be broken. Add context_relevancy for context relevance, faithfulness, and answer_relevancy "
        "for answer relevance."),
    "HEALTHY": Text("none", "nothing to mend was found", "Keep it so: gates on these metrics tell when it changes."),
}
"""By code, in the order in which to mend: which part is at fault, what was found, and what to do about it."""


@dataclass(frozen=True)
class _Found:
    """What a rule found: its code, the axes that decide it (the one that shows it first), others worth showing, and a
    clause that limits it."""

    code: str
    because: Sequence[Reading]
    besides: Sequence[Reading | None] = ()
    clause: str = ""
    doubtful: bool = False


@dataclass(frozen=True)
class Finding:
    """A finding about all samples (`slice` is None) or a value of a slice, in one field group.

    `also_in` are the values of slices, as (slice, value), of which no more than this can be said: that it seems so there, too.
    """

    field_group: str
    slice: str | None
    slice_value: str | None
    found: _Found
    also_in: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> Text:
        return TEXTS[self.found.code]

    @property
    def reading(self) -> Reading:
        """What shows it."""
        return self.found.because[0]

    @property
    def sure(self) -> bool:
        """Whether all that decides it lies clear of its thresholds, its interval included."""
        return not self.found.doubtful and all(one.clear for one in self.found.because)

    @property
    def order(self) -> tuple[int, int, bool, float]:
        return LEVELS.index(self.reading.level), list(TEXTS).index(self.found.code), not self.sure, self.reading.good

    @property
    def evidence(self) -> list[Reading]:
        return [*self.found.because, *(one for one in self.found.besides if one)]

    def sentence(self) -> str:
        hedges = [*([] if self.sure else ["perhaps"]), *(["in part"] if self.reading.level == "middle" else [])]
        said = (" ".join(hedges) + ": " if hedges else "") + self.text.finding + self.found.clause
        heuristic = "; this rests on comparing words, a heuristic" if any(one.heuristic for one in self.evidence) else ""
        return f"{said[0].upper()}{said[1:]}{heuristic}."

    def to_dict(self, scale: int) -> dict[str, Any]:
        """JSON-ready values; averages and their thresholds in `evidence` on `scale`."""
        return {"code": self.found.code, "part": self.text.part, "field_group": self.field_group, "slice": self.slice,
                "slice_value": self.slice_value,
                "also_in": [{"slice": name, "slice_value": value} for name, value in self.also_in],
                "finding": self.sentence(), "advice": self.text.advice, "sure": self.sure,
                "heuristic": any(one.heuristic for one in self.evidence),
                "evidence": [one.evidence(scale) for one in self.evidence]}


def diagnosed(plan: Plan, stats: Sequence[Row], thresholds: Thresholds,
              complaints: float | Mapping[str, str] | None = None) -> list[Finding]:
    """The findings of a run from its statistics (rows of tables.STATS), those to mend first first, all samples before
    slices. `complaints` is the share of users' feedback that is negative, or a slice and the value that stands for it.

    Nothing is found where fewer than axes.LEAST samples are scored. Of slices no more than MOST_OF_SLICES are told.
    """
    parts: dict[tuple[str | None, str | None, str], dict[str, Row]] = defaultdict(dict)
    for row in stats:
        parts[row["slice"], row["slice_value"], row["field_group"]][row["metric"]] = row
    uses = {group.key: group.uses for group in plan.groups}
    found = []
    for (name, value, group), rows in parts.items():
        at = readings(rows, uses[group], thresholds)
        if name is None and complaints is not None:
            at |= complained(stats, complaints, thresholds)
        found += [Finding(group, name, value, one) for one in _rules(at)]
    found.sort(key=lambda one: one.order)
    whole = [one for one in found if one.slice is None]
    return [*whole, *list(_adding(whole, [one for one in found if one.slice is not None]))[:MOST_OF_SLICES]]


def _adding(whole: Sequence[Finding], sliced: Sequence[Finding]) -> Iterator[Finding]:
    """The findings of slices that say more than those of all samples, or than another value of the slice for sure; the
    others are noted there. Those to be left to chance are left out."""
    known = {(one.found.code, one.field_group, one.slice): one for one in whole}
    for one in sliced:
        if one.text.part == "none" or (one.reading.level == "middle" and not one.sure):
            continue
        of_all = known.get((one.found.code, one.field_group, None))
        before = known.setdefault((one.found.code, one.field_group, one.slice), one)
        if of_all and one.reading.best >= of_all.reading.good:
            of_all.also_in.append((str(one.slice), str(one.slice_value)))
        elif before is one or one.sure:
            yield one
        else:
            before.also_in.append((str(one.slice), str(one.slice_value)))


def _rules(at: Mapping[str, Reading]) -> Iterator[_Found]:
    """What the axes that are known say together, in no order."""
    others = [one for axis, one in at.items() if axis.startswith(OTHER)]
    low = [one for one in others if one.level == "low" and one.decides]
    found = [*_retrieval(at), *_generation(at), *_citations(at), *([_Found("LOW", low)] if low else [])]
    yield from found
    correct = at.get(CORRECTNESS)
    if any(one.code != "LOW" for one in found) or not at.keys() - {UNANSWERED, COMPLAINTS}:
        return
    if correct and correct.level != "high":
        faithful = at.get(FAITHFULNESS)
        yield (_Found("OUTDATED", [correct, faithful]) if faithful and faithful.praised else
               _Found("UNEXPLAINED", [correct], [at.get(RECALL), at.get(RELEVANCE), at.get(UNANSWERED)]))
        return
    if low:
        return
    complaints = at.get(COMPLAINTS)
    good = [one for one in at.values() if not one.share and one.praised and one not in others]
    missing = [axis for axis in TRIAD if axis not in at]
    failed = [axis for axis in TRIAD if axis in at and not at[axis].praised]
    gaps = {"not measured": missing, "failed for the most part": failed}
    clause = "".join(f"; {what}: {', '.join(axes)}" for what, axes in gaps.items() if axes)
    if complaints and complaints.level == "low":
        yield _Found("DRIFT", [complaints, *good], clause=clause)
    elif good:
        below = [one for one in others if one.level != "high"] if clause else []
        yield _Found("UNMEASURED" if clause else "HEALTHY", good, [at.get(UNANSWERED), complaints, *below], clause)


def _retrieval(at: Mapping[str, Reading]) -> Iterator[_Found]:
    recall, relevance = at.get(RECALL), at.get(RELEVANCE)
    lost = _lost(at)
    if lost:
        yield _Found("NOTHING_FITS", lost)
    if recall and recall.level == "low":
        yield _Found("NOT_FOUND", [recall])
    if relevance and relevance.level != "high" and not lost:
        found = recall is not None and recall.praised
        yield _Found("NOISY", [relevance], [recall]) if found else _Found("IRRELEVANT", [relevance])


def _generation(at: Mapping[str, Reading]) -> Iterator[_Found]:
    recall, relevance, faithful, answers = (at.get(axis) for axis in (RECALL, *TRIAD))
    unanswered, noise = at.get(UNANSWERED), at.get(NOISE)
    retrieval = recall or relevance
    starved = retrieval is not None and retrieval.level == "low"
    declines = unanswered is not None and unanswered.level == "low" and not starved
    if unanswered and declines:
        if retrieval and retrieval.praised:
            yield _Found("UNANSWERED", [unanswered, retrieval])
        else:
            yield _Found("DECLINED", [unanswered], [retrieval], doubtful=True)
    if _lost(at):
        return
    if faithful and faithful.level != "high" and not _only_miscited(at):
        fits = relevance is not None and relevance.praised
        yield _Found("UNSUPPORTED", [faithful], [relevance] if fits else (),
                     ", although what is retrieved fits the question" if fits else "")
    if noise and noise.level != "high":
        yield _Found("MISLED", [noise])
    if answers and answers.level != "high" and not (starved or declines):  # which make it low, too
        keeps = faithful is not None and faithful.praised
        yield _Found("OFF_POINT", [answers], [faithful] if keeps else (),
                     ", although they keep to what is retrieved" if keeps else "")


def _citations(at: Mapping[str, Reading]) -> Iterator[_Found]:
    citations, faithful, correct = at.get(CITATIONS), at.get(FAITHFULNESS), at.get(CORRECTNESS)
    if citations is None or citations.level == "high":
        return
    if _only_miscited(at):
        yield _Found("MISCITED", [citations, correct] if correct else [citations], clause=", although the answers are right")
    elif faithful is None or faithful.level == "high":
        apart = [faithful] if faithful and faithful.praised and not _by_citations(faithful) else []
        yield _Found("MISCITED", [citations, *apart], clause=", although what is retrieved supports the answers" if apart else "")


def _lost(at: Mapping[str, Reading]) -> list[Reading]:
    """The three axes where all of them are low."""
    triad = [at[axis] for axis in TRIAD if axis in at]
    return triad if len(triad) == len(TRIAD) and all(one.level == "low" for one in triad) else []


def _only_miscited(at: Mapping[str, Reading]) -> bool:
    """Whether the answers are right, so that unsupported citations are the citations' fault."""
    faithful, correct = at.get(FAITHFULNESS), at.get(CORRECTNESS)
    return correct is not None and correct.praised and (faithful is None or _by_citations(faithful))


def _by_citations(faithful: Reading) -> bool:
    return faithful.kind.startswith("citation")
