"""Chunks as search reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.domain.model import HydratedChunk, Index, Reach


class LiveChunks(Protocol):
    """Chunks that a search may show."""

    def hydrate(
        self, index: Index, reach: Reach, doc_ids: Sequence[str], *, texts: bool = True
    ) -> dict[str, HydratedChunk]:
        """Returns the chunks among ``doc_ids`` that a search may show, keyed by document id.

        Only chunks of active sets, within reach, of pointers that still exist; ``stale``
        when the live text is another one by now. Without ``texts`` each ``chunk_text`` is empty.
        """
        ...

    def texts(self, index: Index, doc_ids: Sequence[str]) -> dict[str, str]:
        """Returns the texts of chunks that ``hydrate`` gave, of those that are still there."""
        ...

    def first_texts(
        self, index: Index, places: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], str]:
        """Returns the text of the first chunk of strings, by table and pointer, where it is there.

        Whole, for a short string.
        """
        ...

    def is_empty(self, index: Index) -> bool:
        """Says whether turbopuffer was never given a chunk of the generation that is live now."""
        ...
