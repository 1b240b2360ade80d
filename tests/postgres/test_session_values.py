"""Values that are converted otherwise than by pg8000, there and back on a real server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from context_search.postgres.connection import Connection

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
