"""Keeps projects within their limits: who gives way, and who waits for room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from context_search.core.limits import ProjectLimits, Usage
from context_search.core.model import Claim, PlannedChunk
from context_search.core.progress import PROJECT_FULL
from context_search.indexing.status import summarise
from context_search.store import Store, UnitOfWork


def no_room(
    work: UnitOfWork, planned: Mapping[Claim, Sequence[PlannedChunk]], limits: ProjectLimits
) -> dict[str, object] | None:
    """Returns why a generation's new nodes must wait for room, None if they need not.

    The reason records the room that all of them need, for ``Quotas.readmit``.
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


def evict_coldest(store: Store, limits: ProjectLimits, *, silent_s: float) -> bool:
    """Takes one thing from a project that is over its limit, and returns whether it did.

    A previous generation goes first: it answers nothing. Then the index that was not searched for
    the longest time is evicted: it stays, empty, until somebody searches it.
    """
    with store.for_all("maintenance") as work:
        going = work.indexes.next_to_go(limits)
        if going is None or not work.indexes.lock(going):
            return False
        # Asked again: the index may have been searched, or switched, before it was locked.
        still = work.indexes.next_to_go(limits)
        if still is None or still.generation.id != going.generation.id:
            return False
        if not work.indexes.give_up(going, limits):
            return False
        summarise(work, going.id, silent_s=silent_s)
    return True
