"""``python -m tests.faults.chaos.worker DATABASE_URL TURBOPUFFER_URL``: does an order, or dies.

Reads orders from standard input, one JSON object a line: ``{"do": name, "arguments": [...],
"at": point or null}``. Each is carried out by a child with connections of its
own, which ends itself with SIGKILL at that outside call. What the child sends to the queue
goes to standard output at once, as ``{"sent": body}``; the last line for an order is
``{"killed": bool, "calls": [...]}`` with the names of its outside calls.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from context_search.indexing.node_report import RetryLater
from context_search.integrations.ports import MessageBody
from tests.faults.chaos.gate import Point
from tests.faults.chaos.parts import ChaosParts


class PipedQueue:
    """Messages survive the process that sent them."""

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        """See the port ``Queue``."""
        for message in messages:
            report({"sent": dict(message)})
        return list(range(len(messages)))

    def is_empty(self) -> bool:
        """Others know what they have received."""
        return False


def report(what: Mapping[str, object]) -> None:
    """Writes one line, whole, before anything else happens."""
    os.write(sys.stdout.fileno(), (json.dumps(what) + "\n").encode())


def execute(order: Mapping[str, Any], parts: ChaosParts) -> None:
    """Does an order in this process, up to its end or the process'."""
    gate = parts.gate

    def die() -> None:
        report({"killed": True, "calls": gate.calls})
        os.kill(os.getpid(), signal.SIGKILL)

    gate.arm(Point(*order["at"]) if order["at"] else None, die)
    with contextlib.suppress(RetryLater):
        parts.orders[order["do"]](*order["arguments"])
    report({"killed": False, "calls": gate.calls})


def main() -> None:
    """Serves orders until standard input ends."""
    database_url, turbopuffer_url = sys.argv[1:]
    parts = ChaosParts(database_url, turbopuffer_url, PipedQueue())
    assert parts.orders  # everything is built, nothing is connected: the children have it all
    for line in sys.stdin:
        child = os.fork()
        if not child:
            execute(json.loads(line), parts)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status not in (0, signal.SIGKILL):
            report({"failed": status})


if __name__ == "__main__":
    main()
