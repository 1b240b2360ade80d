"""Another project that writes all the time, as fast as one program can."""

from __future__ import annotations

import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import httpx2

from tests.builders import english
from tests.e2e.served import ServedStack

TABLES = 3
STRINGS = 10
CHARACTERS = 3_000
CHUNK_SIZES = (500, 600, 700, 800)
WRITES_PER_S = 45.0


class Neighbour:
    """Three tables of ten strings, four indexes each and project search; a string is rewritten
    45 times a second, from a thread of its own. Use as a context manager.

    A stack that is down, or dying, loses writes: nobody counts on them.
    """

    def __init__(self, served: ServedStack) -> None:
        self.served = served
        self.writes = 0
        self._tables: list[int] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._write, name="neighbour", daemon=True)

    def __enter__(self) -> Self:
        """Makes the tables and begins to write."""
        tenant = self.served.neighbour
        document = {f"k{number}": english(CHARACTERS, number) for number in range(STRINGS)}
        for _ in range(TABLES):
            table = tenant.table(document)
            self._tables.append(table)
            for size in CHUNK_SIZES:
                tenant.tool(table, search_config={"chunk_threshold": 100, "chunk_size": size})
        switched = tenant("POST", f"/api/v1/projects/{tenant.project_id}/search-index")
        assert switched.status_code in {200, 201, 202}, switched.text
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Stops writing."""
        self._stopping.set()
        self._thread.join()

    def _write(self) -> None:
        number = 0
        while not self._stopping.wait(1 / WRITES_PER_S):
            number += 1
            with suppress(httpx2.HTTPError, OSError, RuntimeError):  # between a kill and a start
                self.writes += self._rewrite(number).is_success

    def _rewrite(self, number: int) -> Any:
        table = self._tables[number % TABLES]
        return self.served.neighbour(
            "PUT",
            f"/api/v1/tables/{table}/data",
            params={"pointer": f"/k{number % STRINGS}"},
            json=english(CHARACTERS, number),
        )
