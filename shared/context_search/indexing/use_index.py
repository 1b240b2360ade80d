"""Indexes that are searched: they stay warm, and an evicted one comes back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from context_search.core.errors import ContextSearchError
from context_search.core.messages import CompareIndex
from context_search.core.model import Index
from context_search.indexing.completion import LEAST_CHUNKS, send_if_due
from context_search.integrations.ports import Deadline
from context_search.store import Store, UnitOfWork


def note_use(work: UnitOfWork, index: Index) -> bool:
    """Keeps an index from getting cold; True when it was evicted and has to be enumerated now."""
    if index.evicted_at is not None:
        return work.indexes.revive(index.id)
    if index.is_idle:
        work.indexes.note_search(index.id)
    return False


@dataclass(frozen=True, slots=True)
class IndexUse:
    """Notes that an index is searched; an evicted one is ordered to be built again.

    However many ask at once, one of them orders it. One whose calibration is due is ordered to be
    calibrated.
    """

    store: Store
    calibrates_from: int | None = LEAST_CHUNKS

    def note(self, index: Index, deadline: Deadline) -> None:
        """Never raises a ContextSearchError: no search fails for it, the next one tries again."""
        if index.evicted_at is None and not index.is_idle:
            return
        with suppress(ContextSearchError):
            self._note(index, deadline)

    def lost(self, index: Index, deadline: Deadline) -> bool:
        """Call it when turbopuffer does not know the index' namespace.

        Returns False when nothing was indexed yet. Otherwise the namespace is lost: it becomes
        the first that ``cleanup`` compares with its rows, which has everything written again.
        Never raises a ContextSearchError.
        """
        with (
            suppress(ContextSearchError),
            self.store.for_project(index.project_id, deadline) as work,
        ):
            if not work.sweeps.present_after(index.generation.namespace, "", 1):
                return False
            work.sweeps.put_first(index.generation.id)
        return True

    def _note(self, index: Index, deadline: Deadline) -> None:
        with self.store.for_project(index.project_id, deadline) as work:
            if note_use(work, index):
                work.send(CompareIndex(index.id, index.table_id))
            elif (now := work.indexes.find(index.id)) is not None:  # what was kept may be gone
                send_if_due(work, now, self.calibrates_from)
