"""Whether there is nothing to do for an index, asked cheaply: every search asks."""

from __future__ import annotations

from context_search.adapters.postgres.catalog.presence import TABLE_IS_THERE, TOOL_IS_THERE
from context_search.adapters.postgres.pool import Transaction
from context_search.domain.model import Index

_MOVING = f"""
    SELECT EXISTS (SELECT FROM search_index WHERE id = :index AND order_error IS NOT NULL)
        OR EXISTS (SELECT FROM node WHERE generation_id = :generation AND state <> 'indexed')
        OR EXISTS (
            SELECT FROM context_table LEFT JOIN comparison
                ON generation_id = :generation AND comparison.table_id = context_table.id
            WHERE {TABLE_IS_THERE} AND ({{of}})
              AND (comparison.revision IS DISTINCT FROM context_table.revision
                   OR comparison.refused IS NOT NULL {{or_else}}))
"""
_TABLE = _MOVING.format(
    of="context_table.id = :table",
    or_else=f"""
        OR comparison.scopes IS DISTINCT FROM ARRAY(
            SELECT DISTINCT scope COLLATE "C" FROM coverage JOIN tool ON tool.id = tool_id
            WHERE {TOOL_IS_THERE} AND coverage.index_id = :index ORDER BY 1)
    """,
)
_PROJECT = _MOVING.format(of="context_table.project_id = :project", or_else="")


def is_at_rest(tx: Transaction, index: Index) -> bool:
    """Says that every node is indexed and every table compared; False may mean that it is, too.

    ``PostgresNodes.status`` knows in every case, but Postgres takes 2 ms to plan what it asks.
    """
    [[is_moving]] = tx.run(
        _PROJECT if index.table_id is None else _TABLE,
        index=index.id,
        generation=index.generation_id,
        table=index.table_id,
        project=index.project_id,
    )
    return not is_moving
