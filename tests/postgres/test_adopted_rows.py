"""The rows of somebody who had a database before us: only what our API deleted goes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from context_search.core.model import Table
from context_search.maintenance.cleanup import RETRY_S, RemoveDeleted, remove_absent_nodes
from context_search.postgres.connection import Connection
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore
from tests.adopter import prepare
from tests.builders import Workbench, english
from tests.stack import DatabaseFactory


@pytest.fixture
def his_url(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """His database with ours in it."""
    with databases.empty() as url:
        prepare(url)
        yield url


@pytest.fixture
def bench(databases: DatabaseFactory, his_url: DatabaseUrl) -> Iterator[Workbench]:
    """The same, used with the rights of functions."""
    with databases.application_of(his_url) as role:
        owner = Connection(his_url, timeout_s=60.0)
        owner.query(f"GRANT ALL ON note, picture TO {role.user}")  # tests write there, we do not
        owner.close()
        opened = Database(role, max_connections=4)
        yield Workbench.of(PostgresStore(opened))
        opened.close()


def indexed(bench: Workbench) -> Table:
    table = bench.table({"a": english(250)})
    bench.indexed(bench.tool(table)[1])
    return table


def delete(bench: Workbench, *tables: Table) -> None:
    for table in tables:
        bench.work.tables.mark_deleted(table.id)


def clean_up(bench: Workbench) -> list[str]:
    """What cleanup does about deleted tables and tools; returns what it reports."""
    with bench.store.for_all("test") as work:
        while remove_absent_nodes(work, limit=100):
            pass
    return RemoveDeleted(bench.store).run()[1]


def ids(bench: Workbench) -> list[int]:
    return [row[0] for row in bench.sql("SELECT id FROM context_table ORDER BY id")]


def test_what_is_in_his_trash_stays_there(bench: Workbench) -> None:
    before = bench.sql("SELECT CAST(t AS text) FROM context_table AS t ORDER BY id")
    tools = bench.sql("SELECT CAST(t AS text) FROM tool AS t ORDER BY id")
    assert clean_up(bench) == []
    assert len(before) == 5
    assert bench.sql("SELECT CAST(t AS text) FROM context_table AS t ORDER BY id") == before
    assert bench.sql("SELECT CAST(t AS text) FROM tool AS t ORDER BY id") == tools


def test_a_table_that_he_puts_away_later_stays_and_its_strings_leave(bench: Workbench) -> None:
    table = indexed(bench)
    bench.sql("UPDATE context_table SET deleted_at = now() WHERE id = :id", id=table.id)
    assert clean_up(bench) == []
    assert table.id in ids(bench)
    assert bench.sql("SELECT FROM node WHERE table_id = :id", id=table.id) == []
    [[state]] = bench.sql("SELECT state FROM index_generation")
    assert state == "active"


def test_our_delete_never_writes_his_column(bench: Workbench) -> None:
    kept, gone = indexed(bench), indexed(bench)
    [[tool_id]] = bench.sql("SELECT id FROM tool WHERE table_id = :id", id=kept.id)
    bench.work.tools.mark_deleted(tool_id)
    bench.work.tables.mark_deleted(gone.id)
    assert (
        bench.sql("SELECT FROM context_table WHERE id = :id AND deleted_at IS NOT NULL", id=gone.id)
        == []
    )
    assert bench.sql("SELECT FROM tool WHERE id = :id AND deleted_at IS NOT NULL", id=tool_id) == []
    assert clean_up(bench) == []
    assert kept.id in ids(bench)
    assert gone.id not in ids(bench)
    assert bench.sql("SELECT FROM tool WHERE id = :id", id=tool_id) == []


def test_his_foreign_key_stops_one_table_and_nobody_elses(bench: Workbench) -> None:
    held, other = indexed(bench), indexed(bench)
    bench.sql("INSERT INTO note (table_id) VALUES (:id)", id=held.id)
    delete(bench, held, other)
    [error] = clean_up(bench)
    assert error.startswith(f"remove_table {held.id}: FOREIGN_KEY_VIOLATION (")
    assert "constraint note_table_id_fkey" in error
    assert held.id in ids(bench)
    assert other.id not in ids(bench)
    assert bench.sql("SELECT FROM node") == []
    assert len(bench.sql("SELECT FROM tombstone")) == 6
    assert clean_up(bench) == []  # not every minute
    bench.sql("DELETE FROM note")
    let_pass(bench)
    assert clean_up(bench) == []
    assert held.id not in ids(bench)


def let_pass(bench: Workbench) -> None:
    bench.sql(
        "UPDATE context_table SET"
        " context_search_remove_at = context_search_remove_at - make_interval(secs => :s)",
        s=RETRY_S,
    )


def test_his_trigger_that_says_no_is_reported_without_its_words(
    bench: Workbench, his_url: DatabaseUrl
) -> None:
    table = bench.table({})
    owner = Connection(his_url, timeout_s=60.0)
    owner.query(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'the letter of %', OLD.name; END $$"
    )
    owner.query(
        "CREATE TRIGGER no BEFORE DELETE ON context_table FOR EACH ROW EXECUTE FUNCTION no()"
    )
    owner.close()
    delete(bench, table)
    assert clean_up(bench) == [f"remove_table {table.id}: INTERNAL (SQLSTATE P0001)"]


def test_his_trigger_that_keeps_rows_is_named_and_keeps_no_others(
    bench: Workbench, his_url: DatabaseUrl
) -> None:
    kept, gone = bench.table({}), bench.table({})
    owner = Connection(his_url, timeout_s=60.0)
    owner.query(
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
    )
    owner.query(
        "CREATE TRIGGER keep BEFORE DELETE ON context_table FOR EACH ROW"
        f" WHEN (OLD.id = {kept.id}) EXECUTE FUNCTION keep()"
    )
    owner.close()
    delete(bench, kept, gone)
    assert clean_up(bench) == [f"remove_table {kept.id}: KEPT (a trigger of the database's owner)"]
    assert (kept.id in ids(bench), gone.id in ids(bench)) == (True, False)
    assert clean_up(bench) == []  # not every minute


@pytest.mark.parametrize("kind", ["table", "tool"])
def test_a_row_that_somebody_uses_at_that_moment_goes_in_the_next_run(
    bench: Workbench, his_url: DatabaseUrl, kind: str
) -> None:
    table = bench.table({})
    tool, _ = bench.tool(table)
    row_id, rows = {"table": (table.id, "context_table"), "tool": (tool.id, "tool")}[kind]
    bench.work.tools.mark_deleted(tool.id)
    if kind == "table":
        assert RemoveDeleted(bench.store).run() == (1, [])
        delete(bench, table)
    owner = Connection(his_url, timeout_s=60.0)
    owner.query("BEGIN")  # who writes a row that refers to this one takes the same lock
    owner.query(f"SELECT FROM {rows} WHERE id = {row_id} FOR KEY SHARE")
    assert RemoveDeleted(bench.store).run() == (0, [])
    owner.query("ROLLBACK")  # a server notices a closed connection some time later
    owner.close()
    assert RemoveDeleted(bench.store).run() == (1, [])
    assert bench.sql(f"SELECT FROM {rows} WHERE id = :id", id=row_id) == []


def test_what_he_declared_for_his_rows_happens(bench: Workbench) -> None:
    table, other = bench.table({}), bench.table({})
    bench.sql(
        "INSERT INTO picture (table_id, cover_of) VALUES (:a, :b), (:b, :a)", a=table.id, b=other.id
    )
    delete(bench, table)
    assert clean_up(bench) == []
    assert bench.sql("SELECT table_id, cover_of FROM picture") == [[other.id, None]]


def test_his_tools_are_no_part_of_ours_until_they_are_taken_over(bench: Workbench) -> None:
    with bench.store.for_all("test") as work:
        assert work.tools.page(bench.principal.project_id, after=0, limit=99) == []
        found = work.tools.unserved(1, after=0, limit=99)
        assert [tool.id for tool in found] == [1, 2, 3, 4]
        assert not work.tools.take_over(6, project_id=1)  # of another type
        assert work.tools.take_over(1, project_id=1)
        assert not work.tools.take_over(1, project_id=2)


def test_his_table_that_our_api_deletes_goes_unless_his_tools_hold_it(bench: Workbench) -> None:
    bench.work.tables.mark_deleted(3)
    bench.work.tables.mark_deleted(1)
    [error] = clean_up(bench)
    assert error.startswith("remove_table 1: FOREIGN_KEY_VIOLATION (")
    assert "constraint tool_table_id_fkey" in error
    assert 3 not in ids(bench)
