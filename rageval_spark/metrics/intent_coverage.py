"""Intent coverage: does the response answer each thing that was asked?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rageval_spark.errors import JudgeFault
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.answers import ListIntents, RateIntents
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.prompts.steps import numbered, shown, unasked
from rageval_spark.sample import Sample
from rageval_spark.score import Score

MOST_INTENTS = 8


@dataclass(frozen=True)
class IntentCoverage(Metric):
    """Share of what the question asks for that the response covers (2 covered, 1 partly, 0 not, of 2 for each).

    In [0, 1], higher is better; 0 where the response is blank or declines to answer. `details` name what is covered,
    partly covered and missing, and what the response says that nobody asked for (redundant). A question for which the
    judge names nothing is itself the one thing asked for; beyond eight the first eight count, flagged.
    Skipped without a response (NO_ANSWER) or a question (NO_QUESTION).
    Prompts: 3: what is asked (shared by all responses to a question), whether the response declines, what it covers.
    Source: the question-side counterpart of claim recall; the levels are those of context relevance.
    """

    name: ClassVar[str] = "intent_coverage"
    default_threshold: ClassVar[float | None] = 0.8
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response")
    asks: ClassVar[tuple[str, ...]] = ("list_intents", "rate_intents", "detect_refusal")
    layer: ClassVar[Layer] = "generation"

    def score(self, sample: Sample) -> Flow:
        if (known := unasked(sample)) is not None:
            return known
        question, response = sample.user_input or "", sample.response or ""
        listed, refused = yield [ListIntents(question, sample.history),
                                 DetectRefusal(question, response, sample.history)]
        for answer in (refused, listed):
            if isinstance(answer, JudgeFault):
                raise answer
        if refused:
            return Score.of(0.0, "the response declines to answer", flags=("REFUSAL",))
        every = numbered(listed) or ((1, question),)
        intents = every[:MOST_INTENTS]
        flags = ("TOO_MANY_INTENTS",) if len(every) > MOST_INTENTS else ()
        [answer] = yield [RateIntents(intents, response)]
        decided = answer.partial if isinstance(answer, JudgeFault) else answer
        rated = shown(decided, intents, "level")
        if isinstance(answer, JudgeFault):
            return Score.failed(answer.code, answer.reason, flags=flags, intents=rated)
        total = sum(one["level"] for one in rated)
        missing = [one["text"] for one in rated if one["level"] == 0]
        reason = f"{sum(one['level'] == 2 for one in rated)} of {len(rated)} intents covered"
        reason += f"; missing: {'; '.join(missing[:3])}" if missing else ""
        return Score.of(total / (2 * len(rated)), reason, flags=flags, intents=rated, missing=missing,
                        redundant=list(getattr(answer, "redundant", ())), numerator=total, denominator=2 * len(rated))
