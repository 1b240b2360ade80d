"""Readings of the whole database."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.indexing.sql.outbox import IS_DUE
from context_search.maintenance.rules.gauges import Readings
from context_search.postgres.pool import Transaction

_REFUSED = "SELECT claimed_at AS since FROM outbox WHERE sent_at IS NULL"
POLICIES_BIND = "row_security_active('context_search.node')"
"""Not the owner of the tables, and no role with BYPASSRLS."""
# Whose turn it is in a project that has nothing in the queue, and of which nobody took anything.
_UNTAKEN = f"""
    SELECT GREATEST(created_at, due_at) FROM (
        SELECT DISTINCT ON (project_id) project_id, created_at, due_at FROM outbox
        WHERE sent_at IS NULL AND {IS_DUE} ORDER BY project_id, id) AS first
    WHERE NOT EXISTS (
        SELECT FROM outbox WHERE outbox.project_id = first.project_id
        AND CASE WHEN sent_at IS NULL THEN claimed_at IS NOT NULL ELSE {IS_DUE} END)
"""


@dataclass(frozen=True, slots=True)
class Gauges:
    """Cheap enough to be read every minute.

    No statement reads chunks, or nodes that are indexed.
    """

    tx: Transaction

    def read(self) -> Readings:
        """Returns the present readings, over all projects."""
        [row] = self.tx.run(
            f"""
            SELECT (SELECT CAST(COALESCE(sum(chunks), 0) AS bigint) FROM generation_usage
                    WHERE state = 'active'),
                   (SELECT count(*) FROM node WHERE state = 'quarantined'),
                   (SELECT count(*) FROM search_index WHERE evicted_at IS NOT NULL),
                   (SELECT CAST(COALESCE(extract(epoch FROM clock_timestamp() - min(since)), 0)
                                AS float8) FROM ({_REFUSED} UNION ALL {_UNTAKEN}) AS waiting),
                   {POLICIES_BIND}
            """
        )
        return Readings(*row)
