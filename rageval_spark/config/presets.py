"""Sets of metrics under one name: `preset: production` in a list of metrics."""

from __future__ import annotations

from collections.abc import Mapping

PRESETS: Mapping[str, tuple[str, ...]] = {
    "full": ("faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision"),
    "production": ("faithfulness", "answer_relevancy", "context_relevancy"),
    "evaluation": ("faithfulness", "answer_relevancy", "context_recall", "context_precision"),
    "retrieval": ("context_relevancy", "context_recall", "context_precision"),
}
"""Metrics by preset. `production` reads no reference; `retrieval` reads no response."""
