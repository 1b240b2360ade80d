"""Many rows in few statements."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from context_search.core.errors import InvalidDocumentError, InvalidInputError
from context_search.postgres.pool import Database, bulk
from tests.stack import DatabaseFactory

_INSERT = """
INSERT INTO line (owner, number, text)
SELECT :owner, number, text
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (number bigint, text text)
RETURNING number"""


@pytest.fixture(scope="module")
def database(databases: DatabaseFactory) -> Iterator[Database]:
    with databases.empty() as url:
        opened = Database(url)
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def table(database: Database) -> None:
    with database.transaction() as tx:
        tx.run(
            "DROP TABLE IF EXISTS line; CREATE TABLE line (owner bigint, number bigint, text text,"
            " at timestamptz DEFAULT statement_timestamp())"
        )


def _statements(database: Database) -> list[int]:
    """How many rows each statement wrote."""
    with database.transaction() as tx:
        return [n for (n,) in tx.run("SELECT count(*) FROM line GROUP BY at ORDER BY at")]


def test_rows_go_in_order_and_by_two_thousand(database: Database) -> None:
    rows = ({"number": n, "text": f"第{n}行"} for n in range(4_500))
    with database.transaction() as tx:
        returned = bulk(tx, _INSERT, rows, owner=7)
    assert returned == [[n] for n in range(4_500)]
    assert _statements(database) == [2_000, 2_000, 500]


def test_large_rows_go_by_eight_megabytes_and_a_larger_one_alone(database: Database) -> None:
    sizes = [3_000_000, 3_000_000, 3_000_000, 9_000_000, 1]
    rows = [{"number": n, "text": "x" * size} for n, size in enumerate(sizes)]
    with database.transaction() as tx:
        bulk(tx, _INSERT, rows, owner=7)
    assert _statements(database) == [2, 1, 1, 1]


def test_size_is_counted_in_bytes(database: Database) -> None:
    with database.transaction() as tx:
        bulk(tx, _INSERT, [{"number": n, "text": "界" * 1_000_000} for n in range(4)], owner=7)
    assert _statements(database) == [2, 2]


def test_no_rows_are_no_statement(database: Database) -> None:
    with database.transaction() as tx:
        assert bulk(tx, "this is no SQL", []) == []


def test_text_arrives_as_it_was(database: Database) -> None:
    hard = ["\\u0000", '"', "\\", "\n\t\x01", "\u2028", "😀", "{1,2}", "NULL", ":name", ""]
    with database.transaction() as tx:
        bulk(tx, _INSERT, [{"number": n, "text": text} for n, text in enumerate(hard)], owner=7)
        assert [text for (text,) in tx.run("SELECT text FROM line ORDER BY number")] == hard


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a\x00b", InvalidDocumentError),
        ("\\\x00", InvalidDocumentError),
        ("\ud800", InvalidInputError),
        (float("nan"), InvalidDocumentError),
        (10**5_000, InvalidDocumentError),
    ],
    ids=["NUL", "NUL after backslash", "lone surrogate", "NaN", "huge integer"],
)
def test_what_postgres_cannot_hold_is_refused_before_it_is_sent(
    text: object, error: type[Exception], database: Database
) -> None:
    with database.transaction() as tx:
        with pytest.raises(error):
            bulk(tx, _INSERT, [{"number": 1, "text": text}], owner=7)
        assert tx.run("SELECT 'usable'") == [["usable"]]
    assert _statements(database) == []
