"""Work that only one, or only a few, do at a time: of a kind, of a project, of all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from context_search.core.errors import ContextSearchError, ManagementBackpressureError
from context_search.core.limits import MANAGEMENT_POOL, management_pool, wait_pool
from context_search.store import Store

MANAGED_PER_PROJECT = 2
MANAGED_IN_ALL = 8
WAITS_PER_PROJECT = 4
LEASE_S = 30.0
"""Lease of a permit in seconds: API Gateway ends every request before that."""
RETRY_AFTER_S = 1.0


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


@contextmanager
def managing(store: Store, project_id: int) -> Iterator[None]:
    """Holds a place among the expensive management requests of a project, and of all projects.

    Each of them parses documents of many megabytes. A further request of a project leaves half of
    the places of all to projects that have none. Raises ManagementBackpressureError at once.
    """
    own = management_pool(project_id)
    with ExitStack() as held:

        def is_let_in(pool: str, size: int) -> bool:
            permit = permitted(store, project_id, pool, size, lease_s=LEASE_S)
            return held.enter_context(permit) is not None

        if is_let_in(own, 1):
            most = MANAGED_IN_ALL
        elif is_let_in(own, MANAGED_PER_PROJECT):
            most = MANAGED_IN_ALL // 2
        else:
            raise _too_many(f"the project may have {MANAGED_PER_PROJECT}")
        if not is_let_in(MANAGEMENT_POOL, most):
            raise _too_many(f"all projects together may have {MANAGED_IN_ALL}")
        yield


def _too_many(allowed: str) -> ManagementBackpressureError:
    return ManagementBackpressureError(
        f"{allowed} previews, pages of matches, comparisons and dry runs in progress:"
        " repeat this request when one has ended",
        retry_after_s=RETRY_AFTER_S,
    )


@contextmanager
def waiting(store: Store, project_id: int) -> Iterator[bool]:
    """Yields whether the caller may wait: a few requests of a project wait at a time."""
    pool = wait_pool(project_id)
    with permitted(store, project_id, pool, WAITS_PER_PROJECT, lease_s=LEASE_S) as may_wait:
        yield may_wait is not None
