"""Processes that are killed at a chosen outside call."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from context_search.integrations.ports import MessageBody
from tests.faults.chaos.gate import Point

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class End:
    """How an order ended: killed or not, its outside calls until then, and what it had sent."""

    killed: bool
    calls: list[str]
    sent: list[MessageBody]


@dataclass
class WorkerProcesses:
    """Workers, one process for each order."""

    orders: IO[str]
    lines: IO[str]

    def do(self, what: str, *arguments: object, at: Point | None = None) -> End:
        """Has an order done by a process that dies at a point of it; it lives without one."""
        order = {"do": what, "arguments": arguments, "at": at}
        self.orders.write(json.dumps(order) + "\n")
        self.orders.flush()
        sent: list[MessageBody] = []
        for line in self.lines:
            reported: dict[str, Any] = json.loads(line)
            assert "failed" not in reported, f"{what} ended with status {reported['failed']}"
            if "calls" in reported:
                return End(reported["killed"], reported["calls"], sent)
            sent.append(reported["sent"])
        raise AssertionError("the program ended")


@contextmanager
def processes(database_url: str, turbopuffer_url: str) -> Iterator[WorkerProcesses]:
    """The program of ``worker.py``, for as long as it is needed."""
    command = [sys.executable, "-m", "tests.faults.chaos.worker", database_url, turbopuffer_url]
    process = subprocess.Popen(  # noqa: S603 - our own program
        command,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield WorkerProcesses(process.stdin, process.stdout)
    finally:
        process.stdin.close()
        process.stdout.close()
        assert process.wait(20) == 0
