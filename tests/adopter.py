"""The database of somebody who had one before us: tables of his own, with rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_search.postgres import migrations
from context_search.postgres.connection import Connection

if TYPE_CHECKING:
    from context_search.postgres.url import DatabaseUrl

# Tables of programs beside it, with names that some of ours have too.
STRANGERS = [
    """
    CREATE TABLE chunks (
        id serial PRIMARY KEY, table_id int NOT NULL, json_pointer varchar(1024),
        chunk_index int, total_chunks int, chunk_text text, char_start int, char_end int,
        turbopuffer_namespace varchar(255), turbopuffer_doc_id varchar(255) UNIQUE,
        content_hash varchar(64), created_at timestamp DEFAULT CURRENT_TIMESTAMP)
    """,
    "CREATE TABLE mcp (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text)",
    "CREATE TABLE mcp_v2 (id serial PRIMARY KEY, api_key text UNIQUE, name text)",
    "CREATE TABLE mcp_binding (id serial PRIMARY KEY, mcp_v2_id int, tool_id int, status boolean)",
    "CREATE TABLE api_key (key text PRIMARY KEY)",
    "CREATE TABLE outbox (id text PRIMARY KEY, payload json)",
    "CREATE TABLE node (id text PRIMARY KEY, parent text REFERENCES node (id))",
    "INSERT INTO chunks (table_id, chunk_text) VALUES (1, 'his')",
    "INSERT INTO mcp (name) VALUES ('his')",
    "INSERT INTO mcp_v2 (api_key) VALUES ('his')",
    "INSERT INTO mcp_binding (mcp_v2_id, tool_id, status) VALUES (1, 1, true)",
    "INSERT INTO api_key VALUES ('his')",
    "INSERT INTO outbox VALUES ('his', '{}')",
    "INSERT INTO node VALUES ('his', NULL)",
]
# What a main service has that soft-deletes, and asks little of its columns.
SCHEMA = [
    "CREATE TABLE project (id bigserial PRIMARY KEY, name text, user_id bigint)",
    """
    CREATE TABLE context_table (
        id bigserial PRIMARY KEY, project_id bigint REFERENCES project (id), name text,
        description text, data jsonb, created_at timestamptz, updated_at timestamptz,
        deleted_at timestamptz)
    """,
    """
    CREATE TABLE tool (
        id bigserial PRIMARY KEY, table_id bigint REFERENCES context_table (id), json_path text,
        type text, name text, alias text, description text, input_schema jsonb,
        output_schema jsonb, metadata jsonb, created_at timestamp, deleted_at timestamptz)
    """,
    "CREATE TABLE note (id bigserial PRIMARY KEY, table_id bigint REFERENCES context_table (id))",
    """
    CREATE TABLE picture (
        id bigserial PRIMARY KEY,
        table_id bigint REFERENCES context_table (id) ON DELETE CASCADE,
        cover_of bigint REFERENCES context_table (id) ON DELETE SET NULL)
    """,
    *STRANGERS,
]
# Two projects; in the first a document that is there, one in his trash, one without anything.
ROWS = [
    "INSERT INTO project (name) VALUES ('first'), (NULL)",
    """
    INSERT INTO context_table (project_id, name, data, deleted_at) VALUES
        (1, 'letters', '{"a": "a harbour at the end of the season", "b": "short"}', NULL),
        (1, 'in the trash', '{"a": "a ferry that nobody takes any more"}', now()),
        (1, NULL, NULL, NULL),
        (NULL, 'of nobody', '{"a": "precious"}', now()),
        (2, 'of another', '{"a": "an orchard behind the warehouse"}', NULL)
    """,
    """
    INSERT INTO tool (table_id, json_path, type, name) VALUES
        (1, '', 'search', 'search_letters'), (1, NULL, 'search', NULL),
        (1, 'a.b', 'search', 'dotted'), (2, '', 'search', 'of the trash'),
        (NULL, '', 'search', 'of nothing'), (1, '', 'query_data', 'query_letters'),
        (5, '', 'search', 'of another')
    """,
]


def prepare(url: DatabaseUrl, *, statements: list[str] | None = None) -> None:
    """Makes his tables with his rows, and migrates over them."""
    connection = Connection(url, timeout_s=60.0)
    for statement in [*SCHEMA, *(ROWS if statements is None else statements)]:
        connection.query(statement)
    connection.close()
    migrations.apply(url)
