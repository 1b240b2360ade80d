"""Which namespaces exist and in which file each one lives.

Files have random names, so a deleted and re-created namespace never meets its old file, and
names that differ only in case never share one. A namespace exists from the moment it is listed
here; a file that is not listed belongs to a write that was never acknowledged.
"""

from __future__ import annotations

import threading
import uuid
from pathlib import Path

from local.locks import hold
from local.turbopuffer.store import connect, remove_files

_LAST = "\U0010ffff"


class Catalogue:
    """The list of namespaces below one directory, which is created if missing.

    Raises DirectoryInUseError: two servers would each miss what the other writes.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._owned = hold(directory / "lock")
        self._lock = threading.Lock()
        self._database = connect(directory / "catalogue.sqlite")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS namespace (name TEXT PRIMARY KEY, file TEXT NOT NULL)"
        )
        self._sweep()

    def new_file(self) -> Path:
        """A path for a namespace that is not listed yet."""
        return self._directory / f"namespace-{uuid.uuid4().hex}.sqlite"

    def file_of(self, name: str) -> Path | None:
        """The namespace's file, or None where there is no such namespace."""
        with self._lock:
            row = self._database.execute(
                "SELECT file FROM namespace WHERE name = ?", [name]
            ).fetchone()
        return None if row is None else self._directory / row[0]

    def add(self, name: str, file: Path) -> None:
        """List a namespace."""
        with self._lock:
            self._database.execute("INSERT INTO namespace VALUES (?, ?)", [name, file.name])

    def remove(self, name: str) -> None:
        """Take a namespace off the list."""
        with self._lock:
            self._database.execute("DELETE FROM namespace WHERE name = ?", [name])

    def names(self, prefix: str, after: str, limit: int) -> list[str]:
        """At most ``limit`` names with ``prefix``, in order, behind ``after``."""
        with self._lock:
            rows = self._database.execute(
                "SELECT name FROM namespace WHERE name > ? AND name >= ? AND name < ?"
                " ORDER BY name LIMIT ?",
                [after, prefix, prefix + _LAST, limit],
            ).fetchall()
        return [name for (name,) in rows]

    def close(self) -> None:
        """Close the list, and let another process have the directory."""
        self._database.close()
        self._owned.close()

    def _sweep(self) -> None:
        listed = {file for (file,) in self._database.execute("SELECT file FROM namespace")}
        for path in self._directory.glob("namespace-*.sqlite"):
            if path.name not in listed:
                remove_files(path)
