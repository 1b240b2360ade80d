"""What commits, what rolls back, who waits; limits, dead lines, lost replies and round trips."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.core.errors import (
    CommitUnknownError,
    ContextSearchError,
    DatabaseUnavailableError,
    InvalidInputError,
)
from context_search.integrations.ports import Deadline, SystemClock
from context_search.postgres.connection import Connection
from context_search.postgres.errors import (
    ForeignKeyViolationError,
    PostgresUnavailableError,
    StatementRejectedError,
    UniqueViolationError,
)
from context_search.postgres.limits import Limits
from context_search.postgres.pool import Database, Transaction
from context_search.postgres.url import DatabaseUrl
from testing.in_memory.clock import ManualClock
from tests.postgres.counters import backend, counts, increment, sessions, transact
from tests.postgres.relay import Relay
from tests.stack import eventually


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


def _orphan(tx: Transaction) -> None:
    increment(tx)
    tx.run("INSERT INTO child VALUES (99)")


def _orphan_sent_with_commit(tx: Transaction) -> None:
    tx.run_and_commit("INSERT INTO child VALUES (:parent)", parent=99)


@pytest.mark.parametrize("work", [_orphan, _orphan_sent_with_commit])
def test_a_constraint_that_fails_at_commit_is_definite(
    single: Database, work: Callable[[Transaction], None]
) -> None:
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


INCREMENT = "UPDATE counter SET n = n + 1 WHERE id = :id"


def test_a_statement_that_commits_is_a_transaction_by_itself(
    single: Database, other: Database
) -> None:
    def work(tx: Transaction) -> None:
        assert tx.run_and_commit(f"{INCREMENT} RETURNING n", id=1) == [[1]]
        assert counts(other) == [1, 0]
        increment(tx)
        with pytest.raises(RuntimeError, match="begun"):
            tx.run_and_commit(INCREMENT, id=1)
        raise LookupError

    with pytest.raises(LookupError):
        transact(single, work)
    assert counts(single) == [1, 0]


def test_a_statement_that_commits_and_fails_has_changed_nothing(single: Database) -> None:
    def work(tx: Transaction) -> None:
        tx.run_and_commit("INSERT INTO counter VALUES (:id, 1), (:id, 2)", id=7)

    before = backend(single)
    with pytest.raises(UniqueViolationError):
        transact(single, work)
    assert (counts(single), backend(single)) == ([0, 0], before)


def test_a_first_statement_that_was_never_sent_leaves_the_transaction_usable(
    single: Database,
) -> None:
    with single.transaction() as tx:
        with pytest.raises(InvalidInputError):
            tx.run("SELECT :text::text", text="a\x00b")
        increment(tx)
    assert counts(single) == [1, 0]


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


@pytest.mark.parametrize("by", ["limit", "deadline"])
def test_a_statement_over_its_limit_or_deadline_is_stopped(single: Database, by: str) -> None:
    clock, before = SystemClock(), backend(single)
    deadline = Deadline(clock, clock.monotonic() + 0.2) if by == "deadline" else None
    limit_ms = 10 if by == "limit" else None
    with (
        pytest.raises(PostgresUnavailableError) as caught,
        single.transaction(deadline=deadline, statement_timeout_ms=limit_ms) as tx,
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


def _add_and_commit(tx: Transaction) -> None:
    tx.run_and_commit(INCREMENT, id=1)


def _add_without_parameters(tx: Transaction) -> None:
    tx.run("UPDATE counter SET n = n + 1 WHERE id = 1")


def _read_twice(tx: Transaction) -> None:
    for row in (1, 2):
        tx.run("SELECT n FROM counter WHERE id = :id", id=row)


@pytest.mark.parametrize(
    ("work", "round_trips"), [(_add_and_commit, 1), (_add_without_parameters, 3), (_read_twice, 3)]
)
def test_begin_goes_with_a_first_statement_and_commit_with_an_only_one(
    work: Callable[[Transaction], None], round_trips: int, counter_url: DatabaseUrl
) -> None:
    with Relay(counter_url) as relay:
        database = Database(relay.url)
        transact(database, work)
        before = relay.requests
        transact(database, work)
        assert relay.requests - before == round_trips
        database.close()


def _add_all_and_commit(tx: Transaction) -> None:
    rows = tx.run_all_and_commit(
        [
            (f"{INCREMENT} RETURNING n", {"id": 1}),
            ("SELECT id FROM counter ORDER BY id", {}),
            ("SELECT id FROM counter WHERE id > :id", {"id": 9}),
        ]
    )
    assert rows[1:] == [[[1], [2]], []]


def _queue_only(tx: Transaction) -> None:
    tx.queue(INCREMENT, id=1)
    tx.queue(INCREMENT, id=1)


def _queue_and_read(tx: Transaction) -> None:
    tx.queue(INCREMENT, id=2)
    assert tx.run("SELECT n - n FROM counter WHERE id = :id", id=2) == [[0]]
    tx.queue(INCREMENT, id=1)


@pytest.mark.parametrize(
    ("work", "round_trips"), [(_add_all_and_commit, 1), (_queue_only, 1), (_queue_and_read, 3)]
)
def test_statements_go_together(
    work: Callable[[Transaction], None], round_trips: int, counter_url: DatabaseUrl, other: Database
) -> None:
    with Relay(counter_url) as relay:
        database = Database(relay.url)
        with database.transaction():
            pass
        before = relay.requests
        transact(database, work)
        assert relay.requests - before == round_trips
        assert counts(other)[0] > 0
        database.close()


def _fail_behind_others(tx: Transaction) -> None:
    tx.queue(INCREMENT, id=1)
    tx.run_all_and_commit([(INCREMENT, {"id": 2}), ("SELECT nothing FROM counter", {})])


def _fail_at_commit(tx: Transaction) -> None:
    tx.run_all_and_commit([(INCREMENT, {"id": 2}), ("INSERT INTO child VALUES (99)", {})])


def test_an_error_undoes_all_that_went_together(single: Database) -> None:
    with pytest.raises(StatementRejectedError, match="at 'nothing FROM"):
        transact(single, _fail_behind_others)
    with pytest.raises(ForeignKeyViolationError):
        transact(single, _fail_at_commit)
    assert counts(single) == [0, 0]


def test_what_is_queued_is_checked_as_well(single: Database) -> None:
    with pytest.raises(InvalidInputError):
        transact(single, lambda tx: tx.queue("SELECT WHERE :text = ''", text="\x00"))


def test_nobody_s_function_stands_for_the_one_that_sets_limits(counter_url: DatabaseUrl) -> None:
    owner = Connection(counter_url)
    owner.query("CREATE SCHEMA own")
    body = "RETURNS text LANGUAGE sql AS 'SELECT $1'"
    owner.query(f"CREATE FUNCTION own.set_config(text, text, boolean) {body}")
    owner.query(f"CREATE FUNCTION own.concat(text, text, text, text) {body}")
    owner.query("SET search_path = own, pg_catalog")
    limits = Limits(statement_ms=350, lock_ms=150, project_id=7, deadline=None)
    shown = "SELECT current_setting('context_search.project_id')"
    assert owner.exchange([(shown, {})], before=limits.settings(()))[0].rows == [["7"]]
    owner.query("DROP SCHEMA own CASCADE")
    owner.close()


def test_the_settings_of_an_exchange_end_with_it(counter_url: DatabaseUrl) -> None:
    """Behind a pooler the next transaction of the session may be somebody else's."""
    shown = """
        SELECT current_setting('statement_timeout'), current_setting('lock_timeout'),
               current_setting('search_path'), current_setting('context_search.project_id', true)
    """
    limits = Limits(statement_ms=350, lock_ms=150, project_id=7, deadline=None)
    connection = Connection(counter_url)
    before = connection.query(shown).rows
    settings = limits.settings(("app", "o'neil"))
    inside = connection.exchange([(shown, {})], before=settings)[0].rows
    assert inside == [
        ["350ms", "150ms", 'context_search, public, "app", "o\'neil", "pg_temp"', "7"]
    ]
    assert before == [[*connection.query(shown).rows[0][:3], before[0][3]]]
    assert connection.query(shown).rows[0][3] in (None, "")
    connection.close()


def test_after_a_refused_commit_no_statement_runs_outside_of_a_transaction(
    single: Database,
) -> None:
    def work(tx: Transaction) -> None:
        with pytest.raises(ForeignKeyViolationError):
            tx.run_and_commit("INSERT INTO child VALUES (:parent)", parent=99)
        with pytest.raises(StatementRejectedError):
            increment(tx)
        with pytest.raises(StatementRejectedError):
            _add_without_parameters(tx)

    before = backend(single)
    with pytest.raises(StatementRejectedError, match="rolled back"):
        transact(single, work)
    assert (counts(single), backend(single)) == ([0, 0], before)


def test_a_loss_that_was_swallowed_is_no_commit_though_there_was_one_before(
    counter_url: DatabaseUrl, other: Database
) -> None:
    with Relay(counter_url) as relay:
        database = Database(relay.url)

        def work(tx: Transaction) -> None:
            _add_and_commit(tx)
            relay.cut_the_line_after(b"UPDATE")
            with pytest.raises(PostgresUnavailableError):
                increment(tx, row=2)

        with pytest.raises(PostgresUnavailableError):
            transact(database, work)
        database.close()
    assert counts(other) == [1, 0]


def test_a_transaction_may_choose_its_isolation(single: Database) -> None:
    with single.transaction() as tx:
        tx.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        assert tx.run("SHOW transaction_isolation") == [["repeatable read"]]


def test_a_statement_gets_the_time_that_is_left_when_it_is_sent(single: Database) -> None:
    clock = ManualClock()
    limit = "SELECT current_setting('statement_timeout') WHERE :yes"
    with single.transaction(deadline=Deadline(clock, clock.monotonic() + 60)) as tx:
        assert tx.run_and_commit(limit, yes=True) == [["10s"]]
        clock.advance(57)
        assert tx.run(limit, yes=True) == [["3s"]]


@pytest.mark.parametrize(
    ("work", "most"), [(increment, 1), (_add_without_parameters, 1), (_add_and_commit, 2)]
)
def test_wherever_a_reply_is_cut_nothing_is_done_twice_and_nobody_reads_the_rest(
    work: Callable[[Transaction], None], most: int, counter_url: DatabaseUrl, other: Database
) -> None:
    outcomes = set()
    with Relay(counter_url) as relay:
        for reply_bytes in range(0, 210, 7):
            transact(other, lambda tx: tx.run("UPDATE counter SET n = 0"))
            database = Database(relay.url, application_name="cut")
            backend(database)
            relay.cut_the_line_after_reply_bytes(reply_bytes)
            outcome = _outcome(database, work)
            relay.cut_the_line_after_reply_bytes(None)
            with database.transaction() as tx:
                assert tx.run("SELECT :tag::text", tag="mine") == [["mine"]]
            database.close()
            assert eventually(lambda: sessions(other, "cut") == 0)
            outcomes.add((outcome, counts(other)[0]))
    lost = (PostgresUnavailableError, 0 if most == 1 else 1)
    in_doubt = {(CommitUnknownError, 0), (CommitUnknownError, 1)}
    assert (None, 1) in outcomes
    assert lost in outcomes
    assert outcomes - in_doubt <= {lost, (None, 1), (None, most)}


def _outcome(
    database: Database, work: Callable[[Transaction], None]
) -> type[ContextSearchError] | None:
    try:
        transact(database, work)
    except ContextSearchError as error:
        return type(error)
    return None
