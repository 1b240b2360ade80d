"""Between projects: what waits for whom, what is sent again, what a refused queue looks like."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from context_search.domain.access import Internal, ProjectKey
from context_search.domain.errors import QueueUnavailableError
from context_search.domain.orders import IndexNodes
from context_search.ports.outside import Message
from context_search.services.indexing.indexer import Indexer
from context_search.services.indexing.outgoing import LOST_AFTER_S, WINDOW
from context_search.services.upkeep.cleanup import CleanupLimits, CleanupReport
from context_search.services.upkeep.operations import Redrive
from testing.in_memory.queue import ListQueue
from tests.services.house import SILENT_S, House, prose

NEIGHBOUR = ProjectKey(2)
STRINGS = 20


class Refusing(ListQueue):
    """A queue that takes nothing, or nothing more, while ``room`` is 0."""

    room: int | None = None

    def send(self, messages: Sequence[Message]) -> list[int]:
        if self.room == 0:
            raise QueueUnavailableError("refused")
        return super().send(messages[: self.room])


def cleaned(house: House) -> CleanupReport:
    return house.scheduled(CleanupLimits(silent_s=SILENT_S)).run(house.deadline())


def next_door(house: House, document: object) -> None:
    """A table of the neighbour with a tool over it."""
    own, house.principal = house.principal, NEIGHBOUR
    house.tool(house.table(document))
    house.principal = own


def receive(house: House, worker: Indexer | None = None) -> Message:
    """Carries out the first message of the queue."""
    message = house.queue.messages.pop(0)
    assert house.carry_out(message, worker).error is None
    return message


def test_a_neighbour_waits_behind_one_window_however_much_there_is_to_do() -> None:
    house = House()
    tables = [house.table([prose(60, seed) for seed in range(STRINGS)]) for _ in range(3)]
    for table in tables:
        house.tool(table)
    for round_ in range(10):
        for table in tables:
            document = [prose(60, 100 * round_ + seed) for seed in range(STRINGS)]
            house.replace(house.principal, table.id, document)
    assert len(house.queue.messages) == WINDOW
    keys = {row.key for row in house.memory.rows.outbox.values()}
    assert len(house.memory.rows.outbox) == len(keys) == 3 * STRINGS + len(tables)
    next_door(house, {"a": prose(60)})
    [lone] = house.queue.messages[WINDOW:]
    handed = [receive(house) for _ in range(WINDOW + 1)]
    assert handed[-1] == lone
    house.work()
    assert house.memory.rows.outbox == {}


def test_the_queue_is_kept_full_by_those_who_are_done() -> None:
    house = House()
    house.tool(house.table([prose(60, seed) for seed in range(STRINGS)]))
    for left in range(STRINGS - 1, -1, -1):
        receive(house)
        assert len(house.queue.messages) == min(WINDOW, left)


def test_what_is_in_the_queue_is_not_sent_again_and_what_is_lost_is() -> None:
    house = House()
    house.tool(house.table({"a": prose(300), "b": prose(300, 2)}))
    sent = list(house.queue.messages)
    house.clock.advance(SILENT_S + 1)
    assert (cleaned(house).messages_relayed, house.queue.messages) == (0, sent)
    del house.queue.messages[0]  # and the other one is still there
    house.clock.advance(LOST_AFTER_S - SILENT_S - 2)
    assert cleaned(house).messages_relayed == 0
    house.clock.advance(2)
    assert cleaned(house).messages_relayed == 2
    house.queue.messages.clear()  # as after a restart of an emulator
    house.clock.advance(SILENT_S + 1)
    report = cleaned(house)
    assert (report.messages_relayed, report.nodes_revived) == (2, 0)
    house.work()
    assert house.documents() == house.rows()


def died(house: House, receives: int, apart_s: float) -> int:
    """Workers begin what is in the queue and fail, until it is given up; returns how much was."""
    dead = len(house.queue.messages)
    for _ in range(receives):
        for message in house.queue.messages:
            begun = house.book.begin(int(str(message["order"])))
            assert begun is not None
            assert house.book.rest(begun, apart_s)
        house.clock.advance(apart_s)
    house.queue.messages.clear()
    return dead


def test_an_order_that_fails_for_ever_becomes_a_dead_letter_once_a_day_in_the_end() -> None:
    house = House()
    table = house.table({"a": prose(300)})
    tool = house.tool(table).tool
    house.work()
    house.replace(house.principal, table.id, {"a": prose(400)})
    days = [0] * 7
    while (day := int(house.clock.monotonic() // 86_400)) < len(days):
        days[day] += died(house, 20, 30.0)
        house.clock.advance(60)
        cleaned(house)
    assert days[0] <= 12
    assert max(days[2:]) <= 1
    assert sum(days[2:]) >= 4  # it is never given up
    assert len(house.memory.rows.outbox) == 1
    house.replace(house.principal, table.id, {"a": prose(500)})  # the next write waits for nothing
    house.work()
    assert house.read_status(tool.id, Internal()).progress.status == "ready"


@pytest.mark.parametrize("room", [0, 1])
def test_a_refused_queue_fails_no_caller_and_is_an_error_of_cleanup(room: int) -> None:
    queue = Refusing()
    queue.room = room
    house = House(queue)
    house.tool(house.table({"a": prose(300), "b": prose(300, 2), "c": prose(300, 3)}))
    assert len(queue.messages) == room
    house.clock.advance(SILENT_S + 1)
    report = cleaned(house)
    assert "relay: QUEUE_UNAVAILABLE" in report.errors
    assert report.readings is not None
    assert report.readings.outbox_age_s == SILENT_S + 1
    queue.room = None
    house.clock.advance(SILENT_S + 1)
    report = cleaned(house)
    assert (report.errors, report.readings and report.readings.outbox_age_s) == ([], 0)


def test_an_order_that_waits_for_its_turn_is_no_failure_of_the_queue() -> None:
    house = House()
    house.tool(house.table([prose(60, seed) for seed in range(STRINGS)]))
    assert len(house.memory.rows.outbox) > WINDOW
    house.clock.advance(10_000)
    report = cleaned(house)
    assert report.readings is not None
    assert report.readings.outbox_age_s == 0


class Slow(House):
    """Every call of the model takes six seconds."""

    def __init__(self) -> None:
        super().__init__()
        usual = self.embedder.embed_passages

        def embed(texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
            self.clock.advance(6)
            return usual(texts, timeout_s=timeout_s)

        self.embedder.embed_passages = embed  # type: ignore[method-assign]


def test_a_long_string_is_handed_over_when_others_wait_and_only_then() -> None:
    house = Slow()
    worker = house.worker(batch_chunks=2, turn_s=10)
    house.tool(house.table({"a": prose(2_000)}))
    [node_id] = house.memory.rows.nodes
    next_door(house, {"a": prose(300)})
    assert worker.index_one(node_id, house.deadline()).outcome == "handed_over"
    present = sum(chunk.present for chunk in house.memory.rows.chunks.values())
    assert present == 4  # two batches: it is not given back before it got anywhere
    house.work(worker)
    assert house.documents() == house.rows()
    lone = Slow()
    lone.tool(lone.table({"a": prose(2_000)}))
    [node_id] = lone.memory.rows.nodes
    assert (
        lone.worker(batch_chunks=2, turn_s=10).index_one(node_id, lone.deadline()).outcome
        == "indexed"
    )


def test_a_string_whose_rows_took_the_whole_turn_is_handed_over_at_once() -> None:
    house = House()
    worker = house.worker(turn_s=0)
    house.tool(house.table({"a": prose(2_000)}))
    [node_id] = house.memory.rows.nodes
    next_door(house, {"a": prose(300)})
    assert worker.index_one(node_id, house.deadline()).outcome == "handed_over"
    assert not any(chunk.present for chunk in house.memory.rows.chunks.values())
    house.work(worker)  # the rows are there now: each turn indexes a batch of them at least
    assert house.documents() == house.rows()


def test_dead_letters_and_pardoned_strings_go_through_the_book() -> None:
    house = House()
    house.tool(house.table([prose(60, seed) for seed in range(STRINGS)]))
    dead = list(house.queue.messages)
    house.queue.messages.clear()

    class Letters:
        def take_up(self, limit: int, keep: object) -> int:
            keep([*dead, IndexNodes((1,)).to_json()][:limit])  # type: ignore[operator]
            return len(dead) + 1

    assert Redrive(house.store, Letters()).run(100).messages == WINDOW + 1
    [older, *back] = house.queue.messages
    assert (older["node_id"], back) == (1, dead)
    house.work()
    assert house.documents() == house.rows()
    assert house.memory.rows.outbox == {}
