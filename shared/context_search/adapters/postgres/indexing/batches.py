"""Several small nodes at once in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.catalog.presence import TABLE_IS_THERE
from context_search.adapters.postgres.indexing.chunk_sets import Planned, activate_sets, begin_sets
from context_search.adapters.postgres.pool import Transaction
from context_search.domain.config import IndexConfig
from context_search.domain.model import ChunkSet, Claim


@dataclass(frozen=True, slots=True)
class PostgresBatches:
    """The port ``Batches``.

    Rows are locked with SKIP LOCKED: enumeration locks nodes in another order, and whoever has
    one locked takes it from its worker, or is its worker.
    """

    tx: Transaction

    def claim(
        self, node_ids: Sequence[int], *, max_chars: int, max_attempts: int, lease_s: float
    ) -> list[Claim]:
        """See the port."""
        rows = self.tx.run(
            f"""
            WITH free AS (
                SELECT id FROM node
                WHERE id = ANY(CAST(:nodes AS bigint[])) AND content IS NOT NULL
                  AND char_count <= :chars AND attempt < :attempts
                  AND (state = 'queued' AND next_at <= clock_timestamp()
                       OR state = 'claimed' AND lease_until < clock_timestamp())
                ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
            UPDATE node SET state = 'claimed', fence = fence + 1, attempt = attempt + 1,
                lease_until = clock_timestamp() + make_interval(secs => :lease)
            FROM free, index_generation AS generation
            JOIN search_index ON search_index.id = generation.index_id, context_table
            WHERE node.id = free.id AND generation.id = node.generation_id
              AND context_table.id = node.table_id
              AND generation.state IN ('active', 'building') AND {TABLE_IS_THERE}
            RETURNING node.id, fence, attempt, node.table_id, json_pointer, content_hash, content,
                      generation.config, namespace, search_index.id
            """,
            nodes=node_ids,
            chars=max_chars,
            attempts=max_attempts,
            lease=lease_s,
        )
        claims = [
            Claim(*[*columns, IndexConfig.from_json(config), namespace, index_id])
            for *columns, config, namespace, index_id in rows
        ]
        return sorted(claims, key=lambda claim: claim.node_id)

    def char_counts(self, node_ids: Sequence[int]) -> dict[int, int]:
        """See the port."""
        rows = self.tx.run(
            "SELECT id, char_count FROM node WHERE id = ANY(CAST(:nodes AS bigint[]))",
            nodes=node_ids,
        )
        return dict(rows)

    def unfinished(self, node_ids: Sequence[int]) -> list[int]:
        """See the port."""
        rows = self.tx.run(
            """
            SELECT id FROM node
            WHERE id = ANY(CAST(:nodes AS bigint[])) AND state IN ('queued', 'claimed')
            ORDER BY id
            """,
            nodes=node_ids,
        )
        return [node_id for [node_id] in rows]

    def hold(self, claims: Sequence[Claim], *, lease_s: float) -> list[Claim]:
        """See the port."""
        # The tables first, as in ``NodeWork``.
        rows = self.tx.run(
            """
            WITH tables AS (
                SELECT id FROM context_table WHERE id = ANY(CAST(:tables AS bigint[]))
                ORDER BY id FOR KEY SHARE),
            mine AS (
                SELECT node.id FROM node JOIN unnest(
                    CAST(:nodes AS bigint[]), CAST(:fences AS bigint[])
                ) AS claim (node, fence) ON node.id = claim.node AND node.fence = claim.fence
                JOIN tables ON tables.id = table_id
                WHERE state = 'claimed' ORDER BY node.id FOR NO KEY UPDATE OF node SKIP LOCKED)
            UPDATE node SET lease_until = clock_timestamp() + make_interval(secs => :lease)
            FROM mine WHERE node.id = mine.id RETURNING node.id
            """,
            nodes=[claim.node_id for claim in claims],
            fences=[claim.fence for claim in claims],
            tables=sorted({claim.table_id for claim in claims}),
            lease=lease_s,
        )
        held = {node_id for [node_id] in rows}
        return [claim for claim in claims if claim.node_id in held]

    def begin_sets(self, planned: Planned) -> list[ChunkSet]:
        """See the port."""
        return begin_sets(self.tx, planned)

    def mark_present(self, sets: Sequence[ChunkSet]) -> None:
        """See the port."""
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
        """See the port."""
        return activate_sets(self.tx, sets)
