"""Messages that do not leave after a commit fail no request; they are reported."""

from __future__ import annotations

from collections.abc import Sequence

from context_search.core.errors import DatabaseUnavailableError, QueueUnavailableError
from context_search.core.messages import CompareIndex
from context_search.indexing.worker import BegunMessage, Worker, WorkerOutbox
from context_search.integrations.ports import MessageBody
from testing.in_memory.queue import ListQueue
from tests.system import System, prose

STRINGS = 20
"""More than a window has room for."""


class Moody(ListQueue):
    """A queue that may be away."""

    is_away = False

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        if self.is_away:
            raise QueueUnavailableError("away")
        return super().send(messages)


class Stuck(WorkerOutbox):
    """An outbox whose database is away when a message is to be delayed."""

    def delay(self, begun: BegunMessage, after_s: float) -> bool:
        raise DatabaseUnavailableError(f"no rest of {after_s} s for {begun.id}")


def reported(system: System) -> list[str]:
    return [error.code for error in system.undelivered]


def test_a_caller_whose_orders_stay_in_the_book_is_not_failed_and_it_is_told() -> None:
    queue = Moody()
    system = System(queue)
    queue.is_away = True
    assert system.tool(system.table({"a": prose(300)})).progress.status == "indexing"
    assert reported(system) == ["QUEUE_UNAVAILABLE"]


def test_a_worker_that_cannot_send_the_next_order_is_done_with_its_own_and_it_is_told() -> None:
    queue = Moody()
    system = System(queue)
    system.tool(system.table([prose(60, seed) for seed in range(STRINGS)]))
    [first, *_] = queue.messages
    queue.is_away = True
    assert system.execute(first).error is None
    assert system.execute(first).outcome is None  # it was done before
    assert reported(system) == ["QUEUE_UNAVAILABLE"]


def test_an_order_that_cannot_be_put_off_comes_back_and_it_is_told() -> None:
    system = System()
    system.tool(system.table({"a": prose(300)}))
    [message] = system.queue.messages
    message_id = message["order"]
    assert isinstance(message_id, int)
    outbox = Stuck(system.store)

    def fail(index_id: int, table_id: int | None) -> None:
        raise QueueUnavailableError(f"nothing is compared: {index_id}, {table_id}")

    hands = Worker(
        outbox,
        system.indexer.index,
        fail,
        system.import_document.run,
        system.execute_plan,
        system.calibrator.run,
        system.report,
    )
    done = hands.execute(CompareIndex(1), system.deadline(), message_id=message_id)
    assert (done.again_in_s, reported(system)) == (30.0, ["DATABASE_UNAVAILABLE"])
    assert hands.delay(message_id, 60.0)
    assert reported(system) == ["DATABASE_UNAVAILABLE"] * 2
