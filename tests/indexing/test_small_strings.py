"""Very many small strings: few messages, few steps, the same care for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from context_search.core.errors import EmbeddingRejectedError, EmbeddingUnavailableError
from context_search.core.limits import ProjectLimits
from context_search.core.messages import NODES_PER_MESSAGE
from context_search.indexing.indexer import Indexer
from context_search.indexing.node_report import NodeReport, RetryLater
from tests.system import System

MANY = NODES_PER_MESSAGE
BAD = "string 7 of very many"


def nodes_of(system: System, **limits: object) -> Indexer:
    return system.worker(**{"batch_nodes": MANY - 100, **limits})  # type: ignore[arg-type]


def built(many: int = MANY) -> System:
    """A system whose queue holds the message for very many strings, and nothing else."""
    system = System()
    system.tool(system.table([f"string {number} of very many" for number in range(many)]))
    if system.queue.messages[0]["kind"] == "enumerate":
        system.enumerate(int(str(system.queue.messages.pop()["index_id"])))
    return system


def ordered(system: System) -> list[int]:
    """Takes the only message that waits."""
    [message] = system.queue.messages
    system.queue.messages.clear()
    ids: list[int] = message["node_ids"]  # type: ignore[assignment]
    return ids


def counted(reports: Iterable[NodeReport]) -> Counter[str]:
    found = Counter[str]()
    for report in reports:
        found[report.outcome] += report.nodes
    return +found


def test_they_come_in_one_message_and_go_in_few_calls() -> None:
    system = built()
    reports = nodes_of(system).index(ordered(system), system.deadline())
    assert counted(reports) == {"indexed": MANY}
    assert system.embedder.calls == [MANY - 100, 100]
    assert len(system.documents()) == MANY
    assert system.documents() == system.rows()


def test_one_bad_string_is_quarantined_and_no_other() -> None:
    system = built()
    system.embedder.refused = {BAD: EmbeddingRejectedError("refused")}
    reports = nodes_of(system).index(ordered(system), system.deadline())
    assert counted(reports) == {"indexed": MANY - 1, "quarantined": 1}
    states = Counter(node.state for node in system.model_store.rows.nodes.values())
    assert states == {"indexed": MANY - 1, "quarantined": 1}


def test_a_provider_that_is_away_is_asked_once_and_all_come_back_when_it_says() -> None:
    system = built()
    ids = ordered(system)
    system.embedder.errors = [EmbeddingUnavailableError("429", retry_after_s=9)]
    with pytest.raises(RetryLater) as caught:
        list(nodes_of(system, batch_nodes=MANY).index(ids, system.deadline()))
    assert (caught.value.after_s, system.embedder.calls) == (9, [MANY])
    system.clock.advance(10)
    assert counted(nodes_of(system).index(ids, system.deadline())) == {"indexed": MANY}


def test_a_part_that_fails_keeps_no_other_part_from_its_turn() -> None:
    system = built()
    system.embedder.errors = [EmbeddingUnavailableError("429", retry_after_s=9)]
    with pytest.raises(RetryLater):
        list(nodes_of(system).index(ordered(system), system.deadline()))
    assert len(system.documents()) == 100


def test_what_fails_again_and_again_is_tried_alone() -> None:
    system = built(30)
    ids = ordered(system)
    system.embedder.refused = {BAD: EmbeddingUnavailableError("a reply that never comes")}
    for _ in range(2):
        with pytest.raises(RetryLater):
            list(nodes_of(system, attempts_together=2).index(ids, system.deadline()))
        assert system.documents() == set()
        system.clock.advance(1_000)
    with pytest.raises(RetryLater):
        list(nodes_of(system, attempts_together=2).index(ids, system.deadline()))
    assert len(system.documents()) == 29


def test_an_unexpected_error_of_one_string_is_raised_when_the_others_are_done() -> None:
    system = built(30)
    system.embedder.refused = {BAD: ValueError("a bug")}  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="a bug"):
        list(nodes_of(system).index(ordered(system), system.deadline()))
    assert len(system.documents()) == 29


def test_strings_without_room_wait_and_the_others_are_indexed() -> None:
    system = built(30)
    limits = {"project": ProjectLimits(max_chunks=20)}
    reports = nodes_of(system, **limits).index(ordered(system), system.deadline())
    assert counted(reports) == {"indexed": 20, "skipped": 10}


def test_what_there_is_no_time_for_is_ordered_again() -> None:
    system = built()
    begun = system.outbox.begin(max(system.model_store.rows.outbox))
    ids = ordered(system)
    assert list(nodes_of(system).index(ids, system.deadline(seconds=30))) == []
    assert begun is not None
    system.outbox.finish(begun)
    assert ordered(system) == ids
