"""A stack as ``make serve`` starts it, that may be killed and started again on the same folder."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from types import TracebackType
from typing import Any, Self

from local.options import ROOT
from local.state import State
from tests.e2e.running import PATIENCE, Running, Tenant, user_environment


class ServedStack:
    """``python -m local.serve`` in a process group of its own; two projects talk to it."""

    tenant: Tenant
    neighbour: Tenant

    def __init__(self, state: State) -> None:
        self.state = state
        self.killed_at: list[float] = []
        self._projects: list[tuple[int, str]] = []
        self._open = contextlib.ExitStack()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Starts it."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Stops it in order."""
        self.end(signal.SIGTERM)

    def start(self) -> None:
        """Returns when it serves. Raises RuntimeError when it does not."""
        command = [sys.executable, "-m", "local.serve", "--port=0", f"--state={self.state.root}"]
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [*command, "--schedule-every=1"],
            cwd=ROOT,
            env={**user_environment(), **PATIENCE, "INDEX_LEASE_SECONDS": "8"},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        if not any(line.startswith("context-search serves") for line in self._process.stdout):
            raise RuntimeError(f"the stack does not start, see {self.state.logs}")
        known: dict[str, Any] = json.loads(self.state.endpoints.read_text())
        places = ("base_url", "internal_secret", "database_url", "queue_url", "turbopuffer_url")
        running = self._open.enter_context(Running.at(*(known[place] for place in places)))
        while len(self._projects) < 2:
            made = running.project()
            self._projects.append((made.project_id, made.key))
        self.tenant, self.neighbour = (Tenant(running, *known) for known in self._projects)

    def kill(self) -> None:
        """``kill -9`` of the process group; its parts die with it. Safe from another thread."""
        self.killed_at.append(time.monotonic())
        self._signal(signal.SIGKILL)

    def end(self, number: signal.Signals) -> None:
        """Signals the process group and returns when the stack has ended."""
        if self._process is not None:
            self.killed_at.append(time.monotonic())
            self._signal(number)
            with self._process:
                self._process.wait()
            self._process = None
        with contextlib.suppress(Exception):  # connections to what was killed
            self._open.close()
        self._open = contextlib.ExitStack()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
