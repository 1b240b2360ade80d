"""Namespaces of this deployment in turbopuffer that no generation knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from context_search.core.errors import VectorStoreRejectedError
from context_search.integrations.ports import VectorStore
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.store import Store

NAMESPACES_PER_PAGE = 1_000
NAMESPACE_PAGES = 5
EXAMPLES = 10
NAMESPACES_PER_STEP = 100


@dataclass(frozen=True, slots=True)
class FindUnknownNamespaces:
    """Looks for namespaces of this deployment that no generation knows.

    A database that was restored to an earlier state has forgotten some. A copy of the database has
    the same id as its original, so they are counted, and deleted only where that is allowed.
    Namespaces of other deployments are never listed. Compares the first ``page`` ×
    ``NAMESPACE_PAGES`` names.
    """

    store: Store
    vectors: VectorStore
    deletes: bool = False
    page: int = NAMESPACES_PER_PAGE

    def run(self, report: CleanupReport) -> None:
        """Writes what was found into the report; a key that may not list finds nothing out."""
        try:
            unknown = [name for page in self._pages() for name in self._unknown(page)]
        except VectorStoreRejectedError:
            return
        report.unknown_namespaces = len(unknown)
        report.unknown_examples = unknown[:EXAMPLES]
        if not self.deletes:
            return
        for name in unknown[:NAMESPACES_PER_STEP]:
            self.vectors.delete_namespace(name)
            report.namespaces_deleted += 1

    def _pages(self) -> Iterator[list[str]]:
        with self.store.for_all("maintenance") as work:
            prefix = work.sweeps.namespace_prefix()
        after = ""
        for _ in range(NAMESPACE_PAGES):
            names = self.vectors.namespaces_after(prefix, after, self.page)
            yield names
            if len(names) < self.page:
                return
            after = names[-1]

    def _unknown(self, names: list[str]) -> list[str]:
        """Returns unknown names.

        Names are listed before rows are read, so a namespace being created is never unknown: its
        generation is committed before its first document is written.
        """
        with self.store.for_all("maintenance") as work:
            return work.sweeps.unknown(names)
