"""What only one program at a time may hold, given back by the kernel when it dies."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local.postgres.cluster import Cluster

_SOCKET_PATH_BYTES = 107
"""Of ``sockaddr_un.sun_path``, without the final NUL (unix(7))."""


class DataDirectoryInUseError(RuntimeError):
    """Another living program holds the data directory."""


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Holds an exclusive lock on ``file``; raises DataDirectoryInUseError when somebody has it."""
    with file.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataDirectoryInUseError(
                f"another program has the PostgreSQL server of {file.parent}; "
                "stop it, or use another directory"
            ) from None
        yield


@contextlib.contextmanager
def socket_directory(cluster: Cluster) -> Iterator[Path]:
    """Gives the directory for the Unix socket: the cluster's own, or a short one if that is long.

    Nobody but the server's account (and root) can enter either.
    """
    if len(bytes(cluster.home / ".s.PGSQL.65535")) <= _SOCKET_PATH_BYTES:
        yield cluster.home
        return
    directory = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        cluster.account.make_directory(directory)
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def free_port() -> int:
    """Returns a TCP port of 127.0.0.1 that nobody listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
