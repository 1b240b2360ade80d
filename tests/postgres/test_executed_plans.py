"""Plans over Postgres: several at the same time, and programs of the owner beside them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.core.errors import (
    ConflictError,
    DatabaseUnavailableError,
    ReplaceBusyError,
    ReplaceStaleError,
    UndoExpiredError,
)
from context_search.indexing.node_report import RetryLater
from context_search.integrations.ports import SystemClock
from context_search.postgres.pool import BATCH_ROWS, Database
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore
from context_search_editing.rules.plans import MAX_PLANNED_TABLES
from context_search_editing.rules.replacing import ReplaceRequest
from tests.builders import present
from tests.editing.replacing import SKIP, STORY, BusyStore, Desk
from tests.stack import clear_rows

LETTERS = ReplaceRequest("x", "yy")


@pytest.fixture
def database(module_database: Database) -> Database:
    clear_rows(module_database)
    return module_database


@pytest.fixture
def desk(database: Database) -> Desk:
    return Desk(PostgresStore(database), SystemClock())


def written_as_before(database: Database, table_id: int, document: object) -> None:
    """What a program does that sets the revision back to what it was."""
    with database.transaction() as tx:
        [[revision]] = tx.run("SELECT revision FROM context_table WHERE id = :id", id=table_id)
        tx.run(
            "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id",
            id=table_id,
            data=json.dumps(document),
        )
        tx.run("UPDATE context_table SET revision = :r WHERE id = :id", id=table_id, r=revision)


@pytest.mark.parametrize("at", range(1, 6))
def test_a_revision_that_was_set_back_hides_no_word(
    desk: Desk, database: Database, at: int
) -> None:
    [table] = desk.make({"a": "x", "b": "old"})
    plan = desk.preview(LETTERS)
    mine = {"a": "x", "b": "mine"}
    busy = desk.while_somebody(at, lambda: written_as_before(database, table.id, mine))
    assert busy.execute(plan).done_count == 1
    assert isinstance(busy.store, BusyStore)
    is_saved = busy.store.begun >= at
    assert json.loads(desk.text(table)) == {"a": "yy", "b": "mine" if is_saved else "old"}


@pytest.mark.parametrize("at", range(1, 6))
def test_a_shown_string_under_a_revision_that_was_set_back_is_stale(
    desk: Desk, database: Database, at: int
) -> None:
    [table] = desk.make({"a": "x"})
    plan = desk.preview(LETTERS)
    busy = desk.while_somebody(at, lambda: written_as_before(database, table.id, {"a": "mine x"}))
    assert isinstance(busy.store, BusyStore)
    try:
        busy.execute(plan)
    except ReplaceStaleError:
        assert json.loads(desk.text(table)) == {"a": "mine x"}
    else:
        assert busy.store.begun < at


@pytest.mark.parametrize("at", range(1, 14))
def test_a_worker_is_not_deceived_by_a_revision_that_was_set_back(
    desk: Desk, database: Database, at: int
) -> None:
    [table] = desk.make({"a": "x", "b": "old"})
    plan = desk.as_large(desk.preview(LETTERS))
    desk.execute(plan)
    mine = {"a": "x", "b": "mine"}
    busy = desk.while_somebody(at, lambda: written_as_before(database, table.id, mine))
    busy.run_plan(plan)
    now = json.loads(desk.text(table))
    assert now in ({"a": "yy", "b": "mine"}, {"a": "yy", "b": "old"}, mine)
    assert isinstance(busy.store, BusyStore)
    if busy.store.begun >= at:
        assert now["b"] == "mine"


@pytest.mark.parametrize("at", range(1, 6))
def test_an_undo_is_not_deceived_by_a_revision_that_was_set_back(
    desk: Desk, database: Database, at: int
) -> None:
    [table] = desk.make({"a": "x", "b": "old"})
    plan = desk.execute(desk.preview(LETTERS)).plan
    mine = {"a": "yy", "b": "mine"}
    busy = desk.while_somebody(at, lambda: written_as_before(database, table.id, mine))
    assert busy.undo(plan).done_count == 1
    assert isinstance(busy.store, BusyStore)
    is_saved = busy.store.begun >= at
    assert json.loads(desk.text(table)) == {"a": "x", "b": "mine" if is_saved else "old"}


def test_an_undo_of_many_documents_is_ordered_in_few_statements(
    desk: Desk, database: Database
) -> None:
    [table] = desk.make(["x"])
    plan = desk.execute(desk.preview(LETTERS)).plan
    with database.transaction() as tx:
        tx.run(
            """
            INSERT INTO replace_table (plan_id, table_id, state, revision_seen, revision_before,
                revision_after, bytes, matches, replaced)
            SELECT :plan, :table + number, 'done', 1, 1, 2, 1, 1, 1
            FROM generate_series(1, :others) AS number
            """,
            plan=plan.id,
            table=table.id,
            others=MAX_PLANNED_TABLES - 1,
        )
    undo = desk.undo(plan).plan
    with database.transaction() as tx:
        # Rows have the number of the statement that wrote them.
        [[rows, statements]] = tx.run(
            "SELECT count(*), count(DISTINCT cmin::text) FROM replace_table WHERE plan_id = :plan",
            plan=undo.id,
        )
    assert (rows, statements) == (MAX_PLANNED_TABLES, MAX_PLANNED_TABLES // BATCH_ROWS)


AT_ONCE = 4


@pytest.fixture
def hasty(module_url: DatabaseUrl, desk: Desk) -> Iterator[Desk]:
    """The same caller in a process that waits for locks for 0.2 seconds."""
    database = Database(module_url, lock_timeout_ms=200)
    other = Desk(PostgresStore(database), SystemClock())
    other.__dict__["principal"] = desk.principal
    yield other
    database.close()


def test_many_who_execute_one_plan_have_one_result(desk: Desk) -> None:
    tables = desk.make(*STORY)
    plan = desk.preview()
    barrier = threading.Barrier(AT_ONCE)

    def execute(_: int) -> bool:
        barrier.wait(10)
        done = desk.execute(plan)
        assert done.done_count == 7
        return done.replayed

    with ThreadPoolExecutor(AT_ONCE) as pool:
        replayed = sorted(pool.map(execute, range(AT_ONCE)))
    assert replayed == [False, *[True] * (AT_ONCE - 1)]
    assert [len(desk.versions(table)) for table in tables] == [2, 2, 2]


def test_many_who_undo_one_plan_undo_it_once(desk: Desk) -> None:
    tables = desk.make(*STORY)
    before = [desk.text(table) for table in tables]
    plan = desk.execute(desk.preview()).plan
    barrier = threading.Barrier(AT_ONCE)

    def undo(_: int) -> bool:
        barrier.wait(10)
        try:
            return desk.undo(plan).done_count == 7
        except UndoExpiredError:
            return False

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert sum(pool.map(undo, range(AT_ONCE))) == 1
    assert [desk.text(table) for table in tables] == before
    assert [len(desk.versions(table)) for table in tables] == [3, 3, 3]


def test_a_message_that_two_workers_have_is_carried_out_once(desk: Desk) -> None:
    tables = desk.make(*[["x"] for _ in range(12)])
    plan = desk.as_large(desk.preview(ReplaceRequest("x", "y")))
    desk.execute(plan, SKIP)
    barrier = threading.Barrier(AT_ONCE)

    def run_plan(_: int) -> str:
        barrier.wait(10)
        try:
            return desk.run_plan(plan)
        except (ReplaceBusyError, RetryLater):
            return "again"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(run_plan, range(AT_ONCE)))
    assert "done" in ends
    assert set(ends) <= {"done", "again", "nothing_to_do"}
    assert desk.plan(plan).state == "done"
    assert {desk.text(table) for table in tables} == {'["y"]'}
    assert {len(desk.versions(table)) for table in tables} == {2}
    assert {(row.state, row.replaced, row.runs) for row in desk.rows(plan)} == {("done", 1, 0)}


def test_of_two_plans_at_the_same_time_one_is_refused_at_once(desk: Desk, hasty: Desk) -> None:
    desk.make(*STORY)
    first, second = desk.preview(), desk.preview(ReplaceRequest("雨", "雪"))
    with desk.store.for_project(desk.principal.project_id) as work:
        locked = present(work.plans.lock(first.id))
        assert work.plans.begin(replace(locked, state="executing"))
        with pytest.raises(ReplaceBusyError):
            hasty.execute(second)
        work.plans.save(first)
    assert hasty.execute(second).done_count > 0


def test_a_document_that_somebody_holds_is_waited_for_and_then_nothing_is_done(
    desk: Desk, hasty: Desk
) -> None:
    tables = desk.make(*STORY)
    plan = desk.preview()
    before = desk.state(tables)
    with desk.store.for_project(desk.principal.project_id) as work:
        held = tables[1]
        work.versions.overwritten(held.id, project_id=held.project_id, max_bytes=0)
        with pytest.raises(DatabaseUnavailableError) as reported:
            hasty.execute(plan)
    assert reported.value.retryable
    assert desk.state(tables) == before
    assert desk.plan(plan).state == "ready"
    assert hasty.execute(plan).done_count == 7


def test_saves_while_plans_are_executed_and_undone_are_lost_nowhere(desk: Desk) -> None:
    """Somebody counts in one string of each document, others replace in the other one."""
    tables = desk.make(*[{"mine": 0, "text": "x"} for _ in range(3)])
    saved = dict.fromkeys((table.id for table in tables), 0)
    is_over = threading.Event()

    def save() -> None:
        while not is_over.is_set():
            for table in tables:
                desk.put(table, saved[table.id] + 1, "/mine")
                saved[table.id] += 1

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(save)
        done = 0
        try:
            for _ in range(8):
                try:
                    plan = desk.execute(desk.preview(ReplaceRequest("x", "y"))).plan
                    assert desk.undo(plan, "skip").kept_count == 0
                    done += 1
                except (ReplaceStaleError, ConflictError):
                    continue
        finally:
            is_over.set()
        writer.result(30)
    assert done == 8
    for table in tables:
        assert desk.text(table) == f'{{"mine": {saved[table.id]}, "text": "x"}}'
