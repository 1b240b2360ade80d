"""Indexes that give way, and their return, in Postgres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from context_search.core.limits import ProjectLimits
from context_search.core.model import Index
from context_search.core.progress import EvictionCause
from context_search.indexing.sql import generations
from context_search.indexing.sql.indexes import INDEX, index_of_row
from context_search.postgres.pool import Transaction

_USED_AT = "COALESCE(search_index.last_searched_at, search_index.created_at)"
_IDLE_SINCE = "clock_timestamp() - make_interval(secs => :idle)"


@dataclass(frozen=True, slots=True)
class Evictions:
    """Indexes that give way, and their return."""

    DUE: ClassVar = """
        SELECT now() WHERE EXISTS (
            SELECT FROM generation_usage GROUP BY project_id
            HAVING sum(chunks) > :chunks OR sum(vector_bytes) > :bytes)
    """
    tx: Transaction

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
              AND (generation.state = 'previous' OR {_USED_AT} < {_IDLE_SINCE})
            ORDER BY generation.state <> 'previous',
                     CASE generation.state WHEN 'previous' THEN switched_at ELSE {_USED_AT} END,
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
        return self._evict(going, "limit", f"{_USED_AT} < {_IDLE_SINCE}", idle=limits.idle_s)

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
            WHERE id = :index AND {_USED_AT} < clock_timestamp() - interval '1 minute'
            """,
            index=index_id,
        )
