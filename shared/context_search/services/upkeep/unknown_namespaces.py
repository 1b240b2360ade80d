"""Looks for namespaces of turbopuffer that no generation knows.

A restored database has forgotten some, and a turbopuffer account may be shared: what is unknown
here may be another deployment's, so it is counted, and deleted only where that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from context_search.domain.errors import VectorStoreRejectedError
from context_search.domain.ids import is_generation_namespace
from context_search.ports.outside import VectorStore
from context_search.ports.store import Store
from context_search.services.upkeep.cleanup_report import CleanupReport

PREFIX = "project_"
PAGE = 1_000
MAX_PAGES = 5
EXAMPLES = 10
DELETES_PER_RUN = 100


@dataclass(frozen=True, slots=True)
class FindUnknownNamespaces:
    """Compares the first ``page`` × ``MAX_PAGES`` namespaces with the generations, by name."""

    store: Store
    vectors: VectorStore
    deletes: bool = False
    page: int = PAGE

    def __call__(self, report: CleanupReport) -> None:
        """Writes what was found into the report; a key that may not list finds nothing out."""
        try:
            unknown = [name for page in self._pages() for name in self._unknown(page)]
        except VectorStoreRejectedError:
            return
        report.unknown_namespaces = len(unknown)
        report.unknown_examples = unknown[:EXAMPLES]
        if not self.deletes:
            return
        for name in unknown[:DELETES_PER_RUN]:
            self.vectors.delete_namespace(name)
            report.namespaces_deleted += 1

    def _pages(self) -> Iterator[list[str]]:
        after = ""
        for _ in range(MAX_PAGES):
            names = self.vectors.namespaces_after(PREFIX, after, self.page)
            yield names
            if len(names) < self.page:
                return
            after = names[-1]

    def _unknown(self, names: list[str]) -> list[str]:
        """Returns strangers among names that were listed before the rows are read.

        In this order a namespace that is being made is never a stranger: its generation is
        committed before its first document is written.
        """
        ours = [name for name in names if is_generation_namespace(name)]
        with self.store.for_all("upkeep") as work:
            return work.sweeps.unknown(ours)
