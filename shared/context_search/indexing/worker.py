"""Carries out the orders of the queue: what a worker does with a message, whoever brings it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from context_search.core.errors import ContextSearchError, EmbeddingError
from context_search.core.messages import (
    CalibrateIndex,
    CarryOutPlan,
    CompareIndex,
    ImportUpload,
    Order,
)
from context_search.indexing.node_report import MAX_BACKOFF_S, NodeReport, RetryLater
from context_search.indexing.outbox_delivery import OnFailure, OutboxDelivery
from context_search.integrations.ports import Deadline


@dataclass(frozen=True, slots=True)
class Begun:
    """An order that a worker has."""

    id: int
    project_id: int


@dataclass(frozen=True, slots=True)
class OrderBook:
    """Begins, ends and puts off orders; whoever leaves a place in the window sends the next one."""

    store: OutboxDelivery

    def begin(self, order_id: int) -> Begun | None:
        """Call it before anything is read: what is written from now on is a new order.

        Returns None for an order that is done: the message came once more.
        """
        with self.store.for_all("deliver orders") as work:
            project_id = work.outbox.begin(order_id)
        return None if project_id is None else Begun(order_id, project_id)

    def finish(self, begun: Begun) -> None:
        """Forgets the order. Raises DatabaseUnavailableError: the message has to come again."""
        with self.store.for_all("deliver orders") as work:
            work.outbox.finish(begun.id)
            taken = work.outbox.take(begun.project_id, window=self.store.window)
        self.store.deliver(taken)

    def rest(self, begun: Begun, after_s: float) -> bool:
        """Puts the order off. False: its message may be deleted, the book brings the order back.

        Raises DatabaseUnavailableError.
        """
        window = self.store.window
        with self.store.for_all("deliver orders") as work:
            stays = work.outbox.rest(begun.id, after_s=after_s, window=window)
            taken = work.outbox.take(begun.project_id, window=window)
        self.store.deliver(taken)
        return stays


RETRY_S = 30.0
REFUSED_S = 3_600.0
"""Seconds until a provider is asked again for what it definitely refuses, and charges each time."""
UNEXPECTED_S = 600.0
OnReport = Callable[[NodeReport], None]


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """What became of a message.

    ``again_in_s`` says when it has to come again; None when it is not needed any more.
    ``error`` is why the order is not done: a RetryLater, or what was raised.
    ``outcome`` tells what was done, None when it was done before or failed.
    """

    outcome: str | None = None
    error: Exception | None = None
    again_in_s: float | None = None


@dataclass(frozen=True, slots=True)
class Worker:
    """Begins an order in the book, carries it out, and ends it there or puts it off.

    Use cases come as functions, so that a process builds only those that it needs.
    """

    book: OrderBook
    index_nodes: Callable[[Sequence[int], Deadline], Iterable[NodeReport]]
    compare_index: Callable[[int, int | None], object]
    import_upload: Callable[[int], str]
    carry_out_plan: Callable[[int, Deadline], str]
    calibrate_index: Callable[[int, int, Deadline], str]
    on_failure: OnFailure

    def carry_out(
        self,
        order: Order,
        deadline: Deadline,
        *,
        order_id: int,
        on_report: OnReport = lambda _: None,
    ) -> CarriedOut:
        """Never raises an Exception: it is in what is returned.

        ``order_id`` is the order's in the book. ``on_report`` is told of every run over nodes.
        """
        begun = None
        try:
            begun = self.book.begin(order_id)
            if begun is None:
                return CarriedOut()
            outcome = self.obey(order, deadline, on_report)
            self.book.finish(begun)
        except RetryLater as later:
            if later.report is not None:
                on_report(later.report)
            return self._failed(later, begun, later.after_s)
        except ContextSearchError as error:
            return self._failed(error, begun, _pause_s(error))
        except Exception as error:  # noqa: BLE001 - the caller has it, and tells of it
            return self._failed(error, begun, UNEXPECTED_S)
        return CarriedOut(outcome)

    def obey(self, order: Order, deadline: Deadline, on_report: OnReport) -> str:
        """Does what an order says and returns the outcome. Raises RetryLater, and other errors."""
        if isinstance(order, CompareIndex):
            self.compare_index(order.index_id, order.table_id)
            return "enumerated"
        if isinstance(order, ImportUpload):
            return self.import_upload(order.upload_id)
        if isinstance(order, CarryOutPlan):
            return self.carry_out_plan(order.plan_id, deadline)
        if isinstance(order, CalibrateIndex):
            return self.calibrate_index(order.index_id, order.generation_id, deadline)
        outcomes = set()
        for report in self.index_nodes(order.node_ids, deadline):
            on_report(report)
            outcomes.add(report.outcome)
        return ", ".join(sorted(outcomes)) or "nothing_to_do"

    def put_off(self, order_id: int, after_s: float) -> bool:
        """Puts an order off. False: its message may be deleted, the book brings the order back.

        The order takes no place in its project's window meanwhile.
        """
        begun = None
        try:
            begun = self.book.begin(order_id)
        except ContextSearchError as error:
            self.on_failure(error)
        return self._comes_back(begun, after_s)

    def _failed(self, error: Exception, begun: Begun | None, after_s: float) -> CarriedOut:
        comes_back = self._comes_back(begun, after_s)
        return CarriedOut(error=error, again_in_s=after_s if comes_back else None)

    def _comes_back(self, begun: Begun | None, after_s: float) -> bool:
        try:
            return begun is None or self.book.rest(begun, after_s)
        except ContextSearchError as error:
            self.on_failure(error)
            return True


def _pause_s(error: ContextSearchError) -> float:
    is_refused = isinstance(error, EmbeddingError) and not error.retryable
    if error.retry_after_s:
        return min(MAX_BACKOFF_S, error.retry_after_s)
    return REFUSED_S if is_refused else RETRY_S
