"""Forward-only schema migrations: plain SQL files, each in a transaction of its own.

``python -m context_search.adapters.postgres.migrations --database-url URL``
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from context_search.adapters.postgres.errors import StatementRejectedError
from context_search.adapters.postgres.pool import Database, Transaction
from context_search.adapters.postgres.url import DatabaseUrl
from context_search.domain.errors import ContextSearchError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable

OLDEST_MAJOR = 15

_FILE_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.sql")
_STATEMENT_TIMEOUT_MS = 15 * 60 * 1000
_CREATE_LEDGER = """
CREATE TABLE IF NOT EXISTS context_search_migration (
    name text PRIMARY KEY,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)"""


class MigrationError(ContextSearchError):
    """Files and database do not fit together, or a file fails; the database is as it was before."""

    code = "MIGRATION_FAILED"


@dataclass(frozen=True, slots=True)
class Migration:
    """One SQL file; ``sha256`` is the hex digest of its bytes."""

    name: str
    sha256: str
    sql: str


def shipped() -> Traversable:
    """Returns the folder of SQL files that comes with this package."""
    return resources.files("context_search.adapters.postgres") / "migrations"


def read(folder: Traversable) -> list[Migration]:
    """Returns the migrations of a folder in order: ``NNNN_name.sql``, numbers without repetition.

    Raises MigrationError for a file with another name or a number that occurs twice.
    """
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    numbers = [file.name[:4] for file in files]
    for file, number in zip(files, numbers, strict=True):
        if not _FILE_NAME.fullmatch(file.name) or numbers.count(number) > 1:
            raise MigrationError(f"{file.name}: not NNNN_name.sql with a number of its own")
    contents = [file.read_bytes() for file in files]
    return [
        Migration(file.name, hashlib.sha256(content).hexdigest(), content.decode())
        for file, content in zip(files, contents, strict=True)
    ]


def apply(database_url: DatabaseUrl, folder: Traversable | None = None) -> list[str]:
    """Applies what is missing and returns the names of the files that it applied, in order.

    Safe to run twice at the same time: the second run waits and finds nothing to do.
    Raises MigrationError when the server is older than PostgreSQL 15, when an applied file was
    changed, removed or put in between, and when a file fails; DatabaseUnavailableError.
    """
    migrations = read(folder or shipped())
    database = Database(database_url, statement_timeout_ms=_STATEMENT_TIMEOUT_MS, lock_timeout_ms=0)
    applied: list[str] = []
    try:
        while name := _apply_next(database, migrations):
            applied.append(name)
    finally:
        database.close()
    return applied


def check_version(tx: Transaction) -> None:
    """Raises MigrationError when the server is older than PostgreSQL 15."""
    [[number]] = tx.run("SELECT current_setting('server_version_num')::int")
    require_version(number)


def require_version(number: int) -> None:
    """Raises MigrationError when ``server_version_num`` is that of an older server."""
    if number < OLDEST_MAJOR * 10_000:
        raise MigrationError(
            f"PostgreSQL {OLDEST_MAJOR} or newer is needed, the server is {number // 10_000}"
        )


def _apply_next(database: Database, migrations: Sequence[Migration]) -> str | None:
    """Applies the first migration that is missing and returns its name."""
    with database.transaction() as tx:
        check_version(tx)
        # Held until the end of the transaction, so it works through a pooler too.
        tx.run("SELECT pg_advisory_xact_lock(hashtextextended('context_search_migration', 0))")
        # A change of the schema that waits for a lock holds up everybody behind it.
        tx.run("SET LOCAL lock_timeout = '30s'")
        tx.run(_CREATE_LEDGER)
        ledger = tx.run("SELECT name, sha256 FROM context_search_migration ORDER BY name")
        _check_history(ledger, migrations)
        if len(ledger) == len(migrations):
            return None
        migration = migrations[len(ledger)]
        _run_file(tx, migration)
        tx.run(
            "INSERT INTO context_search_migration (name, sha256) VALUES (:name, :sha256)",
            name=migration.name,
            sha256=migration.sha256,
        )
    return migration.name


def _check_history(ledger: Sequence[Sequence[str]], migrations: Sequence[Migration]) -> None:
    known = {migration.name: migration.sha256 for migration in migrations}
    for position, (name, sha256) in enumerate(ledger):
        if name not in known:
            raise MigrationError(f"{name} was applied, but this version does not have it")
        if known[name] != sha256:
            raise MigrationError(f"{name} was changed after it had been applied")
        if migrations[position].name != name:
            raise MigrationError(
                f"{migrations[position].name} comes before {name}, applied already"
            )


def _run_file(tx: Transaction, migration: Migration) -> None:
    transaction_id = tx.run("SELECT pg_current_xact_id()")
    try:
        tx.run(migration.sql)
    except StatementRejectedError as error:
        raise MigrationError(f"{migration.name}: {error.message}") from error
    if tx.run("SELECT pg_current_xact_id()") != transaction_id:
        raise MigrationError(f"{migration.name}: ends the transaction; part of it is applied")


def main(arguments: Sequence[str] | None = None) -> int:
    """Applies the shipped migrations to ``--database-url`` and prints what it applied."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", required=True)
    options = parser.parse_args(arguments)
    try:
        applied = apply(DatabaseUrl.parse(options.database_url))
    except ContextSearchError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write("".join(f"applied {name}\n" for name in applied) or "nothing to apply\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
