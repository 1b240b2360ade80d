"""Server processes that outlived whoever started them, found and ended by proof of identity."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

_PROC = Path("/proc")
_POLL_S = 0.02


def is_server_of(pid: int, data: Path) -> bool:
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


def is_recycled(pid: int, data: Path) -> bool:
    """Tells whether ``pid`` is certainly alive and certainly no server of ``data``.

    PostgreSQL itself takes any living process of its own account for its predecessor.
    """
    process = _PROC / str(pid)
    try:
        return not (process / "cwd").samefile(data)
    except PermissionError:
        return (process / "comm").read_text().strip() != "postgres"
    except OSError:
        return False


def end_orphans(data: Path, timeout_s: float) -> None:
    """Ends every server process of ``data``; only for the holder of the directory's lock.

    A fast shutdown first, which a server whose parent died has begun by itself; SIGKILL for what
    is left after half of the time. Returns early when none is left.
    """
    started = time.monotonic()
    signal_to_send = signal.SIGINT
    while orphans := _servers_of(data):
        elapsed = time.monotonic() - started
        if elapsed > timeout_s:
            return
        if elapsed > timeout_s / 2:
            signal_to_send = signal.SIGKILL
        _signal(orphans, signal_to_send)
        time.sleep(_POLL_S)


def _servers_of(data: Path) -> list[int]:
    if not _PROC.is_dir():
        return []
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]
    return [pid for pid in pids if is_server_of(pid, data)]


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
