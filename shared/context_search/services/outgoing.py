"""Messages leave after the commit; what does not leave stays in the outbox for ``cleanup``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from context_search.domain.errors import DatabaseUnavailableError, QueueUnavailableError
from context_search.ports.queue import Message, Queue
from context_search.ports.store import Store, UnitOfWork

SMALL_STRING = 9_999
"""The most characters of a string that may come together with others."""
NODES_APART = 20
NODES_PER_MESSAGE = 1_000
MESSAGE_CHARS = 100_000
SENT_PER_STEP = 100
SENT_AT_ONCE = 1_000


def node_message(node_id: int) -> Message:
    """Returns the order to index one big string."""
    return {"kind": "node", "node_id": node_id}


def enumerate_message(index_id: int, table_id: int | None = None) -> Message:
    """Returns the order to compare an index with one of its tables, or with whatever it has."""
    message = {"kind": "enumerate", "index_id": index_id}
    return message if table_id is None else {**message, "table_id": table_id}


def node_orders(work: UnitOfWork, node_ids: Sequence[int]) -> list[Message]:
    """Returns the orders to index nodes: one per big string, many small ones together.

    A few go one by one, so that several workers share them.
    """
    if len(node_ids) <= NODES_APART:
        return [node_message(node_id) for node_id in node_ids]
    chars = work.batches.char_counts(node_ids)
    big = [node_id for node_id in node_ids if chars[node_id] > SMALL_STRING]
    small = [node_id for node_id in node_ids if chars[node_id] <= SMALL_STRING]
    return [
        *({"kind": "nodes", "node_ids": group} for group in _groups(small, chars)),
        *(node_message(node_id) for node_id in big),
    ]


def _groups(node_ids: Sequence[int], chars: Mapping[int, int]) -> Iterator[list[int]]:
    group: list[int] = []
    size = 0
    for node_id in node_ids:
        if group and (len(group) == NODES_PER_MESSAGE or size + chars[node_id] > MESSAGE_CHARS):
            yield group
            group, size = [], 0
        group.append(node_id)
        size += chars[node_id]
    if group:
        yield group


@dataclass(frozen=True, slots=True)
class Deliver:
    """Sends messages of the outbox and forgets those that the queue took.

    Never raises for a queue or a database that is away, as what the caller did is committed, and
    sends at most 1,000 at once, so that no caller waits for long: nothing is lost, ``cleanup``
    sends the rest.
    """

    store: Store
    queue: Queue

    def __call__(self, outbox_ids: Sequence[int], messages: Sequence[Message]) -> int:
        """Returns how many messages were sent; positions of both arguments correspond."""
        sent = 0
        for first in range(0, min(len(messages), SENT_AT_ONCE), SENT_PER_STEP):
            step = messages[first : first + SENT_PER_STEP]
            try:
                taken = self.queue.send(step)
                sent += len(taken)
                with self.store.transaction() as work:
                    work.outbox.remove([outbox_ids[first + position] for position in taken])
            except (QueueUnavailableError, DatabaseUnavailableError):
                break
        return sent


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
