"""Fixtures for tests with a real PostgreSQL; the unit tests use none of them."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from context_search.postgres.pool import Database
from tests.stack import DatabaseFactory, server_of_this_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_search.postgres.url import DatabaseUrl
    from tests.contract.store.bench import PostgresBench
    from tests.contract.turbopuffer.targets import LocalServer

pytest_plugins = ["tests.kinds", "tests.profile"]
_SERVERS = Path(__file__).parent.parent / ".local" / "tests"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collects without the collector of garbage, which would look at every test again and again.

    Nor does it look at them later.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """URL of a superuser: CONTEXT_SEARCH_TEST_DATABASE_URL, or a server started for this run."""
    given = os.environ.get("CONTEXT_SEARCH_TEST_DATABASE_URL")  # noqa: TID251  tests have no settings
    if given:
        yield given
        return
    with server_of_this_run(_SERVERS) as url:
        yield url


@pytest.fixture(scope="session")
def databases(postgres_url: str) -> DatabaseFactory:
    """Makes as many databases as a test needs."""
    return DatabaseFactory(postgres_url)


@pytest.fixture(scope="session")
def turbopuffer_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """The local turbopuffer server, as a process of its own."""
    from tests.contract.turbopuffer.targets import running  # the SDK, which unit tests do without

    with running(tmp_path_factory.mktemp("turbopuffer")) as server:
        yield server


@pytest.fixture(scope="module")
def turbopuffer_url(turbopuffer_server: LocalServer) -> Iterator[str]:
    """That server, emptied after each file: names of namespaces begin anew with each database."""
    yield turbopuffer_server.url
    turbopuffer_server.empty()


@pytest.fixture
def empty_database_url(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """A new database without any table."""
    with databases.empty() as url:
        yield url


@pytest.fixture
def database_url(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """A new database with the shipped schema."""
    with databases.migrated() as url:
        yield url


@pytest.fixture
def database(database_url: DatabaseUrl) -> Iterator[Database]:
    """Transactions on a new database with the shipped schema; for up to eight threads."""
    opened = Database(database_url, max_connections=8)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def module_url(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """Like ``database_url``, shared by the tests of one file."""
    with databases.migrated() as url:
        yield url


@pytest.fixture(scope="module")
def module_database(module_url: DatabaseUrl) -> Iterator[Database]:
    """Like ``database``, shared by the tests of one file."""
    opened = Database(module_url, max_connections=8)
    yield opened
    opened.close()


@pytest.fixture
def bench(module_database: Database) -> PostgresBench:
    """An empty store, and the steps of indexing."""
    from tests.contract.store.bench import PostgresBench  # with the model, which few tests need

    return PostgresBench(module_database)


@pytest.fixture(scope="module")
def owner_url(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """The owner of the tables that ``application_url`` may use."""
    with databases.migrated() as url:
        yield url


@pytest.fixture(scope="module")
def application_url(databases: DatabaseFactory, owner_url: DatabaseUrl) -> Iterator[DatabaseUrl]:
    """A role that owns nothing, as docs/deploy.md wants it for the functions."""
    with databases.application_of(owner_url) as url:
        yield url


@pytest.fixture(scope="module")
def application_database(application_url: DatabaseUrl) -> Iterator[Database]:
    """Like ``module_database``, with the rights of that role."""
    opened = Database(application_url, max_connections=8)
    yield opened
    opened.close()
