"""What a transaction sends leaves when it has committed; what cannot leave is reported."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from context_search.core.errors import DatabaseUnavailableError, QueueUnavailableError
from context_search.core.messages import CompareIndex
from context_search.indexing.worker import BegunMessage, Worker, WorkerOutbox
from context_search.integrations.ports import MessageBody
from testing.in_memory.queue import ListQueue
from tests.system import System, prose


class Away(ListQueue):
    """A queue that can be away."""

    is_away = False

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        if self.is_away:
            raise QueueUnavailableError("away")
        return super().send(messages)


class Stuck(WorkerOutbox):
    """An outbox whose database is away when a message is to be delayed."""

    def delay(self, begun: BegunMessage, after_s: float) -> bool:
        raise DatabaseUnavailableError(f"no rest of {after_s} s for {begun.id}")


@pytest.fixture
def system() -> System:
    """A system with an index that is up to date, and nothing in its queue."""
    system = System(Away())
    system.tool(system.table({"a": prose(300)}))
    system.work()
    return system


def order_of(system: System) -> CompareIndex:
    [index_id] = system.model_store.rows.indexes
    return CompareIndex(index_id)


def test_an_order_leaves_after_the_commit_and_not_before(system: System) -> None:
    with system.store.for_all("test") as work:
        work.send(order_of(system))
        assert system.queue.messages == []
    [message] = system.queue.messages
    [message_id] = system.model_store.rows.outbox
    assert message == {**order_of(system).to_json(), "order": message_id}


def test_an_order_of_a_transaction_that_is_rolled_back_never_leaves(system: System) -> None:
    with suppress(ZeroDivisionError), system.store.for_all("test") as work:
        work.send(order_of(system))
        raise ZeroDivisionError
    assert (system.queue.messages, dict(system.model_store.rows.outbox)) == ([], {})
    with system.store.for_all("test"):
        pass  # nor with the next one
    assert system.queue.messages == []


def test_what_waits_of_a_project_leaves_too(system: System) -> None:
    with system.model_store.for_all("test") as work:  # as somebody who cannot deliver
        work.outbox.add([order_of(system).to_json()])
    assert system.queue.messages == []
    with system.store.for_all("test") as work:
        work.send_waiting(system.principal.project_id)
    assert len(system.queue.messages) == 1


def test_an_unavailable_queue_is_reported_and_the_message_stays_in_the_outbox(
    system: System,
) -> None:
    assert isinstance(system.queue, Away)
    system.queue.is_away = True
    with system.store.for_all("test") as work:
        work.send(order_of(system))
    assert len(system.model_store.rows.outbox) == 1
    assert system.queue.messages == []
    assert reported(system) == ["QUEUE_UNAVAILABLE"]


def reported(system: System) -> list[str]:
    return [error.code for error in system.undelivered]


def test_a_worker_that_cannot_send_the_next_message_reports_it_and_finishes_its_own() -> None:
    queue = Away()
    system = System(queue)
    system.tool(system.table([prose(60, seed) for seed in range(20)]))
    [first, *_] = queue.messages
    queue.is_away = True
    assert system.execute(first).error is None
    assert system.execute(first).outcome is None  # it was done before
    assert reported(system) == ["QUEUE_UNAVAILABLE"]


def test_a_message_that_cannot_be_delayed_is_reported_and_comes_back() -> None:
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
