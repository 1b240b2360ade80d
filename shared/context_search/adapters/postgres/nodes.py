"""Nodes in Postgres: the claims, leases and fences of docs/consistency.md as SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.pool import Transaction, bulk
from context_search.domain.config import IndexConfig
from context_search.domain.errors import LeaseLostError
from context_search.domain.ids import pointer_sha256
from context_search.domain.model import Claim, Index, KnownNode
from context_search.domain.reassembly import text_of_chunks
from context_search.ports.indexing import NodeUpsert


@dataclass(frozen=True, slots=True)
class NodeWork:
    """The half of the port ``Nodes`` that changes nodes."""

    tx: Transaction

    def known(self, generation_id: int) -> list[KnownNode]:
        """See the port."""
        rows = self.tx.run(
            "SELECT id, pointer_sha256, content_hash FROM node WHERE generation_id = :generation",
            generation=generation_id,
        )
        return [KnownNode(*row) for row in rows]

    def upsert(self, index: Index, nodes: Sequence[NodeUpsert]) -> list[int]:
        """See the port. A worker that holds the node loses its fence."""
        # Always in the same order, so that two transactions cannot wait for each other.
        rows = sorted((_row(index, upsert) for upsert in nodes), key=lambda row: str(row["sha"]))
        found = bulk(
            self.tx,
            """
            INSERT INTO node (generation_id, table_id, json_pointer, pointer_sha256, content_hash,
                              char_count, content, state, last_error)
            SELECT generation_id, table_id, json_pointer, decode(sha, 'hex'), content_hash,
                   char_count, content, state, last_error
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
                generation_id bigint, table_id bigint, json_pointer text, sha text,
                content_hash text, char_count int, content text, state text, last_error jsonb)
            ON CONFLICT (generation_id, pointer_sha256) DO UPDATE SET
                content_hash = excluded.content_hash, char_count = excluded.char_count,
                content = excluded.content, state = excluded.state,
                last_error = excluded.last_error, fence = node.fence + 1, attempt = 0,
                lease_until = NULL, next_at = clock_timestamp(), changed_at = clock_timestamp()
            RETURNING id, state
            """,
            rows,
        )
        return [node_id for node_id, state in found if state == "queued"]

    def remove(self, node_ids: Sequence[int]) -> None:
        """See the port."""
        if node_ids:
            self.tx.run(
                "DELETE FROM node WHERE id = ANY(CAST(:ids AS bigint[]))", ids=sorted(node_ids)
            )

    def claim(self, node_id: int, *, lease_s: float) -> Claim | None:
        """See the port."""
        rows = self.tx.run(
            """
            UPDATE node SET state = 'claimed', fence = fence + 1, attempt = attempt + 1,
                lease_until = clock_timestamp() + make_interval(secs => :lease)
            FROM index_generation AS generation
            JOIN search_index ON search_index.id = generation.index_id
            JOIN context_table ON context_table.id = search_index.table_id
            WHERE node.id = :node AND generation.id = node.generation_id
              AND generation.state IN ('active', 'building') AND context_table.deleted_at IS NULL
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
        self._change(
            claim,
            "state = 'quarantined', lease_until = NULL, last_error = CAST(:error AS jsonb)",
            error=json.dumps(error),
        )
        self.tx.run(
            "DELETE FROM chunk_set WHERE node_id = :node AND state = 'building'",
            node=claim.node_id,
        )

    def _change(self, claim: Claim, assignments: str, **values: object) -> None:
        rows = self.tx.run(
            f"""
            UPDATE node SET {assignments}
            WHERE id = :node AND fence = :fence AND state = 'claimed' RETURNING id
            """,
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
            UPDATE node SET state = 'queued', lease_until = NULL, next_at = clock_timestamp()
            WHERE id IN (
                SELECT id FROM node WHERE state IN ('queued', 'claimed')
                  AND COALESCE(lease_until, next_at)
                      < clock_timestamp() - make_interval(secs => :silent)
                ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED)
            RETURNING id
            """,
            silent=silent_s,
            limit=limit,
        )
        return sorted(node_id for [node_id] in rows)


def _row(index: Index, upsert: NodeUpsert) -> dict[str, object]:
    skipped = upsert.skip_reason is not None
    return {
        "generation_id": index.generation_id,
        "table_id": index.table_id,
        "json_pointer": upsert.node.json_pointer,
        "sha": pointer_sha256(upsert.node.json_pointer).hex(),
        "content_hash": upsert.content_hash,
        "char_count": len(upsert.node.text),
        "content": None if skipped else upsert.node.text,
        "state": "skipped" if skipped else "queued",
        "last_error": upsert.skip_reason,
    }
