"""What projects hold, and how much room is left, in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.core.limits import HeldKind, ProjectLimits, Usage
from context_search.core.model import Claim
from context_search.indexing.sql.nodes import queue
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import (
    ITS_TABLE_IS_THERE,
    LIVE,
    TABLE_IS_THERE,
)

_IS_COLD = "used_at < clock_timestamp() - make_interval(secs => :idle)"
_NEEDED_CHUNKS = "CAST(last_error ->> 'chunks' AS bigint)"
_NEEDED_BYTES = "CAST(last_error ->> 'vector_bytes' AS bigint)"
_WAITING = "node.state = 'skipped' AND last_error ->> 'code' = 'PROJECT_FULL'"
# What is left for the index ``mine``; what the project would give up for it is not counted.
_ROOM = f"""
    SELECT CAST(:chunks - COALESCE(sum(chunks), 0) AS bigint) AS chunks,
           CAST(:bytes - COALESCE(sum(vector_bytes), 0) AS bigint) AS vector_bytes
    FROM generation_usage AS used
    WHERE used.project_id = mine.project_id AND used.state <> 'previous' AND NOT (
        used.index_id <> mine.id AND used.{_IS_COLD}
        AND used.used_at < COALESCE(mine.last_searched_at, mine.created_at))
"""
# The same for all indexes of the projects where nodes wait, in one pass from cold to hot; of those
# with room for a node, the one of each project that was searched last.
_ROOM_OF_WAITING = f"""
    WITH waiting AS (
        SELECT index_id, min({_NEEDED_CHUNKS}) AS chunks, min({_NEEDED_BYTES}) AS vector_bytes
        FROM node JOIN index_generation AS generation ON generation.id = generation_id
        WHERE {_WAITING} AND generation.state = 'active' AND {ITS_TABLE_IS_THERE}
        GROUP BY index_id),
    size AS (
        SELECT mine.id, mine.project_id,
               COALESCE(mine.last_searched_at, mine.created_at) AS used_at,
               COALESCE(sum(chunks), 0) AS chunks, COALESCE(sum(vector_bytes), 0) AS vector_bytes
        FROM search_index AS mine
        LEFT JOIN generation_usage AS used ON used.index_id = mine.id AND used.state <> 'previous'
        WHERE mine.project_id IN (
            SELECT project_id FROM search_index JOIN waiting ON waiting.index_id = id)
        GROUP BY mine.id),
    room AS (
        SELECT id, project_id, used_at,
               CAST(:chunks - sum(chunks) OVER project
                    + COALESCE(sum(chunks) FILTER (WHERE {_IS_COLD}) OVER colder, 0) AS bigint)
                   AS chunks,
               CAST(:bytes - sum(vector_bytes) OVER project
                    + COALESCE(sum(vector_bytes) FILTER (WHERE {_IS_COLD}) OVER colder, 0)
                    AS bigint) AS vector_bytes
        FROM size WINDOW project AS (PARTITION BY project_id),
             colder AS (PARTITION BY project_id ORDER BY used_at
                        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP))
    SELECT DISTINCT ON (room.project_id) room.id, room.chunks, room.vector_bytes
    FROM room JOIN waiting ON waiting.index_id = room.id
    WHERE waiting.chunks <= room.chunks AND waiting.vector_bytes <= room.vector_bytes
    ORDER BY room.project_id, used_at DESC, room.id
"""

# pg_column_size reads no document: it is what Postgres stores, compressed.
_HELD: Mapping[HeldKind, str] = {
    "tables": f"""
        SELECT count(*) FROM context_table WHERE project_id = :project AND {TABLE_IS_THERE}
    """,
    "document_bytes": f"""
        SELECT CAST(COALESCE(sum(pg_column_size(data)), 0) + (
            SELECT COALESCE(sum(bytes), 0) FROM upload
            WHERE project_id = :project AND state = 'importing') AS bigint)
        FROM context_table WHERE project_id = :project AND {TABLE_IS_THERE}
    """,
    "tools": f"SELECT count(*) FROM tool WHERE project_id = :project AND {LIVE}",
    "keys": """
        SELECT count(*) FROM api_key
        WHERE project_id = :project AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > clock_timestamp())
    """,
    "mcps": "SELECT count(*) FROM mcp WHERE project_id = :project",
}


@dataclass(frozen=True, slots=True)
class Quotas:
    """What counts is every chunk row of generations that are not retired.

    An index is cold when it was neither searched nor created in the last ``idle_s`` seconds.
    """

    tx: Transaction

    def used(self, project_id: int) -> Usage:
        """Returns what a project holds."""
        [row] = self.tx.run(
            """
            SELECT CAST(COALESCE(sum(chunks), 0) AS bigint),
                   CAST(COALESCE(sum(vector_bytes), 0) AS bigint)
            FROM generation_usage WHERE project_id = :project
            """,
            project=project_id,
        )
        return Usage(*row)

    def held(self, project_id: int, kind: HeldKind) -> int:
        """Returns how much of a kind a project holds; keys are those that are good.

        The bytes of uploads that are being imported count as stored.
        """
        [[held]] = self.tx.run(_HELD[kind], project=project_id)
        return int(held)

    def room(self, index_id: int, limits: ProjectLimits) -> Usage:
        """Returns what an index may still take; below zero when the project is over its limit.

        What the project would give up for it counts as free: earlier generations, and indexes
        that are cold and were not searched since this one was.
        """
        rows = self.tx.run(
            f"SELECT room.* FROM search_index AS mine, LATERAL ({_ROOM}) AS room WHERE id = :index",
            index=index_id,
            **_values(limits),
        )
        return Usage(*rows[0]) if rows else Usage(limits.max_chunks, limits.max_vector_bytes)

    def new_among(self, claims: Sequence[Claim]) -> list[Claim]:
        """Returns the claims that the limit applies to: new nodes of an answering generation.

        A new node has no chunks. A rebuild and a new version of a text are not limited, so that
        what is searchable stays searchable.
        """
        rows = self.tx.run(
            """
            SELECT node.id FROM unnest(CAST(:nodes AS bigint[]), CAST(:hashes AS text[]))
                AS claim (node, hash)
            JOIN node ON node.id = claim.node
            JOIN index_generation AS generation ON generation.id = generation_id
            WHERE generation.state = 'active' AND NOT EXISTS (
                SELECT FROM chunk_set WHERE node_id = node.id
                AND (chunk_set.state = 'active' OR chunk_set.content_hash = claim.hash))
            """,
            nodes=[claim.node_id for claim in claims],
            hashes=[claim.content_hash for claim in claims],
        )
        found = {node_id for [node_id] in rows}
        return [claim for claim in claims if claim.node_id in found]

    def readmit(self, limits: ProjectLimits, *, limit: int) -> list[int]:
        """Queues nodes that were skipped as PROJECT_FULL where there is room now.

        At most ``limit`` of the most recently searched index of each project; returns their ids.
        """
        if not self.tx.run(f"SELECT FROM node WHERE {_WAITING} LIMIT 1"):
            return []
        queued: list[int] = []
        for index_id, *room in self.tx.run(_ROOM_OF_WAITING, **_values(limits)):
            queued += self._readmit(index_id, Usage(*room), limit)
        return queued

    def _readmit(self, index_id: int, room: Usage, limit: int) -> list[int]:
        return queue(
            self.tx,
            f"""
            SELECT id FROM node WHERE id IN (
                SELECT id FROM (
                    SELECT node.id, sum({_NEEDED_CHUNKS}) OVER running AS chunks,
                           sum({_NEEDED_BYTES}) OVER running AS vector_bytes
                    FROM node JOIN index_generation AS generation ON generation.id = generation_id
                    WHERE {_WAITING} AND generation.state = 'active' AND index_id = :index
                      AND {_NEEDED_CHUNKS} <= :chunks AND {_NEEDED_BYTES} <= :bytes
                    WINDOW running AS (ORDER BY node.id)) AS candidate
                WHERE chunks <= :chunks AND vector_bytes <= :bytes ORDER BY id LIMIT :limit)
              AND {_WAITING} ORDER BY id FOR UPDATE
            """,
            index=index_id,
            chunks=room.chunks,
            bytes=room.vector_bytes,
            limit=limit,
        )


def _values(limits: ProjectLimits) -> dict[str, object]:
    return {
        "chunks": limits.max_chunks,
        "bytes": limits.max_vector_bytes,
        "idle": limits.idle_s,
    }
