"""What may change something can be told from its text: on that hangs what a lost COMMIT means."""

from __future__ import annotations

import pytest

from context_search.postgres.pool import Database, may_write

FUNCTIONS = """
    SELECT proname FROM pg_proc
    WHERE pronamespace = 'context_search'::regnamespace AND provolatile = 'v'
      AND prorettype <> 'trigger'::regtype
"""


@pytest.mark.parametrize(
    ("sql", "writes"),
    [
        ("SELECT n FROM counter", False),
        ("SELECT updated_at, deleted_at FROM node FOR UPDATE SKIP LOCKED", False),
        ("SELECT n FROM counter FOR NO KEY UPDATE", False),
        ("WITH gone AS (DELETE FROM node RETURNING id) SELECT id FROM gone", True),
        ("INSERT INTO node VALUES (1)", True),
        ("\n  UPDATE node SET state = 'queued'", True),
        ("SELECT note_indexed(:nodes)", True),
    ],
)
def test_a_statement_that_writes_is_known(sql: str, *, writes: bool) -> None:
    assert may_write(sql) is writes


def test_a_function_that_writes_is_known_by_its_name(module_database: Database) -> None:
    """Postgres lets only functions write that are VOLATILE, as each is that says nothing."""
    with module_database.transaction() as tx:
        names = [name for [name] in tx.run(FUNCTIONS)]
    assert [name for name in names if not may_write(f"SELECT {name}(1)")] == []
    assert "note_indexed" in names
