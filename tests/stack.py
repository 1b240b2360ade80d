"""The running parts that tests share: one PostgreSQL server, a fresh database for each who asks."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from context_search.postgres import migrations
from context_search.postgres.connection import Connection
from context_search.postgres.errors import StatementRejectedError
from context_search.postgres.url import DatabaseUrl
from local.locks import DirectoryInUseError
from local.postgres import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from context_search.postgres.pool import Database

# Nothing here has to survive a crash of the machine.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

# TRUNCATE makes new files for every table and index, and takes twenty times as long.
_CLEAR = """
    DO $$ DECLARE name text; BEGIN
        SET LOCAL session_replication_role = replica;  -- no triggers, no foreign keys
        FOR name IN
            SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
            WHERE schemaname IN ('public', 'context_search')
              AND tablename NOT IN ('migration', 'deployment')
        LOOP EXECUTE format('DELETE FROM %s', name); END LOOP;
        FOR name IN
            SELECT format('%I.%I', schemaname, sequencename) FROM pg_sequences
            WHERE schemaname IN ('public', 'context_search') AND last_value IS NOT NULL
        LOOP EXECUTE format('ALTER SEQUENCE %s RESTART', name); END LOOP;
    END $$
"""
_SLOTS = 32
_DUPLICATE_DATABASE = "42P04"


@contextlib.contextmanager
def server_of_this_run(root: Path) -> Iterator[str]:
    """Gives the URL of a server of this test run alone.

    Runs and xdist workers at the same time take different slots below ``root``. A slot's files
    stay for the next run, which then starts in a tenth of a second.
    """
    for slot in range(_SLOTS):
        server = PostgresServer(root / f"slot-{slot}", settings=FAST)
        try:
            server.start()
        except DirectoryInUseError:
            continue
        try:
            DatabaseFactory(server.url).delete_earlier_runs()
            yield server.url
        finally:
            server.stop()
        return
    raise RuntimeError(f"all {_SLOTS} slots under {root} are in use")


def clear_rows(database: Database) -> None:
    """Takes every row out of a migrated database; ids begin anew. Only for a superuser."""
    with database.transaction() as tx:
        tx.run(_CLEAR)


def role_statements() -> list[str]:
    """The statements that make a role for the functions, as docs/deploy.md tells them."""
    document = (Path(__file__).resolve().parents[1] / "docs" / "deploy.md").read_text()
    [block] = [part for part in document.split("```sql\n")[1:] if part.startswith("CREATE ROLE")]
    return [line for line in block.split("```")[0].split("\n") if line]


def eventually(is_so: Callable[[], bool], timeout_s: float = 20.0) -> bool:
    """Asks again and again until the answer is yes, or the time is over."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class DatabaseFactory:
    """Makes databases on a server: empty ones, and copies of one with all migrations applied."""

    def __init__(self, url: str) -> None:
        self._url = DatabaseUrl.parse(url)
        shipped = migrations.read(migrations.shipped())
        digest = hashlib.sha256("".join(one.sha256 for one in shipped).encode())
        self._template = f"cs_template_{digest.hexdigest()[:16]}"

    @contextlib.contextmanager
    def empty(self) -> Iterator[DatabaseUrl]:
        """Gives a new database and drops it afterwards."""
        with self._copy_of("template1") as url:
            yield url

    @contextlib.contextmanager
    def migrated(self) -> Iterator[DatabaseUrl]:
        """Gives a new database with the shipped schema and drops it afterwards."""
        self._make_template()
        with self._copy_of(self._template) as url:
            yield url

    @contextlib.contextmanager
    def application_of(self, url: DatabaseUrl) -> Iterator[DatabaseUrl]:
        """Gives the URL of a role that owns nothing, made as docs/deploy.md says, for a database.

        Goes before the database does.
        """
        role = f"cs_app_{secrets.token_hex(8)}"
        owner = Connection(url, timeout_s=60.0)
        try:
            for statement in role_statements():
                owner.query(statement.replace("context_search_app", role))
            yield replace(url, user=role, password="choose one")
        finally:
            owner.query(f"DROP OWNED BY {role}")
            owner.query(f"DROP ROLE {role}")
            owner.close()

    def delete_earlier_runs(self) -> None:
        """Drops what killed runs and older schemas left; only on a server that nobody shares."""
        with self._administrator() as admin:
            found = admin.query("SELECT datname FROM pg_database WHERE datname LIKE 'cs\\_%'")
            for (name,) in found.rows:
                if name != self._template:
                    admin.query(f"DROP DATABASE {name} WITH (FORCE)")

    @contextlib.contextmanager
    def _copy_of(self, template: str) -> Iterator[DatabaseUrl]:
        name = f"cs_test_{secrets.token_hex(8)}"
        with self._administrator() as admin:
            admin.query(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield replace(self._url, database=name)
        finally:
            with self._administrator() as admin:
                admin.query(f"DROP DATABASE {name} WITH (FORCE)")

    def _make_template(self) -> None:
        with self._administrator() as admin:
            if admin.query(
                "SELECT 1 FROM pg_database WHERE datname = :name", {"name": self._template}
            ).rows:
                return
            # Renamed when complete, so that nobody copies half a schema.
            unfinished = f"cs_test_{secrets.token_hex(8)}"
            admin.query(f"CREATE DATABASE {unfinished} TEMPLATE template1")
            migrations.apply(replace(self._url, database=unfinished))
            try:
                admin.query(f"ALTER DATABASE {unfinished} RENAME TO {self._template}")
            except StatementRejectedError as error:
                if error.sqlstate != _DUPLICATE_DATABASE:
                    raise
                admin.query(f"DROP DATABASE {unfinished}")

    @contextlib.contextmanager
    def _administrator(self) -> Iterator[Connection]:
        connection = Connection(self._url, timeout_s=60.0)
        try:
            yield connection
        finally:
            connection.close()
