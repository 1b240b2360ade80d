"""Threads of one process wait for each other in it, and ask Postgres for what they may get."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from context_search.core.errors import BackpressureError, VectorStoreError
from context_search.core.limits import search_pool
from context_search.integrations.ports import Deadline
from context_search.searching.admission import (
    FIRST_PAUSE_S,
    HANDED_ON_S,
    LONGEST_PAUSE_S,
    Admission,
    SearchLease,
)
from context_search.store import Store, UnitOfWork
from testing.in_memory.clock import ManualClock
from tests.faults.simulation.model.store import ModelStore, ModelUnitOfWork
from tests.stack import eventually

POOL = "queries of ns"


@dataclass
class Counting:
    """A store for several threads that counts who asks for permits."""

    clock: ManualClock
    asked: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model_store = ModelStore(self.clock)
        self._lock = threading.Lock()

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        return self._opened(self.model_store.for_all(reason, deadline))

    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        return self._opened(self.model_store.for_project(project_id, deadline))

    @contextmanager
    def _opened(self, opened: AbstractContextManager[ModelUnitOfWork]) -> Iterator[UnitOfWork]:
        with self._lock, opened as work:
            self._work = work
            yield cast(UnitOfWork, self)

    @property
    def permits(self) -> Counting:
        return self

    def take(self, pool: str, *, size: int, count: int, lease_s: float) -> str | None:
        self.asked.append(pool)
        return self._work.permits.take(pool, size=size, count=count, lease_s=lease_s)

    def give_back(self, pool: str, holder: str) -> None:
        self.returned.append(pool)
        self._work.permits.give_back(pool, holder)


class Process:
    """The searches of one process: four queries at once, two searches of a project."""

    def __init__(self, store: Counting) -> None:
        self.store, self.clock = store, store.clock
        self.pauses: list[float] = []
        self.admission = Admission(cast(Store, store), self.clock, self.pause, 2, 4)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.advance(seconds)

    def deadline(self) -> Deadline:
        return Deadline(self.clock, self.clock.monotonic() + 60)

    def queries(
        self, held: SearchLease, count: int = 2, timeout_s: float = 10
    ) -> AbstractContextManager[bool]:
        return self.admission.queries_of(
            held, "ns", count, timeout_s=timeout_s, deadline=self.deadline()
        )

    def give_back(self, held: SearchLease, project_id: int = 1, *, whole: bool = True) -> None:
        """Gives permits back with the transaction that reads what was found."""
        opened = cast(Store, self.store).for_project(project_id)
        with self.admission.returning(held, opened, whole=whole):
            pass

    def waiting(self) -> int:
        """How many threads wait for others."""
        pools = self.admission._queue._pools
        return len(pools[POOL].waiting) if POOL in pools else 0

    def is_idle(self) -> bool:
        """Whether nobody holds or wants anything."""
        return not self.admission._queue._pools


@pytest.fixture
def store() -> Counting:
    return Counting(ManualClock())


@pytest.fixture
def process(store: Counting) -> Process:
    return Process(store)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def answered(process: Process, order: list[int], number: int, count: int = 2) -> SearchLease:
    """One query of a thread, which notes when it was let in."""
    held = SearchLease()
    with process.queries(held, count) as is_admitted:
        assert is_admitted
        order.append(number)
    return held


def lined_up(
    process: Process, threads: ThreadPoolExecutor, order: list[int], counts: list[int]
) -> list[Future[SearchLease]]:
    """Queries that wait for others of the process, one behind the other."""
    asked: list[Future[SearchLease]] = []
    for number, count in enumerate(counts):
        asked.append(threads.submit(answered, process, order, number, count))
        assert eventually(lambda: process.waiting() == len(asked))
    return asked


def test_who_waits_has_the_permits_of_who_is_done_and_postgres_is_not_asked(
    process: Process, threads: ThreadPoolExecutor
) -> None:
    first, other, order = SearchLease(), SearchLease(), list[int]()
    with process.queries(other):
        with process.queries(first):
            asked = lined_up(process, threads, order, [2, 2, 2])
            assert process.store.asked == [POOL, POOL]
        held = [each.result() for each in asked]
    assert order == [0, 1, 2]
    assert (first.queries, process.store.asked) == ([], [POOL, POOL])
    # The last one had nobody to hand on to.
    assert [len(each.queries) for each in held] == [0, 0, 1]
    for each in (other, held[2]):
        process.give_back(each)
    assert process.store.returned == [POOL, POOL]
    assert process.is_idle()


def test_first_come_first_served_whatever_they_want(
    process: Process, threads: ThreadPoolExecutor
) -> None:
    order: list[int] = []
    with process.admission.admitted(1, process.deadline()) as held:
        with process.queries(held, 3):
            asked = lined_up(process, threads, order, [2, 1])  # one place is free all the time
        assert order == []
        process.give_back(held, whole=False)
        assert [len(each.result().queries) for each in asked] == [1, 1]
    assert sorted(order) == [0, 1]


def test_an_old_permit_is_not_handed_on(process: Process, threads: ThreadPoolExecutor) -> None:
    held, other = SearchLease(), SearchLease()
    with process.queries(other):
        with process.queries(held):
            [asked] = lined_up(process, threads, [], [2])
            process.clock.advance(HANDED_ON_S)
        assert len(held.queries) == 1
        process.give_back(held)
        assert asked.result().queries[0][0].taken_at == process.clock.monotonic()
    assert process.store.asked == [POOL] * 3


def test_who_waits_in_vain_for_others_of_the_process_asks_nobody(process: Process) -> None:
    with (
        process.queries(SearchLease(), 4),
        process.queries(SearchLease(), 1, timeout_s=0.01) as is_admitted,
    ):
        assert not is_admitted
    assert process.store.asked == [POOL]


def test_who_waits_for_other_processes_asks_less_and_less_often(
    store: Counting, process: Process
) -> None:
    with Process(store).queries(SearchLease(), 4):
        with process.queries(SearchLease(), 1, timeout_s=1.0) as is_admitted:
            assert not is_admitted
        assert process.pauses[:4] == [FIRST_PAUSE_S * 2**n for n in range(4)]
        assert set(process.pauses[4:-1]) == {LONGEST_PAUSE_S}
        assert sum(process.pauses) == pytest.approx(1.0)
    assert process.is_idle()


def test_limits_hold_over_processes(store: Counting) -> None:
    processes = [Process(store) for _ in range(3)]
    held = [SearchLease() for _ in processes]
    for process, each in zip(processes[:2], held, strict=False):
        process.admission.admit(each, 7, process.deadline())
    with pytest.raises(BackpressureError):
        processes[2].admission.admit(held[2], 7, processes[2].deadline())
    assert processes[2].is_idle()


def test_a_full_project_is_refused_without_asking_when_it_is_this_process_that_fills_it(
    process: Process,
) -> None:
    deadline = process.deadline()
    with process.admission.admitted(7, deadline), process.admission.admitted(7, deadline):
        with pytest.raises(BackpressureError), process.admission.admitted(7, deadline):
            pass
        assert process.store.asked == [search_pool(7)] * 2
    assert process.store.returned == [search_pool(7)] * 2
    assert process.is_idle()


def test_a_place_that_is_held_is_not_taken_twice(process: Process) -> None:
    with process.admission.admitted(7, process.deadline()) as held:
        process.admission.admit(held, 7, process.deadline())
        assert process.store.asked == [search_pool(7)]
        process.give_back(held, 7)
        process.admission.admit(held, 7, process.deadline())
    assert len(process.store.asked) == len(process.store.returned) == 2


def test_after_an_error_permits_are_back_at_once(process: Process) -> None:
    held = SearchLease()
    with pytest.raises(VectorStoreError), process.queries(held):
        raise VectorStoreError("down")
    assert (held.queries, process.store.returned) == ([], [POOL])
    assert process.is_idle()


def test_what_could_not_be_given_back_with_a_reading_is_given_back_at_the_end(
    process: Process,
) -> None:
    with process.admission.admitted(7, process.deadline()) as held:
        with process.queries(held):
            pass
        opened = cast(Store, process.store).for_project(7)
        with (
            pytest.raises(VectorStoreError),
            process.admission.returning(held, opened, whole=True),
        ):
            raise VectorStoreError("the transaction is rolled back")
        assert (len(held.queries), held.project is not None) == (1, True)
    assert process.store.returned.count(search_pool(7)) == 2
    assert process.is_idle()
