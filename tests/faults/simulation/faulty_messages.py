"""The order book with one protection taken out, for ``mutants.py``."""

from __future__ import annotations

from context_search.core.messages import Order
from context_search.indexing.worker import Begun, OrderBook
from context_search.integrations.ports import Message
from context_search.maintenance.cleanup import Cleanup
from context_search.maintenance.cleanup_report import CleanupReport
from testing.in_memory.outbox import MemoryOutbox
from testing.in_memory.rows import OutboxRow


class NoWindow(MemoryOutbox):
    """Whatever a project orders goes to the queue at once."""

    def take(self, project_id: int, *, window: int) -> list[tuple[int, Message]]:
        return super().take(project_id, window=window * 1_000)


class EachWriteItsOrder(MemoryOutbox):
    """Equal orders are several."""

    def _add(self, key: str | None, body: Message) -> int:
        order_id, project_id = self.rows.new_id(), self._project_of(body)
        self.rows.outbox[order_id] = OutboxRow(order_id, body, self.clock.now(), project_id, key)
        return project_id


class NeverWithdraws(MemoryOutbox):
    """A comparison leaves equal orders alone, which it could carry out; they cost a look each."""

    def withdraw(self, order: Order) -> None:
        pass


class SendsAgain(Cleanup):
    """What is silent is sent again, whether it is in the queue or not."""

    def _relay(self, report: CleanupReport) -> bool:
        with self.store.for_all("test") as work:
            silent = work.outbox.silent(silent_s=self.limits.silent_s)
            work.outbox.reopen(silent, silent_s=self.limits.silent_s)
        return super()._relay(report)


class BeginsLate(OrderBook):
    """A worker notes that it has an order when it is done with it.

    What was written while it read counts as ordered, and the order is forgotten with it.
    """

    def begin(self, order_id: int) -> Begun | None:
        with self.store.for_all("test") as work:
            row = work.outbox.rows.outbox.get(order_id)  # type: ignore[attr-defined]
        return row and Begun(order_id, row.project_id)


class ForgetsFirst(OrderBook):
    """An order is forgotten when a worker gets it, done or not."""

    def begin(self, order_id: int) -> Begun | None:
        begun = super().begin(order_id)
        if begun is not None:
            self.finish(begun)
        return begun
