"""Generations in Postgres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from context_search.core.config import IndexConfig
from context_search.core.model import Index
from context_search.indexing.rules.rebuilds import Size, UnderWay
from context_search.indexing.sql import generations
from context_search.indexing.sql.indexes import INDEX, index_of_row
from context_search.postgres.pool import Transaction

SIZED_NODES, SIZED_CHUNKS = 2_000, 5_000
"""Most strings and chunks whose texts are looked at to say how long all of them are."""
# By the hash of their pointers, so by chance, a few of each table.
_SIZE = """
    WITH compared AS (SELECT table_id FROM comparison WHERE generation_id = :generation),
    looked_at AS MATERIALIZED (
        SELECT char_length(chunk_text) AS characters, octet_length(chunk_text) AS bytes
        FROM compared CROSS JOIN LATERAL (
            SELECT active_set_id FROM node
            WHERE generation_id = :generation AND node.table_id = compared.table_id
              AND active_set_id IS NOT NULL
            ORDER BY pointer_sha256
            LIMIT GREATEST(1, :nodes / (SELECT count(*) FROM compared))
        ) AS sampled
        JOIN chunks ON chunks.set_id = sampled.active_set_id LIMIT :chunks)
    SELECT (SELECT CAST(COALESCE(sum(nodes), 0) AS bigint) FROM node_tally
            WHERE generation_id = :generation),
           (SELECT CAST(COALESCE(sum(chunks), 0) AS bigint) FROM chunk_tally
            WHERE namespace = :namespace)
           - (SELECT count(*) FROM chunks WHERE set_id IN (
                  SELECT chunk_set.id FROM chunk_set JOIN node ON node.id = chunk_set.node_id
                  WHERE (chunk_set.state <> 'active' OR present_count < chunks_count)
                    AND chunk_set.state <> 'active' AND node.generation_id = :generation)),
           count(*), CAST(COALESCE(sum(characters), 0) AS bigint),
           CAST(COALESCE(sum(bytes), 0) AS bigint)
    FROM looked_at
"""
_OUTDATED = "switched_at <= clock_timestamp() - make_interval(secs => :age)"


@dataclass(frozen=True, slots=True)
class Rebuilds:
    """What happens to generations. The caller holds the index' lock."""

    DUE: ClassVar = """
        SELECT CASE state WHEN 'previous' THEN switched_at + make_interval(secs => :keep)
            ELSE now() END
        FROM index_generation WHERE state IN ('queued', 'building', 'previous')
    """
    tx: Transaction

    def previous(self, index_id: int) -> Index | None:
        """Returns the generation that answered before the last switch, while it is kept."""
        return self.newest(index_id, ["previous"])

    def newest(self, index_id: int, states: list[str]) -> Index | None:
        """Returns the newest generation of an index that is in one of these states."""
        rows = self.tx.run(
            f"""
            {INDEX} WHERE search_index.id = :index
              AND generation.state = ANY(CAST(:states AS text[]))
            ORDER BY generation.number DESC LIMIT 1
            """,
            index=index_id,
            states=states,
        )
        return index_of_row(rows[0]) if rows else None

    def outdated(self, *, older_than_s: float, limit: int) -> list[Index]:
        """Returns generations that were switched away from that long ago, the oldest first."""
        rows = self.tx.run(
            f"""
            {INDEX} WHERE generation.state = 'previous' AND {_OUTDATED}
            ORDER BY switched_at, generation.id LIMIT :limit
            """,
            age=older_than_s,
            limit=limit,
        )
        return [index_of_row(row) for row in rows]

    def retire_previous(self, index_id: int, *, older_than_s: float) -> bool:
        """Retires the generation of an index that was switched away from that long ago, if any."""
        condition = f"index_id = :index AND state = 'previous' AND {_OUTDATED}"
        return generations.retire(self.tx, condition, index=index_id, age=older_than_s) > 0

    def start(self, index: Index, config: IndexConfig, *, at_once: int) -> Index:
        """Adds a generation; ``queued`` when the project builds ``at_once`` others already."""
        self._lock_project(index.project_id)
        generation_id = generations.add_rebuild(self.tx, index, config, at_once=at_once)
        return self._one("generation.id = :generation", generation=generation_id)

    def _lock_project(self, project_id: int) -> None:
        self.tx.run("SELECT FROM project WHERE id = :project FOR NO KEY UPDATE", project=project_id)

    def _one(self, condition: str, **values: object) -> Index:
        [row] = self.tx.run(f"{INDEX} WHERE {condition}", **values)
        return index_of_row(row)

    def pending(self, index_id: int) -> Index | None:
        """Returns the generation that is being built or waits to be."""
        return self.newest(index_id, ["queued", "building"])

    def has_index(self, table_id: int | None, config: IndexConfig) -> bool:
        """Tells whether the table has an index whose active generation has this configuration.

        False without a table: a project has one index at most.
        """
        rows = self.tx.run(
            "SELECT FROM search_index WHERE table_id = :table AND config_hash = :hash",
            table=table_id,
            hash=config.config_hash,
        )
        return bool(rows)

    def is_unfinished(self, index: Index) -> bool:
        """Tells whether a generation lacks a node: one that waits, or has failed for good."""
        [[found]] = self.tx.run(
            """
            SELECT EXISTS (SELECT FROM node WHERE generation_id = :generation
                           AND state IN ('queued', 'claimed', 'quarantined'))
            """,
            generation=index.generation.id,
        )
        return bool(found)

    def switch(self, to: Index) -> None:
        """Makes a generation the active one, and the one before it the previous one.

        An earlier one that comes back has to be compared with the document again.
        """
        generations.switch(self.tx, to)

    def promote(self, *, at_once: int) -> list[int]:
        """Lets queued generations begin where the project has room; returns their indexes."""
        promoted: list[int] = []
        waiting = self.tx.run(
            """
            SELECT index_generation.id, project_id FROM index_generation
            JOIN search_index ON search_index.id = index_id
            WHERE state = 'queued' ORDER BY project_id, index_generation.id
            """
        )
        for generation_id, project_id in waiting:
            self._lock_project(project_id)
            promoted += generations.promote(self.tx, generation_id, at_once=at_once)
        return promoted

    def under_way(self) -> UnderWay:
        """Returns how many generations of all projects are not finished."""
        [[building, queued]] = self.tx.run(
            """
            SELECT count(*) FILTER (WHERE state = 'building'),
                   count(*) FILTER (WHERE state = 'queued')
            FROM index_generation
            WHERE state IN ('building', 'queued') AND index_id IS NOT NULL
            """
        )
        return UnderWay(building, queued)

    def building(self, *, limit: int) -> list[int]:
        """Returns indexes with a generation that is being built."""
        rows = self.tx.run(
            """
            SELECT index_id FROM index_generation WHERE state = 'building' AND index_id IS NOT NULL
            ORDER BY index_id LIMIT :limit
            """,
            limit=limit,
        )
        return [index_id for [index_id] in rows]

    def size(self, index: Index) -> Size:
        """Returns what a generation holds."""
        [[nodes, chunks, looked_at, characters, octets]] = self.tx.run(
            _SIZE,
            generation=index.generation.id,
            namespace=index.generation.namespace,
            nodes=SIZED_NODES,
            chunks=SIZED_CHUNKS,
        )
        share = chunks / looked_at if looked_at else 0
        return Size(nodes, chunks, round(characters * share), round(octets * share))
