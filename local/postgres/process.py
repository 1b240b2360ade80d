"""The server as a child process that cannot outlive its parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from local.postgres.account import Account

_PATIENCE_S = 20.0
_LAUNCHER = Path(__file__).with_name("launch.py")


class ServerProcess:
    """Starts ``command`` as ``account``; when this process dies, even by SIGKILL, so does it.

    The kernel's notice (PR_SET_PDEATHSIG) comes when the *thread* that started the child ends, so
    a thread of its own starts it and waits for its end. Any thread may therefore make and stop a
    ServerProcess.
    """

    def __init__(
        self,
        command: Sequence[str],
        account: Account,
        *,
        log: Path,
        environment: Mapping[str, str],
    ) -> None:
        launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid())]
        self._command = [*launcher, str(account.uid), str(account.gid), *command]
        self._log = log
        self._environment = dict(environment)
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
            if self._ended.wait(_PATIENCE_S):
                return

    def _hold(self, started: Future[int]) -> None:
        try:
            with self._log.open("ab") as log:
                child = subprocess.Popen(
                    self._command,
                    cwd=self._log.parent,
                    env=self._environment,
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
