"""Proves that turbopuffer holds what Postgres says and nothing else, and mends what is not so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_search.core.errors import (
    NamespaceMissingError,
    VectorStoreError,
    VectorStoreRejectedError,
)
from context_search.core.ids import first_row_id, window_ids
from context_search.indexing.outbox_delivery import node_messages
from context_search.integrations.ports import VectorStore
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.rules.sweeps import SweepCounts, SweepCursor, SweepRound
from context_search.store import Store

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Sweep:
    """Compares one page of one namespace both ways, and remembers where it stands.

    Vector rows without a chunk row are deleted. Chunk rows whose vector rows are gone (also a
    whole namespace) are indexed again; their text is in Postgres.
    """

    store: Store
    vectors: VectorStore
    page: int = PAGE

    def run(self, *, older_than_s: float) -> SweepCounts | None:
        """Returns what the page held; None when no sweep is due."""
        with self.store.for_all("maintenance") as work:
            due = work.sweeps.due(older_than_s=older_than_s, limit=1)
        if not due:
            return None
        try:
            return self._page(due[0])
        except VectorStoreError:
            with self.store.for_all("maintenance") as work:  # the next run begins with another one
                work.sweeps.note_failed(due[0])
            raise

    def _page(self, cursor: SweepCursor) -> SweepCounts:
        # Chunk rows are read before the vector rows: what was present then must be listed now.
        with self.store.for_all("maintenance") as work:
            rows = work.sweeps.present_after(cursor.namespace, cursor.after, self.page)
        ids = self._listed(cursor)
        ends = [page[-1] for page in (ids, [row[0] for row in rows]) if len(page) == self.page]
        end = min((first_row_id(each) for each in ends), default="")
        if (
            end and end <= cursor.after
        ):  # a page of windows of one chunk: on behind the last of them
            end = ids[-1]
        ids = [each for each in ids if not end or first_row_id(each) <= end]
        rows = [row for row in rows if not end or row[0] <= end]
        orphans = self._delete_orphans(cursor.namespace, ids)
        missing = self._missing(cursor.namespace, rows, ids)
        repaired = self._requeue(cursor.namespace, missing)
        found = SweepCounts(len(ids), len(orphans), len(missing), repaired)
        with self.store.for_all("maintenance") as work:
            work.sweeps.note(cursor, after=end, found=found)
        return found

    def _listed(self, cursor: SweepCursor) -> list[str]:
        try:
            return self.vectors.ids_after(cursor.namespace, cursor.after, self.page)
        except NamespaceMissingError:
            return []

    def _delete_orphans(self, namespace: str, ids: Sequence[str]) -> list[str]:
        with self.store.for_all("maintenance") as work:
            orphans = work.chunks.without_row(namespace, ids)
        if orphans:
            self.vectors.delete(namespace, orphans)
        return orphans

    def _missing(
        self, namespace: str, rows: Sequence[tuple[str, int]], ids: Sequence[str]
    ) -> list[str]:
        """Returns chunks of which a document is gone, asked for by name once more."""
        listed = set(ids)
        doubtful = {
            doc_id: names
            for doc_id, windows in rows
            if not listed.issuperset(names := window_ids(doc_id, windows))
        }
        if not doubtful:
            return []
        names = [name for windows in doubtful.values() for name in windows]
        try:
            found = self.vectors.existing(namespace, names)
        except NamespaceMissingError:
            found = set()
        return [doc_id for doc_id, windows in doubtful.items() if not found.issuperset(windows)]

    def _requeue(self, namespace: str, missing: Sequence[str]) -> int:
        if not missing:
            return 0
        with self.store.for_all("maintenance") as work:
            nodes = work.chunks.requeue_missing(namespace, missing)
            work.send(*node_messages(work, nodes))
        return len(missing)


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
            prefix = work.indexes.namespace_prefix()
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


@dataclass(frozen=True, slots=True)
class SweepRounds:
    """The rounds of a deployment.

    ``every_s``: seconds between two runs of cleanup; 0: not known. ``silent_s``: seconds after
    which silence is a failure. ``idle_s``: for how many seconds cleanup may rest. ``page``: vector
    rows of a page.
    """

    store: Store
    every_s: float
    silent_s: float
    idle_s: float
    page: int

    @property
    def swept_after_s(self) -> float:
        """Seconds after which a namespace is swept again: not more often than cleanup looks."""
        return max(self.silent_s, self.idle_s)

    def read(self) -> SweepRound:
        """Returns the round at today's size."""
        with self.store.for_all("maintenance") as work:
            extent = work.sweeps.extent(page=self.page)
        return SweepRound.of(extent, every_s=self.every_s, swept_after_s=self.swept_after_s)
