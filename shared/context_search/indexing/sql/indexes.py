"""Indexes and their generations in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_search.core.config import IndexConfig
from context_search.core.ids import table_namespace
from context_search.core.model import Generation, Index, IndexCalibration
from context_search.indexing.sql import generations
from context_search.postgres.pool import Transaction
from context_search.postgres.session import Statement
from context_search.postgres.table_lock import lock_table
from context_search.postgres.visible_rows import TOOL_IS_THERE, project_is_there

INDEX_COLUMNS = """
    search_index.id, search_index.project_id, search_index.table_id, generation.config,
    generation.id, generation.namespace, generation.state, generation.number,
    EXISTS (SELECT FROM index_generation AS pending WHERE pending.index_id = search_index.id
            AND pending.state IN ('queued', 'building')),
    search_index.evicted_at,
    COALESCE(search_index.last_searched_at, search_index.created_at)
        < clock_timestamp() - interval '1 minute',
    search_index.evicted_by, COALESCE(search_index.filterable, '{}'), generation.calibration
"""
INDEX = f"""
    SELECT {INDEX_COLUMNS}
    FROM search_index JOIN index_generation AS generation ON generation.index_id = search_index.id
"""
_LOCK = "hashtextextended('context_search.index', :index)"
ACTIVE = "generation.id = search_index.active_generation_id"


_OF_PROJECT = f"""
    {INDEX} WHERE {ACTIVE} AND search_index.project_id = :project AND search_index.table_id IS NULL
"""


_PAGE = f"""
    {INDEX} WHERE {ACTIVE} AND search_index.id > :after
      AND {project_is_there("search_index.project_id")}
    ORDER BY search_index.id LIMIT :limit
"""


def project_statement(project_id: int) -> Statement:
    """Returns the statement of ``Indexes.of_project``."""
    return _OF_PROJECT, {"project": project_id}


def project_index(rows: Sequence[Sequence[Any]]) -> Index | None:
    """Return the index in the rows of ``project_statement``."""
    return index_of_row(rows[0]) if rows else None


@dataclass(frozen=True, slots=True)
class Indexes:
    """Indexes, seen through one of their generations."""

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

    def page(self, *, after: int, limit: int) -> list[Index]:
        """Returns indexes of all projects that are there with ids above ``after``, ascending."""
        rows = self.tx.run(_PAGE, after=after, limit=limit)
        return [index_of_row(row) for row in rows]

    def of_project(self, project_id: int) -> Index | None:
        """Returns the index over all tables of a project, if it has one."""
        sql, parameters = project_statement(project_id)
        return project_index(self.tx.run(sql, **parameters))

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

    def retire(self, index_id: int) -> None:
        """Removes an index; its generation waits for ``cleanup`` to delete the namespace."""
        generations.retire(self.tx, "index_id = :index", index=index_id)
        self.tx.run("DELETE FROM search_index WHERE id = :index", index=index_id)


def index_of_row(row: Sequence[Any]) -> Index:
    """Returns the index of a row of ``INDEX``."""
    index_id, project_id, table_id, config, each, namespace, state, number, *rest = row
    *of_index, names, found = rest
    calibration = None if found is None else IndexCalibration.from_json(found)
    generation = Generation(each, namespace, state, number, calibration)
    known = IndexConfig.from_json(config)
    return Index(*[index_id, project_id, table_id, known, generation, *of_index, tuple(names)])
