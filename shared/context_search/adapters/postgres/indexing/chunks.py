"""Chunk sets in Postgres: rows first, vectors later, then the swap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.indexing.chunk_sets import activate_sets, begin_sets
from context_search.adapters.postgres.pool import Transaction
from context_search.domain.ids import chunk_document_id
from context_search.domain.model import ChunkSet, Claim, EmbeddedChunk, PlannedChunk


@dataclass(frozen=True, slots=True)
class PostgresChunks:
    """The port ``Chunks``."""

    tx: Transaction

    def begin_set(self, claim: Claim, planned: Sequence[PlannedChunk]) -> ChunkSet:
        """See the port."""
        [chunk_set] = begin_sets(self.tx, [(claim, planned)])
        return chunk_set

    def embedded(self, claim: Claim, input_hashes: Sequence[bytes]) -> list[EmbeddedChunk]:
        """See the port."""
        rows = self.tx.run(
            """
            SELECT DISTINCT ON (input_hash)
                   input_hash, turbopuffer_namespace, turbopuffer_doc_id, window_count
            FROM chunks
            WHERE input_hash = ANY(CAST(:hashes AS bytea[])) AND present AND table_id = :table
            ORDER BY input_hash, id
            """,
            hashes=list(input_hashes),
            table=claim.table_id,
        )
        return [EmbeddedChunk(*row) for row in rows]

    def mark_present(self, set_id: int, chunk_indexes: Sequence[int]) -> None:
        """See the port."""
        self.tx.run(
            """
            WITH marked AS (
                UPDATE chunks SET present = true, updated_at = clock_timestamp()
                WHERE set_id = :set AND chunk_index = ANY(CAST(:indexes AS int[])) AND NOT present
                RETURNING 1)
            UPDATE chunk_set SET present_count = present_count + (SELECT count(*) FROM marked)
            WHERE id = :set
            """,
            set=set_id,
            indexes=list(chunk_indexes),
        )
        self.tx.run(
            """
            UPDATE node SET attempt = 0
            WHERE id = (SELECT node_id FROM chunk_set WHERE id = :set) AND attempt > 0
            """,
            set=set_id,
        )

    def activate(self, claim: Claim, set_id: int) -> bool:
        """See the port. The caller holds the node."""
        return bool(activate_sets(self.tx, [(claim, set_id)]))

    def without_row(self, namespace: str, doc_ids: Sequence[str]) -> list[str]:
        """Asks for the first document of each chunk: others are windows of it."""
        rows = self.tx.run(
            """
            SELECT turbopuffer_doc_id FROM chunks
            WHERE turbopuffer_namespace = :namespace
              AND turbopuffer_doc_id = ANY(CAST(:ids AS text[]))
            UNION ALL
            SELECT doc_id FROM tombstone
            WHERE namespace = :namespace AND doc_id = ANY(CAST(:ids AS text[]))
            """,
            namespace=namespace,
            ids=[chunk_document_id(doc_id) for doc_id in doc_ids],
        )
        known = {doc_id for [doc_id] in rows}
        return [doc_id for doc_id in doc_ids if chunk_document_id(doc_id) not in known]
