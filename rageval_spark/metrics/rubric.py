"""Rubric: a user's own scale of five levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rageval_spark.errors import ConfigError
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.criteria import NEEDED, ScoreRubric, Shown, checked
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Score


@dataclass(frozen=True)
class Rubric(Metric):
    """Share of the way from level 1 to level 5 of your own scale that the sample has come, as the judge rates it.

    0, 0.25, 0.5, 0.75 or 1, higher is better. `question` says what is rated, `levels` what 1, 2, 3, 4 and 5 mean, and
    `fields` which fields of the sample the judge is shown: user_input and response unless set, or retrieved_contexts,
    reference, history. Several in one config are told apart with `as:`. A blank response, where it is shown, is on level 1.
    Skipped where a field that is shown is missing: NO_QUESTION, NO_ANSWER, NO_CONTEXT or NO_REFERENCE; history may be.
    Prompts: 1, never divided.
    Source: rubric scoring as in ragas (rubrics score) and Prometheus (arXiv 2310.08491), with the scale moved to [0, 1].
    """

    name: ClassVar[str] = "rubric"
    default_threshold: ClassVar[float | None] = 0.75
    reads: ClassVar[tuple[str, ...]] = tuple(NEEDED)
    asks: ClassVar[tuple[str, ...]] = ("score_rubric",)
    layer: ClassVar[Layer] = "generation"
    aliases: ClassVar[tuple[str, ...]] = ("rubrics_score", "domain_specific_rubrics")

    question: str = ""
    levels: Mapping[int, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ("user_input", "response")

    def __post_init__(self) -> None:
        fields = checked("rubric", self.question, self.fields)
        if sorted(self.levels) != [1, 2, 3, 4, 5] or any(blank(words) for words in self.levels.values()):
            raise ConfigError(f"rubric needs levels: {{1: …, 2: …, 3: …, 4: …, 5: …}}, words for each from worst to best, "
                              f"found {dict(self.levels)!r}")
        object.__setattr__(self, "fields", fields)
        object.__setattr__(self, "reads", tuple(name for name in fields if name != "history"))
        object.__setattr__(self, "reads_too", tuple(name for name in fields if name == "history"))

    def score(self, sample: Sample) -> Flow:
        shown = Shown.of(sample, self.fields)
        if shown.response is not None and blank(shown.response):
            return Score.of(0.0, "the response is blank", flags=("EMPTY_ANSWER",), rating=1)
        rated = yield ScoreRubric(self.question, tuple(self.levels[level] for level in range(1, 6)), shown)
        return Score.of((rated.value - 1) / 4, rated.reason or f"{rated.value}: {self.levels[rated.value]}",
                        rating=rated.value)
