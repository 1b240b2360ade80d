"""Brings the schema of a database up to date: plain SQL files in order, forward only.

``python -m context_search.postgres.migrations --database-url URL [--dry-run]``
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import re
import sys
import time
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from context_search.core.errors import ContextSearchError
from context_search.postgres import adoption
from context_search.postgres.connection import Connection
from context_search.postgres.errors import (
    PostgresUnavailableError,
    StatementRejectedError,
)
from context_search.postgres.pool import Database, Transaction
from context_search.postgres.url import DatabaseUrl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from importlib.resources.abc import Traversable

OLDEST_MAJOR = 15

_FILE_NAME = re.compile(r"\d{4}_[a-z0-9_]+(\.concurrently)?\.sql")
_CONCURRENTLY = ".concurrently.sql"
_OUR_NAME = re.compile(r"^CREATE (?:UNLOGGED )?(?:TABLE|VIEW) (?!IF )(\w+) ", re.MULTILINE)
_STATEMENT_TIMEOUT_MS = 15 * 60 * 1000
# A change that waits for a lock holds up everybody behind it: not for long, and then once more.
_LOCK_TIMEOUT_MS = 2_000
_ATTEMPTS = 5
_RETRIED = frozenset({"55P03", "40P01"})  # lock not available, deadlock
_TURN_S = 0.1

_FIND_OURS = """
SELECT ARRAY(SELECT CAST(relname AS text) FROM pg_class
             WHERE relnamespace = to_regnamespace('context_search') AND relkind IN ('r', 'v')
             ORDER BY relname),
       quote_ident(current_user),
       has_schema_privilege(to_regnamespace('context_search'), 'USAGE')
"""
_CREATE_LEDGER = """
DO $$
BEGIN
    IF to_regnamespace('context_search') IS NULL THEN  -- an administrator may have made it
        CREATE SCHEMA context_search;
        COMMENT ON SCHEMA context_search IS 'The tables that only context-search uses.';
    END IF;
END $$;
CREATE TABLE context_search.migration (
    name text PRIMARY KEY,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE context_search.migration IS 'An applied file of the schema.';
COMMENT ON COLUMN context_search.migration.sha256 IS 'Of the file: an applied file never changes.';
"""
_BEGIN_TURN = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"
_TAKE_TURN = "SELECT pg_try_advisory_xact_lock(hashtextextended('context_search_migration', 0))"
_DROP_UNFINISHED_INDEXES = """
SELECT format('DROP INDEX CONCURRENTLY %s', CAST(indexrelid AS regclass)) FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid
WHERE NOT indisvalid AND starts_with(relname, 'context_search_')
"""


class MigrationError(ContextSearchError, code="MIGRATION_FAILED"):
    """Files and database do not fit together, or a step fails; that step changed nothing."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One SQL file; ``sha256`` is the hex digest of its bytes."""

    name: str
    sha256: str
    sql: str

    @property
    def is_concurrent(self) -> bool:
        """Its statements run one by one, outside of a transaction."""
        return self.name.endswith(_CONCURRENTLY)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does: ``steps`` in order, each whole or not at all.

    ``notes`` say what was found. ``makes_ledger``: nothing of ours is there yet.
    """

    notes: Sequence[str]
    steps: Sequence[Migration]
    makes_ledger: bool = False

    def lines(self) -> list[str]:
        """The plan for people."""
        if not self.steps:
            return ["nothing to apply"]
        to_do = [f"will apply {step.name}" for step in self.steps]
        if self.makes_ledger:
            to_do.insert(0, "will make the schema context_search for the tables that only we use")
        return [*self.notes, *to_do]


def shipped() -> Traversable:
    """Returns the folder of SQL files that comes with this package."""
    return resources.files("context_search.postgres") / "schema"


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


def plan(database_url: DatabaseUrl, folder: Traversable | None = None) -> Plan:
    """Returns what ``apply`` would do, and changes nothing. Raises what it raises."""
    database = _database(database_url)
    try:
        return _plan(database, read(folder or shipped()))
    finally:
        database.close()


def apply(
    database_url: DatabaseUrl,
    folder: Traversable | None = None,
    *,
    report: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Applies what is missing and returns the names of the files that it applied, in order.

    ``report`` gets the plan, line by line, before anything is changed, and each file when it is
    done. Safe to run twice at the same time: the second run waits and finds nothing to do. Safe to
    interrupt: the next run goes on with the step that was not done.
    Raises MigrationError when the server is older than PostgreSQL 15, when an applied file was
    changed, removed or put in between, when a table of another program cannot be used, when a right
    is missing, and when a step fails; DatabaseUnavailableError.
    """
    migrations = read(folder or shipped())
    database = _database(database_url)
    applied: list[str] = []
    try:
        with _nobody_else(database_url):
            planned = _plan(database, migrations)
            for line in planned.lines():
                report(line)
            for step in planned.steps:
                makes_ledger = planned.makes_ledger and not applied
                _execute(database, database_url, step, makes_ledger=makes_ledger)
                report(f"applied {step.name}")
                applied.append(step.name)
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


def _database(url: DatabaseUrl) -> Database:
    return Database(
        url, statement_timeout_ms=_STATEMENT_TIMEOUT_MS, lock_timeout_ms=_LOCK_TIMEOUT_MS
    )


@contextlib.contextmanager
def _nobody_else(url: DatabaseUrl) -> Iterator[None]:
    """Waits until no other run is under way, and keeps others waiting.

    The lock belongs to a transaction, so it works through a pooler too. Each try that fails ends
    its transaction: CREATE INDEX CONCURRENTLY of the other run waits for the end of every
    transaction that was in a statement when it began, so a try that stays open would wait for ever.
    """
    guard = Connection(url)
    try:
        guard.query(_BEGIN_TURN)
        while guard.query(_TAKE_TURN).rows != [[True]]:
            guard.query("ROLLBACK")
            time.sleep(_TURN_S)
            guard.query(_BEGIN_TURN)
        yield
    finally:
        guard.close()


def _plan(database: Database, migrations: Sequence[Migration]) -> Plan:
    with database.transaction() as tx:
        check_version(tx)
        [[tables, role, may_look]] = tx.run(_FIND_OURS)
        if may_look is False:
            raise MigrationError(f"nothing was changed:\n{adoption.closed_to(role)}")
        has_ledger = "migration" in tables
        ledger: list[list[str]] = []
        if has_ledger:
            ledger = tx.run("SELECT name, sha256 FROM context_search.migration ORDER BY name")
            _check_history(ledger, migrations)
        elif tables:
            raise MigrationError(
                f"the schema context_search is another program's: it has {', '.join(tables)}"
            )
        missing = migrations[len(ledger) :]
        if not missing:
            return Plan([], [])
        new = [name for one in missing for name in _OUR_NAME.findall(one.sql)]
        if not has_ledger:
            new.append("migration")
        found = adoption.look(tx, new, is_first=not has_ledger)
    if found.problems:
        raise MigrationError("\n".join(["nothing was changed:", *found.problems]))
    return Plan(found.notes, missing, makes_ledger=not has_ledger)


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


def _execute(database: Database, url: DatabaseUrl, step: Migration, *, makes_ledger: bool) -> None:
    """Carries out one step; once more when others were in its way."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            if step.is_concurrent:
                _run_concurrently(url, step)
            with database.transaction() as tx:
                if makes_ledger:
                    _run_file(tx, "the schema context_search", _CREATE_LEDGER)
                if not step.is_concurrent:
                    _run_file(tx, step.name, step.sql)
                _note_applied(tx, step)
        except PostgresUnavailableError as error:
            if error.sqlstate not in _RETRIED:
                raise
            if attempt == _ATTEMPTS:
                message = f"{step.name}: others hold its tables locked; run it again"
                raise MigrationError(message) from error
        else:
            return


def _note_applied(tx: Transaction, migration: Migration) -> None:
    tx.run(
        "INSERT INTO context_search.migration (name, sha256) VALUES (:name, :sha256)",
        name=migration.name,
        sha256=migration.sha256,
    )


def _run_file(tx: Transaction, name: str, sql: str) -> None:
    transaction_id = tx.run("SELECT pg_current_xact_id()")
    try:
        tx.run(sql)
    except StatementRejectedError as error:
        raise MigrationError(f"{name}: {error.message}") from error
    if tx.run("SELECT pg_current_xact_id()") != transaction_id:
        raise MigrationError(f"{name}: ends the transaction; part of it is applied")


def _run_concurrently(url: DatabaseUrl, migration: Migration) -> None:
    """Runs each statement by itself; one that was interrupted before leaves an unfinished index."""
    connection = Connection(url)
    connection.wait_at_most(_STATEMENT_TIMEOUT_MS / 1000)
    try:
        unfinished = [statement for [statement] in connection.query(_DROP_UNFINISHED_INDEXES).rows]
        for statement in [*unfinished, *filter(str.strip, migration.sql.split(";\n"))]:
            connection.query(statement)
    except StatementRejectedError as error:
        raise MigrationError(f"{migration.name}: {error.message}") from error
    finally:
        connection.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Says what it will do to ``--database-url``, and does it; with ``--dry-run`` it only says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--dry-run", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    if not options.database_url:
        parser.error("--database-url is empty: make migrate takes it from DATABASE_URL")
    try:
        url = DatabaseUrl.parse(options.database_url)
        if options.dry_run:
            for line in plan(url).lines():
                _say(line)
        else:
            apply(url, report=_say)
    except ContextSearchError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
