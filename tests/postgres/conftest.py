"""A database of counters for the tests of connections and pools, and a project with hands."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from context_search.postgres.connection import Connection
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore
from testing.one_process import OneProcess
from tests.builders import Workbench
from tests.postgres import counters
from tests.stack import DatabaseFactory


@pytest.fixture(scope="module")
def scratch_url(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """One database for all tests of a file, without the shipped schema."""
    with databases.empty() as url:
        yield url


@pytest.fixture
def connection(scratch_url: DatabaseUrl) -> Iterator[Connection]:
    """A connection of the test's own; temporary tables keep tests apart."""
    opened = Connection(scratch_url)
    yield opened
    opened.close()


@pytest.fixture
def counter_url(scratch_url: DatabaseUrl) -> DatabaseUrl:
    """Counters 1 and 2, both at zero."""
    administrator = Connection(scratch_url)
    administrator.query(counters.RESET)
    administrator.close()
    return scratch_url


@pytest.fixture
def single(counter_url: DatabaseUrl) -> Iterator[Database]:
    """At most one connection, and no patience for a second."""
    database = Database(counter_url, max_connections=1, acquire_timeout_s=0.05)
    yield database
    database.close()


@pytest.fixture
def other(counter_url: DatabaseUrl) -> Iterator[Database]:
    """Somebody else on the same database."""
    database = Database(counter_url)
    yield database
    database.close()


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    """A project in a database that the tests of a file share, and that is emptied first."""
    return Workbench.alone(PostgresStore(module_database))


@pytest.fixture
def one_process(postgres_url: str, databases: DatabaseFactory) -> Iterator[OneProcess]:
    """The deployed parts over a database of their own."""
    with databases.migrated() as url:
        parts = OneProcess(urlsplit(postgres_url)._replace(path=f"/{url.database}").geturl())
        yield parts
        parts.close()
