"""Messages leave after the commit, a few of each project at a time; the others wait in the
outbox."""

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
    MESSAGE_ID,
    NODES_PER_MESSAGE,
    SMALL_STRING,
    IndexNodes,
    Message,
)
from context_search.integrations.ports import Deadline, MessageBody, Queue
from context_search.store import Store, UnitOfWork

OnFailure = Callable[[ContextSearchError], None]
"""Callback for a failure that fails no request, because the change is already committed."""
NODES_APART = 20
WINDOW = 16
"""Maximum number of a project's messages in the queue: twice the usual number of workers, so that
they never wait for messages of a project that is alone.
"""
LOST_AFTER_S = 1_800.0
"""Seconds of silence after which a message is lost: two and a half visibility timeouts. By then the
queue has delivered again what a killed worker had.
"""


def node_messages(work: UnitOfWork, node_ids: Sequence[int]) -> list[IndexNodes]:
    """Returns the messages to index nodes: one per big string, many small ones together.

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


def send_one_by_one(store: Store, messages: Iterable[Message]) -> None:
    """Adds messages, each in a transaction of its own, and has them leave after the last one.

    Each has its own transaction: holding several while another program takes them in another order
    could deadlock.
    """
    projects: set[int] = set()
    for message in messages:
        with store.for_all("deliver messages") as work:
            projects.update(work.outbox.add([message.to_json()]))
    # They are committed: a database that is away by now fails nobody, and cleanup sends them.
    if projects:
        with suppress(DatabaseUnavailableError), store.for_all("deliver messages") as work:
            work.send_waiting(*projects)


@dataclass(frozen=True, slots=True)
class OutboxDelivery:
    """Implements ``Store`` over ``inner``: what a transaction sends leaves after its commit.

    A project has at most ``window`` messages in the queue before those of others, whatever it does.
    The others wait in the outbox, and a worker that is done with a message sends the next one
    (``WorkerOutbox``). Deliveries have transactions of their own on ``inner``; none is inside of
    another one. A failure of theirs goes to ``on_failure``: what the caller did is committed, and
    ``relay`` sends the rest.
    """

    inner: Store
    queue: Queue
    on_failure: OnFailure
    window: int = WINDOW

    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        """Opens a transaction that sees one project's rows."""
        return self._delivering(self.inner.for_project(project_id, deadline))

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        """Opens a transaction over all projects."""
        return self._delivering(self.inner.for_all(reason, deadline))

    @contextmanager
    def _delivering(self, opened: AbstractContextManager[UnitOfWork]) -> Iterator[UnitOfWork]:
        with opened as work:
            yield work
        projects = work.to_deliver()
        try:
            self._send_waiting(projects)
        except ContextSearchError as error:
            self.on_failure(error)

    def deliver(self, taken: Sequence[tuple[int, MessageBody]]) -> None:
        """Sends messages that were taken from the outbox. Never raises a ContextSearchError."""
        try:
            self._post(taken)
        except ContextSearchError as error:
            self.on_failure(error)

    def relay(self, *, silent_s: float, limit: int = 200) -> int:
        """Sends what waits: written by triggers, or left behind by a crash, a fault or a loss.

        What is in the queue is not sent again. A message is taken for lost when it has been silent
        for ``silent_s`` and the queue says that it is empty, or else for LOST_AFTER_S: where other
        projects keep the queue busy, one message that went astray would never come to light.

        Returns how many messages were sent. One may be sent twice, never lost.
        Raises QueueUnavailableError, DatabaseUnavailableError.
        """
        with self.inner.for_all("deliver messages") as work:
            projects = work.outbox.waiting(limit=limit)
            # Before the queue is asked: what is sent later may be in it by then.
            silent = work.outbox.silent(silent_s=silent_s)
        sent = self._send_waiting(projects)
        after_s = silent_s if self.queue.is_empty() else max(silent_s, LOST_AFTER_S)
        with self.inner.for_all("deliver messages") as work:
            lost = work.outbox.reopen(silent, silent_s=after_s)
        if not lost:
            return sent
        with self.inner.for_all("deliver messages") as work:
            projects = work.outbox.waiting(limit=limit)
        return sent + self._send_waiting(projects)

    def _send_waiting(self, projects: Iterable[int]) -> int:
        """Sends what the windows of projects have room for, and returns how many messages that is.

        Raises QueueUnavailableError when the queue did not take all of them.
        """
        sent = 0
        for project_id in projects:
            with self.inner.for_all("deliver messages") as work:
                taken = work.outbox.take(project_id, window=self.window)
            sent += self._post(taken)
        return sent

    def _post(self, taken: Sequence[tuple[int, MessageBody]]) -> int:
        if not taken:
            return 0
        sent = self.queue.send([{**body, MESSAGE_ID: message_id} for message_id, body in taken])
        with self.inner.for_all("deliver messages") as work:
            work.outbox.note_sent([taken[position][0] for position in sent])
        if len(sent) < len(taken):
            raise QueueUnavailableError("the queue took only some of the messages")
        return len(sent)
