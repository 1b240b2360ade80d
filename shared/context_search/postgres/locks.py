"""Locks that several features take."""

from __future__ import annotations

from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import TABLE_IS_THERE, TABLE_OF_CALLER

KEYS_TURN = "pg_advisory_xact_lock(hashtextextended('context_search.keys', project_id))"
"""Who locks several keys of a project does so alone: two could wait for each other for ever."""


def lock_table(tx: Transaction, table_id: int, *, with_project: bool = False) -> int | None:
    """Lock a table against changes and comparisons; return its revision, None without a table."""
    # Two transactions may share the row lock; only one at a time may compare an index.
    # Fifty who create tools of one table take turns; a request has 29 seconds for it. What
    # the transaction locks afterwards is waited for as long as usual.
    [[usual, _]] = tx.run(
        "SELECT current_setting('lock_timeout'), set_config('lock_timeout', '9s', true)"
    )
    tx.run(
        "SELECT pg_advisory_xact_lock(hashtextextended('context_search.table', :table))",
        table=table_id,
    )
    tx.run("SELECT set_config('lock_timeout', :usual, true)", usual=usual)
    if with_project:
        tx.run(
            f"""
            SELECT FROM project WHERE id = (
                SELECT project_id FROM context_table
                WHERE id = :table AND {TABLE_OF_CALLER}) FOR KEY SHARE
            """,
            table=table_id,
        )
    rows = tx.run(
        f"""
        SELECT revision FROM context_table
        WHERE id = :table AND {TABLE_OF_CALLER} AND {TABLE_IS_THERE} FOR SHARE
        """,
        table=table_id,
    )
    return int(rows[0][0]) if rows else None
