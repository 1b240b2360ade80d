"""Indexes in use: they stay warm, an evicted one comes back, one that grew is calibrated."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from context_search.core.errors import ContextSearchError
from context_search.core.messages import CalibrateIndex, CompareIndex
from context_search.core.model import Index
from context_search.integrations.ports import Deadline
from context_search.store import Store, UnitOfWork

LEAST_CHUNKS = 20
"""Least number of chunks of an index that is calibrated."""
_ANY_S = 86_400.0  # whoever waits does so, silent or not
GROWTH = 2
"""How many times as many chunks as before make it worth another time."""


def is_due(work: UnitOfWork, index: Index, least_chunks: int = LEAST_CHUNKS) -> bool:
    """Says whether an index was never calibrated, or has twice as many chunks since."""
    found = index.generation.calibration
    least = least_chunks if found is None else max(least_chunks, GROWTH * found.chunks)
    return work.indexes.chunk_count(index) >= least


def send_if_due(work: UnitOfWork, index: Index, least_chunks: int | None = LEAST_CHUNKS) -> None:
    """Orders the calibration of an index in which nothing waits; ``least_chunks`` None: never."""
    if (
        least_chunks is not None
        and index.evicted_at is None
        and is_due(work, index, least_chunks)
        and work.node_counts.state(index, "", silent_s=_ANY_S).status not in ("indexing", "stalled")
    ):
        work.send(CalibrateIndex(index.id, index.generation.id))


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
            work.sweeps.order(index.generation.id)
        return True

    def _note(self, index: Index, deadline: Deadline) -> None:
        with self.store.for_project(index.project_id, deadline) as work:
            if note_use(work, index):
                work.send(CompareIndex(index.id, index.table_id))
            elif (now := work.indexes.find(index.id)) is not None:  # what was kept may be gone
                send_if_due(work, now, self.calibrates_from)
