"""Playing a metric by hand: what each kind of prompt is answered, without a judge and without a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rageval_spark.errors import JudgeFault
from rageval_spark.metric import Metric, Reply, play
from rageval_spark.metrics import CATALOGUE
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.items import ItemPrompt
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.sample import Sample
from rageval_spark.score import Score, Usage

PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "refusal_accuracy": {"derive": True},
    "rubric": {"question": "Is the response complete?",
               "levels": {1: "not at all", 2: "hardly", 3: "in part", 4: "nearly", 5: "fully"}},
    "aspect": {"question": "Does the response answer?"},
}  # fmt: skip
"""Parameters for metrics that cannot be built without, or that ask more kinds of prompt with them."""
Given = Any
"""What a kind of prompt is answered: a JudgeFault, claims as texts, decisions by id from 1 (None: left out), the JSON
of a reply, a vector; or a function of the prompt, or an iterator of such answers."""


def played(
    metric: Metric, sample: Mapping[str, Any], /, *, token_limit: int = 100_000, votes: int = 1, **answers: Given
) -> tuple[Score, list[Any]]:
    """The score, and the prompts in the order in which they were asked."""
    asked: list[Any] = []
    game = play(metric, Sample.parse(sample), token_limit, votes)
    try:
        prompts = next(game)
        while True:
            asked += prompts
            prompts = game.send([_answered(prompt, answers[prompt.kind]) for prompt in prompts])
    except StopIteration as end:
        score: Score = end.value
        return score, asked


def built(name: str) -> Metric:
    """A metric of the catalogue, with parameters where it needs some."""
    return CATALOGUE[name](**PARAMETERS.get(name, {}))


def kinds(prompts: Iterable[Any]) -> list[str]:
    return [prompt.kind for prompt in prompts]


def decisions(prompt: ItemPrompt, values: Sequence[int | None]) -> dict[str, Any]:
    """The JSON of a reply that decides the items of a prompt by these values, that of id 1 first."""
    chosen = ((id, values[id - 1]) for id, _ in prompt.items)
    return {
        prompt.replies_in: [
            {"id": id, "reason": f"reason {id}", prompt.decides: value} for id, value in chosen if value is not None
        ]
    }


def _answered(prompt: Prompt | Embed, given: Given) -> Reply | JudgeFault:
    given = next(given) if hasattr(given, "__next__") else given
    given = given(prompt) if callable(given) else given
    if isinstance(given, JudgeFault):
        return given
    if isinstance(prompt, Embed):
        return Reply(np.asarray(given, dtype="<f4"), judge="embedder")
    if prompt.kind == "list_claims" and not isinstance(given, Mapping):
        given = {"claims": [{"id": id, "text": text} for id, text in enumerate(given, 1)]}
    elif isinstance(prompt, ItemPrompt) and not isinstance(given, Mapping):
        given = decisions(prompt, given)
    accepted = prompt.accept(given)
    if accepted.missing:
        code, why = next(iter(accepted.missing.values()))
        partial = prompt.value(accepted.reply)
        return JudgeFault(code, why, partial=partial, usage=Usage(prompts=1))
    return Reply(prompt.value(accepted.reply), Usage(prompts=1, prompt_tokens=10, completion_tokens=2), "judge")
