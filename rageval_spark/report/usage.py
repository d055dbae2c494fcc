"""What a run took, as its tasks' beats tell it: prompts, tokens by model, money where the price is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rageval_spark.engine.beats import added
from rageval_spark.engine.budget import EARLIER
from rageval_spark.engine.plan import Plan
from rageval_spark.report.progress import totals
from rageval_spark.score import Usage

TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")


def used(told: Sequence[Mapping[str, Any]], plan: Plan) -> dict[str, Any]:
    """Usage as JSON-ready values, repairs and prompts that failed in the end included.

    Tokens are those that servers reported, None where one did not; `cost` is None where a price is not known, of the models
    in `unpriced`. `earlier` is what attempts at the same run before this one took of prompts, tokens and cost; empty without.
    """
    sums, before = totals(told), [beat for beat in told if beat["name"] == EARLIER]
    models: dict[str, dict[str, Any]] = {}
    for beat in told:
        for model, spent in beat.get("usage", {}).items():
            mine = models.setdefault(model, dict.fromkeys(TOKENS, 0))
            mine.update({name: _sum([mine[name], spent[name]]) for name in TOKENS})
    asked = {endpoint.label: endpoint for endpoint in plan.endpoints()}
    costs = [asked[model].cost(Usage(**{name: spent[name] for name in TOKENS})) for model, spent in models.items()]
    return {
        "prompts": sums["prompts"], "reused": sums["reused"], "embedding_requests": sums["embedding_requests"],
        **{name: _sum([spent[name] for spent in models.values()]) for name in TOKENS},
        "cost": _sum(costs), "models": models,
        "unpriced": [model for model, cost in zip(models, costs, strict=True) if cost is None],
        "earlier": {name.removeprefix("max_"): spent for name, spent in added(before, "budget", "spent").items() if spent},
        "waits": _waits(told),
        "retries": {name.removeprefix("retry_"): count for name, count in sorted(sums.items()) if name.startswith("retry_")},
    }


def _waits(told: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds waited, over all tasks: prompts for places in the window, starts for the rates, prompts for retries."""
    return {name: round(seconds, 1) for name, seconds in added(told, "waits").items()}


def _sum(values: Sequence[Any]) -> Any:
    return None if None in values else sum(values)
