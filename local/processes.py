"""Child processes of the stack: started without a wait, watched by polling, stopped for sure."""

from __future__ import annotations

import contextlib
import os
import random
import select
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from local.state import StackBusyError, StackError

_TAIL_LINES = 15
_POLL_S = 0.02
KEPT_LOG_BYTES = 10_000_000
"""How much of the log of the run before stays."""
# Below Linux' range for outgoing connections: no other program's connection can take such a port
# between our look and the child's bind.
_PORTS = range(20_000, 30_000)
# A proxy of the user's has no business between the parts of one machine.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Child:
    """One running part. Its output goes to ``log``; what was there is kept as ``<log>.1``."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        pass_fds: Sequence[int] = (),
        python: str = sys.executable,
    ) -> None:
        """Start ``python -m ARGUMENTS`` in a session of its own.

        Ctrl-C then reaches the parent only, which stops the parts in order.
        """
        self.name = name
        self.log = log
        _set_aside(log)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [python, "-m", *arguments],
                env=dict(environment),
                stdin=subprocess.PIPE,
                bufsize=0,  # what a child that has ended did not hear is not said again at the end
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=tuple(pass_fds),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id, also after its end."""
        return self._process.pid

    def check(self) -> None:
        """Raises StackError with the end of the log when the process has ended."""
        code = self._process.poll()
        if code is not None:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            raise StackError(f"{self.name} {how}. The end of {self.log}:\n{tail(self.log)}")

    def wait_for_http(self, url: str, deadline_s: float) -> None:
        """Return when ``url`` answers 200. Raises StackError after ``deadline_s`` seconds."""
        deadline = time.monotonic() + deadline_s
        while not _answers(url):
            self.check()
            if time.monotonic() > deadline:
                raise StackError(f"{self.name} does not answer at {url}, see {self.log}")
            time.sleep(_POLL_S)

    def wait_for_line(self, descriptor: int, deadline_s: float) -> None:
        """Return when the child writes to the pipe. Raises StackError when it ends or is late."""
        readable, _, _ = select.select([descriptor], [], [], deadline_s)
        if not readable:
            raise StackError(f"{self.name} is not ready after {deadline_s:.0f} s, see {self.log}")
        if not os.read(descriptor, 64):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
            self.check()
            raise StackError(f"{self.name} hung up before it was ready, see {self.log}")

    def go(self) -> None:
        """Tell a waiting child that what it needs is there; one that has ended does not hear it."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(b"\n")

    def stop(self, grace_s: float) -> None:
        """Ask with SIGTERM, insist with SIGKILL after ``grace_s`` seconds, and reap."""
        with self._process as process:
            process.terminate()
            try:
                process.wait(grace_s)
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(url: str) -> bool:
    try:
        with _direct.open(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _set_aside(log: Path) -> None:
    """Keep the end of a log that is started anew: it may say why the run before has ended."""
    if log.exists() and (size := log.stat().st_size):
        with log.open("rb") as file:
            file.seek(max(0, size - KEPT_LOG_BYTES))
            log.with_name(f"{log.name}.1").write_bytes(file.read())


def tail(log: Path) -> str:
    """The last lines of a log."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:])


def free_port() -> int:
    """A port of 127.0.0.1 that nothing uses now and no outgoing connection can take."""
    for port in random.sample(_PORTS, 50):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise StackError("no free port between 20000 and 30000")


@contextlib.contextmanager
def handed_over() -> Iterator[tuple[str, int]]:
    """Give the URL and the descriptor of a new bound socket, for a child that listens on it.

    The child inherits the descriptor, so no other program can take the port in between. It is not
    reusable (``SO_REUSEADDR``): two such sockets that do not listen yet may get the same port.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}", bound.fileno()


def listen(port: int) -> socket.socket:
    """Listen on 127.0.0.1. ``port`` 0: any free one. Raises StackBusyError for a busy one."""
    # The protocol is named because asyncio turns Nagle's algorithm off only where it is; with it
    # every answer waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise StackBusyError(
            f"port {port} of 127.0.0.1 is not free ({error.strerror}); choose another with --port"
            "; with make: PORT="
        ) from None
    return listener
