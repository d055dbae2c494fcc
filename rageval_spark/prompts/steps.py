"""Flows that several metrics share: which chunks to judge, the claims of a text, decisions on many items."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from rageval_spark.errors import JudgeFault
from rageval_spark.prompts.claims import ListClaims
from rageval_spark.prompts.items import Decision
from rageval_spark.prompts.language import normalised, sentences, word_tokens
from rageval_spark.prompts.prompt import Text
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score, Skip

SHORT = 12
"""A text of at most so many words (or characters of unspaced scripts) can be one claim as it stands."""
NO_ANSWERS = frozenset(normalised(text) for text in ("idk", "i don't know", "i do not know", "n/a", "不知道"))
"""Texts that decline any question. Other short texts ("OK", "Hello", "Certainly") may be the answer: a judge decides."""

@dataclass(frozen=True)
class Chunks:
    """The chunks of a sample that a judge sees: each distinct one once, not blank, under its rank as id."""

    judged: tuple[Text, ...]
    count: int
    same_as: dict[int, int]
    """Rank of a repeated chunk → rank of its first occurrence."""
    flags: tuple[str, ...]


def chunks_of(sample: Sample) -> Chunks:
    """Raises Skip("NO_CONTEXT") where there are none or all are blank."""
    if not sample.has_context:
        raise Skip("NO_CONTEXT")
    texts = sample.retrieved_contexts or ()
    first: dict[str, int] = {}
    judged, same_as = [], {}
    for rank, text in enumerate(texts, 1):
        if not text.strip():
            continue
        if (known := first.setdefault(normalised(text), rank)) != rank:
            same_as[rank] = known
        else:
            judged.append((rank, text))
    blanks = len(texts) > len(judged) + len(same_as)
    flags = (*(["DUPLICATE_IDS"] if same_as else []), *(["BLANK_CHUNKS"] if blanks else []))
    return Chunks(tuple(judged), len(texts), same_as, flags)


def unasked(sample: Sample) -> Score | None:
    """The score of a response to a question where no judge needs to be asked: one of the two is missing, or it is blank."""
    if sample.response is None:
        return Score.skipped("NO_ANSWER")
    if not sample.has_question:
        return Score.skipped("NO_QUESTION")
    return Score.of(0.0, "the response is blank", flags=("EMPTY_ANSWER",)) if blank(sample.response) else None


def unfound(sample: Sample) -> Score | None:
    """The score of what was retrieved for a reference where no judge needs to be asked: one is missing, or nothing was."""
    if blank(sample.reference_text):
        return Score.skipped("NO_REFERENCE")
    if sample.retrieved_contexts is None:
        return Score.skipped("NO_CONTEXT", "the data has no retrieved contexts")
    return None if sample.has_context else Score.of(0.0, "nothing was retrieved")


@dataclass(frozen=True)
class ClaimList:
    """The distinct claims of a text, numbered from 1. `question` is set where the one claim is a short answer."""

    claims: tuple[Text, ...]
    flags: tuple[str, ...] = ()
    question: str | None = None


def claims_of(sample: Sample, text: str, none_code: str) -> Generator[Any, Any, ClaimList]:
    """The claims of a text that is not blank. One prompt; where it lists nothing, up to two more.

    Raises Skip(`none_code`) with flag REFUSAL where the text declines to answer. A short text without listed claims
    is itself the claim; of a longer one the claims are asked again, then its sentences are taken.
    """
    question = sample.user_input or ""
    if normalised(text).replace("’", "'").strip(" .!。！") in NO_ANSWERS:
        raise Skip(none_code, flags=("REFUSAL",))
    if not word_tokens(text):
        raise Skip(none_code)  # "..." states nothing
    claims = yield ListClaims(question, text, sample.history)
    if not claims:
        if (yield DetectRefusal(question, text, sample.history)):
            raise Skip(none_code, flags=("REFUSAL",))
        if len(word_tokens(text)) <= SHORT:
            return ClaimList(((1, text.strip()),), ("SINGLE_CLAIM_FALLBACK",), question or None)
        claims = yield ListClaims(question, text, sample.history, insist=True)
        if not claims:
            claims = sentences(text)
            if not claims:
                raise JudgeFault("JUDGE_NO_CLAIMS", "the judge listed no claims, and the text has no sentences")
            return ClaimList(numbered(claims), ("SENTENCE_FALLBACK",))
    return ClaimList(numbered(claims))


def numbered(texts: Sequence[str]) -> tuple[Text, ...]:
    """Distinct texts (by their normalised form), numbered from 1 in their order."""
    distinct = {normalised(text): text for text in reversed(texts)}
    ordered = dict.fromkeys(distinct[normalised(text)] for text in texts)
    return tuple(enumerate(ordered, 1))


def shown(decisions: dict[int, Decision], items: Sequence[Text], name: str) -> list[dict[str, Any]]:
    """Items with their decisions, as `details` keep them; the decision is None where there is none."""
    return [{"id": id, "text": text, name: decisions[id].value if id in decisions else None,
             "reason": decisions[id].reason if id in decisions else None} for id, text in items]


def share_of(claims: ClaimList, answer: dict[int, Decision] | JudgeFault, what: str, **more: Any) -> Score:
    """The share of claims decided 1, of all claims sent; failed where one is undecided, with the lower bound.
    `more` goes into the details."""
    decided = answer.partial if isinstance(answer, JudgeFault) else answer
    total, good = len(claims.claims), sum(one.value for one in decided.values())
    details: dict[str, Any] = {"claims": shown(decided, claims.claims, "verdict"), "numerator": good, "denominator": total,
                               **more}
    if (support := getattr(answer, "support", None)) is not None:
        details["support"] = support
    if isinstance(answer, JudgeFault):
        return Score.failed(answer.code, answer.reason, flags=claims.flags, lower_bound=good / total, **details)
    wrong = [text for id, text in claims.claims if not decided[id].value]
    reason = f"{good} of {total} claims {what}" + (f"; not: {'; '.join(wrong[:3])}" if wrong else "")
    return Score.of(good / total, reason, flags=claims.flags, **details)


def ranked(chunks: Chunks, answer: dict[int, Decision] | JudgeFault) -> Score:
    """Average precision of the chunks decided 1; failed where one is undecided: the ranks would shift."""
    decided = answer.partial if isinstance(answer, JudgeFault) else answer
    verdicts = shown(decided, chunks.judged, "verdict")
    if isinstance(answer, JudgeFault):
        return Score.failed(answer.code, answer.reason, flags=chunks.flags, chunks=verdicts)
    useful = [rank in decided and decided[rank].value == 1 for rank in range(1, chunks.count + 1)]
    ranks = [rank for rank, is_useful in enumerate(useful, 1) if is_useful]
    reason = f"useful: {len(ranks)} of {chunks.count} chunks" + (f", at ranks {ranks}" if ranks else "")
    return Score.of(average_precision(useful), reason, flags=chunks.flags, chunks=verdicts,
                    flat=len(ranks) / chunks.count, numerator=len(ranks), denominator=chunks.count)


def average_precision(useful: Sequence[bool]) -> float:
    """Mean over the useful ranks of the share of useful ones up to there; 0 where none is useful."""
    ranks = [rank for rank, is_useful in enumerate(useful, 1) if is_useful]
    return sum(found / rank for found, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0
