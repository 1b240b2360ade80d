"""What a pool does about limits, dead lines and lost replies."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from context_search.core.errors import CommitUnknownError
from context_search.integrations.ports import Deadline
from context_search.integrations.system_clock import SystemClock
from context_search.postgres.connection import Connection
from context_search.postgres.errors import PostgresUnavailableError
from context_search.postgres.pool import Database
from testing.in_memory.clock import ManualClock
from tests.postgres.counters import backend, counts, increment, sessions, transact
from tests.postgres.relay import Relay
from tests.stack import eventually

if TYPE_CHECKING:
    from context_search.postgres.pool import Transaction
    from context_search.postgres.url import DatabaseUrl

INCREMENT = "UPDATE counter SET n = n + 1 WHERE id = :id RETURNING n"


def test_the_limits_of_a_transaction_end_with_it(counter_url: DatabaseUrl) -> None:
    database = Database(counter_url, statement_timeout_ms=4_000, lock_timeout_ms=1_500)
    limits = "SELECT current_setting('statement_timeout'), current_setting('lock_timeout')"
    with database.transaction(statement_timeout_ms=250) as tx:
        assert tx.run(limits) == [["250ms", "1500ms"]]
    with database.transaction(statement_timeout_ms=350) as tx:
        assert tx.run_and_commit(f"{limits} WHERE :yes", yes=True) == [["350ms", "1500ms"]]
    with database.transaction() as tx:
        assert tx.run(limits) == [["4s", "1500ms"]]
    database.close()


def test_a_statement_over_its_limit_is_stopped(single: Database) -> None:
    def work(tx: Transaction) -> None:
        tx.run("SELECT pg_sleep(10)")

    before = backend(single)
    with pytest.raises(PostgresUnavailableError) as caught:
        transact(single, work, limit_ms=10)
    assert caught.value.sqlstate == "57014"
    assert backend(single) == before


def test_a_statement_is_stopped_when_the_deadline_of_its_transaction_is_over(
    single: Database,
) -> None:
    clock, before = SystemClock(), backend(single)
    deadline = Deadline(clock, clock.monotonic() + 0.2)
    with (
        pytest.raises(PostgresUnavailableError) as caught,
        single.transaction(deadline=deadline) as tx,
    ):
        tx.run("SELECT pg_sleep(10)")
    assert caught.value.sqlstate == "57014"
    assert backend(single) == before


def test_after_the_deadline_nothing_begins_and_nothing_is_committed(single: Database) -> None:
    clock, before = ManualClock(), backend(single)
    deadline = Deadline(clock, clock.monotonic() + 60)

    def two_increments() -> None:
        with single.transaction(deadline=deadline) as tx:
            increment(tx)
            clock.advance(61)
            increment(tx)

    for _ in range(2):
        with pytest.raises(PostgresUnavailableError):
            two_increments()
    assert counts(single)[0] == 0
    assert backend(single) == before


def test_a_lock_that_is_not_given_up_is_not_waited_for(
    counter_url: DatabaseUrl, other: Database
) -> None:
    impatient = Database(counter_url, lock_timeout_ms=10)
    with other.transaction() as holder:
        increment(holder)
        with pytest.raises(PostgresUnavailableError) as caught:
            transact(impatient, increment)
    assert caught.value.sqlstate == "55P03"
    impatient.close()


def test_a_first_statement_goes_to_the_connection_that_replaced_a_dead_one(
    single: Database, other: Database
) -> None:
    kill = "SELECT pg_terminate_backend(:pid, 5000)"
    with other.transaction() as tx:
        tx.run(kill, pid=backend(single))
    transact(single, increment)
    with other.transaction() as tx:
        tx.run(kill, pid=backend(single))
    transact(single, lambda tx: tx.run_and_commit(INCREMENT, id=1))
    assert counts(other) == [2, 0]


def test_an_idle_connection_that_fell_silent_is_replaced(counter_url: DatabaseUrl) -> None:
    with Relay(counter_url) as relay:
        database = Database(relay.url)
        before = backend(database)
        relay.fall_silent()
        assert backend(database) != before
        database.close()


def test_a_connection_lost_in_a_transaction_is_no_doubt(single: Database, other: Database) -> None:
    def work(tx: Transaction) -> None:
        increment(tx)
        with pytest.raises(PostgresUnavailableError):
            tx.run("SELECT pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(PostgresUnavailableError, match="lost in the transaction"):
        transact(single, work)
    assert counts(other) == [0, 0]
    assert counts(single) == [0, 0]


def test_a_statement_that_commits_runs_twice_when_a_reused_connection_breaks(
    counter_url: DatabaseUrl, other: Database
) -> None:
    with Relay(counter_url) as relay:
        database = Database(relay.url)
        backend(database)
        relay.cut_the_line_after(b"UPDATE")
        with pytest.raises(PostgresUnavailableError) as caught:
            transact(database, lambda tx: tx.run_and_commit(INCREMENT, id=1))
        database.close()
    assert caught.value.retryable
    assert eventually(lambda: counts(other) == [2, 0])


def test_a_lost_reply_to_commit_is_unknown_and_not_a_failure(
    counter_url: DatabaseUrl, other: Database
) -> None:
    with Relay(counter_url) as relay:
        database = Database(relay.url)
        relay.cut_the_line_after(b"COMMIT")
        with pytest.raises(CommitUnknownError) as caught:
            transact(database, increment)
        database.close()
    assert not caught.value.retryable
    assert counts(other) == [1, 0]


def test_a_lost_reply_to_the_commit_of_a_read_is_an_unavailable_database(
    counter_url: DatabaseUrl,
) -> None:
    with Relay(counter_url) as relay:
        database = Database(relay.url)
        relay.cut_the_line_after(b"COMMIT")
        with pytest.raises(PostgresUnavailableError) as caught:
            transact(
                database, lambda tx: tx.run("SELECT n FROM counter WHERE id = :id FOR UPDATE", id=1)
            )
        database.close()
    assert caught.value.retryable
    assert caught.value.code == "DATABASE_UNAVAILABLE"


def test_too_many_connections_is_an_unavailable_database(counter_url: DatabaseUrl) -> None:
    role = f"cs_test_{secrets.token_hex(8)}"
    administrator = Connection(counter_url)
    administrator.query(f"CREATE ROLE {role} LOGIN PASSWORD 'narrow' CONNECTION LIMIT 1")
    narrow = replace(counter_url, user=role, password="narrow")
    first, second = Database(narrow), Database(narrow)
    with first.transaction(), pytest.raises(PostgresUnavailableError) as caught:
        backend(second)
    assert caught.value.sqlstate == "53300"
    first.close()
    second.close()
    administrator.query(f"DROP ROLE {role}")
    administrator.close()


def test_a_session_that_the_server_ended_for_its_idleness_is_replaced(
    counter_url: DatabaseUrl, other: Database
) -> None:
    administrator = Connection(counter_url)
    name, idle = counter_url.database, Database(counter_url, application_name="idle")
    administrator.query(f'ALTER DATABASE "{name}" SET idle_session_timeout = 1000')
    try:
        transact(idle, increment)
    finally:
        administrator.query(f'ALTER DATABASE "{name}" RESET idle_session_timeout')
        administrator.close()
    assert sessions(other, "idle") == 1
    assert eventually(lambda: sessions(other, "idle") == 0)
    transact(idle, increment)
    assert counts(idle)[0] == 2
    idle.close()
