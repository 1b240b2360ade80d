"""Brings back messages and strings that failed for good, when an operator asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.core.messages import MESSAGE_ID
from context_search.indexing.outbox_delivery import node_messages
from context_search.integrations.ports import DeadLetters, MessageBody
from context_search.store import Store


@dataclass(frozen=True, slots=True)
class Redriven:
    """How many messages came back, and how many quarantined nodes were queued again."""

    messages: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Redrive:
    """Gives what failed for good another chance, after its cause is mended.

    Puts dead letters back into the outbox and lets quarantined nodes be claimed again.
    They leave it like all others, a few of each project at a time.
    """

    store: Store
    dead_letters: DeadLetters

    def run(self, limit: int) -> Redriven:
        """Handles at most ``limit`` of each. Raises QueueUnavailableError."""
        moved = self.dead_letters.take_up(limit, self._keep)
        with self.store.for_all("maintenance") as work:
            nodes = work.nodes.requeue_quarantined(limit=limit)
            work.send(*node_messages(work, nodes))
        return Redriven(moved, len(nodes))

    def _keep(self, letters: Sequence[MessageBody]) -> None:
        """Drops a message that is done, or that names no id."""
        messages = [
            message_id for each in letters if isinstance(message_id := each.get(MESSAGE_ID), int)
        ]
        with self.store.for_all("maintenance") as work:
            work.send_waiting(*work.outbox.restore(messages))
