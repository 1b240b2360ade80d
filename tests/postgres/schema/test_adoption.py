"""Databases of other programs: what can be used is used, what cannot is named before anything."""

from __future__ import annotations

import json
import re

import pytest

from context_search.postgres import migrations
from context_search.postgres.migrations import MigrationError
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore
from tests.adopter import ROWS, SCHEMA, STRANGERS
from tests.builders import Workbench, english
from tests.postgres.schema.catalogue import Catalogue, catalogue, role, run

# A main service with integer ids, its own columns, index and trigger.
MAIN_SERVICE = [
    "CREATE TABLE project (id serial PRIMARY KEY, name varchar(255) NOT NULL, owner_id int)",
    """
    CREATE TABLE context_table (
        id serial PRIMARY KEY, project_id int NOT NULL REFERENCES project (id),
        name varchar(255) NOT NULL, description text, data jsonb NOT NULL DEFAULT '{}',
        created_at timestamp DEFAULT CURRENT_TIMESTAMP,
        updated_at timestamp DEFAULT CURRENT_TIMESTAMP)
    """,
    """
    CREATE TABLE tool (
        id serial PRIMARY KEY, table_id int REFERENCES context_table (id) ON DELETE CASCADE,
        json_path varchar(1024) DEFAULT '', type varchar(32) NOT NULL, name varchar(64) NOT NULL,
        alias varchar(64), description text, input_schema jsonb, output_schema jsonb,
        metadata jsonb, search_config json, turbopuffer_namespace varchar(255))
    """,
    "CREATE INDEX idx_tool_turbopuffer_namespace ON tool (turbopuffer_namespace)",
    "COMMENT ON TABLE project IS 'his own words'",
    """
    CREATE FUNCTION notify_data_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('context_data_changed', NEW.id::text);
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER context_data_update_trigger AFTER UPDATE OF data ON context_table FOR EACH ROW
        WHEN (OLD.data IS DISTINCT FROM NEW.data) EXECUTE FUNCTION notify_data_update()
    """,
    *STRANGERS,
    "INSERT INTO project (name) VALUES ('first')",
    """INSERT INTO context_table (project_id, name, data) VALUES (1, 'letters', '{"a": "b"}')""",
    """INSERT INTO tool (table_id, type, name, search_config)
       VALUES (1, 'search', 'find', '{"top_k": 3}')""",
]
THEIR_TABLES = ["project", "context_table", "tool", "api_key", "chunks", "mcp", "mcp_binding",
                "mcp_v2", "node", "outbox"]  # fmt: skip


def their_rows(url: DatabaseUrl, columns: dict[str, list[str]]) -> dict[str, list[list[object]]]:
    """All rows of their tables, the columns that they had."""
    return {
        table: run(url, f"SELECT {', '.join(columns[table])} FROM public.{table}")
        for table in THEIR_TABLES
    }


def their_columns(url: DatabaseUrl) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {table: [] for table in THEIR_TABLES}
    for table, column in run(
        url,
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'public'",
    ):
        columns[str(table)].append(str(column))
    return columns


def without_comments(state: Catalogue) -> Catalogue:
    """We say what a table is for where its owner has not."""
    return {
        **state,
        "relations": {(*fact[:6], fact[7]) for fact in state["relations"]},
        "columns": {fact[:-1] for fact in state["columns"]},
    }


def test_a_main_service_keeps_all_that_it_has_and_ours_works_beside_it(
    empty_database_url: DatabaseUrl,
) -> None:
    url = empty_database_url
    run(url, *MAIN_SERVICE)
    columns, before = their_columns(url), catalogue(url)
    rows = their_rows(url, columns)
    assert all(rows.values())
    migrations.apply(url)
    assert their_rows(url, columns) == rows
    after = without_comments(catalogue(url))
    for kind, facts in without_comments(before).items():
        assert facts <= after[kind], kind
    [[said]] = run(url, "SELECT obj_description('public.project'::regclass, 'pg_class')")
    assert said == "his own words"
    database = Database(url, max_connections=4)
    bench = Workbench.of(PostgresStore(database))
    tool, index = bench.tool(bench.table({"a": english(250)}))
    bench.indexed(index)
    with bench.store.for_all("test") as work:
        assert work.tools.find(tool.id, project_id=None) == tool
    database.close()
    assert run(url, "SELECT count(*) FROM public.chunks") == [[1]]
    [[ours]] = run(url, "SELECT count(*) FROM context_search.chunks")
    assert isinstance(ours, int)
    assert ours > 1


def test_the_report_says_what_is_used_what_is_added_and_what_is_left(
    empty_database_url: DatabaseUrl,
) -> None:
    run(empty_database_url, *MAIN_SERVICE)
    said: list[str] = []
    migrations.apply(empty_database_url, report=said.append)
    assert said[:5] == [
        "public.project is there and is used as it is",
        "public.context_table is there and is used as it is, gets revision, deleted_at,"
        " context_search_remove_at and url_template",
        "public.tool is there and is used as it is, gets project_id, created_at, deleted_at and"
        " context_search_remove_at",
        "public.api_key, public.chunks, public.mcp, public.mcp_binding, public.node and"
        " public.outbox are not ours and are left as they are; ours of the same name lie in the"
        " schema context_search",
        "will make the schema context_search for the tables that only we use",
    ]
    files = [one.name for one in migrations.read(migrations.shipped())]
    assert said[5:] == [*(f"will apply {it}" for it in files), *(f"applied {it}" for it in files)]


def test_a_column_that_we_could_not_fill_is_pointed_out(empty_database_url: DatabaseUrl) -> None:
    run(
        empty_database_url,
        *SCHEMA,
        "ALTER TABLE tool ADD owner text NOT NULL, ADD kind text NOT NULL DEFAULT ''",
    )
    notes = migrations.plan(empty_database_url).notes
    assert [note for note in notes if "must have a value" in note] == [
        "public.tool.owner must have a value, and we give none: rows of this table cannot be made"
        " by our API"
    ]


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        (
            "ALTER TABLE note DROP COLUMN table_id; ALTER TABLE picture DROP COLUMN table_id, DROP"
            " COLUMN cover_of; ALTER TABLE tool DROP COLUMN table_id; ALTER TABLE context_table"
            " DROP COLUMN id, ADD COLUMN id uuid PRIMARY KEY DEFAULT gen_random_uuid()",
            "public.context_table.id: found uuid, wanted bigint or integer\n"
            "public.tool.table_id: found no such column, wanted bigint or integer",
        ),
        (
            "ALTER TABLE context_table DROP COLUMN project_id; ALTER TABLE project ALTER id DROP"
            " DEFAULT, ALTER id TYPE text; ALTER TABLE context_table ADD project_id varchar(36)",
            "public.project.id: found text, wanted bigint or integer\n"
            "public.context_table.project_id: found character varying, wanted bigint or integer",
        ),
        (
            "ALTER TABLE context_table ALTER data TYPE json",
            "public.context_table.data: found json, wanted jsonb",
        ),
        (
            "ALTER TABLE context_table ADD revision text",
            "public.context_table.revision: found text, wanted bigint or integer",
        ),
        (
            "ALTER TABLE tool DROP deleted_at, ADD deleted_at boolean",
            "public.tool.deleted_at: found boolean, wanted timestamp with time zone or timestamp"
            " without time zone",
        ),
        (
            "ALTER TABLE context_table DROP deleted_at, ADD deleted_at timestamp(3)[]",
            "public.context_table.deleted_at: found timestamp without time zone[], wanted timestamp"
            " with time zone or timestamp without time zone",
        ),
        (
            "ALTER TABLE tool DROP CONSTRAINT tool_pkey",
            "public.tool.id: found no primary key or unique constraint, wanted one",
        ),
        (
            "ALTER TABLE tool RENAME TO tools; CREATE VIEW tool AS SELECT * FROM tools",
            "public.tool: found no ordinary table, wanted one",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_its_type_and_nothing_is_changed(
    empty_database_url: DatabaseUrl, statement: str, complaint: str
) -> None:
    run(empty_database_url, *SCHEMA, statement)
    before = catalogue(empty_database_url)
    with pytest.raises(MigrationError) as refused:
        migrations.apply(empty_database_url)
    assert refused.value.message.startswith(f"nothing was changed:\n{complaint}")
    assert catalogue(empty_database_url) == before


def test_a_schema_of_ours_that_another_program_has_is_left_alone(
    empty_database_url: DatabaseUrl,
) -> None:
    run(empty_database_url, "CREATE SCHEMA context_search", "CREATE TABLE context_search.x (n int)")
    with pytest.raises(MigrationError, match="context_search is another program's: it has x"):
        migrations.apply(empty_database_url)


def test_a_trigger_that_would_reach_our_tables_by_a_name_of_theirs_is_refused(
    empty_database_url: DatabaseUrl,
) -> None:
    url = empty_database_url
    run(
        url,
        *SCHEMA,
        "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN DELETE FROM chunks WHERE table_id = NEW.id; RETURN NEW; END'",
        "CREATE TRIGGER forget AFTER UPDATE ON context_table FOR EACH ROW EXECUTE FUNCTION"
        " forget()",
        *ROWS,
    )
    with pytest.raises(MigrationError) as refused:
        migrations.apply(url)
    assert "a trigger on context_table runs forget(), which names chunks" in refused.value.message
    run(url, refused.value.message.rsplit(": ", 1)[1])  # does what it is told
    migrations.apply(url)
    database = Database(url, max_connections=4)
    bench = Workbench.of(PostgresStore(database))
    table = bench.table({"a": english(250)})
    bench.indexed(bench.tool(table)[1])
    held = "SELECT count(*) FROM context_search.chunks"
    before = run(url, held)
    run(url, f"INSERT INTO public.chunks (table_id) VALUES ({table.id})")
    with bench.store.for_all("test") as work:
        work.tables.replace(table.id, json.dumps({}), expected_revision=None)
    database.close()
    assert run(url, held) == before
    assert run(url, f"SELECT FROM public.chunks WHERE table_id = {table.id}") == []


PATH = "ALTER DATABASE {} SET search_path = app, public"
HIS_LOG = [
    "CREATE SCHEMA app",
    "CREATE TABLE app.changes (table_id bigint)",
    "CREATE FUNCTION app.log_it() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN INSERT INTO changes VALUES (NEW.id); RETURN NEW; END'",
    "CREATE TRIGGER log_it AFTER UPDATE ON context_table FOR EACH ROW EXECUTE FUNCTION"
    " app.log_it()",
]


def test_a_trigger_finds_its_tables_on_the_path_of_its_database(
    empty_database_url: DatabaseUrl,
) -> None:
    url = empty_database_url
    run(url, *SCHEMA, *HIS_LOG, PATH.format(url.database))
    migrations.apply(url)
    database = Database(url)
    bench = Workbench.of(PostgresStore(database))
    table = bench.table({"a": 1})
    with bench.store.for_all("test") as work:
        work.tables.replace(table.id, json.dumps({}), expected_revision=None)
    database.close()
    assert run(url, "SELECT table_id FROM app.changes") == [[table.id]]


def test_a_trigger_that_would_find_another_table_in_public_first_is_refused(
    empty_database_url: DatabaseUrl,
) -> None:
    url = empty_database_url
    run(url, *SCHEMA, *HIS_LOG, PATH.format(url.database))
    run(url, "CREATE TABLE public.changes (table_id bigint)")
    with pytest.raises(MigrationError, match=r"log_it\(\), which names changes") as refused:
        migrations.apply(url)
    run(url, refused.value.message.rsplit(": ", 1)[1])
    assert migrations.apply(url)


def test_nothing_on_that_path_hides_what_our_statements_name(
    empty_database_url: DatabaseUrl,
) -> None:
    url = empty_database_url
    migrations.apply(url)
    run(
        url,
        "CREATE SCHEMA app",
        'CREATE SCHEMA "order"',
        "CREATE TABLE app.context_table (id int)",
        "CREATE TABLE app.outbox (id int)",
        "CREATE FUNCTION app.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz'",
        f"ALTER DATABASE {url.database} SET search_path = pg_temp, app, pg_catalog,"
        ' "order", public',
    )
    database = Database(url)
    with database.transaction() as tx:
        for name in ("tool", "chunks"):
            tx.run(f"CREATE TEMPORARY TABLE {name} (id int)")
    with database.transaction() as tx:
        found = tx.run(
            "SELECT to_regclass('context_table') = to_regclass('public.context_table'),"
            " to_regclass('outbox') = to_regclass('context_search.outbox'),"
            " to_regclass('tool') = to_regclass('public.tool'),"
            " to_regclass('chunks') = to_regclass('context_search.chunks'), now() IS NOT NULL"
        )
    database.close()
    assert found == [[True] * 5]


def test_a_name_of_ours_that_is_taken_is_told_whatever_it_is_the_name_of(
    empty_database_url: DatabaseUrl,
) -> None:
    run(
        empty_database_url,
        "CREATE TABLE migration (n int)",
        *(f"CREATE TABLE {name} (n int)" for name in VIEWS),
    )
    [note, *_] = [it for it in migrations.plan(empty_database_url).lines() if "not ours" in it]
    assert note.startswith("public.generation_usage, public.index_table, public.migration and")


VIEWS = ["generation_usage", "index_table", "needed_scope"]


GRANT = re.compile(r": (GRANT [^(\n]+?)(?: \(|$)", re.MULTILINE)


def migrate_with_what_it_asks_for(url: DatabaseUrl, as_role: DatabaseUrl) -> str:
    """Migrates; what is missing is granted as the message says, once. Returns the message."""
    before = catalogue(url)
    with pytest.raises(MigrationError) as refused:
        migrations.apply(as_role)
    assert catalogue(url) == before
    for grant in GRANT.findall(refused.value.message):
        run(url, grant)
    assert migrations.apply(as_role)
    return refused.value.message.replace(as_role.user, "R").replace(url.database, "D")


def test_a_role_that_may_create_nothing_is_told_which_grants_it_lacks(
    empty_database_url: DatabaseUrl,
) -> None:
    with role(empty_database_url) as as_role:
        assert migrate_with_what_it_asks_for(empty_database_url, as_role) == (
            "nothing was changed:\n"
            "R may not create the schema context_search: GRANT CREATE ON DATABASE D TO R"
            " (or, as an administrator: CREATE SCHEMA context_search AUTHORIZATION R)\n"
            "R may not create tables and indexes in the schema public:"
            " GRANT USAGE, CREATE ON SCHEMA public TO R"
        )


def test_a_role_that_may_not_use_the_schema_that_is_there_is_told_so(
    empty_database_url: DatabaseUrl,
) -> None:
    run(empty_database_url, "CREATE SCHEMA context_search")
    with role(empty_database_url) as as_role:
        run(empty_database_url, f"GRANT CREATE ON SCHEMA public TO {as_role.user}")
        assert migrate_with_what_it_asks_for(empty_database_url, as_role) == (
            "nothing was changed:\n"
            "R may not create tables in the schema context_search:"
            " GRANT USAGE, CREATE ON SCHEMA context_search TO R"
        )


def test_a_schema_that_an_administrator_made_for_the_role_is_used(
    empty_database_url: DatabaseUrl,
) -> None:
    with role(empty_database_url) as as_role:
        run(
            empty_database_url,
            f"CREATE SCHEMA context_search AUTHORIZATION {as_role.user}",
            f"GRANT CREATE ON SCHEMA public TO {as_role.user}",
        )
        assert migrations.apply(as_role)


def test_a_role_that_does_not_own_the_tables_is_told_whose_they_are(
    empty_database_url: DatabaseUrl,
) -> None:
    url = empty_database_url
    with role(url) as his, role(url) as as_role:
        run(url, f"GRANT ALL ON SCHEMA public TO {his.user}")
        run(his, *SCHEMA, *ROWS)
        run(url, f"GRANT CREATE ON DATABASE {url.database} TO {as_role.user}")
        run(url, f"GRANT CREATE ON SCHEMA public TO {as_role.user}")
        message = migrate_with_what_it_asks_for(url, as_role)
        line = "public.tool belongs to H: migrate as that role, or: GRANT H TO R"
        assert message.replace(his.user, "H").endswith(line)
        run(url, "DROP SCHEMA context_search CASCADE")  # of a role that goes after the other
