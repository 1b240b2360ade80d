"""A data directory on disk: made once, then read for what the server writes into it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from local.postgres.placement import Account, private_directory

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}

_LAST_WORDS_BYTES = 2_000
_LOG_LIMIT_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """Files of one server: ``home`` holds the data, the superuser's password and the log."""

    account: Account
    programs: Path
    home: Path

    @classmethod
    def under(cls, root: Path, account: Account, programs: Path, major: str) -> Cluster:
        """Returns the cluster of ``root``, which exists; kept elsewhere if not reachable there.

        The major version is in the name, because no other major can read the data; so is a change
        of account, because a user and root may take turns and cannot read each other's.
        """
        base = root if account.reaches(root) else private_directory("data", root)
        owner = "-nobody" if account.is_switched else ""
        return cls(account, programs, base / f"postgres-{major}{owner}")

    @property
    def data(self) -> Path:
        """PGDATA, as the server knows it."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """Output of the server; without statements and row values (``server._SETTINGS``)."""
        return self.home / "server.log"

    @property
    def password(self) -> str:
        """The superuser's password, made when the data directory was."""
        return self._password_file.read_text()

    @property
    def _password_file(self) -> Path:
        return self.home / "password"

    def initialise(self) -> None:
        """Makes the data directory unless it is there. Raises RuntimeError with initdb's words."""
        self.account.make_directory(self.home)
        if (self.data / "PG_VERSION").exists():
            return
        # Renamed when complete: a killed initdb leaves nothing that looks like a data directory.
        unfinished = self.home / "data.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        self._write_password()
        self._initdb(unfinished)
        unfinished.rename(self.data)

    def is_ready(self, pid: int) -> bool:
        """Whether the server with this pid says in ``postmaster.pid`` that it takes connections."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return lines[:1] == [str(pid)] and lines[7:8] == ["ready   "]

    def log_since(self, position: int) -> str:
        """Returns what the server said after ``position`` bytes, 2,000 bytes of it at most."""
        with self.log.open("rb") as file:
            file.seek(max(position, self.log.stat().st_size - _LAST_WORDS_BYTES))
            return file.read().decode(errors="replace")

    def log_end(self) -> int:
        """Returns how many bytes the log has, after starting it anew when past 10 MB."""
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT_BYTES:
            self.log.unlink()
        return self.log.stat().st_size if self.log.exists() else 0

    def remove(self) -> None:
        """Deletes data, password and log."""
        if self.home.exists():
            shutil.rmtree(self.home)
        # A private directory; a folder of the caller's still holds the lock. The note of where
        # it belongs goes when that folder is gone.
        with contextlib.suppress(OSError):
            self.home.parent.rmdir()

    def _write_password(self) -> None:
        file = self._password_file
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(24))
        if self.account.is_switched:
            os.chown(file, self.account.uid, self.account.gid)

    def _initdb(self, directory: Path) -> None:
        command = [
            str(self.programs / "initdb"),
            f"--pgdata={directory}",
            "--username=postgres",
            "--auth=scram-sha-256",
            f"--pwfile={self._password_file}",
            "--encoding=UTF8",
            # The same order and case rules on every machine, whatever its C library has.
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
        ]
        switched = self.account.is_switched
        done = subprocess.run(
            command,
            cwd=self.home,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
            user=self.account.uid if switched else None,
            group=self.account.gid if switched else None,
            extra_groups=[] if switched else None,
        )
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stderr[-_LAST_WORDS_BYTES:]}")
