"""PostgreSQL on this machine: the server of a wheel, or one that is given by its URL."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from context_search.adapters.postgres.migrations import check_version
from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.url import DatabaseUrl
from local.postgres.exclusive import DataDirectoryInUseError
from local.postgres.server import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["DataDirectoryInUseError", "PostgresServer", "running_postgres"]


@contextlib.contextmanager
def running_postgres(data_root: Path, given_url: str | None = None) -> Iterator[str]:
    """Gives the URL of a server: ``given_url`` if there is one, else a server of ``data_root``.

    Raises what ``PostgresServer.start`` raises; for a given URL InvalidInputError,
    DatabaseUnavailableError, and MigrationError when the server is older than PostgreSQL 15.
    """
    if given_url is None:
        with PostgresServer(data_root) as server:
            yield server.url
        return
    database = Database(DatabaseUrl.parse(given_url))
    try:
        with database.transaction() as tx:
            check_version(tx)
    finally:
        database.close()
    yield given_url
