"""What follows when a node is done."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.core.model import Index
from context_search.indexing.status import write_summaries
from context_search.indexing.use_index import LEAST_CHUNKS, send_if_due
from context_search.store import Store, UnitOfWork


@dataclass(frozen=True, slots=True)
class IndexCompletion:
    """Switches to a complete generation and writes the tools' summaries, after a node is done.

    A generation with a quarantined node is not switched to: what was searchable stays so.
    An index of ``calibrates_from`` chunks (None: none) is calibrated when it is complete.
    """

    store: Store
    silent_s: float
    calibrates_from: int | None = LEAST_CHUNKS

    def complete(self, index_id: int) -> bool:
        """Returns whether the index has switched to another generation."""
        with self.store.for_all("handle a message") as work:
            index = work.indexes.find(index_id)
            if index is None:
                return False
            waits = work.indexes.is_unfinished(index)
            switched = self._switch(work, index)
            answers = work.indexes.find(index_id) if switched else index
            if answers is not None and (switched or not waits):
                send_if_due(work, answers, self.calibrates_from)
        if switched or not waits:
            write_summaries(self.store, index_id, silent_s=self.silent_s)
        return switched

    def _switch(self, work: UnitOfWork, index: Index) -> bool:
        pending = work.indexes.pending(index.id)
        if (
            pending is None
            or pending.generation.state != "building"
            or work.indexes.is_unfinished(pending)
        ):
            return False
        if not work.indexes.lock(index):
            return False
        # Read again: an edit may have come between the count and the lock.
        pending = work.indexes.pending(index.id)
        if pending is None or not work.comparisons.is_compared(pending):
            return False
        if pending.generation.state != "building" or work.indexes.is_unfinished(pending):
            return False
        work.indexes.switch(pending)
        work.tools.mark_incomplete(index.id)  # until the summaries are written
        return True
