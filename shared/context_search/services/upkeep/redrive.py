"""Gives what failed for good another chance, after its cause is mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.domain.orders import ORDER_ID
from context_search.ports.outside import DeadLetters, Message
from context_search.ports.store import Store
from context_search.services.indexing.outgoing import node_orders


@dataclass(frozen=True, slots=True)
class Redriven:
    """How many messages came back, and how many quarantined nodes were queued again."""

    messages: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Redrive:
    """Puts dead letters back into the order book and lets quarantined nodes be claimed again.

    They leave it like all others, a few of each project at a time.
    """

    store: Store
    dead_letters: DeadLetters

    def __call__(self, limit: int) -> Redriven:
        """Handles at most ``limit`` of each. Raises QueueUnavailableError."""
        moved = self.dead_letters.take_up(limit, self._keep)
        with self.store.for_all("upkeep") as work:
            nodes = work.nodes.pardon(limit=limit)
            work.send(*node_orders(work, nodes))
        return Redriven(moved, len(nodes))

    def _keep(self, letters: Sequence[Message]) -> None:
        """What names an order that is not in the book is done; what names none is an older one."""
        orders = [order_id for each in letters if isinstance(order_id := each.get(ORDER_ID), int)]
        with self.store.for_all("upkeep") as work:
            work.send_waiting(
                *work.outbox.add(each for each in letters if ORDER_ID not in each),
                *work.outbox.restore(orders),
            )
