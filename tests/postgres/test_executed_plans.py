"""Plans over Postgres, beside programs of the owner of the database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from context_search.core.errors import ReplaceStaleError
from context_search.integrations.ports import SystemClock
from context_search.postgres.pool import BATCH_ROWS
from context_search.store import PostgresStore
from context_search_editing.rules.plans import MAX_PLANNED_TABLES
from context_search_editing.rules.replacing import ReplaceRequest
from tests.editing.replacing import BusyStore, Desk
from tests.stack import clear_rows

if TYPE_CHECKING:
    from context_search.postgres.pool import Database

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
