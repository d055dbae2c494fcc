"""A score: a metric's number for one sample, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["scored", "skipped", "failed"]

SKIPPED: Mapping[str, str] = {
    "NO_QUESTION": "the question is missing or blank",
    "NO_ANSWER": "the response is missing or blank",
    "NO_CONTEXT": "there are no retrieved contexts, or all of them are blank",
    "NO_REFERENCE": "the reference is missing or blank",
    "NO_CLAIMS": "the response makes no claim, for example because it declines to answer",
    "JUDGE_UNSUPPORTED": "the embedded judge cannot decide it: a model is needed, or the language of the text is not known to it",
    "NO_ENTITIES": "the reference names no entity",
    "NO_RELEVANT_IDS": "no id is relevant: there is nothing to find",
    "NO_RETRIEVED_IDS": "the retrieved ids are missing",
    "NO_LABEL": "the label that says whether the question can be answered is missing",
    "NO_CITATIONS": "the response cites nothing",
    "UNKNOWN_CITATIONS": "the response cites in a style whose numbers cannot be read",
    "NO_NGRAMS": "the reference is shorter than the words that are to be compared at a time",
    "NO_CALLS": "no tool was called, so that no share of the calls can be taken",
    "NO_TURNS": "the conversation is missing, or has no turn of the assistant",
    "NO_REFERENCE_TURNS": "the number of turns that would do is missing",
    "BOTH_REFUSED": "response and reference both decline to answer",
    "NO_REFERENCE_CLAIMS": "the reference makes no claim, for example because it says that there is no answer",
}
"""Codes of a score that is undefined for its sample, with their meanings. Nobody's fault; left out of coverage."""

FAILED: Mapping[str, str] = {
    "JUDGE_PARSE": "the judge's reply is not JSON",
    "JUDGE_SCHEMA": "the judge's reply is JSON of another shape",
    "JUDGE_AMBIGUOUS": "the judge's reply holds two different answers, or a key twice",
    "JUDGE_COUNT_MISMATCH": "the judge left out some of the items, or answered ids that were not asked",
    "JUDGE_OUT_OF_RANGE": "the judge gave a rating outside the scale",
    "JUDGE_NO_CLAIMS": "the judge found no claim in a text that is none too short to have one",
    "JUDGE_NO_QUESTION": "the judge wrote too few questions",
    "JUDGE_TRUNCATED": "the judge's reply was cut by the output limit, also with a larger one and fewer items",
    "JUDGE_TIMEOUT": "the judge did not answer in time",
    "JUDGE_RATE_LIMIT": "the judge refused for its rate limit until the deadline of the prompt",
    "JUDGE_HTTP": "the judge's server answered with an error",
    "JUDGE_CONTENT_FILTER": "the judge's content filter refused the prompt or the reply",
    "CONTEXT_TOO_LONG": "the prompt is longer than the judge takes",
    "ZERO_EMBEDDING": "an embedding is the zero vector",
    "NONFINITE_EMBEDDING": "an embedding holds NaN or infinity",
    "EMBEDDING_DIM": "embeddings of different lengths",
    "INVALID_ID": "an id is neither text nor a whole number",
    "INVALID_SCORE": "a retrieval score is no number",
    "INVALID_INPUT": "the row is malformed",
    "BUDGET": "a limit of the config was reached before this was asked",
    "METRIC_ERROR": "the metric itself raised an error",
}
"""Codes of a score that the evaluation did not bring about, with their meanings. Counted against coverage."""

FLAGS: Mapping[str, str] = {
    "EMPTY_ANSWER": "the response is blank",
    "REFUSAL": "the response declines to answer",
    "DUPLICATE_IDS": "a context or id is repeated; repeats count 0",
    "SCORE_TIES": "retrieval scores are equal; ids decide the order",
    "NO_CITATIONS": "the response cites nothing",
    "TOO_MANY_INTENTS": "the question asks for more than eight things; the first eight count",
    "CONTEXT_SPLIT": "the contexts were judged in several groups",
    "HEURISTIC": "decided by the embedded judge, a heuristic screen that compares words",
    "REFUSALS_UNKNOWN": "the embedded judge does not recognize refusals in this language: one would count as an answer",
    "SINGLE_CLAIM_FALLBACK": "a short text was taken as one claim",
    "SENTENCE_FALLBACK": "the judge listed no claims; the sentences were taken",
    "SINGLE_JUDGE": "one of two ratings failed; the other stands alone",
    "REPAIRED": "a reply was asked again or had surplus items",
    "CLAMPED": "a cosine outside [0, 1] was clamped",
    "UNREADABLE_ARGUMENTS": "the arguments of a tool call that was made cannot be read; the call counts as made, and as wrong",
    "BLANK_CHUNKS": "a blank context counts 0 unjudged",
    "LANGUAGE_MISMATCH": "a generated question is in another script than the user's question",
}
"""What is worth knowing about a score that stands."""


@dataclass(frozen=True)
class Usage:
    """What answering prompts took. Tokens are None where the server did not report them, never a guess.

    `prompts` counts prompts to the judge (not embeddings), `reused` those of them whose reply was already paid for;
    tokens are those newly paid; `latency_ms` is the sum of the replies' own latencies.
    """

    prompts: int = 0
    reused: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cached_tokens: int | None = 0
    latency_ms: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompts + other.prompts,
            self.reused + other.reused,
            _known_sum(self.prompt_tokens, other.prompt_tokens),
            _known_sum(self.completion_tokens, other.completion_tokens),
            _known_sum(self.cached_tokens, other.cached_tokens),
            self.latency_ms + other.latency_ms,
        )


def _known_sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


@dataclass(frozen=True)
class Score:
    """`value` in [0, 1] exactly when `status` is "scored"; otherwise None with a `code` of SKIPPED or FAILED.

    `measures` are raw numbers of the sample that add up over samples; `details` is JSON-ready and enough to
    recompute the value without a judge. Raises ValueError for NaN, infinity, a value outside [0, 1] or a wrong code.
    """

    value: float | None
    status: Status
    code: str | None = None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    measures: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage = Usage()
    judge: str | None = None

    def __post_init__(self) -> None:
        if self.status == "scored":
            if self.value is None or not math.isfinite(self.value) or not 0.0 <= self.value <= 1.0:
                raise ValueError(f"a score lies in [0, 1], not {self.value}")
            if self.code is not None:
                raise ValueError(f"a score that stands has no code, not {self.code}")
        elif self.value is not None:
            raise ValueError(f"a score that is {self.status} has no value")
        elif self.code not in (SKIPPED if self.status == "skipped" else FAILED):
            raise ValueError(f"{self.code} is no code of a {self.status} score")

    @classmethod
    def of(cls, value: float, reason: str | None = None, *, flags: Iterable[str] = (),
           measures: Mapping[str, float] | None = None, **details: Any) -> Score:
        return cls(float(value), "scored", None, reason, tuple(flags), measures or {}, details)

    @classmethod
    def skipped(cls, code: str, reason: str | None = None, *, flags: Iterable[str] = (),
                measures: Mapping[str, float] | None = None, **details: Any) -> Score:
        return cls(None, "skipped", code, reason or SKIPPED.get(code), tuple(flags), measures or {}, details)

    @classmethod
    def failed(cls, code: str, reason: str | None = None, *, flags: Iterable[str] = (), **details: Any) -> Score:
        return cls(None, "failed", code, reason or FAILED.get(code), tuple(flags), {}, details)

    def to_dict(self) -> dict[str, Any]:
        """The score as JSON-ready values, under the column names of the scores table."""
        return {
            "score": self.value, "status": self.status, "code": self.code, "reason": self.reason,
            "flags": list(self.flags), "measures": dict(self.measures), "details": dict(self.details),
            "judge": self.judge, "n_prompts": self.usage.prompts, "n_reused": self.usage.reused,
            "prompt_tokens": self.usage.prompt_tokens, "completion_tokens": self.usage.completion_tokens,
            "cached_tokens": self.usage.cached_tokens, "latency_ms": round(self.usage.latency_ms, 3),
        }


class Skip(Exception):
    """Raised within a metric's flow to end it with a skipped score."""

    def __init__(self, code: str, reason: str | None = None, *, flags: Sequence[str] = (), **details: Any):
        super().__init__(code)
        self.score = Score.skipped(code, reason, flags=flags, **details)
