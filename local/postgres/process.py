"""The server as a child process that cannot outlive its parent, and the end of those that did."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from local.postgres.cluster import ENVIRONMENT
from local.postgres.placement import Account

_STOP_STEP_S = 20.0
_PROC = Path("/proc")
_POLL_S = 0.02
_LAUNCHER = Path(__file__).with_name("launch.py")


class ServerProcess:
    """Starts ``command`` as ``account``; when this process dies, even by SIGKILL, so does it.

    The kernel's notice (PR_SET_PDEATHSIG) comes when the *thread* that started the child ends, so
    a thread of its own starts it and waits for its end. Any thread may therefore make and stop a
    ServerProcess.
    """

    def __init__(self, command: Sequence[str], account: Account, *, log: Path) -> None:
        launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid())]
        self._command = [*launcher, str(account.uid), str(account.gid), *command]
        self._log = log
        self._ended = threading.Event()
        started: Future[int] = Future()
        threading.Thread(target=self._hold, args=(started,), daemon=True).start()
        self.pid = started.result()

    @property
    def is_running(self) -> bool:
        """False once the process has ended and was reaped."""
        return not self._ended.is_set()

    def stop(self) -> None:
        """Ends the process: a fast shutdown, and after 20 s ever harder ways."""
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                if self.is_running:
                    os.kill(self.pid, number)
            if self._ended.wait(_STOP_STEP_S):
                return

    def _hold(self, started: Future[int]) -> None:
        try:
            with self._log.open("ab") as log:
                child = subprocess.Popen(
                    self._command,
                    cwd=self._log.parent,
                    env=ENVIRONMENT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    # A Ctrl-C in the terminal is for the parent, which stops the server itself.
                    start_new_session=True,
                )
        except OSError as error:
            self._ended.set()
            started.set_exception(error)
            return
        started.set_result(child.pid)
        child.wait()
        self._ended.set()


def end_orphans(data: Path, timeout_s: float) -> None:
    """Ends every server process of ``data`` that outlived whoever started it, proven to be one.

    Only for the holder of the directory's lock. A fast shutdown first, which a server whose parent
    died has begun by itself; SIGKILL for what is left after half of the time. When none is left the
    pid file goes too: PostgreSQL takes any living process of its account that has the number since
    for its predecessor.
    """
    started = time.monotonic()
    signal_to_send = signal.SIGINT
    while orphans := servers_of(data):
        elapsed = time.monotonic() - started
        if elapsed > timeout_s:
            return
        if elapsed > timeout_s / 2:
            signal_to_send = signal.SIGKILL
        _signal(orphans, signal_to_send)
        time.sleep(_POLL_S)
    if _PROC.is_dir():
        (data / "postmaster.pid").unlink(missing_ok=True)


def _is_server_of(pid: int, data: Path) -> bool:
    """Tells whether ``pid`` is a PostgreSQL process whose working directory is ``data``.

    Each process of a server works there, from the first to the last. False as well when the
    system does not say (other systems than Linux, hardened containers).
    """
    try:
        process = _PROC / str(pid)
        return (process / "cwd").samefile(data) and (process / "exe").readlink().name.startswith(
            "postgres"
        )
    except OSError:
        return False


def servers_of(data: Path) -> list[int]:
    """Returns the pids of the server processes that work in a data directory."""
    if not _PROC.is_dir():
        return []
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]
    return [pid for pid in pids if _is_server_of(pid, data)]


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
