"""Who may search now: so many at once per project, and per namespace of turbopuffer."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field

from context_search.core.errors import BackpressureError, ContextSearchError
from context_search.core.limits import search_pool
from context_search.integrations.ports import Clock, Deadline
from context_search.store import Store, UnitOfWork

SEARCHES_PER_PROJECT = 64
QUERIES_PER_NAMESPACE = 16
"""Maximum number of queries at once in a namespace: turbopuffer's limit. Each leg of a search is
one.
"""
RETRY_AFTER_S = 0.2
LEASE_S = 30.0
"""Lease of a permit in seconds: longer than API Gateway lets any request run."""
FIRST_PAUSE_S = 0.025
LONGEST_PAUSE_S = 0.2
"""Pauses, in seconds, of who waits for permits that other processes have: each twice the last."""
HANDED_ON_S = 5.0
"""Seconds after which permits go back to Postgres instead of to the next search of the process, so
that other processes get some. What is left of the lease is longer than a search.
"""
UNUSED_S = 86_400.0
"""Seconds after which the rows of an unused pool are deleted. They are made anew on its next
use.
"""
GIVE_BACK_S = 2.0
"""Maximum seconds that a finished answer waits for its permits to be given back."""


@dataclass(frozen=True, slots=True)
class Permit:
    """``count`` permits of a pool, taken at a moment of the monotonic clock."""

    pool: str
    holder: str
    count: int
    taken_at: float


@dataclass(eq=False, slots=True)
class _Place:
    """A search of this process that wants permits of a pool, until and while it has them."""

    pool: str
    count: int
    turn: threading.Event = field(default_factory=threading.Event)
    handed_on: Permit | None = None


@dataclass(slots=True)
class _Pool:
    """What the searches of this process hold or ask Postgres for, and those that wait."""

    size: int
    used: int = 0
    waiting: deque[_Place] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class _Queue:
    """Lets a process ask only for what it may get: first come, first served, for each pool.

    Who waits for others of its own process asks Postgres for nothing meanwhile.
    """

    _pools: dict[str, _Pool] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, pool: str, size: int, count: int) -> _Place:
        """Returns a place, whose turn has come where there is room."""
        place = _Place(pool, count)
        with self._lock:
            self._pools.setdefault(pool, _Pool(size)).waiting.append(place)
            self._call(pool)
        return place

    def give_up(self, place: _Place) -> bool:
        """Ends waiting; False when the turn has come at the last moment."""
        with self._lock:
            pool = self._pools[place.pool]
            if place not in pool.waiting:
                return False
            pool.waiting.remove(place)
            self._call(place.pool)
        return True

    def leave(self, place: _Place) -> None:
        """Says that a place has no permits (any more)."""
        with self._lock:
            self._pools[place.pool].used -= place.count
            self._call(place.pool)

    def hand_on(self, permit: Permit) -> bool:
        """Gives permits, with the room for them, to the first that waits and wants as many."""
        with self._lock:
            waiting = self._pools[permit.pool].waiting
            if not waiting or waiting[0].count != permit.count:
                return False
            place = waiting.popleft()
            place.handed_on = permit
            place.turn.set()
        return True

    def _call(self, name: str) -> None:
        pool = self._pools[name]
        while pool.waiting and pool.used + pool.waiting[0].count <= pool.size:
            place = pool.waiting.popleft()
            pool.used += place.count
            place.turn.set()
        if not pool.used and not pool.waiting:
            del self._pools[name]


_Taken = tuple[Permit, _Place]


@dataclass(slots=True)
class SearchLease:
    """What one search holds: its place in the project, and places of queries that are done."""

    project: _Taken | None = None
    queries: list[_Taken] = field(default_factory=list)

    def given(self, *, whole: bool) -> list[_Taken]:
        """Returns what goes back: all of it, or the places of queries."""
        return [*self.queries, self.project] if whole and self.project else [*self.queries]


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
    _queue: _Queue = field(default_factory=_Queue)

    @contextmanager
    def admitted(self, project_id: int, deadline: Deadline) -> Iterator[SearchLease]:
        """Holds a place among the searches of a project, and what is added to it.

        Raises BackpressureError at once.
        """
        held = SearchLease()
        self.admit(held, project_id, deadline)
        try:
            yield held
        finally:
            self._end(held, whole=True)

    def admit(self, held: SearchLease, project_id: int, deadline: Deadline) -> None:
        """Takes a place among the searches of a project, unless one is held.

        Raises BackpressureError at once.
        """
        if held.project:
            return
        place = self._queue.enter(search_pool(project_id), self.searches, 1)
        permit = self._permit(place, self.searches, 0.0, deadline)
        if permit is None:
            raise BackpressureError(
                f"the project has {self.searches} searches in flight", retry_after_s=RETRY_AFTER_S
            )
        held.project = permit, place

    @contextmanager
    def queries_of(
        self, held: SearchLease, namespace: str, count: int, *, timeout_s: float, deadline: Deadline
    ) -> Iterator[bool]:
        """Takes places among the queries of a namespace; False when none got free in time.

        After the query, the next search of this process that waits has them at once. Where none
        does they are ``held``, to go back with what is read next; after an error they go back now.
        """
        place = self._queue.enter(f"queries of {namespace}", self.queries, count)
        permit = self._permit(place, self.queries, timeout_s, deadline)
        if permit is None:
            yield False
            return
        held.queries.append((permit, place))
        try:
            yield True
        except BaseException:
            self._end(held, whole=False)
            raise
        is_young = self.clock.monotonic() - permit.taken_at < HANDED_ON_S
        if is_young and self._queue.hand_on(permit):
            held.queries.pop()

    @contextmanager
    def returning(
        self, held: SearchLease, opened: AbstractContextManager[UnitOfWork], *, whole: bool
    ) -> Iterator[UnitOfWork]:
        """Opens a transaction that gives back what is held: the place in the project, too, or not.

        What it reads need not wait for that, as both go to Postgres together.
        """
        given = held.given(whole=whole)
        with opened as work:
            _give_back(work, given)
            yield work
        self._drop(held, given)

    def _end(self, held: SearchLease, *, whole: bool) -> None:
        # What cannot be given back is free when its lease ends; the answer is there already.
        deadline = Deadline(self.clock, self.clock.monotonic() + GIVE_BACK_S)
        given = held.given(whole=whole)
        if not given:
            return
        try:
            giving = self.store.for_all("admit a search", deadline)
            with suppress(ContextSearchError), giving as work:
                _give_back(work, given)
        finally:
            self._drop(held, given)

    def _drop(self, held: SearchLease, given: Sequence[_Taken]) -> None:
        for _, place in given:
            self._queue.leave(place)
        held.queries = [one for one in held.queries if one not in given]
        held.project = None if held.project in given else held.project

    def _permit(
        self, place: _Place, size: int, timeout_s: float, deadline: Deadline
    ) -> Permit | None:
        """Waits for others of this process first, then for those that other processes have."""
        ends_at, pause_s = self.clock.monotonic() + timeout_s, FIRST_PAUSE_S
        if not place.turn.wait(timeout_s) and self._queue.give_up(place):
            return None
        if place.handed_on is not None:
            return place.handed_on
        permit = None
        try:
            while (permit := self._take(place, size, deadline)) is None:
                left_s = ends_at - self.clock.monotonic()
                if left_s <= 0:
                    break
                self.sleep(min(pause_s, left_s))
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        finally:
            if permit is None:
                self._queue.leave(place)
        return permit

    def _take(self, place: _Place, size: int, deadline: Deadline) -> Permit | None:
        now = self.clock.monotonic()
        with self.store.for_all("admit a search", deadline) as work:
            holder = work.permits.take(place.pool, size=size, count=place.count, lease_s=LEASE_S)
        return None if holder is None else Permit(place.pool, holder, place.count, now)


def _give_back(work: UnitOfWork, given: Sequence[_Taken]) -> None:
    for permit, _ in given:
        work.permits.give_back(permit.pool, permit.holder)
