"""Chunks with those beside them, in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.pool import Transaction
from context_search.domain.retrieval import ChunkText


@dataclass(frozen=True, slots=True)
class PostgresSurroundings:
    """The port ``Surroundings``."""

    tx: Transaction

    def around(self, chunk_ids: Sequence[int], *, reach: int) -> list[ChunkText]:
        """Reads hits and those near them in one statement."""
        rows = self.tx.run(
            """
            SELECT id, set_id, chunk_index, total_chunks, char_start, char_end, chunk_text
            FROM chunks WHERE id IN (
                SELECT near.id FROM chunks AS hit
                JOIN chunk_set ON chunk_set.id = hit.set_id AND chunk_set.state = 'active'
                JOIN chunks AS near ON near.set_id = hit.set_id AND near.chunk_index
                    BETWEEN hit.chunk_index - :reach AND hit.chunk_index + :reach
                WHERE hit.id = ANY(CAST(:ids AS bigint[])))
            ORDER BY set_id, chunk_index
            """,
            ids=list(chunk_ids),
            reach=reach,
        )
        return [ChunkText(*row) for row in rows]
