"""Keyword search in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from context_search.core.model import Index, Reach
from context_search.indexing.ports.words_backlog import ChunkTokens
from context_search.integrations.ports import Ranked


class Keywords(Protocol):
    """Keyword search in Postgres: for lean storage, and while turbopuffer is down."""

    def put(self, chunks: Sequence[ChunkTokens]) -> None:
        """Keeps the tokens of chunks; of those that have some already, or are gone, nothing."""
        ...

    def best(
        self,
        index: Index,
        reach: Reach,
        words: Mapping[str, float],
        limit: int,
        *,
        timeout_s: float,
    ) -> list[Ranked]:
        """Returns up to ``limit`` chunks that have any of ``words``, by BM25, ties by id.

        A word's BM25 is multiplied by its value, what it counts.

        Only active chunks of the index's generation within ``reach``; its filter holds for the
        fields that are stored, or that nobody has stored yet. A statement that takes
        longer than ``timeout_s`` raises KeywordTimeoutError and ends the transaction; the limit
        is that of the transaction from then on, so it should do nothing else.
        """
        ...
