"""Chunk sets and chunks, as rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from context_search.core.model import ChunkSet, Claim, EmbeddedChunk, PlannedChunk


class Chunks(Protocol):
    """Chunk sets and chunk rows."""

    def begin_sets(self, planned: Sequence[tuple[Claim, Sequence[PlannedChunk]]]) -> list[ChunkSet]:
        """Finds or inserts the unfinished sets of claimed contents, rows first, vectors later.

        Chunks of a node's active set whose vector rows are wanted again are kept: they get no new
        row. Unfinished sets of the nodes for other contents are deleted. Positions of argument and
        result correspond.
        """
        ...

    def embedded(
        self, claims: Sequence[Claim], input_hashes: Sequence[bytes]
    ) -> list[EmbeddedChunk]:
        """Returns chunks of the claimed nodes' tables that turbopuffer has, one per input."""
        ...

    def mark_present(self, chunk_ids: Sequence[int]) -> None:
        """Notes that turbopuffer acknowledged these chunks, all windows.

        Those of a set come in the order of the set: what stands before them in an unfinished one
        counts as acknowledged, too.
        """
        ...

    def activate(
        self, sets: Sequence[tuple[Claim, ChunkSet]], acknowledged: Collection[int] = ()
    ) -> set[int]:
        """Makes complete sets the active ones of their nodes, and deletes those before.

        ``acknowledged``: chunks that turbopuffer has, and that nobody has noted as present. What a
        set keeps moves into it.
        Returns the nodes that have swapped. One that wants another content by now is left as it is.
        """
        ...

    def without_row(self, namespace: str, doc_ids: Sequence[str]) -> list[str]:
        """Returns those ids that no chunk row and no tombstone of the namespace knows."""
        ...
