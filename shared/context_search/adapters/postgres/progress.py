"""How far nodes are, in Postgres."""

from __future__ import annotations

import json
from dataclasses import dataclass

from context_search.adapters.postgres.nodes import NodeWork
from context_search.domain.model import Index
from context_search.domain.progress import (
    IndexStatus,
    NodeProgress,
    NodeState,
    Progress,
    eviction_reason,
    index_status,
)

_IN_SCOPE = """
    node.generation_id = :generation
    AND (:scope = '' OR json_pointer = :scope OR starts_with(json_pointer, :scope || '/'))
"""
_FULL = "bool_or(node.state = 'skipped' AND last_error ->> 'code' = 'PROJECT_FULL')"
# The set that answers, or while there is none the one that is being built.
_SET = """
    LEFT JOIN LATERAL (
        SELECT chunks_count, present_count FROM chunk_set
        WHERE node_id = node.id AND state IN ('active', 'building') ORDER BY state LIMIT 1
    ) AS current_set ON true
"""


@dataclass(frozen=True, slots=True)
class PostgresNodes(NodeWork):
    """The port ``Nodes``: what changes nodes, and here what counts them."""

    def status(self, index: Index, *, stalled_s: float) -> IndexStatus:
        """See the port."""
        rows = self.tx.run(
            f"""
            SELECT state, count(*), {_FULL} FROM node
            WHERE generation_id = :generation AND state <> 'indexed' GROUP BY state
            """,
            generation=index.generation_id,
        )
        states = {row[0]: row[1] for row in rows}
        return self._status(index, states, stalled_s, full=any(row[2] for row in rows))

    def _status(
        self, index: Index, states: dict[NodeState, int], stalled_s: float, *, full: bool
    ) -> IndexStatus:
        [[behind, stalled]] = self.tx.run(
            """
            SELECT EXISTS (
                SELECT FROM context_table WHERE id = :table
                AND revision IS DISTINCT FROM CAST(:revision AS bigint)),
            EXISTS (
                SELECT FROM node WHERE generation_id = :generation
                AND state IN ('queued', 'claimed') AND COALESCE(lease_until, next_at)
                    < statement_timestamp() - make_interval(secs => :stalled))
            AND NOT EXISTS (
                SELECT FROM node WHERE generation_id = :generation AND (
                    state = 'claimed' AND lease_until > statement_timestamp()
                    OR indexed_at > statement_timestamp() - make_interval(secs => :stalled)))
            """,
            table=index.table_id,
            revision=index.enumerated_revision,
            generation=index.generation_id,
            stalled=stalled_s,
        )
        return index_status(
            states,
            behind=behind,
            stalled=stalled,
            full=full,
            rebuilding=index.is_rebuilding,
            evicted=index.evicted_at is not None,
        )

    def progress(self, index: Index, scope: str, *, stalled_s: float) -> Progress:
        """See the port."""
        rows = self.tx.run(
            f"""
            SELECT node.state, count(*), {_FULL}, CAST(COALESCE(sum(chunks_count), 0) AS bigint),
                   CAST(COALESCE(sum(present_count), 0) AS bigint), max(indexed_at)
            FROM node {_SET} WHERE {_IN_SCOPE} GROUP BY node.state
            """,
            generation=index.generation_id,
            scope=scope,
        )
        states: dict[NodeState, int] = {row[0]: row[1] for row in rows}
        return Progress(
            status=self._status(index, states, stalled_s, full=any(row[2] for row in rows)),
            nodes_count=sum(states.values()),
            states=states,
            chunks_count=sum(row[3] for row in rows),
            indexed_chunks_count=sum(row[4] for row in rows),
            indexed_at=max((row[5] for row in rows if row[5]), default=None),
            last_error=eviction_reason(index.evicted_at) or self._last_error(index, scope),
        )

    def _last_error(self, index: Index, scope: str) -> dict[str, object] | None:
        rows = self.tx.run(
            f"""
            SELECT last_error FROM node WHERE {_IN_SCOPE} AND last_error IS NOT NULL
            ORDER BY last_error ->> 'at' DESC NULLS LAST, id DESC LIMIT 1
            """,
            generation=index.generation_id,
            scope=scope,
        )
        return json.loads(rows[0][0]) if rows else None

    def in_scope(self, index: Index, scope: str, *, limit: int) -> list[NodeProgress]:
        """See the port."""
        rows = self.tx.run(
            f"""
            SELECT json_pointer, char_count, node.state, chunks_count, last_error
            FROM node {_SET} WHERE {_IN_SCOPE} ORDER BY json_pointer COLLATE "C" LIMIT :limit
            """,
            generation=index.generation_id,
            scope=scope,
            limit=limit,
        )
        return [
            NodeProgress(pointer, characters, state, chunks, json.loads(error) if error else None)
            for pointer, characters, state, chunks, error in rows
        ]
