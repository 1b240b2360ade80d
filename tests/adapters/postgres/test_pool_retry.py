"""Aborted transactions are run again as a whole, a bounded number of times."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from context_search.adapters.postgres.errors import TransactionAbortedError, UniqueViolationError
from context_search.adapters.postgres.pool import Database, retrying
from tests.adapters.postgres.counters import counts, increment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_search.adapters.postgres.pool import Transaction
    from context_search.adapters.postgres.url import DatabaseUrl


@pytest.fixture
def database(counter_url: DatabaseUrl) -> Iterator[Database]:
    opened = Database(counter_url, max_connections=2)
    yield opened
    opened.close()


def test_a_deadlock_costs_one_of_the_two_another_attempt(database: Database) -> None:
    both_hold_one = threading.Barrier(2)
    pauses: list[float] = []

    def cross(first: int, second: int) -> None:
        attempts = iter(range(5))

        def work(tx: Transaction) -> None:
            tx.run("SET LOCAL deadlock_timeout = '10ms'")
            increment(tx, first)
            if next(attempts) == 0:
                both_hold_one.wait(10)
            increment(tx, second)

        retrying(database, work, sleep=pauses.append)

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(cross, 1, 2), threads.submit(cross, 2, 1)]:
            done.result()
    assert counts(database) == [2, 2]
    assert len(pauses) >= 1


class _Overtaken:
    """Work that another transaction overtakes in its first ``times`` attempts."""

    def __init__(self, database: Database, times: int) -> None:
        self._database = database
        self._times = times
        self.attempts = 0

    def __call__(self, tx: Transaction) -> int:
        tx.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        tx.run("SELECT n FROM counter")
        self.attempts += 1
        if self.attempts <= self._times:
            with ThreadPoolExecutor(1) as thread:
                thread.submit(self._overtake).result()
        increment(tx, 1)
        return self.attempts

    def _overtake(self) -> None:
        with self._database.transaction() as tx:
            increment(tx, 1)


def test_a_serialization_failure_is_run_again_after_a_growing_pause(database: Database) -> None:
    pauses: list[float] = []
    work = _Overtaken(database, times=3)
    assert retrying(database, work, sleep=pauses.append, random=lambda: 1.0) == 4
    assert pauses == [0.02, 0.04, 0.08]
    assert counts(database) == [4, 0]


def test_attempts_and_pauses_are_bounded(database: Database) -> None:
    pauses: list[float] = []
    work = _Overtaken(database, times=100)
    with pytest.raises(TransactionAbortedError):
        retrying(database, work, attempts=9, sleep=pauses.append, random=lambda: 1.0)
    assert work.attempts == 9
    assert max(pauses) == 1.0


def test_a_definite_refusal_is_not_tried_again(database: Database) -> None:
    calls: list[int] = []

    def work(tx: Transaction) -> None:
        calls.append(1)
        tx.run("INSERT INTO counter VALUES (1, 1)")

    with pytest.raises(UniqueViolationError):
        retrying(database, work, sleep=lambda _: None)
    assert len(calls) == 1
