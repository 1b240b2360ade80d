"""Switching project search on while tables come and change: none is missed, whoever is first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from context_search.core.callers import Principal
from context_search.core.config import Model
from context_search.core.model import Reach
from context_search.indexing.comparing import Comparer, Limits
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.indexing.project_index import ProjectIndexes, ProjectIndexStatus
from context_search.postgres.errors import StatementRejectedError
from context_search.postgres.pool import Database, Transaction
from context_search.store import PostgresStore, UnitOfWork
from testing.in_memory.queue import ListQueue, unexpected
from tests.builders import Workbench, until
from tests.steps import SMALL

INSERT = "INSERT INTO context_table (project_id, name, data) VALUES (:project, 't', '[\"text\"]')"
WAITING = "SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database \
WHERE datname = current_database()) OR NOT granted AND locktype IN ('transactionid', 'tuple')"


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    """Somebody else, at the same time."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def switch(bench: Workbench) -> Callable[[Principal], ProjectIndexStatus]:
    model = Model(SMALL.model, SMALL.dimensions)
    return ProjectIndexes(bench.store, model, 180.0).switch_on


def waits(tx: Transaction, future: Future[Any]) -> None:
    """Returns once the other one waits for a lock."""
    until(lambda: future.done() or bool(tx.run(WAITING)))
    assert not future.done()


def compared(bench: Workbench, status: ProjectIndexStatus) -> list[int]:
    """Handles every message; returns the tables whose strings are nodes then."""
    queue = ListQueue()
    store = OutboxDelivery(bench.store, queue, unexpected)
    run = Comparer(store, IndexCompletion(bench.store, 180.0), Limits()).compare
    with bench.store.for_all("test") as work:
        taken = work.outbox.take(status.index.project_id, window=100)
        queue.send([body for _, body in taken])
    run(status.index.id)
    while queue.messages:
        message = queue.messages.pop(0)
        if message["kind"] == "enumerate":
            run(status.index.id, message.get("table_id"))  # type: ignore[arg-type]
    return [table for [table] in bench.sql("SELECT DISTINCT table_id FROM node ORDER BY 1")]


def test_it_waits_for_a_table_that_is_just_being_added(
    bench: Workbench, thread: ThreadPoolExecutor
) -> None:
    with bench.tx() as tx:
        tx.run(INSERT, project=bench.project.id)
        future = thread.submit(switch(bench), bench.principal)
        waits(tx, future)
    assert compared(bench, future.result()) == [1]


def test_a_table_that_comes_meanwhile_waits_and_is_ordered(
    bench: Workbench, thread: ThreadPoolExecutor
) -> None:
    with bench.tx() as tx:
        work = UnitOfWork(tx)
        assert work.projects.lock(bench.project.id)
        index = work.indexes.add_to_project(bench.project.id, SMALL)
        future = thread.submit(bench.sql, f"{INSERT} RETURNING id", project=bench.project.id)
        waits(tx, future)
    [[table_id]] = future.result()
    assert [body for [body] in bench.sql("SELECT body ->> 'table_id' FROM outbox")] == [
        str(table_id)
    ]
    assert bench.sql("SELECT body ->> 'index_id' FROM outbox") == [[str(index.id)]]


def test_a_change_that_is_not_committed_yet_is_not_missed(
    bench: Workbench, thread: ThreadPoolExecutor
) -> None:
    table = bench.table({})
    with bench.tx() as tx:
        tx.run("UPDATE context_table SET data = '[\"x\"]' WHERE id = :id", id=table.id)
        status = thread.submit(switch(bench), bench.principal).result()
        future = thread.submit(compared, bench, status)
        waits(tx, future)
    assert future.result() == [table.id]


def test_a_project_has_one_such_index_whoever_comes_first(
    bench: Workbench, thread: ThreadPoolExecutor
) -> None:
    with bench.tx() as tx:
        work = UnitOfWork(tx)
        assert work.projects.lock(bench.project.id)
        future = thread.submit(switch(bench), bench.principal)
        waits(tx, future)
        index = work.indexes.add_to_project(bench.project.id, SMALL)
    assert future.result().index.id == index.id
    with pytest.raises(StatementRejectedError), bench.store.for_all("test") as work:
        work.indexes.add_to_project(bench.project.id, SMALL)


def test_comparisons_of_two_tables_do_not_wait_for_each_other_but_a_switch_does(
    bench: Workbench, thread: ThreadPoolExecutor
) -> None:
    index = switch(bench)(bench.principal).index

    def lock() -> bool:
        return bench.work.indexes.lock(index)

    def share() -> None:
        bench.work.indexes.share(index)

    with bench.tx() as tx:
        UnitOfWork(tx).indexes.share(index)
        thread.submit(share).result()
        future = thread.submit(lock)
        waits(tx, future)
    assert future.result()


def test_a_table_that_moved_to_another_project_is_not_shown(bench: Workbench) -> None:
    table = bench.table({"a": "text of one project"})
    status = switch(bench)(bench.principal)
    assert compared(bench, status) == [table.id]
    [[node_id]] = bench.sql("SELECT id FROM node")
    built = bench.finish(bench.claim(node_id))
    with bench.store.for_all("test") as work:
        ids = [chunk.doc_id for chunk in built.chunks]
        assert len(work.live_chunks.hydrate(status.index, Reach(), ids)) == 1
        stranger = work.projects.add("stranger")
    bench.sql("UPDATE context_table SET project_id = :p WHERE id = :t", p=stranger.id, t=table.id)
    assert bench.work.live_chunks.hydrate(status.index, Reach(), ids) == {}
