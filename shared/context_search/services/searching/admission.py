"""Who may search now: so many at once per project, and per namespace of turbopuffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from context_search.domain.errors import BackpressureError, ContextSearchError
from context_search.domain.limits import search_pool
from context_search.ports.outside import Clock, Deadline
from context_search.ports.store import Store

SEARCHES_PER_PROJECT = 64
QUERIES_PER_NAMESPACE = 16
"""Maximum number of queries at once in a namespace: turbopuffer's limit. Each leg of a search is
one.
"""
RETRY_AFTER_S = 0.2
LEASE_S = 30.0
"""Lease of a permit in seconds: longer than API Gateway lets any request run."""
POLL_S = 0.025
UNUSED_S = 86_400.0
"""Seconds after which the rows of an unused pool are deleted. They are made anew on its next
use.
"""
GIVE_BACK_S = 2.0
"""Maximum seconds that a finished answer waits for its permits to be given back."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Permits that are counted in Postgres, so over all processes; a killed one frees its own.

    ``sleep`` takes seconds.
    """

    store: Store
    clock: Clock
    sleep: Callable[[float], None]
    searches: int = SEARCHES_PER_PROJECT
    queries: int = QUERIES_PER_NAMESPACE

    @contextmanager
    def admitted(self, project_id: int, deadline: Deadline) -> Iterator[None]:
        """Holds a place among the searches of a project. Raises BackpressureError at once."""
        pool = search_pool(project_id)
        holder = self._take(pool, self.searches, 1, deadline)
        if holder is None:
            raise BackpressureError(
                f"the project has {self.searches} searches in flight", retry_after_s=RETRY_AFTER_S
            )
        try:
            yield
        finally:
            self._give_back(pool, holder)

    @contextmanager
    def queries_of(
        self, namespace: str, count: int, *, timeout_s: float, deadline: Deadline
    ) -> Iterator[bool]:
        """Holds places among the queries of a namespace; False when none got free in time."""
        pool = f"queries of {namespace}"
        ends_at = self.clock.monotonic() + timeout_s
        while (holder := self._take(pool, self.queries, count, deadline)) is None:
            if self.clock.monotonic() >= ends_at:
                yield False
                return
            self.sleep(POLL_S)
        try:
            yield True
        finally:
            self._give_back(pool, holder)

    def _take(self, pool: str, size: int, count: int, deadline: Deadline) -> str | None:
        with self.store.for_all("admit a search", deadline) as work:
            return work.permits.take(pool, size=size, count=count, lease_s=LEASE_S)

    def _give_back(self, pool: str, holder: str) -> None:
        # What cannot be given back is free when its lease ends; the answer is there already.
        deadline = Deadline(self.clock, self.clock.monotonic() + GIVE_BACK_S)
        with suppress(ContextSearchError), self.store.for_all("admit a search", deadline) as work:
            work.permits.give_back(pool, holder)
