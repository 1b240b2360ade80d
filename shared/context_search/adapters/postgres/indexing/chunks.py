"""Chunk sets in Postgres: rows first, vectors later, then the swap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.indexing.chunk_sets import Planned, activate_sets, begin_sets
from context_search.adapters.postgres.pool import Transaction
from context_search.domain.ids import first_row_id
from context_search.domain.model import ChunkSet, Claim, EmbeddedChunk


@dataclass(frozen=True, slots=True)
class PostgresChunks:
    """The port ``Chunks``."""

    tx: Transaction

    def begin_sets(self, planned: Planned) -> list[ChunkSet]:
        return begin_sets(self.tx, planned)

    def embedded(self, claim: Claim, input_hashes: Sequence[bytes]) -> list[EmbeddedChunk]:
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

    def mark_all_present(self, sets: Sequence[ChunkSet]) -> None:
        lacked = [(each.id, chunk.index) for each in sets for chunk in each.missing]
        self.tx.run(
            """
            WITH marked AS (
                UPDATE chunks SET present = true, updated_at = clock_timestamp()
                WHERE (set_id, chunk_index) IN (SELECT * FROM unnest(
                        CAST(:sets AS bigint[]), CAST(:indexes AS int[])))
                  AND NOT present RETURNING set_id),
            counted AS (SELECT set_id, count(*) AS chunks FROM marked GROUP BY set_id)
            UPDATE chunk_set SET present_count = present_count + counted.chunks
            FROM counted WHERE chunk_set.id = counted.set_id
            """,
            sets=[set_id for set_id, _ in lacked],
            indexes=[index for _, index in lacked],
        )

    def activate(self, sets: Sequence[tuple[Claim, int]]) -> set[int]:
        """The caller holds the nodes."""
        return activate_sets(self.tx, sets)

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
            ids=[first_row_id(doc_id) for doc_id in doc_ids],
        )
        known = {doc_id for [doc_id] in rows}
        return [doc_id for doc_id in doc_ids if first_row_id(doc_id) not in known]
