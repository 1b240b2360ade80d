"""Readings of the whole database."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.adapters.postgres.pool import Transaction
from context_search.ports.gauges import Readings


@dataclass(frozen=True, slots=True)
class PostgresGauges:
    """The port ``Gauges``. No statement reads chunks, or nodes that are indexed."""

    tx: Transaction

    def read(self) -> Readings:
        """See the port."""
        [row] = self.tx.run(
            """
            SELECT (SELECT CAST(COALESCE(sum(chunks), 0) AS bigint) FROM generation_usage
                    WHERE state = 'active'),
                   (SELECT count(*) FROM node WHERE state = 'quarantined'),
                   (SELECT count(*) FROM search_index WHERE evicted_at IS NOT NULL),
                   (SELECT CAST(COALESCE(extract(epoch FROM clock_timestamp() - min(claimed_at)), 0)
                                AS float8) FROM outbox WHERE sent_at IS NULL)
            """
        )
        return Readings(*row)
