"""Very many small strings: few messages, the same care for each."""

from __future__ import annotations

import pytest

from context_search.domain.errors import EmbeddingUnavailableError
from context_search.services.index_node import RetryLater
from context_search.services.index_nodes import IndexNodes
from tests.services.house import House

MANY = 600


def built() -> tuple[House, IndexNodes]:
    house = House()
    house.tool(house.table([f"string {number} of very many" for number in range(MANY)]))
    return house, IndexNodes(house.store, house.index_node, house.deliver)


def named(house: House) -> list[list[int]]:
    return [list(message["node_ids"]) for message in house.queue.messages]  # type: ignore[call-overload]


def test_the_queue_finds_them_and_orders_them_by_fifties() -> None:
    house, index_nodes = built()
    [enumerate_message] = house.queue.messages
    assert enumerate_message["kind"] == "enumerate"
    house.queue.messages.clear()
    house.enumerate(int(str(enumerate_message["index_id"])))
    assert [len(ids) for ids in named(house)] == [50] * 12
    for ids in named(house):
        reports = list(index_nodes(ids, house.deadline()))
        assert [report.outcome for report in reports] == ["indexed"] * 50
    assert len(house.documents()) == MANY


def test_one_that_has_to_wait_keeps_no_other_from_its_turn() -> None:
    house, index_nodes = built()
    house.enumerate(int(str(house.queue.messages.pop()["index_id"])))
    house.embedder.errors = [EmbeddingUnavailableError("429", retry_after_s=9)]
    with pytest.raises(RetryLater):
        list(index_nodes(named(house)[0], house.deadline()))
    assert len(house.documents()) == 49


def test_what_there_is_no_time_for_is_ordered_again() -> None:
    house, index_nodes = built()
    house.enumerate(int(str(house.queue.messages.pop()["index_id"])))
    [first, *_] = named(house)
    house.queue.messages.clear()
    assert list(index_nodes(first, house.deadline(seconds=30))) == []
    assert named(house) == [first]
