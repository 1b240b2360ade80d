"""Nodes in Postgres as the enumeration writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.pool import Transaction, bulk
from context_search.domain.ids import pointer_sha256
from context_search.domain.model import Index, KnownNode
from context_search.ports.indexing import NodeUpsert


@dataclass(frozen=True, slots=True)
class NodeRows:
    """The part of the port ``Nodes`` that makes nodes those of a document."""

    tx: Transaction

    def known(self, generation_id: int, table_id: int) -> list[KnownNode]:
        """See the port."""
        rows = self.tx.run(
            """
            SELECT id, pointer_sha256, content_hash FROM node
            WHERE generation_id = :generation AND table_id = :table
            """,
            generation=generation_id,
            table=table_id,
        )
        return [KnownNode(*row) for row in rows]

    def upsert(self, index: Index, table_id: int, nodes: Sequence[NodeUpsert]) -> list[int]:
        """See the port. A worker that holds the node loses its fence."""
        # Always in the same order, so that two transactions cannot wait for each other.
        rows = sorted(
            (_row(index, table_id, upsert) for upsert in nodes), key=lambda row: str(row["sha"])
        )
        found = bulk(
            self.tx,
            """
            INSERT INTO node (generation_id, table_id, json_pointer, pointer_sha256, content_hash,
                              char_count, content, state, last_error)
            SELECT generation_id, table_id, json_pointer, decode(sha, 'hex'), content_hash,
                   char_count, content, state,
                   last_error || jsonb_build_object('at', clock_timestamp())
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
                generation_id bigint, table_id bigint, json_pointer text, sha text,
                content_hash text, char_count int, content text, state text, last_error jsonb)
            ON CONFLICT (generation_id, table_id, pointer_sha256) DO UPDATE SET
                content_hash = excluded.content_hash, char_count = excluded.char_count,
                content = excluded.content, state = excluded.state,
                last_error = excluded.last_error, fence = node.fence + 1, attempt = 0,
                active_set_id = CASE WHEN excluded.state = 'queued' THEN node.active_set_id END,
                lease_until = NULL, next_at = clock_timestamp(), changed_at = clock_timestamp()
            RETURNING id, state
            """,
            rows,
        )
        self._remove_sets([node_id for node_id, state in found if state == "skipped"])
        return [node_id for node_id, state in found if state == "queued"]

    def _remove_sets(self, node_ids: Sequence[int]) -> None:
        if node_ids:
            self.tx.run(
                "DELETE FROM chunk_set WHERE node_id = ANY(CAST(:ids AS bigint[]))",
                ids=sorted(node_ids),
            )

    def remove(self, node_ids: Sequence[int]) -> None:
        """See the port."""
        if node_ids:
            self.tx.run(
                "DELETE FROM node WHERE id = ANY(CAST(:ids AS bigint[]))", ids=sorted(node_ids)
            )


def _row(index: Index, table_id: int, upsert: NodeUpsert) -> dict[str, object]:
    skipped = upsert.skip_reason is not None
    return {
        "generation_id": index.generation_id,
        "table_id": table_id,
        "json_pointer": upsert.node.json_pointer,
        "sha": pointer_sha256(upsert.node.json_pointer).hex(),
        "content_hash": upsert.content_hash,
        "char_count": len(upsert.node.text),
        "content": None if skipped else upsert.node.text,
        "state": "skipped" if skipped else "queued",
        "last_error": upsert.skip_reason,
    }
