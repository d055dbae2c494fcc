"""Every kind of prompt by its name, and the version of their wording."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from rageval_spark.prompts.accuracy import JudgeAccuracy
from rageval_spark.prompts.answers import ListIntents, RateAnswer, RateIntents
from rageval_spark.prompts.claims import ListClaims, VerifyClaims
from rageval_spark.prompts.contexts import JudgeUsefulness, RateContexts1, RateContexts2
from rageval_spark.prompts.criteria import CheckAspect, ScoreRubric
from rageval_spark.prompts.entities import ListEntities
from rageval_spark.prompts.goals import CheckGoal, InferGoal
from rageval_spark.prompts.needed import JudgeNeeded
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.prompts.questions import GenerateQuestions
from rageval_spark.prompts.refusal import DetectRefusal, JudgeAnswerable
from rageval_spark.prompts.rendering import FAILS, REASONS, SYSTEM
from rageval_spark.prompts.sentences import FindStatements, JudgeSentences

KINDS: dict[str, type[Prompt]] = {prompt.kind: prompt for prompt in (
    ListClaims,
    VerifyClaims,
    DetectRefusal,
    GenerateQuestions,
    RateContexts1,
    RateContexts2,
    JudgeUsefulness,
    JudgeSentences,
    ListEntities,
    JudgeNeeded,
    RateAnswer,
    ListIntents,
    RateIntents,
    FindStatements,
    InferGoal,
    CheckGoal,
    JudgeAnswerable,
    JudgeAccuracy,
    ScoreRubric,
    CheckAspect,
)}  # fmt: skip
"""Prompt class by kind."""


def wording_version(own: Sequence[Mapping[str, Mapping[str, str]]] = ()) -> str:
    """A short hash of all wording, with what judges have of their `own`: runs with another version asked other
    questions."""
    parts = {kind: {name: value for name, value in vars(prompt).items() if isinstance(value, Mapping) and "en" in value}
             for kind, prompt in KINDS.items()}
    wording = [SYSTEM, REASONS, FAILS, parts, *filter(None, own)]
    return hashlib.blake2b(json.dumps(wording, sort_keys=True).encode(), digest_size=6).hexdigest()
