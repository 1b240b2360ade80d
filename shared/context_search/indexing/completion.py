"""What follows when a node is done: the switch, the tools' summaries, a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from context_search.core.messages import CalibrateIndex
from context_search.core.model import Index
from context_search.core.progress import Progress, shown_error
from context_search.store import Store, UnitOfWork

LEAST_CHUNKS = 20
"""Least number of chunks of an index that is calibrated."""
_ANY_S = 86_400.0  # whoever waits does so, silent or not
GROWTH = 2
"""How many times as many chunks as before make it worth another time."""


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


def write_summaries(
    store: Store, index_id: int, *, silent_s: float, tool_id: int | None = None
) -> None:
    """Writes ``metadata.search_index`` of every tool that an index serves, or of one of them."""
    with store.for_all("handle a message") as work:
        summarise(work, index_id, silent_s=silent_s, tool_id=tool_id)


def summarise(
    work: UnitOfWork, index_id: int, *, silent_s: float, tool_id: int | None = None
) -> None:
    """Does what ``write_summaries`` does, in a transaction that is open."""
    index = work.indexes.find(index_id)
    if index is None:
        return
    tools = work.tools.of_index(index_id, tool_id=tool_id)
    scopes = sorted({tool.scope.json_pointer for tool in tools})
    progress = work.node_counts.progress_of(index, scopes, silent_s=silent_s)
    for tool in tools:
        reported = summary(progress[tool.scope.json_pointer], tool.created_at)
        work.tools.write_summary(tool.id, reported)


def summary(progress: Progress, configured_at: datetime | None) -> dict[str, object]:
    """Returns what ``tool.metadata.search_index`` says: a copy for people and other programs."""
    return {
        "status": progress.status,
        "configured_at": configured_at.isoformat() if configured_at else None,
        "indexed_at": progress.indexed_at.isoformat() if progress.indexed_at else None,
        "nodes_count": progress.nodes_count,
        "chunks_count": progress.chunks_count,
        "indexed_chunks_count": progress.indexed_chunks_count,
        "last_error": shown_error(progress.last_error),
    }


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
