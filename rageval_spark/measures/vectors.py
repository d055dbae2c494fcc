"""Embeddings held against each other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from rageval_spark.errors import JudgeFault
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.language import same_answer

Vector = np.ndarray[Any, Any]


def cosine(a: Vector, b: Vector) -> float:
    """Cosine of two vectors that `unusable` has passed; exactly 1.0 for equal ones."""
    if np.array_equal(a, b):
        return 1.0
    wide = a.astype("f8"), b.astype("f8")
    return float(wide[0] @ wide[1] / (np.linalg.norm(wide[0]) * np.linalg.norm(wide[1])))


def unusable(vectors: Sequence[Vector]) -> str | None:
    """The code of what is wrong with these embeddings, or None."""
    if len({len(vector) for vector in vectors}) > 1:
        return "EMBEDDING_DIM"
    if not all(np.isfinite(vector).all() for vector in vectors):
        return "NONFINITE_EMBEDDING"
    return None if all(vector.any() for vector in vectors) else "ZERO_EMBEDDING"


def similarity(text: str, others: Sequence[str]) -> Generator[Any, Any, tuple[float, tuple[str, ...]]]:
    """The cosine of a text with the nearest of the others, in [0, 1], and the flag CLAMPED where it was below. Texts that
    are equal but for case and spaces are embedded no more: 1.0. Raises JudgeFault where an embedding cannot be used."""
    if any(same_answer(text, other) for other in others):
        return 1.0, ()
    vectors = yield [Embed(one) for one in (text, *others)]
    if fault := next((vector for vector in vectors if isinstance(vector, JudgeFault)), None):
        raise fault
    if code := unusable(vectors):
        raise JudgeFault(code, "the embeddings cannot be compared")
    nearest = max(cosine(vectors[0], vector) for vector in vectors[1:])
    return min(1.0, max(0.0, nearest)), ("CLAMPED",) if not 0 <= nearest <= 1 else ()
