"""Handles the messages of the queue, whoever brings them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from context_search.core.errors import ContextSearchError, EmbeddingError
from context_search.core.messages import (
    CalibrateIndex,
    CompareIndex,
    ExecutePlan,
    ImportUpload,
    Message,
)
from context_search.indexing.node_report import MAX_BACKOFF_S, NodeReport, RetryLater
from context_search.indexing.outbox_delivery import OnFailure, OutboxDelivery
from context_search.integrations.ports import Deadline


@dataclass(frozen=True, slots=True)
class BegunMessage:
    """A message that a worker has."""

    id: int
    project_id: int


@dataclass(frozen=True, slots=True)
class WorkerOutbox:
    """Begins, finishes and delays messages, and sends the next ones when the window has room."""

    delivery: OutboxDelivery

    def begin(self, message_id: int) -> BegunMessage | None:
        """Call it before anything is read: what is written from now on is a new message.

        Returns None for a message that is done: the queue delivered it once more.
        """
        with self.delivery.for_all("deliver messages") as work:
            project_id = work.outbox.begin(message_id)
        return None if project_id is None else BegunMessage(message_id, project_id)

    def finish(self, begun: BegunMessage) -> None:
        """Deletes the message from the outbox. Raises DatabaseUnavailableError: it has to come
        again."""
        with self.delivery.for_all("deliver messages") as work:
            work.outbox.finish(begun.id)
            taken = work.outbox.take(begun.project_id, window=self.delivery.window)
        self.delivery.deliver(taken)

    def delay(self, begun: BegunMessage, after_s: float) -> bool:
        """Delays the message. False: the queue may delete it, the outbox sends it again.

        Raises DatabaseUnavailableError.
        """
        window = self.delivery.window
        with self.delivery.for_all("deliver messages") as work:
            stays = work.outbox.delay(begun.id, after_s=after_s, window=window)
            taken = work.outbox.take(begun.project_id, window=window)
        self.delivery.deliver(taken)
        return stays


RETRY_S = 30.0
REFUSED_S = 3_600.0
"""Seconds until a provider is asked again for what it definitely refuses, and charges each time."""
UNEXPECTED_S = 600.0
OnReport = Callable[[NodeReport], None]


@dataclass(frozen=True, slots=True)
class HandledMessage:
    """What became of a message.

    ``again_in_s`` says when it has to come again; None when it is not needed any more.
    ``error`` is why it is not done: a RetryLater, or what was raised.
    ``outcome`` tells what was done, None when it was done before or failed.
    """

    outcome: str | None = None
    error: Exception | None = None
    again_in_s: float | None = None


@dataclass(frozen=True, slots=True)
class Worker:
    """Begins a message in the outbox, handles it, and finishes or delays it there.

    Use cases come as functions, so that a process builds only those that it needs.
    """

    outbox: WorkerOutbox
    index_nodes: Callable[[Sequence[int], Deadline], Iterable[NodeReport]]
    compare_index: Callable[[int, int | None], object]
    import_upload: Callable[[int], str]
    execute_plan: Callable[[int, Deadline], str]
    calibrate_index: Callable[[int, int, Deadline], str]
    on_failure: OnFailure

    def execute(
        self,
        message: Message,
        deadline: Deadline,
        *,
        message_id: int,
        on_report: OnReport = lambda _: None,
    ) -> HandledMessage:
        """Never raises an Exception: it is in what is returned.

        ``message_id`` is its id in the outbox. ``on_report`` gets the report of every run over
        nodes.
        """
        begun = None
        try:
            begun = self.outbox.begin(message_id)
            if begun is None:
                return HandledMessage()
            outcome = self.handle(message, deadline, on_report)
            self.outbox.finish(begun)
        except RetryLater as later:
            if later.report is not None:
                on_report(later.report)
            return self._failed(later, begun, later.after_s)
        except ContextSearchError as error:
            return self._failed(error, begun, _pause_s(error))
        except Exception as error:  # noqa: BLE001 - the caller has it, and tells of it
            return self._failed(error, begun, UNEXPECTED_S)
        return HandledMessage(outcome)

    def handle(self, message: Message, deadline: Deadline, on_report: OnReport) -> str:
        """Does what a message says and returns the outcome. Raises RetryLater, and other errors."""
        if isinstance(message, CompareIndex):
            self.compare_index(message.index_id, message.table_id)
            return "enumerated"
        if isinstance(message, ImportUpload):
            return self.import_upload(message.upload_id)
        if isinstance(message, ExecutePlan):
            return self.execute_plan(message.plan_id, deadline)
        if isinstance(message, CalibrateIndex):
            return self.calibrate_index(message.index_id, message.generation_id, deadline)
        outcomes = set()
        for report in self.index_nodes(message.node_ids, deadline):
            on_report(report)
            outcomes.add(report.outcome)
        return ", ".join(sorted(outcomes)) or "nothing_to_do"

    def delay(self, message_id: int, after_s: float) -> bool:
        """Delays a message. False: the queue may delete it, the outbox sends it again.

        It takes no place in its project's window meanwhile.
        """
        begun = None
        try:
            begun = self.outbox.begin(message_id)
        except ContextSearchError as error:
            self.on_failure(error)
        return self._comes_back(begun, after_s)

    def _failed(
        self, error: Exception, begun: BegunMessage | None, after_s: float
    ) -> HandledMessage:
        comes_back = self._comes_back(begun, after_s)
        return HandledMessage(error=error, again_in_s=after_s if comes_back else None)

    def _comes_back(self, begun: BegunMessage | None, after_s: float) -> bool:
        try:
            return begun is None or self.outbox.delay(begun, after_s)
        except ContextSearchError as error:
            self.on_failure(error)
            return True


def _pause_s(error: ContextSearchError) -> float:
    is_refused = isinstance(error, EmbeddingError) and not error.retryable
    if error.retry_after_s:
        return min(MAX_BACKOFF_S, error.retry_after_s)
    return REFUSED_S if is_refused else RETRY_S
