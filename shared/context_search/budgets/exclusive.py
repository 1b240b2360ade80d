"""Work that only one, or only a few, do at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from context_search.core.errors import ContextSearchError
from context_search.store import Store


@contextmanager
def exclusive(store: Store, project_id: int, pool: str, *, lease_s: float) -> Iterator[str | None]:
    """Yields the holder, where the caller is the only one with the work that ``pool`` names.

    A worker that is killed keeps the others away no longer than ``lease_s``: it should be how long
    the caller can live, unless the holder renews it.
    """
    with permitted(store, project_id, pool, 1, lease_s=lease_s) as holder:
        yield holder


@contextmanager
def permitted(
    store: Store, project_id: int, pool: str, size: int, *, lease_s: float
) -> Iterator[str | None]:
    """Yields the holder, where the caller is one of at most ``size`` with the work of ``pool``."""
    with store.for_project(project_id) as work:
        holder = work.permits.take(pool, size=size, count=1, lease_s=lease_s)
    if holder is None:
        yield None
        return
    try:
        yield holder
    finally:
        with suppress(ContextSearchError), store.for_project(project_id) as work:
            work.permits.give_back(pool, holder)
