"""Statements about counters, whose sum tells what was committed how often."""

from __future__ import annotations

from collections.abc import Callable

from context_search.postgres.pool import Database, Transaction

RESET = """
DROP TABLE IF EXISTS child, counter;
CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL);
CREATE TABLE child (id int REFERENCES counter DEFERRABLE INITIALLY DEFERRED);
INSERT INTO counter VALUES (1, 0), (2, 0)"""


def transact(
    database: Database, work: Callable[[Transaction], object], limit_ms: int | None = None
) -> None:
    """Does ``work`` in a transaction."""
    with database.transaction(statement_timeout_ms=limit_ms) as tx:
        work(tx)


def increment(tx: Transaction, row: int = 1) -> None:
    """Adds one to a counter."""
    tx.run("UPDATE counter SET n = n + 1 WHERE id = :row", row=row)


def counts(database: Database) -> list[int]:
    """Returns both counters as they were committed."""
    with database.transaction() as tx:
        return [n for (n,) in tx.run("SELECT n FROM counter ORDER BY id")]


def backend(database: Database) -> int:
    """Returns which server process a transaction gets."""
    with database.transaction() as tx:
        [[pid]] = tx.run("SELECT pg_backend_pid()")
    return int(pid)


def sessions(database: Database, application_name: str) -> int:
    """Returns how many connections an application has."""
    with database.transaction() as tx:
        return tx.execute(
            "SELECT FROM pg_stat_activity WHERE application_name = :name", name=application_name
        )
