"""Messages leave after the commit; what does not leave stays in the outbox for ``cleanup``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.domain.errors import QueueUnavailableError
from context_search.ports.queue import Message, Queue
from context_search.ports.store import Store


def node_message(node_id: int) -> Message:
    """Returns the order to index one big string."""
    return {"kind": "node", "node_id": node_id}


def enumerate_message(index_id: int) -> Message:
    """Returns the order to compare an index with its table."""
    return {"kind": "enumerate", "index_id": index_id}


@dataclass(frozen=True, slots=True)
class Deliver:
    """Sends messages of the outbox and forgets those that the queue took.

    Never raises for a queue that is away: nothing is lost, ``cleanup`` sends the rest.
    """

    store: Store
    queue: Queue

    def __call__(self, outbox_ids: Sequence[int], messages: Sequence[Message]) -> int:
        """Returns how many messages were sent; positions of both arguments correspond."""
        if not messages:
            return 0
        try:
            taken = self.queue.send(messages)
        except QueueUnavailableError:
            return 0
        with self.store.transaction() as work:
            work.outbox.remove([outbox_ids[position] for position in taken])
        return len(taken)


@dataclass(frozen=True, slots=True)
class RelayOutbox:
    """Sends what waits in the outbox: written by triggers, or left behind by a crash."""

    store: Store
    deliver: Deliver
    limit: int = 1_000

    def __call__(self, *, older_than_s: float) -> int:
        """Returns how many messages were sent. A message may be sent twice, never lost."""
        return self._send(older_than_s=older_than_s, limit=self.limit, newest_first=False)

    def newest(self, limit: int = 10) -> int:
        """Sends what was written just now, whatever else is waiting."""
        return self._send(older_than_s=0, limit=limit, newest_first=True)

    def _send(self, *, older_than_s: float, limit: int, newest_first: bool) -> int:
        with self.store.transaction() as work:
            taken = work.outbox.take(
                older_than_s=older_than_s, limit=limit, newest_first=newest_first
            )
        return self.deliver([outbox_id for outbox_id, _ in taken], [body for _, body in taken])
