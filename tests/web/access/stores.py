"""The parts over two stores, and everything that a store holds of others."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cached_property
from typing import Any

from context_search.core.limits import MANAGEMENT_POOL
from context_search.postgres.pool import Transaction
from testing.in_memory.vectors import DictVectors
from tests.faults.simulation.model.journal import Journaled
from tests.faults.simulation.model.store import MemoryStore
from tests.web.api import LocalParts

State = dict[str, Set[Any]]
TABLES = """
    SELECT tables.table_name, columns.column_name
    FROM information_schema.tables LEFT JOIN information_schema.columns
        ON columns.table_name = tables.table_name AND columns.table_schema = tables.table_schema
        AND columns.column_name = 'project_id'
    WHERE tables.table_schema IN ('public', 'context_search') AND tables.table_type = 'BASE TABLE'
"""


class MemoryParts(LocalParts):
    """The same without any other process: rows and vectors are in dictionaries."""

    def __init__(self) -> None:
        super().__init__(None, "")

    @cached_property
    def postgres(self) -> MemoryStore:  # type: ignore[override]
        """Rows in memory."""
        return MemoryStore(self.clock)

    @cached_property
    def vectors(self) -> DictVectors:  # type: ignore[override]
        """The port ``VectorStore``."""
        return DictVectors()


def state_without(parts: LocalParts, project_id: int) -> State:
    """Every row of every table but those of one project, every message and every object."""
    held = _of_memory(parts, project_id) if isinstance(parts, MemoryParts) else None
    if held is None:
        with parts.postgres.database.transaction() as tx:
            held = _of_postgres(tx, project_id)
    # A permit has no column of its project, its pool names it, or is one for all projects.
    own = re.compile(rf"project[ _]{project_id}(?![0-9])|{MANAGEMENT_POOL}['\"]?,")
    for name in {"permit", "permits"} & held.keys():
        held[name] = {row for row in held[name] if not own.search(str(row))}
    held["messages"] = {*enumerate(map(repr, parts.queue.messages))}
    held["objects"] = {*parts.objects.contents}
    assert held["chunks"]
    return held


def _of_postgres(tx: Transaction, project_id: int) -> State:
    rows: State = {}
    for name, column in tx.run(TABLES):
        where = f"WHERE project_id IS DISTINCT FROM {project_id}" if column else ""
        rows[name] = {*map(tuple, tx.run(f"SELECT CAST(t AS text) FROM {name} t {where}"))}
    return rows


def _of_memory(parts: MemoryParts, project_id: int) -> State:
    rows = vars(parts.postgres.rows)
    tables: dict[str, Any] = {n: table for n, table in rows.items() if isinstance(table, Journaled)}
    held: State = {
        name: {_kept(item) for item in table.items() if _owner(item[1]) != project_id}
        for name, table in tables.items()
    }
    held["documents"] = {
        (namespace, _kept(item))
        for namespace, documents in parts.vectors.namespaces.items()
        for item in documents.items()
    }
    return held


def _kept(item: object) -> object:
    """A row, or how it looks now if something in it can be changed in place."""
    try:
        hash(item)
    except TypeError:
        return repr(item)
    return item


def _owner(row: object) -> object:
    return getattr(getattr(row, "owner", row), "project_id", None)
