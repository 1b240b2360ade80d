"""Row-level security: a role that does not own the tables sees the rows of one project at most."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import context_search.postgres
from context_search.access.rules.idempotency_keys import RequestKey
from context_search.catalog.rules.uploads import NewUpload
from context_search.catalog.rules.versions import Content, HistoryLimits
from context_search.core.callers import ALL_PERMISSIONS, KeyOwner, NewApiKey, Token
from context_search.core.model import Index, Reach
from context_search.postgres.connection import Connection
from context_search.postgres.errors import StatementRejectedError
from context_search.postgres.pool import Database, Transaction
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore
from context_search_editing.rules.plans import NewPlan, PlannedString, PlannedTable, ReplaceScope
from tests.builders import Workbench, english, present

SCHEMA = Path(context_search.postgres.__file__).parent / "schema"
SECURED = sorted(
    name
    for path in SCHEMA.glob("*.sql")
    for name in re.findall(r"CREATE POLICY \w+ ON (\w+)", path.read_text("utf-8"))
)
"""The tables with a policy."""
# Table → why it has no policy.
OPEN = {
    "asked_vectors": "of our own questions, for all projects",
    "chunk_tally": "counts by namespace, written by a trigger",
    "chunk_words": "a policy would keep Postgres from using its index; holds no text",
    "deployment": "one id, which is in the name of every namespace",
    "migration": "names of migrations",
    "node_tally": "counts by generation, written by a trigger",
    "part_tally": "counts by part, written by a trigger",
    "cleanup_run": "one row, without ids and counts, that every project may read",
    "compared_section": "digests only, read by trusted work",
    "context_table": "an adopter's",
    "outbox": "ids only, read by trusted work",
    "permit": "ids only, gone when they are old",
    "project": "an adopter's",
    "tombstone": "ids only, read by trusted work",
    "tool": "an adopter's",
    "words_backlog": "ids only, read by trusted work",
}
EVERY_TABLE = pytest.mark.parametrize("table", SECURED)


@pytest.fixture(scope="module")
def owner(owner_url: DatabaseUrl) -> Iterator[Database]:
    opened = Database(owner_url)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def store(application_database: Database) -> PostgresStore:
    return PostgresStore(application_database)


def furnished(store: PostgresStore) -> tuple[Workbench, Index]:
    """A project with rows in all secured tables, made by the role that owns none of them."""
    bench = Workbench.of(store)
    tool, index = bench.tool(bench.table({"a": english(300)}))
    bench.indexed(index)
    with store.for_all("test") as work:
        key = str(bench.project.id).encode()
        work.keys.add(KeyOwner(bench.project.id), NewApiKey(None, "cs_", key))
        work.keys.add_code(Token(bench.project.id, ALL_PERMISSIONS), key, lifetime_s=60)
        work.uploads.add(NewUpload(bench.project.id, tool.scope.table_id, "json", size=1))
        table = present(work.tables.find(tool.scope.table_id, project_id=bench.project.id))
        work.versions.record(table, 1, Content(7, b"", (key,)), [(key, b"content")])
        work.projects.lock_settings(HistoryLimits, bench.project.id)
        plan = present(
            work.plans.add(
                NewPlan(bench.project.id, None, ReplaceScope(), key, "", lifetime_s=60, actor=None)
            )
        )
        string = PlannedString(table.id, 0, "", 1, 1, key, key)
        work.plans.add_tables(plan.id, [PlannedTable(table.id, 1, 1, 1)], [string])
        work.idempotency_keys.claim(
            RequestKey(bench.project.id, key), request_hash=key, holder="x", lease_s=60, kept_s=60
        )
    fill(bench)
    return bench, index


# What a column takes that refers to nothing.
ANY = {"bytea": b"x", "jsonb": "{}", "boolean": "true", "date": "2026-01-01"}
COLUMNS = """
    SELECT attname, format_type(atttypid, NULL),
           (SELECT CAST(CAST(confrelid AS regclass) AS text) FROM pg_constraint
            WHERE contype = 'f' AND conrelid = attrelid AND conkey[1] = attnum)
    FROM pg_attribute
    WHERE attrelid = CAST(:name AS regclass) AND attnum > 0 AND NOT attisdropped
      AND attidentity = '' AND (attname = 'project_id' OR attnotnull AND NOT atthasdef)
"""


def fill(bench: Workbench) -> None:
    """Adds a row of the project to every table with a policy that has none yet, parents first."""
    with bench.store.database.transaction(project_id=bench.project.id) as tx:
        empty = {name for name in SECURED if tx.run(f"SELECT FROM {name} LIMIT 1") == []}
        while empty:
            columns = {name: tx.run(COLUMNS, name=name) for name in empty}
            ready = {name for name in empty if not {table for *_, table in columns[name]} & empty}
            assert ready, f"each of these refers to another of them: {empty}"
            for name in ready:
                add_row(tx, name, columns[name], bench.project.id)
            empty -= ready


def add_row(tx: Transaction, name: str, columns: list[list[str]], project_id: int) -> None:
    """Adds a row with what it must have. ``furnished`` adds the rows that must have more."""
    row = dict[str, object]()
    for column, kind, parent in columns:
        if column == "project_id":
            row[column] = project_id
        elif parent:
            is_ours = "WHERE project_id = :project" if parent in ("tool", "context_table") else ""
            asked = {"project": project_id} if is_ours else {}
            row[column] = tx.run(f"SELECT id FROM {parent} {is_ours} LIMIT 1", **asked)[0][0]
        else:
            row[column] = str(project_id) if kind == "text" else ANY.get(kind, 1)
    values = ", ".join(f":{column}" for column in row)
    tx.run(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({values})", **row)


@pytest.fixture(scope="module")
def ours(store: PostgresStore) -> tuple[Workbench, Index]:
    return furnished(store)


@pytest.fixture(scope="module")
def theirs(store: PostgresStore) -> tuple[Workbench, Index]:
    return furnished(store)


def rows(database: Database, table: str, project_id: int | None) -> set[str]:
    """What a transaction for a project sees of a table."""
    with database.transaction(project_id=project_id) as tx:
        return {row for [row] in tx.run(f"SELECT CAST({table} AS text) FROM {table}")}


@EVERY_TABLE
def test_two_projects_share_no_row_and_trusted_work_sees_those_of_both(
    application_database: Database,
    ours: tuple[Workbench, Index],
    theirs: tuple[Workbench, Index],
    table: str,
) -> None:
    mine, others = (
        rows(application_database, table, bench.project.id) for bench, _ in (ours, theirs)
    )
    assert mine
    assert others
    assert mine.isdisjoint(others)
    assert mine | others <= rows(application_database, table, None)
    assert rows(application_database, table, 2**62) == set()


@EVERY_TABLE
def test_a_query_that_does_not_say_for_whom_sees_nothing(
    application_url: DatabaseUrl, ours: tuple[Workbench, Index], table: str
) -> None:
    connection = Connection(application_url)
    try:
        assert connection.query(f"SELECT * FROM context_search.{table}").rows == []
        # What one transaction says is forgotten with it, whoever gets the connection next.
        connection.query(
            f"BEGIN; SET LOCAL context_search.project_id = '{ours[0].project.id}'; COMMIT"
        )
        assert connection.query(f"SELECT * FROM context_search.{table}").rows == []
    finally:
        connection.close()


@pytest.mark.parametrize("setting", ["0", "**", "", " ", "1 OR 1=1", "null", "%"])
def test_a_setting_that_is_no_project_opens_nothing(
    application_url: DatabaseUrl, ours: tuple[Workbench, Index], setting: str
) -> None:
    assert ours
    connection = Connection(application_url)
    try:
        connection.query("BEGIN")
        connection.query(
            "SELECT set_config('context_search.project_id', :value, true)", {"value": setting}
        )
        assert connection.query("SELECT * FROM context_search.chunks").rows == []
    finally:
        connection.close()


def test_a_search_held_to_another_project_reads_none_of_the_text(
    store: PostgresStore, ours: tuple[Workbench, Index], theirs: tuple[Workbench, Index]
) -> None:
    bench, index = ours
    ids = [row for [row] in bench.sql("SELECT turbopuffer_doc_id FROM chunks")]
    with store.for_project(bench.project.id) as work:
        assert work.live_chunks.hydrate(index, Reach(""), ids)
    with store.for_project(theirs[0].project.id) as work:
        assert work.live_chunks.hydrate(index, Reach(""), ids) == {}
        assert work.indexes.find(index.id) is None


def test_functions_of_the_owner_tell_nothing_of_another_project(
    application_database: Database, ours: tuple[Workbench, Index], theirs: tuple[Workbench, Index]
) -> None:
    bench, index = ours
    [[table]] = bench.sql(
        "SELECT table_id FROM node WHERE generation_id = :g", g=index.generation.id
    )
    calls = [
        "strings_after(:g, :t, '', '0', '', 0, 9)",
        "unfinished_after(:g, :t, 'queued', '', '0', '', 0, 9)",
        "strings_of_all_after(:g, :t - 1, '', 0, 9)",
        "unfinished_of_all_after(:g, 'queued', :t - 1, '', 0, 9)",
        "strings_below(:g, :t, ARRAY['/a'], ARRAY['/a'], ARRAY['/a0'], 9)",
        "counts_below(:g, :t, '/a', '/a', '/a0')",
        "counts_of_scope(:g, :t, '', '', '0')",
        "counts_of_scope(:g, :t, '/a', '/a', '/a0')",  # a part that is summed
    ]
    for call in calls:
        statement = f"SELECT FROM {call}"
        with application_database.transaction(project_id=theirs[0].project.id) as tx:
            assert tx.run(statement, g=index.generation.id, t=table) == []
        if "unfinished" not in call:
            with application_database.transaction(project_id=bench.project.id) as tx:
                assert tx.run(statement, g=index.generation.id, t=table)


def test_nothing_can_be_written_for_another_project(
    application_database: Database, ours: tuple[Workbench, Index], theirs: tuple[Workbench, Index]
) -> None:
    own, foreign = ours[0].project.id, theirs[0].project.id
    statement = "INSERT INTO api_key (project_id, prefix, key_hash) VALUES (:project, 'x', 'x')"
    with (
        pytest.raises(StatementRejectedError) as refused,
        application_database.transaction(project_id=own) as tx,
    ):
        tx.run(statement, project=foreign)
    assert refused.value.sqlstate == "42501"
    with application_database.transaction(project_id=own) as tx:
        assert (
            tx.execute(
                "DELETE FROM chunks WHERE table_id = ANY(SELECT id FROM context_table"
                " WHERE project_id = :project)",
                project=foreign,
            )
            == 0
        )


def test_whoever_changes_a_document_orders_its_comparison(
    application_url: DatabaseUrl, owner: Database, store: PostgresStore
) -> None:
    # As another program of the adopter's does: it knows nothing of our setting.
    bench, index = furnished(store)  # its own, as the others want their document as it was
    program = Connection(application_url)
    try:
        program.query(
            "UPDATE context_table SET data = '{\"a\": 1}' WHERE project_id = :project",
            {"project": bench.project.id},
        )
    finally:
        program.close()
    with owner.transaction() as tx:
        ordered = tx.run(
            "SELECT FROM outbox WHERE CAST(body ->> 'index_id' AS bigint) = :index", index=index.id
        )
    assert ordered


def test_every_table_has_a_policy_or_a_reason_to_have_none(owner: Database) -> None:
    with owner.transaction() as tx:
        found = tx.run(
            """
            SELECT relname, relrowsecurity, relforcerowsecurity, count(polname)
            FROM pg_class LEFT JOIN pg_policy ON polrelid = pg_class.oid
            WHERE relkind IN ('r', 'p') AND CAST(CAST(relnamespace AS regnamespace) AS text)
                  IN ('public', 'context_search')
            GROUP BY pg_class.oid
            """
        )
    assert sorted(name for name, *_ in found) == sorted([*SECURED, *OPEN])
    assert {name for name, is_on, _, policies in found if is_on and policies} == set(SECURED)
    assert {name for name, _, is_forced, _ in found if is_forced} == set()
