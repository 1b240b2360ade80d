"""Where a connection leads and whom it trusts, what it answers, and what it is after a fault."""

from __future__ import annotations

import random
import secrets
import signal
import socket
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from context_search.core.errors import ContextSearchError, InvalidInputError
from context_search.postgres.connection import Connection
from context_search.postgres.errors import (
    PostgresUnavailableError,
    StatementRejectedError,
    UniqueViolationError,
)
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from tests.postgres.certificates import self_signed, server_context
from tests.postgres.relay import Relay


def test_a_reply_counts_what_it_touched(connection: Connection) -> None:
    connection.query("CREATE TEMP TABLE thing (a int, b text)")
    inserted = connection.query("INSERT INTO thing SELECT generate_series(1, 3), :b", {"b": "x"})
    read = connection.query("SELECT a, b FROM thing WHERE a = 2")
    assert (inserted.rows, inserted.row_count) == ([], 3)
    assert read.rows == [[2, "x"]]


def test_an_error_tells_names_and_never_values(connection: Connection) -> None:
    connection.query("CREATE TEMP TABLE person (email text CONSTRAINT one_email UNIQUE)")
    insert = "INSERT INTO person VALUES (:email)"
    email = secrets.token_hex(8)
    connection.query(insert, {"email": email})
    with pytest.raises(UniqueViolationError) as caught:
        connection.query(insert, {"email": email})
    assert (caught.value.constraint, caught.value.table) == ("one_email", "person")
    assert str(caught.value) == "SQLSTATE 23505, constraint one_email, table person"
    assert email not in "".join(traceback.format_exception(caught.value))


def test_an_unreadable_value_is_not_quoted(connection: Connection) -> None:
    end_of_day = ":".join(("24", "00", "00"))
    with pytest.raises(StatementRejectedError) as caught:
        connection.query("SELECT :moment::time", {"moment": end_of_day})
    assert end_of_day not in "".join(traceback.format_exception(caught.value))


def test_a_mistake_in_sql_is_located_in_our_own_text(connection: Connection) -> None:
    with pytest.raises(StatementRejectedError, match="SQLSTATE 42703, line 2 at 'absent'"):
        connection.query("SELECT :one::int,\nabsent", {"one": 1})


@pytest.mark.parametrize(
    ("sql", "error", "sqlstate"),
    [
        ("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$", "TransactionAbortedError", "40001"),
        ("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$", "TransactionAbortedError", "40P01"),
        ("DO $$ BEGIN RAISE SQLSTATE '55P03'; END $$", "PostgresUnavailableError", "55P03"),
        ("DO $$ BEGIN RAISE SQLSTATE '57014'; END $$", "PostgresUnavailableError", "57014"),
        ("DO $$ BEGIN RAISE SQLSTATE '53100'; END $$", "PostgresUnavailableError", "53100"),
        ("DO $$ BEGIN RAISE SQLSTATE '25006'; END $$", "PostgresUnavailableError", "25006"),
        ("DO $$ BEGIN RAISE SQLSTATE '08P01'; END $$", "PostgresUnavailableError", "08P01"),
        ("DO $$ BEGIN RAISE SQLSTATE '23503'; END $$", "ForeignKeyViolationError", "23503"),
        ("DO $$ BEGIN RAISE SQLSTATE '22012'; END $$", "StatementRejectedError", "22012"),
    ],
)
def test_an_sqlstate_becomes_the_error_that_callers_act_on(
    sql: str, error: str, sqlstate: str, connection: Connection
) -> None:
    with pytest.raises(ContextSearchError) as caught:
        connection.query(sql)
    assert (type(caught.value).__name__, getattr(caught.value, "sqlstate", None)) == (
        error,
        sqlstate,
    )
    assert connection.is_healthy == (sqlstate not in {"25006", "08P01"})


HOSTILE = ["", "NULL", "null", 'a"b', "\\", '\\"', "{a,b}", " a\tb\n", "中文，🐡", ",", "'"]


@pytest.mark.parametrize("values", [[], HOSTILE, ["a.b-c"], [["a", 'b"'], ["c", "\\"]]])
def test_an_array_of_strings_arrives_as_it_was_sent(
    connection: Connection, values: list[object]
) -> None:
    reply = connection.query("SELECT CAST(:values AS text[])", {"values": values})
    assert reply.rows == [[values]]


def test_an_array_may_have_gaps_and_numbers(connection: Connection) -> None:
    reply = connection.query(
        "SELECT CAST(:texts AS text[]), CAST(:numbers AS bigint[])",
        {"texts": ["a", None], "numbers": [1, 2**40]},
    )
    assert reply.rows == [[["a", None], [1, 2**40]]]


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 11, 22, 5, 33, 11, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(2026, 11, 22, 5, 33, 11, 120_000, tzinfo=timezone(timedelta(hours=5.5))),
    ],
)
def test_a_moment_arrives_as_it_was_sent(connection: Connection, moment: datetime) -> None:
    reply = connection.query("SELECT CAST(:moment AS timestamptz)", {"moment": moment})
    assert reply.rows == [[moment]]


def test_what_is_no_moment_of_python_stays_text(connection: Connection) -> None:
    reply = connection.query("SELECT CAST('infinity' AS timestamptz)")
    assert reply.rows == [["infinity"]]


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


@pytest.fixture
def url(postgres_url: str) -> DatabaseUrl:
    return DatabaseUrl.parse(postgres_url)


def test_a_certificate_that_is_trusted_for_the_host_carries_the_session(
    url: DatabaseUrl, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path, "127.0.0.1")
    with Relay(url, server_context(certificate)) as relay:
        secured = replace(relay.url, sslmode="verify-full", sslrootcert=str(certificate))
        connection = Connection(secured)
        assert connection.query("SELECT :n::int", {"n": 7}).rows == [[7]]
        connection.close()


@pytest.mark.parametrize("trusted", ["system", "another"])
def test_a_certificate_of_an_unknown_authority_is_refused(
    trusted: str, url: DatabaseUrl, tmp_path: Path
) -> None:
    another = str(self_signed(tmp_path, "127.0.0.2"))
    with Relay(url, server_context(self_signed(tmp_path, "127.0.0.1"))) as relay:
        secured = replace(
            relay.url, sslmode="verify-full", sslrootcert=another if trusted == "another" else None
        )
        with pytest.raises(PostgresUnavailableError, match="certificate not trusted"):
            Connection(secured)


def test_a_certificate_for_another_host_is_refused(url: DatabaseUrl, tmp_path: Path) -> None:
    certificate = self_signed(tmp_path, "127.0.0.2")
    with Relay(url, server_context(certificate)) as relay:
        secured = replace(relay.url, sslmode="verify-full", sslrootcert=str(certificate))
        with pytest.raises(PostgresUnavailableError, match="IP address mismatch"):
            Connection(secured)


def test_a_server_without_tls_is_refused(url: DatabaseUrl) -> None:
    with pytest.raises(PostgresUnavailableError, match="refuses TLS"):
        Connection(replace(url, sslmode="verify-full"))


@pytest.mark.parametrize("answer", [b"N", b"E", b""])
def test_a_server_that_declines_tls_hears_nothing_more(answer: bytes, url: DatabaseUrl) -> None:
    heard: list[bytes] = []

    def decline(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client:
            heard.append(client.recv(1024))
            client.sendall(answer)
            client.shutdown(socket.SHUT_WR)
            heard.append(client.recv(1024))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=decline, args=(listener,))
        server.start()
        port = listener.getsockname()[1]
        with pytest.raises(PostgresUnavailableError, match="refuses TLS"):
            Connection(replace(url, port=port, sslmode="verify-full"))
        server.join()
    assert heard == [b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b""]


def test_a_missing_file_of_authorities_is_an_error_and_not_the_systems(
    url: DatabaseUrl, tmp_path: Path
) -> None:
    missing = replace(url, sslmode="verify-full", sslrootcert=str(tmp_path / "none.pem"))
    with pytest.raises(PostgresUnavailableError, match="FileNotFoundError"):
        Connection(missing)


def test_nobody_listening_is_an_unavailable_database(url: DatabaseUrl, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for gone in (replace(url, port=port), replace(url, socket_dir=str(tmp_path))):
        with pytest.raises(PostgresUnavailableError, match="no connection"):
            Connection(gone)


def test_a_wrong_password_is_an_unavailable_database(url: DatabaseUrl) -> None:
    with pytest.raises(PostgresUnavailableError, match="login refused: SQLSTATE 28P01"):
        Connection(replace(url, password="wrong"))


def test_a_url_with_everything_is_read_part_by_part() -> None:
    url = DatabaseUrl.parse(
        "postgresql://us%40er:p%3Aw%2F@db.example.org:6432/shop%20db"
        "?sslmode=verify-full&sslrootcert=/etc/ca.pem"
    )
    assert url == DatabaseUrl(
        user="us@er",
        password="p:w/",
        host="db.example.org",
        port=6432,
        database="shop db",
        sslmode="verify-full",
        sslrootcert="/etc/ca.pem",
    )


@pytest.mark.parametrize(
    ("text", "sslmode"),
    [
        ("postgresql://u:p@db.example.org/d", "verify-full"),
        ("postgres://u:p@10.0.0.7/d", "verify-full"),
        ("postgresql://u:p@127.0.0.1/d", "disable"),
        ("postgresql://u:p@[::1]/d", "disable"),
        ("postgresql://u:p@localhost/d?sslmode=verify-full", "verify-full"),
        ("postgresql://u:p@db/d?sslmode=disable", "disable"),
        ("postgresql://u:p@/d?host=/run/postgresql", "disable"),
    ],
)
def test_only_this_machine_is_trusted_without_tls_unless_the_url_says_so(
    text: str, sslmode: str
) -> None:
    assert DatabaseUrl.parse(text).sslmode == sslmode


def test_a_unix_socket_is_a_directory_and_a_port() -> None:
    url = DatabaseUrl.parse("postgresql://u@:5433/d?host=/run/pg")
    assert (url.socket_dir, url.port, url.password) == ("/run/pg", 5433, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mysql://u:canary@h/d",
        "postgresql://h/d",
        "postgresql://u:canary@h",
        "postgresql://u:canary@h/",
        "postgresql://u:canary@/d",
        "postgresql://u:canary@h:port/d",
        "postgresql://u:canary@h:70000/d",
        "postgresql://u:canary@[::1/d",
        "postgresql://u:canary@h/d?sslmode=require",
        "postgresql://u:canary@h/d?sslmode=prefer",
        "postgresql://u:canary@h/d?options=-c%20x=y",
        "postgresql://u:canary@h/d?sslmode",
        "postgresql://u:canary@h/d?host=elsewhere",
        "postgresql://u:canary@/d?host=/run&sslmode=verify-full",
    ],
)
def test_a_url_that_cannot_be_followed_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        DatabaseUrl.parse(text)
    assert "canary" not in str(caught.value)


def test_a_password_is_not_in_the_representation() -> None:
    assert "canary" not in repr(DatabaseUrl.parse("postgresql://u:canary@h/d"))
