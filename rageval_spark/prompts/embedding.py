"""Embeddings: the vector of a text, asked like any prompt so that it is stored and paid for once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Embed:
    """The embedding of one text; its value is a float32 vector as the server gave it. Gathered into batches."""

    kind: ClassVar[str] = "embed"
    context_split: ClassVar[bool] = False

    text: str

    def divide(self, token_limit: int) -> Sequence[Embed]:
        return (self,)

    def join(self, parts: Sequence[Embed], answers: Sequence[Any]) -> Any:
        return answers[0]

    def repeated(self, draw: int) -> Embed:
        return self

    def for_vote(self, vote: int) -> Embed:
        return self
