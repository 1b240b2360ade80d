"""The tables of a project, each with how far its indexes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.catalog.rules.tables import ListedTable
from context_search.core.callers import Principal
from context_search.core.pages import NAMES_LOOKED_AT, Page
from context_search.core.progress import IndexStatus, Progress, worst_status
from context_search.store import Store, UnitOfWork

LISTED_TABLES = 20
"""Number of tables on a page, usually. Each may have indexes of its own to be asked."""
MOST_LISTED_TABLES = 50


@dataclass(frozen=True, slots=True)
class TableOverview:
    """A table with the sums over the indexes that serve its tools; ``status`` is the worst one's.

    Without a tool it is None. The index of the whole project is not among them.
    """

    listed: ListedTable
    status: IndexStatus | None
    nodes_count: int
    chunks_count: int
    indexed_chunks_count: int


@dataclass(frozen=True, slots=True)
class ListTables:
    """Lists tables. Costs the page and the indexes of its tables, not their strings."""

    store: Store
    silent_s: float

    def page(
        self,
        principal: Principal,
        *,
        after: int,
        limit: int = LISTED_TABLES,
        part_of_name: str | None = None,
    ) -> Page[TableOverview]:
        """Returns tables of the caller's project by id; a page with a name may be short."""
        with self.store.for_project(principal.project_id) as work:
            page = work.tables.page(
                principal.project_id,
                after=after,
                limit=limit,
                among=NAMES_LOOKED_AT,
                part_of_name=part_of_name,
            )
            rows = [self._overview(work, listed) for listed in page.rows]
        return Page(rows, page.next_after)

    def _overview(self, work: UnitOfWork, listed: ListedTable) -> TableOverview:
        found = self._progress(work, listed.index_ids)
        return TableOverview(
            listed,
            worst_status([progress.status for progress in found]),
            sum(progress.nodes_count for progress in found),
            sum(progress.chunks_count for progress in found),
            sum(progress.indexed_chunks_count for progress in found),
        )

    def _progress(self, work: UnitOfWork, index_ids: Sequence[int]) -> list[Progress]:
        indexes = [work.indexes.find(index_id) for index_id in index_ids]
        return [
            work.node_counts.progress(index, "", silent_s=self.silent_s)
            for index in indexes
            if index is not None
        ]
