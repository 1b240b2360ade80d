"""A database of the last commit that had everything in public: nothing gets lost or differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from context_search.adapters.postgres import migrations
from context_search.adapters.postgres.connection import Connection
from context_search.adapters.postgres.migrations import MigrationError
from tests.adapters.postgres.schema.catalogue import catalogue, run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from context_search.adapters.postgres.url import DatabaseUrl
    from tests.stack import DatabaseFactory

LAST_BEFORE = Path(__file__).with_name("last_before.sql").read_text("utf-8")
# A row in every table, two where they refer to each other.
ROWS = """
INSERT INTO project (name) VALUES ('p'), ('q');
INSERT INTO context_table (project_id, name, data, revision)
    VALUES (1, 't', '{"a": "text"}', 7), (2, 'u', '{}', 1);
INSERT INTO tool (project_id, table_id, type, name, search_config)
    VALUES (1, 1, 'search', 'find', '{"top_k": 3}');
INSERT INTO mcp (project_id, name) VALUES (1, 'm');
INSERT INTO mcp_binding (mcp_id, tool_id) VALUES (1, 1);
INSERT INTO api_key (project_id, mcp_id, prefix, key_hash) VALUES (1, 1, 'cs_', 'x');
INSERT INTO idempotency_key VALUES (1, 'k', 'r', 'h', now(), 'sealed', now());
INSERT INTO upload (project_id, table_id, format) VALUES (1, 1, 'json');
INSERT INTO search_index (project_id, table_id, config, config_hash, active_generation_id)
    VALUES (1, 1, '{}', 'c', 1), (2, NULL, '{}', 'd', NULL);
INSERT INTO index_generation (index_id, number, namespace, state, config)
    VALUES (1, 1, 'n', 'active', '{"dimensions": 8}');
INSERT INTO coverage VALUES (1, 1, '');
INSERT INTO comparison (generation_id, table_id, revision, scopes) VALUES (1, 1, 7, '{""}');
INSERT INTO node (generation_id, table_id, json_pointer, pointer_sha256, content_hash, char_count,
                  state, active_set_id) VALUES (1, 1, '/a', 's', 'h', 4, 'indexed', 1);
INSERT INTO chunk_set (node_id, content_hash, state, chunks_count) VALUES (1, 'h', 'active', 2);
INSERT INTO chunks (table_id, set_id, json_pointer, chunk_index, total_chunks, chunk_text,
                    char_start, char_end, content_hash, turbopuffer_namespace, turbopuffer_doc_id,
                    input_hash, present)
    SELECT 1, 1, '/a', i, 2, 'te', 2 * i, 2 * i + 2, 'h', 'n', 'd' || i, 'i', true
    FROM generate_series(0, 1) AS i;
INSERT INTO chunk_words VALUES (1, 1, 1, 1, to_tsvector('simple', 'te'));
INSERT INTO words_backlog VALUES (1);
INSERT INTO tombstone (namespace, doc_id, window_count) VALUES ('n', 'gone', 1);
INSERT INTO outbox (body, key) VALUES ('{"kind": "enumerate"}', 'k');
INSERT INTO retrieval_settings (project_id, version) VALUES (1, 2);
INSERT INTO permit (pool, number) VALUES ('p', 1);
INSERT INTO ranking (name, project_id, body) VALUES ('r', 1, '[]');
"""
_TABLES = """
    SELECT CAST(CAST(oid AS regclass) AS text), relname FROM pg_class
    WHERE CAST(CAST(relnamespace AS regnamespace) AS text) IN ('public', 'context_search')
      AND relkind = 'r' AND relname NOT IN ('migration', 'context_search_migration')
"""


@pytest.fixture
def before(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """The schema of the last commit before, with rows."""
    with databases.empty() as url:
        run(url, LAST_BEFORE, ROWS)
        yield url


def rows(url: DatabaseUrl) -> dict[str, list[dict[str, object]]]:
    """Every row of every table, whichever schema it lies in."""
    connection = Connection(url, timeout_s=60.0)
    found = {
        str(name): [
            json.loads(row) for [row] in connection.query(f"SELECT to_jsonb(t) FROM {it} t").rows
        ]
        for it, name in connection.query(_TABLES).rows
    }
    connection.close()
    return found


def test_the_schema_is_that_of_an_empty_database(
    before: DatabaseUrl, empty_database_url: DatabaseUrl
) -> None:
    applied = migrations.apply(before)
    assert applied == migrations.apply(empty_database_url)
    taken_over, made = catalogue(before), catalogue(empty_database_url)
    for kind, facts in made.items():
        assert facts
        assert taken_over[kind] ^ facts == set(), kind
    assert migrations.apply(before) == []


def test_no_row_gets_lost(before: DatabaseUrl) -> None:
    kept = rows(before)
    assert len(kept) == 23
    assert all(kept.values())
    migrations.apply(before)
    found = rows(before)
    for table, had in kept.items():  # a later release may add columns, and tables
        assert [_only(row, old) for row, old in zip(found[table], had, strict=True)] == had


def _only(row: Mapping[str, object], columns: Collection[str]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name in columns}


def test_what_was_triggered_and_counted_goes_on(before: DatabaseUrl) -> None:
    migrations.apply(before)
    run(before, "UPDATE context_table SET data = '{}' WHERE id = 1")
    assert run(before, "SELECT revision FROM context_table WHERE id = 1") == [[8]]
    [[order]] = run(before, "SELECT max(id) FROM context_search.outbox")
    assert order == 2  # after that of ROWS: ids are not given again
    run(before, "DELETE FROM context_search.node")
    stones = run(before, "SELECT doc_id FROM context_search.tombstone ORDER BY 1")
    assert stones == [["d0"], ["d1"], ["gone"]]
    assert run(before, "SELECT sum(chunks) FROM context_search.chunk_tally") == [[0]]


def test_the_functions_role_keeps_its_rights(before: DatabaseUrl) -> None:
    role = "cs_app_of_takeover"
    run(before, f"CREATE ROLE {role} LOGIN")
    try:
        run(before, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
        migrations.apply(before)
        as_role = f"SET SESSION AUTHORIZATION {role}"
        seen = "SELECT count(*) FROM context_search.chunk_words"
        assert run(before, as_role, seen) == [[1]]
        for view in ("generation_usage", "index_table", "needed_scope"):
            run(before, as_role, f"SELECT count(*) FROM context_search.{view}")
        hidden = "SELECT count(*) FROM context_search.chunks"
        assert run(before, as_role, hidden) == [[0]]
        shown = "SET context_search.project_id = '1'"
        assert run(before, as_role, shown, hidden) == [[2]]
    finally:
        run(before, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_an_owners_index_with_the_name_of_one_of_ours_stays_his(
    databases: DatabaseFactory,
) -> None:
    with databases.empty() as url:
        run(url, LAST_BEFORE, "DROP INDEX tool_table", "CREATE INDEX tool_table ON tool (name)")
        migrations.apply(url)
        names = "SELECT indexdef FROM pg_indexes WHERE indexname LIKE '%tool_table' ORDER BY 1"
        assert run(url, names) == [
            ["CREATE INDEX context_search_tool_table ON public.tool USING btree (table_id)"],
            ["CREATE INDEX tool_table ON public.tool USING btree (name)"],
        ]


@pytest.mark.parametrize("schema", ["app", "context_search"])
def test_tables_of_an_earlier_commit_in_another_schema_are_not_passed_over(
    schema: str, databases: DatabaseFactory
) -> None:
    with databases.empty() as url:
        run(url, LAST_BEFORE, f"ALTER SCHEMA public RENAME TO {schema}", "CREATE SCHEMA public")
        untouched = catalogue(url)
        with pytest.raises(MigrationError, match=f"in the schema {schema}: move them"):
            migrations.apply(url)
        assert catalogue(url) == untouched


def test_an_older_schema_is_refused_and_left_alone(before: DatabaseUrl) -> None:
    run(before, "DELETE FROM context_search_migration WHERE name > '0026'")
    untouched = catalogue(before)
    with pytest.raises(MigrationError, match=r"at 0025_\w+\.sql: migrate it to 0027_long_orders"):
        migrations.apply(before)
    assert catalogue(before) == untouched


def test_the_plan_says_that_tables_move(before: DatabaseUrl) -> None:
    said = migrations.plan(before).lines()
    assert said[:2] == [
        "will make the schema context_search for the tables that only we use",
        "will move our tables with their rows from public to context_search, and in the same"
        " transaction:",
    ]
    assert said[2] == "will apply 0001_catalog.sql"
