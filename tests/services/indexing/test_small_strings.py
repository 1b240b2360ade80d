"""Very many small strings: few messages, few steps, the same care for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from context_search.domain.errors import EmbeddingRejectedError, EmbeddingUnavailableError
from context_search.domain.limits import ProjectLimits
from context_search.domain.model import Claim
from context_search.services.indexing.indexer import Indexer
from context_search.services.indexing.node_report import NodeReport, RetryLater
from context_search.services.indexing.outgoing import NODES_PER_MESSAGE
from tests.services.house import House

MANY = NODES_PER_MESSAGE
BAD = "string 7 of very many"


def nodes_of(house: House, **limits: object) -> Indexer:
    return house.worker(**{"batch_nodes": MANY - 100, **limits})  # type: ignore[arg-type]


def built(many: int = MANY) -> House:
    """A house whose queue holds the order for very many strings, and nothing else."""
    house = House()
    house.tool(house.table([f"string {number} of very many" for number in range(many)]))
    if house.queue.messages[0]["kind"] == "enumerate":
        house.enumerate(int(str(house.queue.messages.pop()["index_id"])))
    return house


def ordered(house: House) -> list[int]:
    """Takes the only order that waits."""
    [message] = house.queue.messages
    house.queue.messages.clear()
    ids: list[int] = message["node_ids"]  # type: ignore[assignment]
    return ids


def counted(reports: Iterable[NodeReport]) -> Counter[str]:
    found = Counter[str]()
    for report in reports:
        found[report.outcome] += report.nodes
    return +found


def test_they_come_in_one_message_and_go_in_few_calls() -> None:
    house = built()
    reports = nodes_of(house).index(ordered(house), house.deadline())
    assert counted(reports) == {"indexed": MANY}
    assert house.embedder.calls == [MANY - 100, 100]
    assert len(house.documents()) == MANY
    assert house.documents() == house.rows()


def test_a_message_that_comes_twice_changes_nothing() -> None:
    house = built()
    ids = ordered(house)
    list(nodes_of(house).index(ids, house.deadline()))
    before = house.rows()
    assert counted(nodes_of(house).index(ids, house.deadline())) == {}
    assert (house.rows(), sum(house.embedder.calls)) == (before, MANY)


def test_one_bad_string_is_quarantined_and_no_other() -> None:
    house = built()
    house.embedder.refused = {BAD: EmbeddingRejectedError("refused")}
    reports = nodes_of(house).index(ordered(house), house.deadline())
    assert counted(reports) == {"indexed": MANY - 1, "quarantined": 1}
    states = Counter(node.state for node in house.memory.rows.nodes.values())
    assert states == {"indexed": MANY - 1, "quarantined": 1}


def test_a_provider_that_is_away_is_asked_once_and_all_come_back_when_it_says() -> None:
    house = built()
    ids = ordered(house)
    house.embedder.errors = [EmbeddingUnavailableError("429", retry_after_s=9)]
    with pytest.raises(RetryLater) as caught:
        list(nodes_of(house, batch_nodes=MANY).index(ids, house.deadline()))
    assert (caught.value.after_s, house.embedder.calls) == (9, [MANY])
    house.clock.advance(10)
    assert counted(nodes_of(house).index(ids, house.deadline())) == {"indexed": MANY}


def test_a_part_that_fails_keeps_no_other_part_from_its_turn() -> None:
    house = built()
    house.embedder.errors = [EmbeddingUnavailableError("429", retry_after_s=9)]
    with pytest.raises(RetryLater):
        list(nodes_of(house).index(ordered(house), house.deadline()))
    assert len(house.documents()) == 100


def test_what_fails_again_and_again_is_tried_alone() -> None:
    house = built(30)
    ids = ordered(house)
    house.embedder.refused = {BAD: EmbeddingUnavailableError("a reply that never comes")}
    for _ in range(2):
        with pytest.raises(RetryLater):
            list(nodes_of(house, attempts_together=2).index(ids, house.deadline()))
        assert house.documents() == set()
        house.clock.advance(1_000)
    with pytest.raises(RetryLater):
        list(nodes_of(house, attempts_together=2).index(ids, house.deadline()))
    assert len(house.documents()) == 29


def test_an_unexpected_error_of_one_string_is_raised_when_the_others_are_done() -> None:
    house = built(30)
    house.embedder.refused = {BAD: ValueError("a bug")}  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="a bug"):
        list(nodes_of(house).index(ordered(house), house.deadline()))
    assert len(house.documents()) == 29


def test_strings_without_room_wait_and_the_others_are_indexed() -> None:
    house = built(30)
    limits = {"project": ProjectLimits(max_chunks=20)}
    reports = nodes_of(house, **limits).index(ordered(house), house.deadline())
    assert counted(reports) == {"indexed": 20, "skipped": 10}


def test_a_string_that_changed_meanwhile_is_not_swapped_in() -> None:
    house = built(30)
    ids = ordered(house)
    with house.store.for_all("test") as work:
        claims = work.nodes.claim_many(ids, max_chars=100, max_attempts=4, lease_s=60)
    [table] = house.memory.rows.tables
    strings = [f"string {number} of very many" for number in range(29)]
    house.replace(house.principal, table, [*strings, "another string, and longer"])
    house.enumerate(int(str(house.queue.messages.pop(0)["index_id"])))
    left: list[Claim] = []
    assert house.indexer.carry_on(claims, house.deadline(), left).nodes == 29
    assert len(left) == 1


def test_what_there_is_no_time_for_is_ordered_again() -> None:
    house = built()
    begun = house.book.begin(max(house.memory.rows.outbox))
    ids = ordered(house)
    assert list(nodes_of(house).index(ids, house.deadline(seconds=30))) == []
    assert begun is not None
    house.book.finish(begun)
    assert ordered(house) == ids
