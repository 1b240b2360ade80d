"""BEGIN in one round trip with a statement: what is refused, lost or cut there stays harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from context_search.core.errors import CommitUnknownError, ContextSearchError, InvalidInputError
from context_search.integrations.ports import Deadline
from context_search.postgres.connection import Connection
from context_search.postgres.errors import (
    ForeignKeyViolationError,
    PostgresUnavailableError,
    StatementRejectedError,
)
from context_search.postgres.limits import Limits
from context_search.postgres.pool import Database
from testing.in_memory.clock import ManualClock
from tests.postgres.counters import backend, counts, increment, sessions, transact
from tests.postgres.relay import Relay
from tests.stack import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_search.postgres.pool import Transaction
    from context_search.postgres.url import DatabaseUrl

INCREMENT = "UPDATE counter SET n = n + 1 WHERE id = :id"


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
