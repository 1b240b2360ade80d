"""One namespace on disk: a SQLite file in WAL mode.

A commit with ``synchronous=NORMAL`` survives ``kill -9`` of the process; a power cut may lose
the last commits (sqlite.org/pragma.html#pragma_synchronous).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from local.turbopuffer.documents import DocumentBatch
from local.turbopuffer.schema import Schema

_LOAD_ROWS = 5_000
_SQL_PARAMETERS = 500
_TABLES = """
CREATE TABLE IF NOT EXISTS settings (only INTEGER PRIMARY KEY CHECK (only = 1), value BLOB);
CREATE TABLE IF NOT EXISTS document (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, attributes BLOB NOT NULL, vectors BLOB
);
"""


class Store:
    """Documents and schema of one namespace. One writer at a time; ``attributes`` is for all."""

    def __init__(self, path: Path) -> None:
        self._writer = connect(path)
        self._writer.executescript(_TABLES)
        self._reader = connect(path)
        self._reading = threading.Lock()

    def schema(self) -> Schema:
        """What ``stage`` last saved."""
        (value,) = self._reader.execute("SELECT value FROM settings").fetchone()
        return Schema.from_json(orjson.loads(value)["schema"])

    def batches(self, schema: Schema) -> Iterator[DocumentBatch]:
        """Every document, in the order of writing."""
        cursor = self._reader.execute("SELECT id, attributes, vectors FROM document ORDER BY row")
        while rows := cursor.fetchmany(_LOAD_ROWS):
            ids, attributes, vectors = zip(*rows, strict=True)
            matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(-1, schema.dimensions)
            yield DocumentBatch(ids, [orjson.loads(raw) for raw in attributes], matrix)

    def attributes(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The attributes of ``ids``; ids that do not exist are left out."""
        found: dict[str, dict[str, Any]] = {}
        with self._reading:
            for start in range(0, len(ids), _SQL_PARAMETERS):
                some = ids[start : start + _SQL_PARAMETERS]
                marks = ",".join("?" * len(some))
                query = f"SELECT id, attributes FROM document WHERE id IN ({marks})"
                for identity, raw in self._reader.execute(query, some):
                    found[identity] = orjson.loads(raw)
        return found

    def stage(self, schema: Schema, removed: Sequence[str], batch: DocumentBatch) -> None:
        """Write everything in an open transaction, invisible and undone until ``commit``."""
        rows = [
            (identity, orjson.dumps(attributes), vector.tobytes())
            for identity, attributes, vector in zip(
                batch.ids, batch.attributes, batch.vectors, strict=True
            )
        ]
        self._writer.execute("BEGIN IMMEDIATE")
        self._writer.execute(
            "INSERT INTO settings VALUES (1, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            [orjson.dumps({"schema": schema.to_json()})],
        )
        self._writer.executemany("DELETE FROM document WHERE id = ?", ([one] for one in removed))
        self._writer.executemany(
            "INSERT OR REPLACE INTO document (id, attributes, vectors) VALUES (?, ?, ?)", rows
        )

    def commit(self) -> None:
        """Make what is staged durable and visible."""
        self._writer.execute("COMMIT")

    def rollback(self) -> None:
        """Forget what is staged, if anything is."""
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; the last connection folds the log into it."""
        self._reader.close()
        self._writer.close()


def remove_files(path: Path) -> None:
    """Delete a store's file and its side files."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def connect(path: Path) -> sqlite3.Connection:
    """A connection for many threads, one at a time; without transactions of its own."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA page_size = 16384")  # a vector and its document fit into a page
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection
