"""Every kind of prompt by its name, and the version of their wording."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from rageval_spark.prompts.accuracy import JudgeAccuracy
from rageval_spark.prompts.claims import ListClaims, VerifyClaims
from rageval_spark.prompts.contexts import JudgeUsefulness, RateContexts1, RateContexts2
from rageval_spark.prompts.criteria import CheckAspect, ScoreRubric
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.prompts.questions import GenerateQuestions
from rageval_spark.prompts.refusal import DetectRefusal, JudgeAnswerable
from rageval_spark.prompts.rendering import FAILS, REASONS, SYSTEM

KINDS: dict[str, type[Prompt]] = {prompt.kind: prompt for prompt in (
    ListClaims,
    VerifyClaims,
    DetectRefusal,
    GenerateQuestions,
    RateContexts1,
    RateContexts2,
    JudgeUsefulness,
    JudgeAnswerable,
    JudgeAccuracy,
    ScoreRubric,
    CheckAspect,
)}  # fmt: skip
"""Prompt class by kind."""


def wording_version() -> str:
    """A short hash of all wording: runs with another version asked other questions."""
    parts = {kind: {name: value for name, value in vars(prompt).items() if isinstance(value, Mapping) and "en" in value}
             for kind, prompt in KINDS.items()}
    wording = [SYSTEM, REASONS, FAILS, parts]
    return hashlib.blake2b(json.dumps(wording, sort_keys=True).encode(), digest_size=6).hexdigest()
