"""Transactions on a real server: what commits, what rolls back, who waits."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from context_search.core.errors import DatabaseUnavailableError, InvalidInputError
from context_search.postgres.errors import (
    ForeignKeyViolationError,
    StatementRejectedError,
    UniqueViolationError,
)
from context_search.postgres.pool import Database
from tests.postgres.counters import backend, counts, increment, sessions, transact
from tests.stack import eventually

if TYPE_CHECKING:
    from context_search.postgres.pool import Transaction
    from context_search.postgres.url import DatabaseUrl


def test_a_block_commits_at_its_end(single: Database, other: Database) -> None:
    with single.transaction() as tx:
        increment(tx)
    assert counts(other) == [1, 0]


def test_an_exception_rolls_back_and_keeps_the_connection(single: Database) -> None:
    def work(tx: Transaction) -> None:
        increment(tx)
        raise LookupError

    before = backend(single)
    with pytest.raises(LookupError):
        transact(single, work)
    assert (counts(single), backend(single)) == ([0, 0], before)


def test_an_error_that_was_swallowed_still_commits_nothing(single: Database) -> None:
    def work(tx: Transaction) -> None:
        increment(tx)
        with pytest.raises(UniqueViolationError):
            tx.run("INSERT INTO counter VALUES (1, 1)")

    with pytest.raises(StatementRejectedError) as caught:
        transact(single, work)
    assert caught.value.sqlstate == "25P02"
    assert counts(single) == [0, 0]


def test_a_constraint_that_fails_at_commit_is_definite(single: Database) -> None:
    def work(tx: Transaction) -> None:
        increment(tx)
        tx.run("INSERT INTO child VALUES (99)")

    before = backend(single)
    with pytest.raises(ForeignKeyViolationError):
        transact(single, work)
    assert (counts(single), backend(single)) == ([0, 0], before)


def test_transactions_do_not_nest(single: Database) -> None:
    with single.transaction() as tx:
        with pytest.raises(RuntimeError, match="nest"), single.transaction():
            pass
        increment(tx)
    assert counts(single) == [1, 0]


def test_a_transaction_that_has_ended_refuses_statements(single: Database) -> None:
    with single.transaction() as tx:
        pass
    with pytest.raises(RuntimeError, match="ended"):
        tx.run("SELECT 1")


def test_threads_share_the_connections_and_lose_nothing(counter_url: DatabaseUrl) -> None:
    database = Database(counter_url, max_connections=3, acquire_timeout_s=30.0)
    backends = set()

    def work(_: int) -> None:
        with database.transaction() as tx:
            increment(tx)
            backends.add(tx.run("SELECT pg_backend_pid()")[0][0])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(160)))
    assert counts(database) == [160, 0]
    assert len(backends) <= 3
    database.close()


def test_waiting_for_a_connection_ends_in_time(single: Database) -> None:
    with single.transaction(), ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(counts, single)
        with pytest.raises(DatabaseUnavailableError, match="in use"):
            waiting.result()
    assert counts(single) == [0, 0]


def test_a_closed_database_keeps_no_connection(counter_url: DatabaseUrl, other: Database) -> None:
    database = Database(counter_url, application_name="closing", max_connections=2)
    started, finish = threading.Event(), threading.Event()

    def hold() -> None:
        with database.transaction():
            started.set()
            finish.wait(10)

    with ThreadPoolExecutor(1) as thread:
        held = thread.submit(hold)
        started.wait(10)
        counts(database)
        database.close()
        finish.set()
        held.result()
    assert eventually(lambda: sessions(other, "closing") == 0)


INCREMENT = "UPDATE counter SET n = n + :by WHERE id = :id RETURNING n"


def test_a_statement_that_commits_is_a_transaction_by_itself(
    single: Database, other: Database
) -> None:
    def work(tx: Transaction) -> None:
        assert tx.run_and_commit(INCREMENT, by=2, id=1) == [[2]]
        assert counts(other) == [2, 0]
        increment(tx)
        with pytest.raises(RuntimeError, match="begun"):
            tx.run_and_commit(INCREMENT, by=2, id=1)
        raise LookupError

    with pytest.raises(LookupError):
        transact(single, work)
    assert counts(single) == [2, 0]


def test_a_statement_that_commits_and_fails_has_changed_nothing(single: Database) -> None:
    def work(tx: Transaction) -> None:
        tx.run_and_commit("INSERT INTO counter VALUES (:id, 1), (:id, 2)", id=7)

    before = backend(single)
    with pytest.raises(UniqueViolationError):
        transact(single, work)
    assert (counts(single), backend(single)) == ([0, 0], before)


def test_a_constraint_that_fails_at_a_commit_sent_along_is_definite(single: Database) -> None:
    def work(tx: Transaction) -> None:
        tx.run_and_commit("INSERT INTO child VALUES (:parent)", parent=99)

    with pytest.raises(ForeignKeyViolationError):
        transact(single, work)
    assert counts(single) == [0, 0]


def test_a_first_statement_that_was_never_sent_leaves_the_transaction_usable(
    single: Database,
) -> None:
    with single.transaction() as tx:
        with pytest.raises(InvalidInputError):
            tx.run("SELECT :text::text", text="a\x00b")
        increment(tx)
    assert counts(single) == [1, 0]
