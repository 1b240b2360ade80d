"""Chunk sets in Postgres: rows first, vectors later, then the swap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.pool import Transaction, bulk
from context_search.domain.ids import document_id
from context_search.domain.model import ChunkSet, Claim, EmbeddedChunk, PlannedChunk, StoredChunk


@dataclass(frozen=True, slots=True)
class ChunkSets:
    """The half of the port ``Chunks`` that writes them."""

    tx: Transaction

    def begin_set(self, claim: Claim, planned: Sequence[PlannedChunk]) -> ChunkSet:
        """See the port."""
        self.tx.run(
            """
            DELETE FROM chunk_set
            WHERE node_id = :node AND state = 'building' AND content_hash <> :hash
            """,
            node=claim.node_id,
            hash=claim.content_hash,
        )
        rows = self.tx.run(
            """
            SELECT id FROM chunk_set WHERE node_id = :node AND content_hash = :hash
              AND state IN ('building', 'active')
            """,
            node=claim.node_id,
            hash=claim.content_hash,
        )
        set_id = rows[0][0] if rows else self._insert(claim, planned)
        stored = self.tx.run(
            """
            SELECT chunk_index, id, turbopuffer_doc_id, chunk_text, total_chunks, present,
                   input_hash, window_count FROM chunks
            WHERE set_id = :set ORDER BY chunk_index
            """,
            set=set_id,
        )
        return ChunkSet(set_id, tuple(StoredChunk(*row) for row in stored), is_new=not rows)

    def _insert(self, claim: Claim, planned: Sequence[PlannedChunk]) -> int:
        [[set_id]] = self.tx.run(
            """
            INSERT INTO chunk_set (node_id, content_hash, state, chunks_count)
            VALUES (:node, :hash, 'building', :count) RETURNING id
            """,
            node=claim.node_id,
            hash=claim.content_hash,
            count=len(planned),
        )
        bulk(
            self.tx,
            """
            INSERT INTO chunks (table_id, set_id, json_pointer, chunk_index, total_chunks,
                chunk_text, char_start, char_end, content_hash, turbopuffer_namespace,
                turbopuffer_doc_id, input_hash, window_count)
            SELECT :table, :set, :pointer, i, :total, t, s, e, :hash, :namespace, d,
                   decode(h, 'hex'), w
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
                i int, t text, s int, e int, d text, h text, w int)
            ORDER BY i
            """,
            [_row(claim, int(set_id), chunk) for chunk in planned],
            table=claim.table_id,
            set=set_id,
            pointer=claim.json_pointer,
            total=len(planned),
            hash=claim.content_hash,
            namespace=claim.namespace,
        )
        return int(set_id)

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
        wanted = self.tx.run(
            """
            SELECT FROM node WHERE id = :node AND content_hash = :hash AND NOT EXISTS (
                SELECT FROM chunks WHERE set_id = :set AND NOT present)
              AND EXISTS (SELECT FROM chunk_set WHERE id = :set)
            """,
            node=claim.node_id,
            hash=claim.content_hash,
            set=set_id,
        )
        if not wanted:
            return False
        self.tx.run(
            "DELETE FROM chunk_set WHERE node_id = :node AND id <> :set",
            node=claim.node_id,
            set=set_id,
        )
        self.tx.run("UPDATE chunk_set SET state = 'active' WHERE id = :set", set=set_id)
        self.tx.run(
            """
            UPDATE node SET state = 'indexed', active_set_id = :set, content = NULL, attempt = 0,
                lease_until = NULL, last_error = NULL, indexed_at = clock_timestamp()
            WHERE id = :node
            """,
            set=set_id,
            node=claim.node_id,
        )
        return True


def _row(claim: Claim, set_id: int, chunk: PlannedChunk) -> dict[str, object]:
    return {
        "i": chunk.index,
        "t": chunk.text,
        "s": chunk.start,
        "e": chunk.end,
        "d": document_id(
            table_id=claim.table_id,
            json_pointer=claim.json_pointer,
            content_hash=claim.content_hash,
            set_id=set_id,
            chunk_index=chunk.index,
        ),
        "h": chunk.input_hash.hex(),
        "w": chunk.window_count,
    }
