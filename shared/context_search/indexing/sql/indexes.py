"""Indexes and their generations in Postgres: built, switched, evicted, revived."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from context_search.core.config import IndexConfig
from context_search.core.ids import namespace_prefix, table_namespace
from context_search.core.limits import ProjectLimits
from context_search.core.model import Index, IndexCalibration
from context_search.core.progress import EvictionCause
from context_search.indexing.rules.indexes import SampledRow, Size, UnderWay
from context_search.indexing.sql import generations
from context_search.postgres.locks import lock_table
from context_search.postgres.pool import Transaction
from context_search.postgres.tool_rows import (
    ACTIVE,
    INDEX,
    INDEX_OF_PROJECT,
    USED_AT,
    index_of_row,
)
from context_search.postgres.visible_rows import TOOL_IS_THERE, project_is_there

_LOCK = "hashtextextended('context_search.index', :index)"
_PAGE = f"""
    {INDEX} WHERE {ACTIVE} AND search_index.id > :after
      AND {project_is_there("search_index.project_id")}
    ORDER BY search_index.id LIMIT :limit
"""
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
_IDLE_SINCE = "clock_timestamp() - make_interval(secs => :idle)"
_SPARE = 4
"""How many times as many chunks are looked at as are wanted: some are of sets that do not answer,
some have the same text.
"""
_HASHES = 2**64
# A large index is not read as a whole: hashes are spread evenly, so the least ones lie below a
# bound that is known beforehand, and an index finds them.
_SAMPLE = """
    SELECT DISTINCT ON (chunks.input_hash) chunks.chunk_text, chunks.table_id, chunks.json_pointer,
           chunks.chunk_index, chunks.turbopuffer_doc_id, chunks.window_count
    FROM chunks JOIN chunk_set ON chunk_set.id = chunks.set_id
    JOIN node ON node.id = chunk_set.node_id AND node.active_set_id = chunks.set_id
    WHERE chunks.turbopuffer_namespace = :namespace AND chunks.present
      AND chunks.input_hash < CAST(:below AS bytea)
    ORDER BY chunks.input_hash, chunks.json_pointer COLLATE "C", chunks.chunk_index, chunks.id
    LIMIT :limit
"""


@dataclass(frozen=True, slots=True)
class Indexes:
    """Indexes, seen through one of their generations.

    Who changes a generation holds the lock of its index.
    """

    DUE: ClassVar = """
        SELECT CASE state WHEN 'previous' THEN switched_at + make_interval(secs => :keep)
            ELSE now() END
        FROM index_generation WHERE state IN ('queued', 'building', 'previous')
        UNION ALL SELECT now() WHERE EXISTS (
            SELECT FROM generation_usage GROUP BY project_id
            HAVING sum(chunks) > :chunks OR sum(vector_bytes) > :bytes)
    """
    tx: Transaction

    def find_or_add(self, *, project_id: int, table_id: int, config: IndexConfig) -> Index:
        """Returns the table's index of that configuration, created with its first generation.

        An index that is being rebuilt to that configuration is the one.

        The caller holds the table's lock, so two cannot add the same index.
        """
        found = self._of_config(table_id, config)
        if found is not None:
            return found
        deployment = generations.deployment(self.tx)
        name = table_namespace(deployment, project_id=project_id, table_id=table_id)
        is_taken = self.tx.run("SELECT FROM index_generation WHERE namespace = :name", name=name)
        return self._add(project_id, table_id, config, None if is_taken else name)

    def namespace_prefix(self) -> str:
        """Returns how the names of this deployment's namespaces begin; see ``core.ids``."""
        return namespace_prefix(generations.deployment(self.tx))

    def page(self, *, after: int, limit: int) -> list[Index]:
        """Returns indexes of all projects that are there with ids above ``after``, ascending."""
        rows = self.tx.run(_PAGE, after=after, limit=limit)
        return [index_of_row(row) for row in rows]

    def of_project(self, project_id: int) -> Index | None:
        """Returns the index over all tables of a project, if it has one."""
        rows = self.tx.run(INDEX_OF_PROJECT, project=project_id)
        return index_of_row(rows[0]) if rows else None

    def add_to_project(self, project_id: int, config: IndexConfig) -> Index:
        """Creates the index over all tables. The caller holds the project's lock and asked first.

        Whoever adds a table later orders its comparison; the caller orders that of the others.
        """
        return self._add(project_id, None, config, None)

    def _of_config(self, table_id: int, config: IndexConfig) -> Index | None:
        """An index that is being rebuilt to the configuration counts too: it will have it soon."""
        rows = self.tx.run(
            f"""
            {INDEX} WHERE {ACTIVE} AND search_index.table_id = :table AND (
                config_hash = :hash OR EXISTS (
                    SELECT FROM index_generation AS pending
                    WHERE pending.index_id = search_index.id
                      AND pending.state IN ('queued', 'building')
                      AND pending.config = CAST(:config AS jsonb)))
            ORDER BY search_index.id
            """,
            table=table_id,
            hash=config.config_hash,
            config=config.to_json(),
        )
        return index_of_row(rows[0]) if rows else None

    def _add(
        self, project_id: int, table_id: int | None, config: IndexConfig, namespace: str | None
    ) -> Index:
        [[index_id]] = self.tx.run(
            """
            INSERT INTO search_index (project_id, table_id, config, config_hash)
            VALUES (:project, :table, CAST(:config AS jsonb), :hash) RETURNING id
            """,
            project=project_id,
            table=table_id,
            config=config.to_json(),
            hash=config.config_hash,
        )
        generation = generations.add_active(
            self.tx,
            index_id,
            config,
            project_id=project_id,
            table_id=table_id,
            namespace=namespace,
        )
        return Index(index_id, project_id, table_id, config, generation)

    def find(self, index_id: int) -> Index | None:
        """Returns an index, seen through its active generation."""
        rows = self.tx.run(f"{INDEX} WHERE {ACTIVE} AND search_index.id = :index", index=index_id)
        return index_of_row(rows[0]) if rows else None

    def lock(self, index: Index) -> bool:
        """Keeps an index from being compared, switched or given up by another transaction.

        False when the index, or its table, is gone.

        A table's lock is that of all its indexes.
        """
        if index.table_id is not None:
            return lock_table(self.tx, index.table_id) is not None
        self.tx.run(f"SELECT pg_advisory_xact_lock({_LOCK})", index=index.id)
        return bool(self.tx.run("SELECT FROM search_index WHERE id = :index", index=index.id))

    def share(self, index: Index) -> None:
        """Keeps an index from being switched or given up; the caller holds one table's lock."""
        if index.table_id is None:
            self.tx.run(f"SELECT pg_advisory_xact_lock_shared({_LOCK})", index=index.id)

    def name_fields(self, index_id: int, names: Sequence[str]) -> None:
        """Says which fields an index keeps with its strings; new ones have it compared again."""
        self.tx.run(
            "UPDATE search_index SET filterable = CAST(:names AS text[]) WHERE id = :index",
            index=index_id,
            names=list(names) or None,
        )

    def of_tables(self, table_ids: Sequence[int]) -> list[int]:
        """Returns the ids of the indexes of tables, ascending."""
        rows = self.tx.run(
            """
            SELECT id FROM search_index WHERE table_id = ANY(CAST(:tables AS bigint[]))
            ORDER BY id
            """,
            tables=table_ids,
        )
        return [index_id for [index_id] in rows]

    def live(self, index_id: int) -> list[Index]:
        """Returns an index through every generation that follows its document: active, building."""
        rows = self.tx.run(
            f"""
            {INDEX} WHERE search_index.id = :index AND generation.state IN ('active', 'building')
            ORDER BY generation.number
            """,
            index=index_id,
        )
        return [index_of_row(row) for row in rows]

    def with_incomplete_tools(self, *, limit: int) -> list[int]:
        """Returns indexes with a tool whose written summary does not say ``ready``.

        Of an evicted index it has to say ``evicted``. Those that were not returned for the
        longest time come first, so that none has to wait for ever.
        """
        rows = self.tx.run(
            f"""
            WITH chosen AS (
                SELECT id, summarised_at FROM search_index WHERE EXISTS (
                    SELECT FROM coverage JOIN tool ON tool.id = coverage.tool_id
                    WHERE coverage.index_id = search_index.id AND {TOOL_IS_THERE}
                      AND (tool.metadata -> 'search_index' ->> 'status') IS DISTINCT FROM
                          CASE WHEN search_index.evicted_at IS NULL THEN 'ready' ELSE 'evicted' END)
                ORDER BY summarised_at NULLS FIRST, id LIMIT :limit FOR UPDATE SKIP LOCKED),
            taken AS (
                UPDATE search_index SET summarised_at = statement_timestamp()
                WHERE id IN (SELECT id FROM chosen))
            SELECT id FROM chosen ORDER BY summarised_at NULLS FIRST, id
            """,
            limit=limit,
        )
        return [index_id for [index_id] in rows]

    def retire_absent(self) -> None:
        """Retires generations of deleted tables; those of tables in their owner's trash stay."""
        generations.retire(
            self.tx,
            """
            index_id IS NULL  -- another program deleted the table itself
            OR index_id IN (
                SELECT search_index.id FROM search_index
                JOIN context_table ON context_table.id = search_index.table_id
                WHERE context_search_remove_at IS NOT NULL)
            """,
        )

    def retire(self, index_id: int) -> None:
        """Removes an index; its generation waits for ``cleanup`` to delete the namespace."""
        generations.retire(self.tx, "index_id = :index", index=index_id)
        self.tx.run("DELETE FROM search_index WHERE id = :index", index=index_id)

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

    def start_rebuild(self, index: Index, config: IndexConfig, *, at_once: int) -> Index:
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

    def rebuilds_under_way(self) -> UnderWay:
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

    def next_to_go(self, limits: ProjectLimits) -> Index | None:
        """Returns the generation that a project over its limit gives up next.

        A previous generation goes first, then a generation of its coldest index: the active one, or
        the one being built, if that holds chunks and the active one holds none.
        """
        rows = self.tx.run(
            f"""
            {INDEX} JOIN generation_usage AS used ON used.generation_id = generation.id
            WHERE used.chunks > 0 AND used.project_id IN (
                SELECT project_id FROM generation_usage GROUP BY project_id
                HAVING sum(chunks) > :chunks OR sum(vector_bytes) > :bytes)
              AND (generation.state = 'previous' OR {USED_AT} < {_IDLE_SINCE})
            ORDER BY generation.state <> 'previous',
                     CASE generation.state WHEN 'previous' THEN switched_at ELSE {USED_AT} END,
                     search_index.id, generation.id LIMIT 1
            """,
            chunks=limits.max_chunks,
            bytes=limits.max_vector_bytes,
            idle=limits.idle_s,
        )
        return index_of_row(rows[0]) if rows else None

    def give_up(self, going: Index, limits: ProjectLimits) -> bool:
        """Retires a previous generation, or evicts an index; False when it is searched again.

        An evicted index keeps an empty active generation. The caller holds the index' lock.
        """
        if going.generation.state == "previous":
            generations.retire(self.tx, "id = :id", id=going.generation.id)
            return True
        return self._evict(going, "limit", f"{USED_AT} < {_IDLE_SINCE}", idle=limits.idle_s)

    def clear(self, index: Index) -> bool:
        """Evicts an index because an operator wants it, whether it is cold or not.

        False when it was evicted already. The caller holds the table's lock.
        """
        return self._evict(index, "operator", "true")

    def _evict(self, index: Index, cause: EvictionCause, condition: str, **values: object) -> bool:
        evicted = self.tx.run(
            f"""
            UPDATE search_index SET evicted_at = clock_timestamp(), evicted_by = :cause
            WHERE id = :index AND evicted_at IS NULL AND {condition} RETURNING id
            """,
            index=index.id,
            cause=cause,
            **values,
        )
        if not evicted:
            return False
        generations.retire(self.tx, "index_id = :index", index=index.id)
        generations.add_active(
            self.tx, index.id, index.config, project_id=index.project_id, table_id=index.table_id
        )
        return True

    def revive(self, index_id: int) -> bool:
        """Makes an evicted index an ordinary one, which is empty; False when it was not evicted."""
        rows = self.tx.run(
            """
            UPDATE search_index SET evicted_at = NULL, evicted_by = NULL,
                last_searched_at = clock_timestamp()
            WHERE id = :index AND evicted_at IS NOT NULL RETURNING id
            """,
            index=index_id,
        )
        return bool(rows)

    def note_search(self, index_id: int) -> None:
        """Notes that an index was searched, at most once a minute."""
        self.tx.run(
            f"""
            UPDATE search_index SET last_searched_at = clock_timestamp()
            WHERE id = :index AND {USED_AT} < clock_timestamp() - interval '1 minute'
            """,
            index=index_id,
        )

    def chunk_count(self, index: Index) -> int:
        """Returns how many chunks a generation holds, those on the way included; cheap."""
        [[chunks]] = self.tx.run(
            """
            SELECT CAST(COALESCE(sum(chunks), 0) AS bigint) FROM chunk_tally
            WHERE namespace = :namespace
            """,
            namespace=index.generation.namespace,
        )
        return int(chunks)

    def sample(self, index: Index, *, limit: int) -> list[SampledRow]:
        """Returns up to ``limit`` chunks of active sets, chosen and ordered by the hash of what
        was embedded: the same ones for equal content. Each text once.
        """
        share = _SPARE * limit / max(1, self.chunk_count(index))
        if share < 1:
            found = self._below(index, int(share * _HASHES).to_bytes(8, "big"), limit)
            if len(found) == limit:
                return found
        return self._below(index, b"\xff" * 33, limit)

    def _below(self, index: Index, bound: bytes, limit: int) -> list[SampledRow]:
        rows = self.tx.run(_SAMPLE, namespace=index.generation.namespace, below=bound, limit=limit)
        return [SampledRow(*row) for row in rows]

    def note_calibration(self, index: Index, found: IndexCalibration) -> bool:
        """Stores what was found; False when the generation does not answer any more."""
        noted = self.tx.execute(
            """
            UPDATE index_generation SET calibration = CAST(:found AS jsonb)
            WHERE id = :generation AND state = 'active'
            """,
            found=found.to_json(),
            generation=index.generation.id,
        )
        return noted > 0

    def asked_vectors(self, model: str, dimensions: int, questions: bytes) -> list[Sequence[float]]:
        """Returns the vectors that were kept for a model; none when none are.

        ``questions`` is a hash that stands for the list of questions, and for how it was embedded.
        """
        rows = self.tx.run(
            """
            SELECT vectors FROM asked_vectors WHERE model = :model
              AND dimensions = :dimensions AND questions = :questions
            """,
            model=model,
            dimensions=dimensions,
            questions=questions,
        )
        form = struct.Struct(f"<{dimensions}f")
        return [vector for [kept] in rows for vector in form.iter_unpack(kept)]

    def keep_asked_vectors(
        self, model: str, dimensions: int, questions: bytes, vectors: Sequence[Sequence[float]]
    ) -> None:
        """Keeps the vectors of questions, in f32; those of another list for the model go."""
        form = struct.Struct(f"<{dimensions}f")
        self.tx.run(
            """
            INSERT INTO asked_vectors (model, dimensions, questions, vectors)
            VALUES (:model, :dimensions, :questions, :vectors)
            ON CONFLICT (model, dimensions) DO UPDATE SET
                questions = excluded.questions, vectors = excluded.vectors
            """,
            model=model,
            dimensions=dimensions,
            questions=questions,
            vectors=b"".join(form.pack(*vector) for vector in vectors),
        )
