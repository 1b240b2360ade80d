"""Vectors from words, without a model."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

from context_search.text.analysis import tokens


class WordEmbedder:
    """The port ``Embedder``: texts that share words are similar. Deterministic.

    ``embedded`` counts the passages so far. ``passage_key`` and ``query_key``: see the port.
    """

    passage_key = ""
    query_key = ""

    def __init__(self, dimensions: int = 16) -> None:
        self._dimensions = dimensions
        self.embedded = 0

    @property
    def model(self) -> str:
        return "in-memory/words"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def warm_up(self) -> None: ...

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        self.embedded += len(texts)
        return [self.embed_query(text, timeout_s=timeout_s) for text in texts]

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        return [self.embed_query(text, timeout_s=timeout_s) for text in texts]

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:  # noqa: ARG002
        vector = [0.0] * self._dimensions
        for token in tokens(text):
            vector[zlib.crc32(token.encode()) % self._dimensions] += 1.0
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector] if length else [1.0, *vector[1:]]
