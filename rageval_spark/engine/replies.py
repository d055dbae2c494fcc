"""A reply as a row of the store, and a row of the store as the reply that a metric is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from rageval_spark.judges.conversation import Answer
from rageval_spark.metric import Reply
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.prompts.rendering import Rendered
from rageval_spark.score import Usage


def answer_row(rendered: Rendered, model: str, answer: Answer) -> dict[str, Any]:
    """The row of an accepted reply of a judge."""
    return {
        "key": rendered.key, "kind": rendered.kind, "model": model, "served_model": answer.served_model,
        "fingerprint": answer.fingerprint, "reply": json.dumps(answer.reply, ensure_ascii=False),
        "raw": list(answer.raw), "flags": list(answer.flags), "vector": None, **_took(answer.usage),
    }


def vector_row(key: str, kind: str, model: str, vector: np.ndarray[Any, Any], usage: Usage, served: str | None) -> dict[str, Any]:
    """The row of an embedding."""
    return {
        "key": key, "kind": kind, "model": model, "served_model": served, "fingerprint": None,
        "reply": None, "raw": None, "flags": None, "vector": vector.astype("<f4").tobytes(), **_took(usage),
    }


def reply_of(row: Mapping[str, Any], prompt: Prompt | Embed, paid: bool) -> Reply:
    """What a metric is sent for a row; what it took counts where this prompt is the one that paid for it."""
    if isinstance(prompt, Embed):
        value: Any = np.frombuffer(row["vector"], dtype="<f4")
    else:
        value = prompt.value(json.loads(row["reply"]))
    counted = 0 if isinstance(prompt, Embed) else 1
    usage = Usage(counted, counted) if not paid else Usage(
        counted, 0, row["prompt_tokens"], row["completion_tokens"], row["cached_tokens"], row["latency_ms"])
    return Reply(value, usage, row["model"], tuple(row["flags"] or ()))


def _took(usage: Usage) -> dict[str, Any]:
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens,
            "cached_tokens": usage.cached_tokens, "latency_ms": usage.latency_ms}
