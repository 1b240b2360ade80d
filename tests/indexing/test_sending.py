"""What a transaction sends leaves when it has committed, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from context_search.core.errors import QueueUnavailableError
from context_search.core.messages import CompareIndex
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


@pytest.fixture
def system() -> System:
    """A system with an index that is up to date, and nothing in its queue."""
    system = System(Away())
    system.tool(system.table({"a": prose(300)}))
    system.work()
    return system


def order_of(system: System) -> CompareIndex:
    [index_id] = system.memory.rows.indexes
    return CompareIndex(index_id)


def test_an_order_leaves_after_the_commit_and_not_before(system: System) -> None:
    with system.store.for_all("test") as work:
        work.send(order_of(system))
        assert system.queue.messages == []
    [message] = system.queue.messages
    [message_id] = system.memory.rows.outbox
    assert message == {**order_of(system).to_json(), "order": message_id}


def test_an_order_of_a_transaction_that_is_rolled_back_never_leaves(system: System) -> None:
    with suppress(ZeroDivisionError), system.store.for_all("test") as work:
        work.send(order_of(system))
        raise ZeroDivisionError
    assert (system.queue.messages, dict(system.memory.rows.outbox)) == ([], {})
    with system.store.for_all("test"):
        pass  # nor with the next one
    assert system.queue.messages == []


def test_what_waits_of_a_project_leaves_too(system: System) -> None:
    with system.memory.for_all("test") as work:  # as somebody who cannot deliver
        work.outbox.add([order_of(system).to_json()])
    assert system.queue.messages == []
    with system.store.for_all("test") as work:
        work.send_waiting(system.principal.project_id)
    assert len(system.queue.messages) == 1


def test_a_queue_that_is_away_fails_no_caller_and_loses_nothing(system: System) -> None:
    assert isinstance(system.queue, Away)
    system.queue.is_away = True
    with system.store.for_all("test") as work:
        work.send(order_of(system))
    assert len(system.memory.rows.outbox) == 1
    assert system.queue.messages == []
