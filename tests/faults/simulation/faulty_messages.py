"""The outbox with one protection taken out, for ``mutants.py``."""

from __future__ import annotations

from context_search.core.messages import Message
from context_search.indexing.worker import BegunMessage, WorkerOutbox
from context_search.integrations.ports import MessageBody
from context_search.maintenance.cleanup import Cleanup
from context_search.maintenance.cleanup_report import CleanupReport
from tests.faults.simulation.model.outbox import ModelOutbox
from tests.faults.simulation.model.rows import OutboxRow


class NoWindow(ModelOutbox):
    """Whatever a project orders goes to the queue at once."""

    def take(self, project_id: int, *, window: int) -> list[tuple[int, MessageBody]]:
        return super().take(project_id, window=window * 1_000)


class EachWriteItsOrder(ModelOutbox):
    """Equal messages are several."""

    def _add(self, key: str | None, body: MessageBody) -> int:
        message_id, project_id = self.rows.new_id(), self._project_of(body)
        self.rows.outbox[message_id] = OutboxRow(
            message_id, body, self.clock.now(), project_id, key
        )
        return project_id


class NeverWithdraws(ModelOutbox):
    """A comparison leaves equal messages alone, which it could carry out; they cost a look each."""

    def withdraw(self, message: Message) -> None:
        pass


class SendsAgain(Cleanup):
    """What is silent is sent again, whether it is in the queue or not."""

    def _relay(self, report: CleanupReport) -> bool:
        with self.store.for_all("test") as work:
            silent = work.outbox.silent(silent_s=self.limits.silent_s)
            work.outbox.reopen(silent, silent_s=self.limits.silent_s)
        return super()._relay(report)


class BeginsLate(WorkerOutbox):
    """A worker notes that it has a message when it is done with it.

    What was written while it read counts as ordered, and the message is forgotten with it.
    """

    def begin(self, message_id: int) -> BegunMessage | None:
        with self.delivery.for_all("test") as work:
            row = work.outbox.rows.outbox.get(message_id)  # type: ignore[attr-defined]
        return row and BegunMessage(message_id, row.project_id)


class ForgetsFirst(WorkerOutbox):
    """A message is forgotten when a worker gets it, done or not."""

    def begin(self, message_id: int) -> BegunMessage | None:
        begun = super().begin(message_id)
        if begun is not None:
            self.finish(begun)
        return begun
