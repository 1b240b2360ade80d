"""Orders leave after the commit, a few of each project at a time; the others wait in the outbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

from context_search.core.errors import (
    ContextSearchError,
    DatabaseUnavailableError,
    QueueUnavailableError,
)
from context_search.core.messages import (
    MESSAGE_CHARS,
    NODES_PER_MESSAGE,
    ORDER_ID,
    SMALL_STRING,
    IndexNodes,
    Order,
)
from context_search.integrations.ports import Deadline, Message, Queue
from context_search.store import Store, UnitOfWork

OnFailure = Callable[[ContextSearchError], None]
"""Callback for a failure that fails no request, because the change is already committed."""
NODES_APART = 20
WINDOW = 16
"""Maximum number of a project's orders in the queue: twice the usual number of workers, so that
they never wait for orders of a project that is alone.
"""
LOST_AFTER_S = 1_800.0
"""Seconds of silence after which an order is lost: two and a half visibility timeouts. By then the
queue has delivered again what a killed worker had.
"""


def node_orders(work: UnitOfWork, node_ids: Sequence[int]) -> list[IndexNodes]:
    """Returns the orders to index nodes: one per big string, many small ones together.

    A few go one by one, so that several workers share them.
    """
    if len(node_ids) <= NODES_APART:
        return [IndexNodes((node_id,)) for node_id in node_ids]
    chars = work.nodes.char_counts(node_ids)
    big = [node_id for node_id in node_ids if chars[node_id] > SMALL_STRING]
    small = [node_id for node_id in node_ids if chars[node_id] <= SMALL_STRING]
    return [
        *(IndexNodes(tuple(group)) for group in _groups(small, chars)),
        *(IndexNodes((node_id,)) for node_id in big),
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


def send_one_by_one(store: Store, orders: Iterable[Order]) -> None:
    """Adds orders, each in a transaction of its own, and has them leave after the last one.

    Each has its own transaction: holding several while another program takes them in another order
    could deadlock.
    """
    projects: set[int] = set()
    for order in orders:
        with store.for_all("deliver orders") as work:
            projects.update(work.outbox.add([order.to_json()]))
    # They are committed: a database that is away by now fails nobody, and cleanup sends them.
    if projects:
        with suppress(DatabaseUnavailableError), store.for_all("deliver orders") as work:
            work.send_waiting(*projects)


@dataclass(frozen=True, slots=True)
class OnUse:
    """The port ``Queue``, over one that is made when there is something to send."""

    queue: Callable[[], Queue]

    def send(self, messages: Sequence[Message]) -> list[int]:
        return self.queue().send(messages)

    def is_empty(self) -> bool:
        return self.queue().is_empty()


@dataclass(frozen=True, slots=True)
class Deliver:
    """Sends the orders of projects that their windows have room for; the others wait in the book.

    A worker that is done with an order sends the next one (``OrderBook``). So a project has
    ``window`` orders before those of others in the queue at most, whatever it does.
    """

    store: Store
    queue: Queue
    on_failure: OnFailure
    window: int = WINDOW

    def deliver(self, projects: Iterable[int]) -> None:
        """Never raises a ContextSearchError, as what the caller did is committed.

        Nothing is lost: ``cleanup`` sends the rest.
        """
        try:
            for project_id in projects:
                self.send(project_id)
        except ContextSearchError as error:
            self.on_failure(error)

    def send(self, project_id: int) -> int:
        """Returns how many orders were sent.

        Raises QueueUnavailableError when the queue did not take all of them.
        """
        with self.store.for_all("deliver orders") as work:
            taken = work.outbox.take(project_id, window=self.window)
        return self._post(taken)

    def deliver_taken(self, taken: Sequence[tuple[int, Message]]) -> None:
        """Does what ``deliver`` does, with orders that were already taken from the book."""
        try:
            self._post(taken)
        except ContextSearchError as error:
            self.on_failure(error)

    def _post(self, taken: Sequence[tuple[int, Message]]) -> int:
        if not taken:
            return 0
        sent = self.queue.send([{**body, ORDER_ID: order_id} for order_id, body in taken])
        with self.store.for_all("deliver orders") as work:
            work.outbox.note_sent([taken[position][0] for position in sent])
        if len(sent) < len(taken):
            raise QueueUnavailableError("the queue took only some of the messages")
        return len(sent)


@dataclass(frozen=True, slots=True)
class SendingStore:
    """The port ``Store``: when a transaction has committed, what it sends leaves.

    What delivers works on ``inner``, in transactions of its own; none is inside of another one.
    """

    inner: Store
    delivery: Deliver

    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        """A failure to deliver fails nobody: ``cleanup`` sends what waits."""
        return self._sending(self.inner.for_project(project_id, deadline))

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        """Opens a transaction over all projects. A failure to deliver fails nobody."""
        return self._sending(self.inner.for_all(reason, deadline))

    @contextmanager
    def _sending(self, opened: AbstractContextManager[UnitOfWork]) -> Iterator[UnitOfWork]:
        with opened as work:
            yield work
        self.delivery.deliver(work.to_deliver())


@dataclass(frozen=True, slots=True)
class RelayOutbox:
    """Sends what waits: written by triggers, or left behind by a crash, a fault or a lost message.

    What is in the queue is not sent again. An order is taken for lost when it has been silent for
    ``silent_s`` and the queue says that it is empty, or else for LOST_AFTER_S: where other
    projects keep the queue busy, one message that went astray would never come to light.
    """

    store: Store
    deliver: Deliver
    limit: int = 200

    def relay(self, *, silent_s: float) -> int:
        """Returns how many orders were sent. One may be sent twice, never lost.

        Raises QueueUnavailableError, DatabaseUnavailableError.
        """
        with self.store.for_all("deliver orders") as work:
            projects = work.outbox.waiting(limit=self.limit)
            # Before the queue is asked: what is sent later may be in it by then.
            silent = work.outbox.silent(silent_s=silent_s)
        sent = self._send(projects)
        after_s = silent_s if self.deliver.queue.is_empty() else max(silent_s, LOST_AFTER_S)
        with self.store.for_all("deliver orders") as work:
            lost = work.outbox.reopen(silent, silent_s=after_s)
        if not lost:
            return sent
        with self.store.for_all("deliver orders") as work:
            projects = work.outbox.waiting(limit=self.limit)
        return sent + self._send(projects)

    def _send(self, projects: Iterable[int]) -> int:
        return sum(self.deliver.send(project_id) for project_id in projects)
