"""What an operation costs in Postgres, whatever else the machine does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from context_search.postgres.pool import Database

_BLOCKS = """
    SELECT pg_backend_pid(), pg_stat_get_db_blocks_fetched(oid)
    FROM pg_database WHERE datname = current_database()
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of the server's process with those that helped it, to a hundredth, and of this
    one; blocks that the server read, of its memory or of the disk.
    """

    server_s: float
    own_s: float
    blocks: int


def measured(database: Database, operation: Callable[[], object]) -> Cost:
    """Returns what an operation costs. The database has one connection, and nobody else's."""
    pid, before = _so_far(database)
    server_s, own_s = _cpu_s(pid), time.process_time()
    operation()
    own_s = time.process_time() - own_s
    _, after = _so_far(database)
    server_s = _cpu_s(pid) - server_s
    return Cost(server_s, own_s, after - before)


def _so_far(database: Database) -> tuple[int, int]:
    with database.transaction() as tx:
        tx.run("SELECT pg_stat_force_next_flush()")
    with database.transaction() as tx:  # a backend tells its counts when its transaction has ended
        [[pid, blocks]] = tx.run(_BLOCKS)
    return int(pid), int(blocks)


def _cpu_s(pid: int) -> float:
    """Returns what a process of the server has taken, with all that have ended beside it."""
    own = _fields(pid)
    ended = _fields(int(own[1]))
    return sum(map(int, (*own[11:13], *ended[13:15]))) / os.sysconf("SC_CLK_TCK")


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
