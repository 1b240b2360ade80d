"""What only one program at a time may use, given back by the kernel when it dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO


class DirectoryInUseError(RuntimeError):
    """Another living program uses the directory; ``owner`` is its pid, or a word for it."""

    def __init__(self, directory: Path, owner: str) -> None:
        super().__init__(f"another program uses {directory} (pid {owner})")
        self.owner = owner


def hold(file: Path) -> IO[str]:
    """Returns ``file``, locked until it is closed; it holds this program's pid meanwhile.

    Raises DirectoryInUseError while another program has it.
    """
    lock = file.open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        owner = lock.read().strip() or "unknown"
        lock.close()
        raise DirectoryInUseError(file.parent, owner) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock
