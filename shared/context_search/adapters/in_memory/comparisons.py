"""Which generations follow which tables, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from context_search.adapters.in_memory.rows import GenerationRow, IndexRow, Rows, TableRow
from context_search.domain.model import Index
from context_search.ports.time import Clock


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The part of the port ``Indexes`` about documents that change, and who may compare them."""

    rows: Rows
    clock: Clock

    def lock(self, index: Index) -> bool:
        """See the port; a transaction is alone anyway."""
        row = self.rows.indexes.get(index.id)
        is_deleted = index.table_id is not None and self.rows.tables[index.table_id].deleted
        return row is not None and not is_deleted

    def share(self, index: Index) -> None:
        """See the port; a transaction is alone anyway."""

    def mark_enumerated(self, index: Index, table_id: int, revision: int) -> None:
        """See the port."""
        self.rows.compared[index.generation_id, table_id] = revision
        self.rows.change(self.rows.indexes, index.id, order_error=None)

    def order_comparisons(self, generation_id: int) -> None:
        """Forgets what a generation was compared with: somebody has ordered to compare it."""
        for key in [key for key in self.rows.compared if key[0] == generation_id]:
            del self.rows.compared[key]
            self.rows.ordered[key] = self.clock.now()

    def uncompared(self, index_id: int) -> list[int]:
        """See the port."""
        return sorted(
            {table.id for generation, table in self._behind() if generation.index_id == index_id}
        )

    def is_compared(self, index: Index) -> bool:
        """See the port."""
        return all(generation.id != index.generation_id for generation, _ in self._behind())

    def behind(self, *, silent_s: float, limit: int) -> list[tuple[int, int]]:
        """See the port."""
        now = self.clock.now()
        since = now - timedelta(seconds=silent_s)
        found = [
            (generation, table)
            for generation, table in self._behind()
            if self._is_wanted(self._index_of(generation))
            and self._is_silent(generation, table, since)
        ][:limit]
        for generation, table in found:
            self.rows.ordered[generation.id, table.id] = now
        return sorted({(self._index_of(generation).id, table.id) for generation, table in found})

    def _is_wanted(self, index: IndexRow) -> bool:
        """Whether it is to be filled, or nobody needs it any more and it has to go."""
        is_covered = any(row.index_id == index.id for row in self.rows.coverage.values())
        return index.evicted_at is None or (index.table_id is not None and not is_covered)

    def _is_silent(self, generation: GenerationRow, table: TableRow, since: datetime) -> bool:
        last = max(generation.created_at, table.updated_at)
        return max(last, self.rows.ordered.get((generation.id, table.id), last)) < since

    def _behind(self) -> Iterator[tuple[GenerationRow, TableRow]]:
        """Yields generations that should follow their tables, each with each that it does not."""
        for _, generation in sorted(self.rows.generations.items()):
            if generation.state not in ("active", "building") or generation.index_id is None:
                continue
            for table in tables_of(self.rows, self._index_of(generation)):
                if self.rows.compared.get((generation.id, table.id)) != table.revision:
                    yield generation, table

    def _index_of(self, generation: GenerationRow) -> IndexRow:
        return self.rows.indexes[generation.index_id or 0]


def tables_of(rows: Rows, index: IndexRow) -> list[TableRow]:
    """Returns the live tables of an index, by id."""
    return [
        table
        for _, table in sorted(rows.tables.items())
        if not table.deleted
        and (table.id == index.table_id if index.table_id else table.project_id == index.project_id)
    ]
