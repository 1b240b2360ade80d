"""Nodes in Postgres: the claims, leases and fences of docs/consistency.md as SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from context_search.adapters.postgres.catalog.presence import TABLE_IS_THERE
from context_search.adapters.postgres.indexing.node_rows import NodeRows
from context_search.domain.config import IndexConfig
from context_search.domain.errors import LeaseLostError
from context_search.domain.model import Claim
from context_search.domain.progress import NodeState
from context_search.domain.text.reassembly import text_of_chunks


@dataclass(frozen=True, slots=True)
class NodeWork(NodeRows):
    """The part of the port ``Nodes`` that workers use."""

    def claim(self, node_id: int, *, lease_s: float) -> Claim | None:
        """See the port."""
        rows = self.tx.run(
            f"""
            UPDATE node SET state = 'claimed', fence = fence + 1, attempt = attempt + 1,
                lease_until = clock_timestamp() + make_interval(secs => :lease)
            FROM index_generation AS generation
            JOIN search_index ON search_index.id = generation.index_id, context_table
            WHERE node.id = :node AND generation.id = node.generation_id
              AND context_table.id = node.table_id
              AND generation.state IN ('active', 'building') AND {TABLE_IS_THERE}
              AND (node.state = 'queued' AND next_at <= clock_timestamp()
                   OR node.state = 'claimed' AND lease_until < clock_timestamp())
            RETURNING node.id, fence, attempt, node.table_id, json_pointer, content_hash, content,
                      generation.config, namespace, search_index.id
            """,
            node=node_id,
            lease=lease_s,
        )
        if not rows:
            return None
        [[*columns, content, config, namespace, index_id]] = rows
        if content is None:  # indexed before: the chunks hold the text now
            content = self._reassembled(node_id)
        config = IndexConfig.from_json(config)
        return Claim(*[*columns, content, config, namespace, index_id])

    def _reassembled(self, node_id: int) -> str:
        rows = self.tx.run(
            """
            SELECT char_start, chunk_text FROM chunks
            JOIN node ON node.active_set_id = chunks.set_id
            WHERE node.id = :node ORDER BY chunk_index
            """,
            node=node_id,
        )
        return text_of_chunks((start, text) for start, text in rows)

    def due_in(self, node_id: int) -> float | None:
        """See the port."""
        rows = self.tx.run(
            """
            SELECT CAST(extract(epoch FROM next_at - clock_timestamp()) AS float8) FROM node
            WHERE id = :node AND state = 'queued' AND next_at > clock_timestamp()
            """,
            node=node_id,
        )
        return float(rows[0][0]) if rows else None

    def hold(self, claim: Claim, *, lease_s: float) -> None:
        """See the port."""
        self._change(
            claim,
            "lease_until = clock_timestamp() + make_interval(secs => :lease)",
            lease=lease_s,
        )

    def release(
        self,
        claim: Claim,
        *,
        retry_in_s: float,
        error: Mapping[str, object] | None,
        progressed: bool,
    ) -> None:
        """See the port."""
        self._change(
            claim,
            """
            state = 'queued', lease_until = NULL, last_error = CAST(:error AS jsonb),
            next_at = clock_timestamp() + make_interval(secs => :retry),
            attempt = CASE WHEN :progressed THEN 0 ELSE attempt END
            """,
            retry=retry_in_s,
            error=json.dumps(error) if error else None,
            progressed=progressed,
        )

    def quarantine(self, claim: Claim, error: Mapping[str, object]) -> None:
        """See the port."""
        self._put_aside(claim, "quarantined", error)

    def skip(self, claim: Claim, reason: Mapping[str, object]) -> None:
        """See the port."""
        self._put_aside(claim, "skipped", reason)

    def _put_aside(self, claim: Claim, state: NodeState, error: Mapping[str, object]) -> None:
        self._change(
            claim,
            "state = :state, lease_until = NULL, last_error = CAST(:error AS jsonb)",
            state=state,
            error=json.dumps(error),
        )
        self.tx.run(
            "DELETE FROM chunk_set WHERE node_id = :node AND state = 'building'",
            node=claim.node_id,
        )

    def _change(self, claim: Claim, assignments: str, **values: object) -> None:
        # The table first, as whoever deletes it by SQL has it. The foreign key would ask for it at
        # the second change of the node in a transaction, and the two would wait for each other.
        rows = self.tx.run(
            f"""
            WITH held AS (SELECT id FROM context_table WHERE id = :table FOR KEY SHARE)
            UPDATE node SET {assignments} FROM held
            WHERE node.id = :node AND table_id = held.id AND fence = :fence AND state = 'claimed'
            RETURNING node.id
            """,
            table=claim.table_id,
            node=claim.node_id,
            fence=claim.fence,
            **values,
        )
        if not rows:
            raise LeaseLostError("another worker has the node, or it is gone")

    def pardon(self, *, limit: int) -> list[int]:
        """See the port."""
        rows = self.tx.run(
            """
            UPDATE node SET state = 'queued', attempt = 0, next_at = clock_timestamp()
            WHERE id IN (SELECT id FROM node WHERE state = 'quarantined' ORDER BY id LIMIT :limit
                         FOR UPDATE SKIP LOCKED)
            RETURNING id
            """,
            limit=limit,
        )
        return sorted(node_id for [node_id] in rows)

    def abandoned(self, *, silent_s: float, limit: int) -> list[int]:
        """See the port."""
        rows = self.tx.run(
            """
            WITH oldest AS MATERIALIZED (
                SELECT project_id, min(created_at) AS at FROM outbox
                WHERE body ->> 'kind' IN ('node', 'nodes')
                  AND (due_at IS NULL OR due_at <= statement_timestamp())
                GROUP BY project_id)
            UPDATE node SET state = 'queued', lease_until = NULL, next_at = clock_timestamp()
            WHERE id IN (
                SELECT node.id FROM node JOIN context_table ON context_table.id = table_id
                LEFT JOIN oldest ON oldest.project_id = context_table.project_id
                WHERE node.state IN ('queued', 'claimed') AND COALESCE(lease_until, next_at)
                      < statement_timestamp() - make_interval(secs => :silent)
                  AND generation_id IN (
                      SELECT id FROM index_generation WHERE state IN ('active', 'building'))
                  AND (node.state = 'claimed' OR oldest.at IS NULL OR oldest.at > next_at)
                ORDER BY node.id LIMIT :limit FOR UPDATE OF node SKIP LOCKED)
            RETURNING id
            """,
            silent=silent_s,
            limit=limit,
        )
        return sorted(node_id for [node_id] in rows)
