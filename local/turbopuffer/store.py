"""One namespace on disk: a SQLite file in WAL mode.

A commit with ``synchronous=NORMAL`` survives ``kill -9`` of the process; a power cut may lose
the last commits (sqlite.org/pragma.html#pragma_synchronous).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from local.turbopuffer.document_batch import DocumentBatch
from local.turbopuffer.errors import invalid
from local.turbopuffer.ids import Id, id_from_text
from local.turbopuffer.schema import Schema

MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
_LOAD_ROWS = 5_000
_SQL_PARAMETERS = 500
_TABLES = """
CREATE TABLE IF NOT EXISTS settings (only INTEGER PRIMARY KEY CHECK (only = 1), value BLOB);
CREATE TABLE IF NOT EXISTS document (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, attributes BLOB NOT NULL, vectors BLOB
);
"""


class Store:
    """Documents and settings of one namespace. One writer at a time; ``attributes`` is for all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = _connect(path)
        self._writer.executescript(_TABLES)
        self._reader = _connect(path)
        self._reading = threading.Lock()

    def settings(self) -> dict[str, Any]:
        """What ``stage`` last saved."""
        (value,) = self._reader.execute("SELECT value FROM settings").fetchone()
        settings: dict[str, Any] = orjson.loads(value)
        return settings

    def batches(self, schema: Schema) -> Iterator[DocumentBatch]:
        """Every document, in the order of writing."""
        cursor = self._reader.execute("SELECT id, attributes, vectors FROM document ORDER BY row")
        while rows := cursor.fetchmany(_LOAD_ROWS):
            ids = [id_from_text(text, schema.id_kind) for text, _, _ in rows]
            attributes = [orjson.loads(raw) for _, raw, _ in rows]
            yield DocumentBatch(ids, attributes, _unpack([raw for _, _, raw in rows], schema))

    def attributes(self, ids: Sequence[Id]) -> dict[Id, dict[str, Any]]:
        """The attributes of ``ids``; ids that do not exist are left out."""
        of_text = {str(identity): identity for identity in ids}
        texts, found = list(of_text), dict[Id, dict[str, Any]]()
        with self._reading:
            for start in range(0, len(texts), _SQL_PARAMETERS):
                some = texts[start : start + _SQL_PARAMETERS]
                marks = ",".join("?" * len(some))
                query = f"SELECT id, attributes FROM document WHERE id IN ({marks})"
                for text, raw in self._reader.execute(query, some):
                    found[of_text[text]] = orjson.loads(raw)
        return found

    def stage(
        self, settings: Mapping[str, Any], removed: Sequence[Id], batch: DocumentBatch
    ) -> None:
        """Write everything in an open transaction, invisible and undone until ``commit``."""
        rows = _rows(batch)
        self._writer.execute("BEGIN IMMEDIATE")
        self._writer.execute(
            "INSERT INTO settings VALUES (1, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            [orjson.dumps(settings)],
        )
        self._writer.executemany(
            "DELETE FROM document WHERE id = ?", ((str(identity),) for identity in removed)
        )
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

    def size(self) -> int:
        """Bytes on disk, about."""
        return self._path.stat().st_size

    def close(self) -> None:
        """Close the file; the last connection folds the log into it."""
        self._reader.close()
        self._writer.close()


def remove_files(path: Path) -> None:
    """Delete a store's file and its side files."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA page_size = 16384")  # a vector and its document fit into a page
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _rows(batch: DocumentBatch) -> list[tuple[str, bytes, bytes]]:
    columns = [np.ascontiguousarray(matrix) for matrix in batch.vectors.values()]
    rows = []
    for position, (identity, attributes) in enumerate(
        zip(batch.ids, batch.attributes, strict=True)
    ):
        payload = orjson.dumps(attributes)
        if len(payload) > MAX_DOCUMENT_BYTES:
            raise invalid("a document has at most 64 MiB")
        vectors = b"".join(matrix[position].tobytes() for matrix in columns)
        rows.append((str(identity), payload, vectors))
    return rows


def _unpack(blobs: Sequence[bytes], schema: Schema) -> dict[str, Any]:
    widths = {name: attribute.type.dimensions for name, attribute in schema.vectors.items()}
    if not widths:
        return {}
    joined = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), sum(widths.values()))
    ends = np.cumsum(list(widths.values()))[:-1]
    return dict(zip(widths, np.split(joined, ends, axis=1), strict=True))
