"""Contract of ``Health``: for how long a message that has a place has not been in the queue."""

from __future__ import annotations

from context_search.core.messages import CompareIndex
from context_search.core.model import Project
from tests.contract.store.bench import Bench

SLACK_S = 30


def ordered(bench: Bench, project: Project, count: int = 1) -> None:
    """Adds messages to compare so many indexes."""
    for _ in range(count):
        table = bench.table({}, project)
        _, index = bench.tool(table)
        bench.work.outbox.add([CompareIndex(index.id, table.id).to_json()])


def taken(bench: Bench, project: Project, window: int = 1) -> list[int]:
    """A sender takes messages, and dies."""
    return [message_id for message_id, _ in bench.work.outbox.take(project.id, window=window)]


def sent(bench: Bench, project: Project, window: int = 1) -> list[int]:
    messages = taken(bench, project, window)
    bench.work.outbox.note_sent(messages)
    return messages


def age(bench: Bench) -> int:
    """The gauge, to half a minute below."""
    return int(bench.work.health.readings().outbox_age_s // SLACK_S * SLACK_S)


def test_an_order_that_is_in_the_queue_or_in_no_book_has_no_age(bench: Bench) -> None:
    project = bench.project()
    assert age(bench) == 0
    ordered(bench, project)
    [message_id] = sent(bench, project)
    bench.pass_time(900)
    assert age(bench) == 0
    bench.work.outbox.begin(message_id)
    assert age(bench) == 0


def test_a_sender_that_dies_leaves_the_age_from_the_first_attempt_on(bench: Bench) -> None:
    project = bench.project()
    ordered(bench, project)
    for minutes in range(1, 9):
        assert len(taken(bench, project)) == 1
        bench.pass_time(60 + 0.1)
        assert age(bench) == 60 * minutes
    assert len(sent(bench, project)) == 1
    assert age(bench) == 0


def test_an_order_that_nobody_takes_ages_from_its_beginning(bench: Bench) -> None:
    ordered(bench, bench.project())
    bench.pass_time(900)
    assert age(bench) == 900


def test_an_order_that_waits_for_a_place_has_no_age(bench: Bench) -> None:
    project = bench.project()
    ordered(bench, project, 3)
    bench.pass_time(900)
    first, *_ = sent(bench, project)
    bench.pass_time(900)
    assert age(bench) == 0
    bench.work.outbox.finish(first)
    assert len(taken(bench, project)) == 1
    bench.pass_time(90)
    assert age(bench) == 90


def test_an_order_that_rests_ages_from_when_it_is_due(bench: Bench) -> None:
    project = bench.project()
    ordered(bench, project)
    [message_id] = sent(bench, project)
    bench.pass_time(900)
    bench.work.outbox.begin(message_id)
    assert not bench.work.outbox.delay(message_id, after_s=600, window=0)
    bench.pass_time(590)
    assert age(bench) == 0
    bench.pass_time(160)
    assert age(bench) == 150


def test_an_order_that_was_lost_ages_from_when_that_was_noticed(bench: Bench) -> None:
    project = bench.project()
    ordered(bench, project, 2)
    sent(bench, project)
    bench.pass_time(900)
    assert bench.work.outbox.reopen(bench.work.outbox.silent(silent_s=300), silent_s=300) == 1
    assert age(bench) == 0
    bench.pass_time(150)
    assert age(bench) == 150
    again = sent(bench, project)
    bench.pass_time(150)
    assert bench.work.outbox.restore(again) == [project.id]
    assert age(bench) == 0
