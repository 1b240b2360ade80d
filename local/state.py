"""The folder that keeps what a local stack must remember: data, secrets, logs, who runs.

``lock``            held by the running stack, holds its pid
``secrets.json``    internal secret and query hash key, made once (0600)
``project.json``    the default project and its key, and those of other databases (0600)
``endpoints.json``  where everything is, only while the stack serves (0600)
``logs/``           one file a part, of the last run, and ``….log.1`` of the one before
``postgres/ turbopuffer/ s3/``  data; ``tmp/`` of the running stack
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.locks import DirectoryInUseError, hold

DEFAULT_STATE = Path(".local")


class StackError(Exception):
    """The stack cannot start or go on; the message is one line for the terminal."""


class StackBusyError(StackError):
    """Something that runs already is in the way: another stack, or the port's owner."""


class State:
    """One state folder; it is made when it is first used."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.logs = self.root / "logs"
        self.endpoints = self.root / "endpoints.json"
        self.project = self.root / "project.json"
        self.postgres = self.root / "postgres"
        self._lock = self.root / "lock"

    def was_used(self) -> bool:
        """Whether a stack has ever run on this folder."""
        return self._lock.exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one stack. Raises StackBusyError while another one has it.

        The kernel drops the lock with its owner's last breath, so a killed stack leaves none.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self.logs.mkdir(exist_ok=True)
            lock = hold(self._lock)
        except PermissionError as error:
            raise StackError(f"{error.filename} belongs to another user; try --state") from None
        except DirectoryInUseError as error:
            message = f"a stack already runs on {self.root} (pid {error.owner})"
            where = (read_json(self.endpoints) or {}).get("base_url")
            raise StackBusyError(f"{message}: {where}" if where else message) from None
        with lock:
            yield

    def secrets(self) -> dict[str, str]:
        """``internal_secret`` and ``query_hash_key``, 256 random bits each, made once."""
        path = self.root / "secrets.json"
        known = read_json(path)
        if known is None:
            known = {
                "internal_secret": secrets.token_urlsafe(32),
                "query_hash_key": secrets.token_urlsafe(32),
            }
            write_private(path, known)
        return known

    def clear_temporary(self) -> None:
        """Make ``tmp`` empty: a killed part leaves its files there."""
        temporary = self.root / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()

    def wipe(self) -> None:
        """Delete everything but the lock file, which must be held by the caller."""
        for path in self.root.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path != self._lock:
                path.unlink()


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file, or None without one. A file cut short by a crash counts as none."""
    try:
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return known


def write_private(path: Path, values: Mapping[str, Any]) -> None:
    """Write JSON that only its owner may read, all or nothing."""
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(values, file, indent=2)
        file.write("\n")
    draft.replace(path)
