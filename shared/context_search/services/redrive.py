"""Gives what failed for good another chance, after its cause is mended."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.ports.queue import DeadLetters
from context_search.ports.store import Store
from context_search.services.outgoing import Deliver, node_message


@dataclass(frozen=True, slots=True)
class Redriven:
    """How many messages came back, and how many quarantined nodes were queued again."""

    messages: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Redrive:
    """Moves dead letters back to the queue and lets quarantined nodes be claimed again."""

    store: Store
    dead_letters: DeadLetters
    deliver: Deliver

    def __call__(self, limit: int) -> Redriven:
        """Handles at most ``limit`` of each. Raises QueueUnavailableError."""
        moved = self.dead_letters.move_back(limit)
        with self.store.transaction() as work:
            nodes = work.nodes.pardon(limit=limit)
            messages = [node_message(node) for node in nodes]
            outbox_ids = work.outbox.add(messages)
        self.deliver(outbox_ids, messages)
        return Redriven(moved, len(nodes))
