"""What a connection answers, and what its errors say and keep to themselves."""

from __future__ import annotations

import secrets
import traceback

import pytest

from context_search.core.errors import ContextSearchError
from context_search.postgres.connection import Connection
from context_search.postgres.errors import StatementRejectedError, UniqueViolationError


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
