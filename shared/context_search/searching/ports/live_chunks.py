"""Chunks as they are now, for what a search has found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.core.filters import Fields
from context_search.core.model import HydratedChunk, Index, Reach, SearchTool
from context_search.searching.rules.retrieval import ChunkText


@dataclass(frozen=True, slots=True)
class SeenFields:
    """Filterable fields of strings that a tool may show; ``are_all``: of all that it may show."""

    of: tuple[Fields, ...] = ()
    are_all: bool = False


class LiveChunks(Protocol):
    """Chunks that a search may show."""

    def hydrate(
        self, index: Index, reach: Reach, doc_ids: Sequence[str], *, texts: bool = True
    ) -> dict[str, HydratedChunk]:
        """Returns the chunks among ``doc_ids`` that a search may show, keyed by those ids.

        Only chunks of active sets, within reach, of pointers that still exist; ``stale``
        when the live text is another one by now. A filter holds for the fields that the document
        has now. Without ``texts`` each ``chunk_text`` is empty, and ``id``, ``total_chunks``,
        ``char_start`` and ``char_end`` are 0: what nobody needs of thousands.
        """
        ...

    def matching(
        self, index: Index, reach: Reach, *, most: int, timeout_s: float
    ) -> list[str] | None:
        """Returns the pointers of all searchable strings that a reach's filter lets through.

        By the fields that are stored. None without a filter, when they are over ``most``, and
        while a table's fields are not known. Raises DatabaseUnavailableError when it takes longer
        than ``timeout_s``, which is the limit of the transaction from then on.
        """
        ...

    def seen_fields(
        self, tool: SearchTool, *, most: int, among: int, timeout_s: float
    ) -> SeenFields:
        """Returns the filterable fields of up to ``most`` strings of a tool's scope.

        They are looked for among the first ``among`` of its index, in an order that stays; where
        one of these numbers is reached, they count as not all. Strings
        that the tool's ``where`` hides are left out, and so are fields of over 4,096 bytes. Empty
        while the fields of the table are not known, and with ``where``, while it has changed since.
        Raises DatabaseUnavailableError as ``matching`` does.
        """
        ...

    def completed(self, index: Index, chunks: Sequence[HydratedChunk]) -> dict[str, HydratedChunk]:
        """Returns chunks that ``hydrate`` gave without texts with all that they have, by their ids;
        those that are still of the same text of their string.
        """
        ...

    def first_texts(
        self, index: Index, places: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], str]:
        """Returns the text of the first chunk of strings, by table and pointer, where it is there.

        Whole, for a short string.
        """
        ...

    def around(
        self, chunk_ids: Sequence[int], *, contents: Collection[str], reach: int
    ) -> list[ChunkText]:
        """Returns chunks and up to ``reach`` others before and after each, by set and index.

        Only of sets that are active, and of strings with these content hashes: a chunk that another
        version has taken over since is not there. Each chunk once.
        """
        ...

    def is_empty(self, index: Index) -> bool:
        """Says whether turbopuffer was never given a chunk of the generation that is live now."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What a search reads in the end: its tool, or without one its project, the status of the index
    that was searched, and chunks within reach, with or without ``texts``.
    """

    tool_id: int | None
    project_id: int | None
    index: Index
    reach: Reach
    doc_ids: Sequence[str]
    texts: bool
