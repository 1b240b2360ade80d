"""Between projects: what waits for whom, what is sent again, what a refused queue looks like."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from context_search.core.callers import Internal, ProjectKey
from context_search.core.errors import QueueUnavailableError
from context_search.core.messages import IndexNodes
from context_search.indexing.indexer import Indexer
from context_search.indexing.outbox_delivery import LOST_AFTER_S, WINDOW
from context_search.integrations.ports import MessageBody
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.redrive import Redrive
from context_search.maintenance.rules.health import CleanupLimits
from testing.in_memory.queue import ListQueue
from tests.system import SILENT_S, System, prose

NEIGHBOUR = ProjectKey(2)
STRINGS = 20


class Refusing(ListQueue):
    """A queue that takes nothing, or nothing more, while ``room`` is 0."""

    room: int | None = None

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        if self.room == 0:
            raise QueueUnavailableError("refused")
        return super().send(messages[: self.room])


def cleaned(system: System) -> CleanupReport:
    return system.scheduled(CleanupLimits(silent_s=SILENT_S)).run(system.deadline())


def next_door(system: System, document: object) -> None:
    """A table of the neighbour with a tool over it."""
    own, system.principal = system.principal, NEIGHBOUR
    system.tool(system.table(document))
    system.principal = own


def receive(system: System, worker: Indexer | None = None) -> MessageBody:
    """Handles the first message of the queue."""
    message = system.queue.messages.pop(0)
    assert system.execute(message, worker).error is None
    return message


def test_the_queue_is_kept_full_by_those_who_are_done() -> None:
    system = System()
    system.tool(system.table([prose(60, seed) for seed in range(STRINGS)]))
    for left in range(STRINGS - 1, -1, -1):
        receive(system)
        assert len(system.queue.messages) == min(WINDOW, left or 1)  # at last it is calibrated


def test_what_is_in_the_queue_is_not_sent_again_and_what_is_lost_is() -> None:
    system = System()
    system.tool(system.table({"a": prose(300), "b": prose(300, 2)}))
    sent = list(system.queue.messages)
    system.clock.advance(SILENT_S + 1)
    assert (cleaned(system).messages_relayed, system.queue.messages) == (0, sent)
    del system.queue.messages[0]  # and the other one is still there
    system.clock.advance(LOST_AFTER_S - SILENT_S - 2)
    assert cleaned(system).messages_relayed == 0
    system.clock.advance(2)
    assert cleaned(system).messages_relayed == 2
    system.queue.messages.clear()  # as after a restart of an emulator
    system.clock.advance(SILENT_S + 1)
    report = cleaned(system)
    assert (report.messages_relayed, report.nodes_revived) == (2, 0)
    system.work()
    assert system.documents() == system.rows()


def died(system: System, receives: int, apart_s: float) -> int:
    """Workers begin what is in the queue and fail, until it is given up; returns how much was."""
    dead = len(system.queue.messages)
    for _ in range(receives):
        for message in system.queue.messages:
            begun = system.outbox.begin(int(str(message["order"])))
            assert begun is not None
            assert system.outbox.delay(begun, apart_s)
        system.clock.advance(apart_s)
    system.queue.messages.clear()
    return dead


def test_an_order_that_fails_for_ever_becomes_a_dead_letter_once_a_day_in_the_end() -> None:
    system = System()
    table = system.table({"a": prose(300)})
    tool = system.tool(table).tool
    system.work()
    system.replace(system.principal, table.id, {"a": prose(400)})
    days = [0] * 7
    while (day := int(system.clock.monotonic() // 86_400)) < len(days):
        days[day] += died(system, 20, 30.0)
        system.clock.advance(60)
        cleaned(system)
    assert days[0] <= 12
    assert max(days[2:]) <= 1
    assert sum(days[2:]) >= 4  # it is never given up
    assert len(system.model_store.rows.outbox) == 1
    system.replace(
        system.principal, table.id, {"a": prose(500)}
    )  # the next write waits for nothing
    system.work()
    assert system.read_status(tool.id, Internal()).progress.status == "ready"


@pytest.mark.parametrize("room", [0, 1])
def test_a_refused_queue_fails_no_caller_and_is_an_error_of_cleanup(room: int) -> None:
    queue = Refusing()
    queue.room = room
    system = System(queue)
    system.tool(system.table({"a": prose(300), "b": prose(300, 2), "c": prose(300, 3)}))
    assert len(queue.messages) == room
    system.clock.advance(SILENT_S + 1)
    report = cleaned(system)
    assert "relay: QUEUE_UNAVAILABLE" in report.errors
    assert report.readings is not None
    assert report.readings.outbox_age_s == SILENT_S + 1
    queue.room = None
    system.clock.advance(SILENT_S + 1)
    report = cleaned(system)
    assert (report.errors, report.readings and report.readings.outbox_age_s) == ([], 0)


class Slow(System):
    """Every call of the model takes six seconds."""

    def __init__(self) -> None:
        super().__init__()
        usual = self.embedder.embed_passages

        def embed(texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
            self.clock.advance(6)
            return usual(texts, timeout_s=timeout_s)

        self.embedder.embed_passages = embed  # type: ignore[method-assign]


def test_a_long_string_is_handed_over_when_others_wait_and_only_then() -> None:
    system = Slow()
    worker = system.worker(batch_chunks=2, turn_s=10)
    system.tool(system.table({"a": prose(2_000)}))
    [node_id] = system.model_store.rows.nodes
    next_door(system, {"a": prose(300)})
    assert worker.index_one(node_id, system.deadline()).outcome == "handed_over"
    present = sum(chunk.present for chunk in system.model_store.rows.chunks.values())
    assert present == 4  # two batches: it is not given back before it got anywhere
    system.work(worker)
    assert system.documents() == system.rows()
    lone = Slow()
    lone.tool(lone.table({"a": prose(2_000)}))
    [node_id] = lone.model_store.rows.nodes
    assert (
        lone.worker(batch_chunks=2, turn_s=10).index_one(node_id, lone.deadline()).outcome
        == "indexed"
    )


def test_a_string_whose_rows_took_the_whole_turn_is_handed_over_at_once() -> None:
    system = System()
    worker = system.worker(turn_s=0)
    system.tool(system.table({"a": prose(2_000)}))
    [node_id] = system.model_store.rows.nodes
    next_door(system, {"a": prose(300)})
    assert worker.index_one(node_id, system.deadline()).outcome == "handed_over"
    assert not any(chunk.present for chunk in system.model_store.rows.chunks.values())
    system.work(worker)  # the rows are there now: each turn indexes a batch of them at least
    assert system.documents() == system.rows()


def test_dead_letters_and_quarantined_strings_go_through_the_book() -> None:
    system = System()
    system.tool(system.table([prose(60, seed) for seed in range(STRINGS)]))
    dead = list(system.queue.messages)
    system.queue.messages.clear()

    class Letters:
        def take_up(self, limit: int, keep: object) -> int:
            keep([*dead, IndexNodes((1,)).to_json()][:limit])  # type: ignore[operator]
            return len(dead) + 1

    assert Redrive(system.store, Letters()).run(100).messages == WINDOW + 1
    assert system.queue.messages == dead  # without the one that names no message
    system.work()
    assert system.documents() == system.rows()
    assert system.model_store.rows.outbox == {}
