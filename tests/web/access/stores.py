"""Everything that PostgreSQL and the queue hold of others."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache
from typing import Any

from context_search.core.limits import MANAGEMENT_POOL
from tests.web.api import LocalParts

State = dict[str, Set[Any]]
TABLES = """
    SELECT tables.table_name, columns.column_name
    FROM information_schema.tables LEFT JOIN information_schema.columns
        ON columns.table_name = tables.table_name AND columns.table_schema = tables.table_schema
        AND columns.column_name = 'project_id'
    WHERE tables.table_schema IN ('public', 'context_search') AND tables.table_type = 'BASE TABLE'
"""


def state_without(parts: LocalParts, project_id: int) -> State:
    """Every row of every table but those of one project, every message and every object."""
    every_row = _every_row(parts)
    with parts.postgres.database.transaction() as tx:
        held: State = {name: {*rows} for name, rows in tx.run(every_row, project=project_id)}
    # A permit has no column of its project, its pool names it, or is one for all projects.
    own = re.compile(rf"project[ _]{project_id}(?![0-9])|{MANAGEMENT_POOL},")
    held["permit"] = {row for row in held["permit"] if not own.search(row)}
    held["messages"] = {*enumerate(map(repr, parts.queue.messages))}
    held["objects"] = {*parts.objects.contents}
    assert held["chunks"]
    return held


def without_uses(state: State) -> State:
    """Without the keys, whose use is noted."""
    return {name: rows for name, rows in state.items() if name != "api_key"}


@cache
def _every_row(parts: LocalParts) -> str:
    """Returns one statement for all tables: they are many, and tests ask twice."""
    with parts.postgres.database.transaction() as tx:
        tables = tx.run(TABLES)
    return " UNION ALL ".join(
        f"SELECT '{name}', array(SELECT CAST(t AS text) FROM {name} t"
        + (" WHERE project_id IS DISTINCT FROM :project)" if column else ")")
        for name, column in tables
    )
