"""Text to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Text to vectors. Raises only members of the EmbeddingError family."""

    @property
    def model(self) -> str:
        """The litellm name of the model."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """Returns one vector per text, same order, each of ``dimensions`` finite numbers."""
        ...

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        """Returns the vector of a question, comparable with those of passages."""
        ...
