"""The outbox under transactions that overlap: nothing is lost, nothing blocks for long."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from context_search.core.messages import CompareIndex
from context_search.core.model import Index
from context_search.integrations.ports import MessageBody
from context_search.postgres.pool import Database
from context_search.store import PostgresStore, UnitOfWork
from tests.builders import Workbench, count, until
from tests.steps import table_of


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    """Each test begins with no project."""
    return Workbench.alone(PostgresStore(module_database))


@pytest.fixture
def index(bench: Workbench) -> Index:
    """An index over a table whose document is a number; it has no message."""
    index = bench.tool(bench.table(0))[1]
    bench.sql("DELETE FROM outbox")
    return index


def order(bench: Workbench, index: Index) -> list[int]:
    return bench.work.outbox.add([CompareIndex(index.id, table_of(index)).to_json()])


def take(bench: Workbench, index: Index, window: int = 9) -> list[tuple[int, MessageBody]]:
    return bench.work.outbox.take(index.project_id, window=window)


def begin_and_read(bench: Workbench, index: Index, message_id: int) -> str:
    """What a worker does: it begins a message, and then reads the document."""
    assert bench.work.outbox.begin(message_id) == index.project_id
    return bench.work.tables.read(table_of(index))[1]


def change(index: Index) -> tuple[str, int | None]:
    return "UPDATE context_table SET data = '1' WHERE id = :id", index.table_id


@pytest.mark.parametrize("way", ["hashjoin", "mergejoin", "nestloop"])
def test_a_window_holds_whichever_way_the_planner_joins(bench: Workbench, way: str) -> None:
    """Read again for every row, the oldest messages would be others each time."""
    first, *others = [bench.tool(bench.table(0))[1] for _ in range(6)]
    bench.sql("DELETE FROM outbox")
    bench.sql("ANALYZE outbox")  # so that few rows are expected
    for index in (first, *others):
        order(bench, index)
    ways = {"hashjoin", "mergejoin", "nestloop", "material", "indexscan", "bitmapscan"} - {way}
    with bench.store.database.transaction() as tx:
        for each in ways:
            tx.run(f"SET LOCAL enable_{each} = off")
        taken = UnitOfWork(tx).outbox.take(first.project_id, window=2)
    assert len(taken) == 2


def test_a_program_that_changes_tables_in_its_own_order_never_waits_in_a_circle(
    bench: Workbench,
) -> None:
    """It holds the message of its second table, and asks for that of the first."""
    indexes = [bench.tool(bench.table(0))[1] for _ in range(2)]
    for index in indexes:
        order(bench, index)
    taken = [message_id for message_id, _ in take(bench, indexes[0])]
    first, second = indexes

    def note() -> None:  # both: the second is left alone, nobody waits
        with bench.store.for_all("test") as work:
            work.outbox.note_sent(taken)
            work.outbox.restore(taken)

    with ThreadPoolExecutor(1) as pool, bench.tx() as program:
        program.run("UPDATE context_table SET data = '1' WHERE id = :id", id=second.table_id)
        pool.submit(note).result()
        program.run("UPDATE context_table SET data = '1' WHERE id = :id", id=first.table_id)
    states = bench.sql("SELECT sent_at IS NOT NULL FROM outbox ORDER BY id")
    assert len(states) == 2


def test_who_begins_an_order_sees_what_was_added_to_it(bench: Workbench, index: Index) -> None:
    """A writer that has not committed counts on the message that is there."""
    order(bench, index)
    [(message_id, _)] = take(bench, index)
    sql, table_id = change(index)
    with ThreadPoolExecutor(1) as pool:
        with bench.tx() as writer:
            writer.run(sql, id=table_id)
            read: Future[str] = pool.submit(begin_and_read, bench, index, message_id)
            until(lambda: writer.run("SELECT FROM pg_locks WHERE NOT granted"), timeout_s=10)
        assert read.result(timeout=10) == "1"
    assert count(bench, "outbox") == 1


def test_what_is_written_after_the_begin_is_a_new_order(bench: Workbench, index: Index) -> None:
    order(bench, index)
    [(message_id, _)] = take(bench, index)
    sql, table_id = change(index)
    with ThreadPoolExecutor(1) as pool, bench.tx() as writer:
        writer.run("SELECT 1")
        read = pool.submit(begin_and_read, bench, index, message_id)
        assert read.result(timeout=10) == "0"
        writer.run(sql, id=table_id)
    assert count(bench, "outbox") == 2


def test_a_sender_passes_by_what_is_not_committed_and_nothing_is_lost(
    bench: Workbench, index: Index
) -> None:
    order(bench, index)
    sql, table_id = change(index)
    with ThreadPoolExecutor(1) as pool, bench.tx() as writer:
        writer.run(sql, id=table_id)
        assert pool.submit(take, bench, index).result(timeout=10) == []
    assert len(take(bench, index)) == 1


def test_a_writer_that_takes_everything_back_takes_nothing_from_others(
    bench: Workbench, index: Index
) -> None:
    order(bench, index)
    sql, table_id = change(index)

    def change_and_fail() -> None:
        with bench.tx() as writer:
            writer.run(sql, id=table_id)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_and_fail()
    assert len(take(bench, index)) == 1


def test_senders_of_one_project_do_not_overfill_its_window(bench: Workbench, index: Index) -> None:
    tools = [bench.tool(bench.table(n))[1] for n in range(12)]
    for each in tools:
        order(bench, each)
    with ThreadPoolExecutor(6) as pool:
        taken = list(pool.map(lambda _: take(bench, index, 5), range(6)))
    assert sum(len(messages) for messages in taken) == 5


def test_many_who_order_the_same_at_once_order_it_once(bench: Workbench, index: Index) -> None:
    with ThreadPoolExecutor(6) as pool:
        owners = list(pool.map(lambda _: order(bench, index), range(30)))
    assert owners == [[index.project_id]] * 30
    assert count(bench, "outbox") == 1


def test_rows_of_the_release_before_are_sent_and_its_ways_do_no_harm(
    bench: Workbench, index: Index
) -> None:
    """While rolled out, or back, it adds rows without our columns and deletes what it sent."""
    order(bench, index)
    bench.sql('INSERT INTO outbox (body) VALUES (\'{"kind": "node", "node_id": 1}\')')
    with bench.store.for_all("test") as work:
        assert sorted(work.outbox.waiting(limit=9)) == [0, index.project_id]
        [(foreign, body)] = work.outbox.take(0, window=1)
        assert body == {"kind": "node", "node_id": 1}
        work.outbox.note_sent([foreign])
        assert work.outbox.begin(foreign) == 0
        assert work.outbox.delay(foreign, after_s=1, window=1)
        work.outbox.finish(foreign)
    [(message_id, _)] = take(bench, index)
    bench.sql("DELETE FROM outbox WHERE id = :id", id=message_id)  # its relay has sent it
    with bench.store.for_all("test") as work:
        work.outbox.note_sent([message_id])
        assert work.outbox.begin(message_id) is None
        assert not work.outbox.delay(message_id, after_s=1, window=1)
        work.outbox.finish(message_id)
