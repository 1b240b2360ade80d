"""A version of the product: a folder with its code, and a Python that has what it requires."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from local.options import ROOT
from local.template import FunctionSpec, read_template
from local.variables import Variables

FOLDER = ROOT / ".local" / "upgrade"
MIGRATIONS = Path("shared/context_search/postgres/schema")
_PINS = ("requirements/dev.txt", "requirements/conformance.txt")


RELEASED: dict[str, str] = {"v0.2.0": "b70a905cc5d874090e55bbcc1d42e60345c99a1e"}
"""The commit of each release: a clone finds it with a tag or without."""


class UpgradeError(Exception):
    """Something between the two versions does not hold; the message says what."""


@dataclass(frozen=True)
class Version:
    """``name`` is how people call it; ``root`` the folder of its code."""

    name: str
    commit: str
    root: Path
    python: str

    @cached_property
    def functions(self) -> dict[str, FunctionSpec]:
        """What its template deploys, by the name of the folder."""
        return {
            each.code.name: each for each in read_template(self.root / "template.yaml").functions
        }

    def variables(self, function: FunctionSpec, references: Mapping[str, str]) -> dict[str, str]:
        """The environment that its template gives a function."""
        return Variables.read(self.root / "template.yaml").of(function.name, references)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs a program of this version, in its folder, with nothing of another's."""
        paths = {"PYTHONPATH": f"{self.root}:{self.root / 'shared'}"}
        return subprocess.run(  # noqa: S603 - our own programs
            [self.python, *arguments],
            cwd=self.root,
            env=plain_environment() | paths | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def migrate(self, database_url: str) -> list[str]:
        """``make migrate`` of this version; returns what it applied."""
        module = "context_search.postgres.migrations"
        done = self.run("-m", module, "--database-url", database_url)
        if done.returncode:
            raise UpgradeError(f"migrations of {self.name}: {done.stderr.strip()}")
        lines = done.stdout.splitlines()
        return [line.split()[1] for line in lines if line.startswith("applied ")]

    def migrations(self) -> dict[str, str]:
        """Text of each migration by name."""
        files = sorted((self.root / MIGRATIONS).glob("*.sql"))
        return {path.name: path.read_text("utf-8") for path in files}

    def json(self, path: str) -> Any:
        """A JSON file of this version."""
        return json.loads((self.root / path).read_text("utf-8"))


def plain_environment() -> dict[str, str]:
    """What any Python needs, and nothing that configures a service."""
    names = {"PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"}
    kept = {name: value for name, value in os.environ.items() if name in names}  # noqa: TID251
    return kept | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def today() -> Version:
    """This folder, whether committed or not."""
    changed = " with changes" if _git("status", "--porcelain") else ""
    return Version("today", _git("rev-parse", "--short", "HEAD") + changed, ROOT, sys.executable)


@contextmanager
def checked_out(revision: str) -> Iterator[Version]:
    """A revision in a folder of its own, which is gone afterwards.

    Its environment is this folder's where both require the same, else one that its own
    ``scripts/setup.sh`` makes from its own pins. Raises UpgradeError for an unknown revision.
    """
    commit = _commit(revision) or _commit(RELEASED.get(revision, ""))
    if commit is None:
        raise UpgradeError(f"no commit of {revision} here: fetch the whole history, or its tag")
    folder = FOLDER / commit[:12]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        archive = subprocess.run(  # noqa: S603
            ["git", "archive", commit],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        yield Version(revision, commit[:7], folder, _python_for(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _commit(revision: str) -> str | None:
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except subprocess.CalledProcessError:
        return None


def _python_for(folder: Path) -> str:
    if all((folder / name).read_bytes() == (ROOT / name).read_bytes() for name in _PINS):
        return sys.executable
    subprocess.run(  # noqa: S603 - its own script
        [folder / "scripts" / "setup.sh", ".venv", *_PINS], cwd=folder, check=True
    )
    return str(folder / ".venv" / "bin" / "python")


def _git(*arguments: str) -> str:
    done = subprocess.run(  # noqa: S603
        ["git", *arguments],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
