"""Programs that start a server, and questions to a server, for the tests of the starter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pg8000

from context_search.postgres.connection import Connection
from context_search.postgres.url import DatabaseUrl

_CHECKOUT = Path(__file__).parents[2]
_SITE_PACKAGES = Path(pg8000.__file__).parents[1]

STARTS_AND_WAITS = """
import sys
from pathlib import Path
from local.postgres import PostgresServer
server = PostgresServer(Path(sys.argv[1]))
server.start()
print(server.pid, server.url, flush=True)
sys.stdin.read()
"""


def start_python(
    code: str,
    *arguments: str,
    interpreter: str = sys.executable,
    variables: Mapping[str, str] | None = None,
    **how: Any,
) -> subprocess.Popen[str]:
    """Starts a program that can import our code; ``how`` are more arguments of Popen."""
    path = [_CHECKOUT, _CHECKOUT / "shared", _SITE_PACKAGES]
    own = {"PYTHONPATH": ":".join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(  # noqa: S603  our own code
        [interpreter, "-c", code, *arguments],
        env={**own, **(variables or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **how,
    )


def query(url: str, sql: str) -> list[list[object]]:
    """Returns the rows of a statement, over a connection of its own."""
    connection = Connection(DatabaseUrl.parse(url))
    try:
        return connection.query(sql).rows
    finally:
        connection.close()


def keep(url: str, n: int) -> None:
    """Commits a number that a later query can look for."""
    query(url, f"DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT {n} AS n")
