"""After any fault a connection answers for itself or is closed: never with somebody else's rows."""

from __future__ import annotations

import random
import signal
from typing import TYPE_CHECKING

import pytest

from context_search.core.errors import InvalidInputError
from context_search.postgres.connection import Connection
from context_search.postgres.errors import (
    PostgresUnavailableError,
)
from context_search.postgres.pool import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from context_search.postgres.url import DatabaseUrl

_HUGE_INTEGER = "9" * 5_000
_DEEP = "[" * 2_500 + "]" * 2_500

# Each with the parameters it takes; together they fail before, while and after bytes are sent.
_FAULTS: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("SELECT :text::text", {"text": "\ud800"}),
    ("SELECT :text::text", {"text": "a\x00b"}),
    ("SELECT :texts::text[]", {"texts": ["good", "\udfff"]}),
    ("SELECT :number::numeric", {"number": 10**5_000}),
    (f"SELECT '{_HUGE_INTEGER}'::jsonb", {}),
    ("SELECT :json::jsonb", {"json": f'{{"a": {_HUGE_INTEGER}}}'}),
    (f"SELECT '{_DEEP}'::jsonb", {}),
    ("SELECT :json::jsonb", {"json": '"\\u0000"'}),
    ("SELECT '24:00:00'::time", {}),
    ("SELECT '24:00:00'::time WHERE :yes", {"yes": True}),
    ("SELECT 1 / :zero::int", {"zero": 0}),
    ("SELECT nothing", {}),
    ("SELECT :lonely", {"other": 1}),
    ("SELECT 1; SELECT 1 / 0; SELECT 2", {}),
    ("SELECT pg_sleep(10)", {}),
    ("SELECT pg_sleep(:long)", {"long": 10}),
    ("SELECT pg_terminate_backend(pg_backend_pid())", {}),
    ("SELECT pg_terminate_backend(pg_backend_pid()) WHERE :yes", {"yes": True}),
    ("SELECT 'stranger', generate_series(1, 1000), 1 / (:n::int - 500)", {"n": 500}),
)


@pytest.mark.parametrize("seed", range(3))
def test_a_pool_answers_each_probe_with_its_own_tag_after_any_fault(
    seed: int, scratch_url: DatabaseUrl
) -> None:
    choice = random.Random(seed)
    database = Database(scratch_url, statement_timeout_ms=1_000, max_connections=2)
    failures = 0
    for round_number in range(120):
        sql, parameters = choice.choice(_FAULTS)
        failures += _fails(lambda: _in_transaction(database, sql, parameters))  # noqa: B023
        for probe in range(choice.randint(1, 3)):
            tag = f"{seed}.{round_number}.{probe}"
            with database.transaction() as tx:
                assert tx.run("SELECT :tag::text", tag=tag) == [[tag]], sql
    database.close()
    assert failures > 60


def _in_transaction(database: Database, sql: str, parameters: Mapping[str, object]) -> None:
    with database.transaction(statement_timeout_ms=20) as tx:
        tx.run(sql, **parameters)


def _fails(work: Callable[[], object]) -> bool:
    try:
        work()
    except Exception:  # noqa: BLE001  any error may happen; what follows it is the test
        return True
    return False


@pytest.mark.parametrize(("sql", "parameters"), _FAULTS, ids=range(len(_FAULTS)))
def test_a_connection_answers_for_itself_or_is_closed(
    sql: str, parameters: Mapping[str, object], connection: Connection
) -> None:
    connection.wait_at_most(0.3)
    _fails(lambda: connection.query(sql, parameters))
    if connection.is_healthy:
        assert connection.query("SELECT :tag::text", {"tag": "mine"}).rows == [["mine"]]
    else:
        with pytest.raises(PostgresUnavailableError):
            connection.query("SELECT 1")


def test_a_socket_timeout_closes_the_connection(connection: Connection) -> None:
    connection.wait_at_most(0.01)
    with pytest.raises(PostgresUnavailableError):
        connection.query("SELECT pg_sleep(10)")
    assert not connection.is_healthy


def test_an_interrupt_in_the_middle_of_a_reply_closes_the_connection(
    connection: Connection,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            connection.query("SELECT pg_sleep(10)")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert not connection.is_healthy


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
@pytest.mark.parametrize("wrap", [str, lambda text: ["x", [text]]])
def test_text_that_cannot_be_stored_is_refused_before_anything_is_sent(
    text: str, wrap: Callable[[str], object], connection: Connection
) -> None:
    connection.query("BEGIN")
    with pytest.raises(InvalidInputError):
        connection.query("SELECT :value", {"value": wrap(text)})
    assert connection.transaction_status == "T"


def test_json_arrives_as_text_so_that_no_document_can_break_the_read(
    connection: Connection,
) -> None:
    rows = connection.query(f"SELECT '{_HUGE_INTEGER}'::jsonb, '{_DEEP}'::json, ARRAY['1'::jsonb]")
    assert rows.rows == [[_HUGE_INTEGER, _DEEP, ["1"]]]
