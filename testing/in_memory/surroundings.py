"""Chunks with those beside them, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.domain.retrieval import ChunkText
from testing.in_memory.rows import Rows


@dataclass(frozen=True, slots=True)
class MemorySurroundings:
    """The port ``Surroundings``."""

    rows: Rows

    def around(self, chunk_ids: Sequence[int], *, reach: int) -> list[ChunkText]:
        """Looks at every chunk there is."""
        hits = [self.rows.chunks[i] for i in chunk_ids if i in self.rows.chunks]
        near = [
            row
            for row in self.rows.chunks.values()
            if self.rows.sets[row.set_id].state == "active"
            if any(hit.set_id == row.set_id and abs(hit.index - row.index) <= reach for hit in hits)
        ]
        return [
            ChunkText(row.id, row.set_id, row.index, row.total, row.start, row.end, row.text)
            for row in sorted(near, key=lambda row: (row.set_id, row.index))
        ]
