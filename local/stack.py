"""The whole product on one machine, as a context manager.

Children of the process that enters it: MiniStack (SQS, S3), the turbopuffer-compatible server,
PostgreSQL, and the runner with the functions. They start side by side; each dies with this
process, however it dies. State lives in one folder and survives restarts.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Self

from context_search.core.errors import ContextSearchError
from context_search.postgres import migrations
from context_search.postgres.url import DatabaseUrl
from context_search.settings import Settings
from local.emulator import emulator_environment
from local.environment import (
    Choice,
    Endpoints,
    function_environment,
    process_environment,
    queue_urls,
    turbopuffer_url,
)
from local.loopback_only import LOOPBACK_HOSTS
from local.model_check import check_model
from local.options import ROOT, RunnerOptions, StackOptions
from local.postgres import PostgresServer
from local.processes import Child, handed_over, listen, tail
from local.state import StackError, State
from local.template import TemplateError, read_template

_PART_DEADLINE_S = 30.0
_READY_DEADLINE_S = 120.0
_STOP_GRACE_S = 10.0
_WATCH_S = 0.2
# Every handler thread may hold a connection of its own.
_POSTGRES_SETTINGS = {"max_connections": "200"}


class Stack:
    """A stack that runs while its ``with`` block does; one object, one run.

    After entering: ``base_url`` (the root of the HTTP API), ``endpoints``, ``internal_secret``
    and ``functions_pid`` (the process of all functions).
    """

    base_url: str
    endpoints: Endpoints
    internal_secret: str
    functions_pid: int

    def __init__(
        self,
        state: State,
        user_environment: Mapping[str, str],
        options: StackOptions | None = None,
        report: Callable[[str], None] = print,
        before_serving: Callable[[Stack], None] = lambda _: None,
    ) -> None:
        """``user_environment`` names the real services to use, see ``local.environment``;
        ``before_serving`` runs when the database is ready and no request was answered yet."""
        self._before_serving = before_serving
        self._state = state
        self._user = user_environment
        self._options = options or StackOptions()
        self._report = report
        self._parts = ExitStack()
        self._children: list[Child] = []
        self._postgres: PostgresServer | None = None

    def __enter__(self) -> Self:
        """Start everything; returns when requests are answered.

        Raises StackBusyError when the folder or the port is taken, StackError when a part does
        not start (the message holds the end of its log).
        """
        try:
            self._start()
        except BaseException as error:
            self._parts.close()
            if isinstance(error, ContextSearchError):
                raise StackError(f"{error.code}: {error}") from error
            if isinstance(error, (TemplateError, OSError, RuntimeError)):
                raise StackError(f"{type(error).__name__}: {error}") from error
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the functions first, then what they talk to."""
        self._parts.close()

    def wait(self, stopping: threading.Event) -> None:
        """Return when ``stopping`` is set. Raises StackError when a part ends by itself."""
        while not stopping.wait(_WATCH_S):
            for child in self._children:
                child.check()
            if self._postgres and not self._postgres.is_running():
                log = self._postgres.log
                raise StackError(f"PostgreSQL ended by itself. The end of {log}:\n{tail(log)}")

    def _start(self) -> None:
        self._parts.enter_context(self._state.locked())
        if self._state.endpoints.exists():
            self._report("the last stack here was killed; going on with its data")
            self._state.endpoints.unlink()
        listener = listen(self._options.port)
        self.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with listener:
            self._start_parts(listener)

    def _start_parts(self, listener: socket.socket) -> None:
        choice = Choice.of(self._user)
        # Health checks wait until everything is under way.
        checks: list[tuple[Child, str]] = []
        emulator_url = self._start_emulator(checks) if choice.queue else None
        vectors_url = (
            self._start_turbopuffer(checks) if choice.turbopuffer else turbopuffer_url(self._user)
        )
        work, dead = queue_urls(self._user, emulator_url, read_template(self._options.template))
        self.endpoints = Endpoints(
            database_url=self._start_postgres() if choice.database else self._user["DATABASE_URL"],
            turbopuffer_url=vectors_url,
            emulator_url=emulator_url,
            queue_url=work,
            dead_letter_queue_url=dead,
            public_url=self.base_url,
        )
        runner, ready = self._start_runner(choice, listener)
        migrations.apply(DatabaseUrl.parse(self.endpoints.database_url))
        for child, url in checks:
            child.wait_for_http(url, _PART_DEADLINE_S)
        self._before_serving(self)
        runner.go()
        runner.wait_for_line(ready, _READY_DEADLINE_S)

    def _start_emulator(self, checks: list[tuple[Child, str]]) -> str:
        self._state.clear_temporary()
        own = self.base_url.rpartition(":")[2]  # the port of the server's own pages
        pages = [f"http://{name}:{own}" for name in ("127.0.0.1", "localhost")]
        with handed_over() as (url, fd):
            settings = emulator_environment(url, self._state.root)
            program = ["local.child", "local.ministack", str(fd), *pages]
            # Killed at the end: it keeps nothing in memory that is worth a goodbye.
            child = self._child("ministack", program, settings, grace_s=0, pass_fds=[fd])
        checks.append((child, f"{url}/_ministack/health"))
        return url

    def _start_turbopuffer(self, checks: list[tuple[Child, str]]) -> str:
        with handed_over() as (url, fd):
            where = ["--fd", str(fd), "--data", str(self._state.root / "turbopuffer")]
            program = ["local.child", "local.turbopuffer", *where]
            child = self._child("turbopuffer", program, {}, pass_fds=[fd])
        checks.append((child, f"{url}/_admin/health"))
        return url

    def _start_postgres(self) -> str:
        server = PostgresServer(self._state.postgres, settings=_POSTGRES_SETTINGS)
        self._parts.callback(server.stop)
        server.start()
        self._postgres = server
        return server.url

    def _start_runner(self, choice: Choice, listener: socket.socket) -> tuple[Child, int]:
        """Start the functions' process; returns it with the pipe that says when it serves.

        Raises SettingsError for variables that the functions would not take.
        """
        settings = function_environment(
            self._user, choice, self.endpoints, self._state.secrets(), self._options.template
        )
        # Else every request would be a 500 with nothing to see, or every string be given up.
        read = Settings.from_environ(settings)
        if not choice.embedding and (warning := check_model(read)):
            self._report(f"warning: {warning}")
        self.internal_secret = settings["INTERNAL_SECRET"]
        ready, says_ready = os.pipe()
        self._parts.callback(os.close, ready)
        options = RunnerOptions(
            template=str(self._options.template),
            listener_fd=listener.fileno(),
            hosts=(*LOOPBACK_HOSTS, *(read.allowed_hosts or ())),
            ready_fd=says_ready,
            queue_url=self.endpoints.queue_url,
            emulator_url=self.endpoints.emulator_url,
            local_model=choice.embedding,
            workers=self._options.workers,
            schedule_every_s=self._options.schedule_every_s,
        )
        descriptors = (options.listener_fd, options.ready_fd)
        arguments = ["local.runner", options.dump()]
        child = self._child("functions", arguments, settings, pass_fds=descriptors)
        os.close(says_ready)
        self.functions_pid = child.pid
        return child, ready

    def _child(
        self,
        name: str,
        arguments: Sequence[str],
        settings: Mapping[str, str],
        *,
        grace_s: float = _STOP_GRACE_S,
        pass_fds: Sequence[int] = (),
    ) -> Child:
        environment = {**process_environment(self._user, ROOT), **settings}
        child = Child(name, arguments, environment, self._state.logs / f"{name}.log", pass_fds)
        self._parts.callback(child.stop, grace_s)
        self._children.append(child)
        return child
