"""What a transaction sends leaves when it has committed, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from context_search.domain.errors import QueueUnavailableError
from context_search.domain.orders import CompareIndex
from context_search.ports.outside import Message
from testing.in_memory.queue import ListQueue
from tests.services.house import House, prose


class Away(ListQueue):
    """A queue that can be away."""

    is_away = False

    def send(self, messages: Sequence[Message]) -> list[int]:
        if self.is_away:
            raise QueueUnavailableError("away")
        return super().send(messages)


@pytest.fixture
def house() -> House:
    """A house with an index that is up to date, and nothing in its queue."""
    house = House(Away())
    house.tool(house.table({"a": prose(300)}))
    house.work()
    return house


def order_of(house: House) -> CompareIndex:
    [index_id] = house.memory.rows.indexes
    return CompareIndex(index_id)


def test_an_order_leaves_after_the_commit_and_not_before(house: House) -> None:
    with house.store.for_all("test") as work:
        work.send(order_of(house))
        assert house.queue.messages == []
    [message] = house.queue.messages
    [order_id] = house.memory.rows.outbox
    assert message == {**order_of(house).to_json(), "order": order_id}


def test_an_order_of_a_transaction_that_is_rolled_back_never_leaves(house: House) -> None:
    with suppress(ZeroDivisionError), house.store.for_all("test") as work:
        work.send(order_of(house))
        raise ZeroDivisionError
    assert (house.queue.messages, dict(house.memory.rows.outbox)) == ([], {})
    with house.store.for_all("test"):
        pass  # nor with the next one
    assert house.queue.messages == []


def test_what_waits_of_a_project_leaves_too(house: House) -> None:
    with house.memory.for_all("test") as work:  # as somebody who cannot deliver
        work.outbox.add([order_of(house).to_json()])
    assert house.queue.messages == []
    with house.store.for_all("test") as work:
        work.send_waiting(house.principal.project_id)
    assert len(house.queue.messages) == 1


def test_a_queue_that_is_away_fails_no_caller_and_loses_nothing(house: House) -> None:
    assert isinstance(house.queue, Away)
    house.queue.is_away = True
    with house.store.for_all("test") as work:
        work.send(order_of(house))
    assert len(house.memory.rows.outbox) == 1
    assert house.queue.messages == []
