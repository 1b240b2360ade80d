"""Generations that answered before the last switch, in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.adapters.postgres.indexing.indexes import INDEX, index_of_row
from context_search.adapters.postgres.pool import Transaction
from context_search.domain.model import Index

_OUTDATED = "switched_at < clock_timestamp() - make_interval(secs => :age)"


@dataclass(frozen=True, slots=True)
class PreviousGenerations:
    """The part of the port ``Rebuilds`` that keeps the way back."""

    tx: Transaction

    def previous(self, index_id: int) -> Index | None:
        """See the port."""
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
        """See the port."""
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
        """See the port."""
        retired = self.tx.execute(
            f"""
            UPDATE index_generation SET state = 'retired', retired_at = clock_timestamp()
            WHERE index_id = :index AND state = 'previous' AND {_OUTDATED}
            """,
            index=index_id,
            age=older_than_s,
        )
        return retired > 0
