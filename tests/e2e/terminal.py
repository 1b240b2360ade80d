"""A program in a terminal of its own."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence

HEEDS = ["env", "--default-signal=INT"]
"""In front of a command: it ends with Ctrl-C, as in a terminal; a job of a script ignores that."""


def in_terminal(
    words: Sequence[str],
    environment: Mapping[str, str],
    said: bytes = b"",
    within_s: float = 60,
    *,
    until: re.Pattern[bytes] | None = None,
) -> tuple[int, bytes]:
    """Returns the exit code of a program and all that it printed, colours and all.

    Once it has printed what ``until`` finds, it is interrupted.
    """
    terminal, end = pty.openpty()
    process = subprocess.Popen(  # noqa: S603 - what the test has put together
        [*words], env=dict(environment), stdin=end, stdout=end, stderr=end
    )
    os.close(end)
    os.write(terminal, said)
    printed = b""
    while piece := _read(terminal):
        printed += piece
        if until and until.search(printed):
            process.send_signal(signal.SIGINT)
            until = None
    os.close(terminal)
    return process.wait(within_s), printed


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # what Linux says when the other end is closed
        return b""
