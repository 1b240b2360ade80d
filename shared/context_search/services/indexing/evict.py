"""Keeps projects within their limits: who gives way, who waits for room, and who comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from context_search.domain.errors import ContextSearchError
from context_search.domain.limits import ProjectLimits, Usage
from context_search.domain.model import Claim, Index, PlannedChunk
from context_search.domain.orders import CompareIndex
from context_search.domain.progress import PROJECT_FULL
from context_search.ports.outside import Deadline
from context_search.ports.store import Store, UnitOfWork
from context_search.services.indexing.status import summarise


def no_room(
    work: UnitOfWork, planned: Mapping[Claim, Sequence[PlannedChunk]], limits: ProjectLimits
) -> dict[str, object] | None:
    """Returns why new nodes of one generation have to wait for room; None when they have not.

    The reason holds what the nodes need together, for ``Quotas.readmit``.
    """
    new = work.quotas.new_among(list(planned))
    if not new:
        return None
    chunks = [chunk for claim in new for chunk in planned[claim]]
    needed = Usage.of(
        chunks=len(chunks),
        rows=sum(chunk.window_count for chunk in chunks),
        dimensions=new[0].config.dimensions,
    )
    if needed.fits(work.quotas.room(new[0].index_id, limits)):
        return None
    return {
        "code": PROJECT_FULL,
        "message": f"the project may hold {limits.max_chunks} chunks and"
        f" {limits.max_vector_bytes} bytes of vectors, and what it holds is in use",
        "retryable": True,
        "chunks": needed.chunks,
        "vector_bytes": needed.vector_bytes,
    }


@dataclass(frozen=True, slots=True)
class EvictColdest:
    """Takes one thing from a project that is over its limit.

    A previous generation goes first: it answers nothing. Then the index that was not searched for
    the longest time is evicted: it stays, empty, until somebody searches it.
    """

    store: Store
    limits: ProjectLimits
    silent_s: float

    def __call__(self) -> bool:
        """Returns whether something was given up; False when all is within limits or in use."""
        with self.store.for_all("upkeep") as work:
            going = work.evictions.next_to_go(self.limits)
            if going is None or not work.indexes.lock(going):
                return False
            # Asked again: the index may have been searched, or switched, before it was locked.
            still = work.evictions.next_to_go(self.limits)
            if still is None or still.generation_id != going.generation_id:
                return False
            if not work.evictions.give_up(going, self.limits):
                return False
            summarise(work, going.id, silent_s=self.silent_s)
        return True


def note_use(work: UnitOfWork, index: Index) -> bool:
    """Keeps an index from getting cold; True when it was evicted and has to be enumerated now."""
    if index.evicted_at is not None:
        return work.evictions.revive(index.id)
    if index.is_idle:
        work.evictions.note_search(index.id)
    return False


@dataclass(frozen=True, slots=True)
class UseIndex:
    """Notes that an index is searched; an evicted one is ordered to be built again.

    However many ask at once, one of them orders it.
    """

    store: Store

    def __call__(self, index: Index, deadline: Deadline) -> None:
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
            if not work.sweeps.present_after(index.namespace, "", 1):
                return False
            work.sweeps.order(index.generation_id)
        return True

    def _note(self, index: Index, deadline: Deadline) -> None:
        with self.store.for_project(index.project_id, deadline) as work:
            if note_use(work, index):
                work.send(CompareIndex(index.id, index.table_id))
