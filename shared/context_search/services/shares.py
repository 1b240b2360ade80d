"""How much of a deployment's capacity one project's expensive requests may take."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from context_search.domain.errors import ManagementBackpressureError
from context_search.domain.limits import MANAGEMENT_POOL, management_pool, wait_pool
from context_search.ports.store import Store
from context_search.services.alone import permitted

MANAGED_PER_PROJECT = 2
MANAGED_IN_ALL = 8
WAITS_PER_PROJECT = 4
LEASE_S = 30.0
"""Lease of a permit in seconds: API Gateway ends every request before that."""
RETRY_AFTER_S = 1.0


@dataclass(frozen=True, slots=True)
class _Places:
    """Places of this process, by project. Who waits for one asks Postgres for nothing."""

    taken: Counter[int] = field(default_factory=Counter)
    changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def place(self, project_id: int) -> Iterator[bool]:
        """Yields whether there was room in time."""
        with self.changed:
            is_free = self.changed.wait_for(
                lambda: self.taken[project_id] < MANAGED_PER_PROJECT, RETRY_AFTER_S
            )
            self.taken[project_id] += is_free
        try:
            yield is_free
        finally:
            with self.changed:
                self.taken[project_id] -= is_free
                if not self.taken[project_id]:
                    del self.taken[project_id]
                self.changed.notify_all()


_HERE = _Places()


@contextmanager
def managing(store: Store, project_id: int) -> Iterator[None]:
    """Holds a place among the expensive management requests of a project, and of all projects.

    Each of them parses documents of many megabytes. One that would be too many of this process
    waits for a second: whoever asks again at once has no more processor time by that. A process of
    Lambda has one request, so none waits there. A further request of a project leaves half of the
    places of all to projects that have none. Raises ManagementBackpressureError.
    """
    own = management_pool(project_id)
    with ExitStack() as held:

        def is_let_in(pool: str, size: int) -> bool:
            permit = permitted(store, project_id, pool, size, lease_s=LEASE_S)
            return held.enter_context(permit) is not None

        most = None
        if held.enter_context(_HERE.place(project_id)):
            if is_let_in(own, 1):
                most = MANAGED_IN_ALL
            elif is_let_in(own, MANAGED_PER_PROJECT):
                most = MANAGED_IN_ALL // 2
        if most is None:
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
