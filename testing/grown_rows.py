"""Rows of a large index, written by SQL as if its strings had been indexed."""

from __future__ import annotations

from context_search.core.ids import scope_key
from context_search.core.model import Index
from context_search.postgres.pool import Database

FIELD = "strings"
WORDS = 8
_LANGUAGE = {"vocabulary": 20_000, "words": WORDS}
# As a replica, which no trigger of ours sees: what they keep is written here, or mended.
_ROWS = """
    SET LOCAL session_replication_role = replica;
    SET LOCAL statement_timeout = 0;
    SELECT setseed(0.5);
    CREATE TEMP TABLE string ON COMMIT DROP AS
        SELECT number, '/strings/' || number AS pointer,
               'x ' || number || ': ' || (
                   -- as often as words of a language: the rank of a word by the logarithm
                   SELECT string_agg('w' || floor({vocabulary} ^ random()), ' ')
                   FROM generate_series(1, {words} + number % 2)) AS text
        FROM generate_series(0, {count} - 1) AS number;
    UPDATE context_table SET data = jsonb_build_object(
        'strings', (SELECT jsonb_agg(text ORDER BY number) FROM string)) WHERE id = {table};
    INSERT INTO node (id, generation_id, table_id, json_pointer, pointer_sha256, content_hash,
                      char_count, state, active_set_id, indexed_at) OVERRIDING SYSTEM VALUE
        SELECT {first} + number, {generation}, {table}, pointer,
               sha256(convert_to(pointer, 'UTF8')),
               encode(sha256(convert_to(text, 'UTF8')), 'hex'), length(text), 'indexed',
               {first} + number, now()
        FROM string;
    INSERT INTO chunk_set (id, node_id, content_hash, state, chunks_count, present_count)
        OVERRIDING SYSTEM VALUE
        SELECT id, id, content_hash, 'active', 1, 1 FROM node WHERE generation_id = {generation};
    INSERT INTO chunks (id, table_id, set_id, json_pointer, chunk_index, total_chunks, chunk_text,
                        char_start, char_end, content_hash, turbopuffer_namespace,
                        turbopuffer_doc_id, input_hash, rows_hash) OVERRIDING SYSTEM VALUE
        SELECT node.id, {table}, node.id, pointer, 0, 1, text, 0, length(text),
               content_hash, '{namespace}', '{namespace}.' || number, pointer_sha256, pointer_sha256
        FROM node JOIN string ON pointer = json_pointer WHERE generation_id = {generation};
    INSERT INTO chunk_tally VALUES ('{namespace}', {count}, {count});
    SELECT setval(pg_get_serial_sequence('node', 'id'), {first} + {count}),
           setval(pg_get_serial_sequence('chunk_set', 'id'), {first} + {count}),
           setval(pg_get_serial_sequence('chunks', 'id'), {first} + {count})
"""
_KEYS = """
    SET LOCAL session_replication_role = replica;
    SET LOCAL statement_timeout = 0;
    INSERT INTO chunk_words (chunk_id, set_id, generation_id, token_count, words)
        SELECT chunks.id, set_id, {generation}, {words} + 2, array_to_tsvector(
            ARRAY(SELECT DISTINCT '{index}:' || word FROM
                  regexp_split_to_table(lower(chunk_text), '[^a-z0-9]+') AS word)
            || ARRAY['{index}/{scope}', '{index}#{table}'])
        FROM chunks WHERE turbopuffer_namespace = '{namespace}'
"""
_TABLES = ("node", "chunk_set", "chunks", "context_table")


def write_strings(
    database: Database, count: int, *, table_id: int, generation_id: int, namespace: str
) -> None:
    """Gives a table so many strings, each indexed as one chunk. The login is a superuser's."""
    with database.transaction() as tx:
        [[first]] = tx.run("SELECT COALESCE(max(id), 0) + 1 FROM node")
        tx.run(
            _ROWS.format(
                count=count,
                table=table_id,
                generation=generation_id,
                namespace=namespace,
                first=first,
                **_LANGUAGE,
            )
        )
    for name in _TABLES:
        with database.transaction() as tx:
            tx.run(f"ANALYZE {name}")


def write_words(database: Database, index: Index, table_id: int) -> None:
    """Writes what a keyword search in Postgres reads of each chunk."""
    with database.transaction() as tx:
        tx.run(
            _KEYS.format(
                words=WORDS,
                generation=index.generation.id,
                namespace=index.generation.namespace,
                index=index.id,
                table=table_id,
                scope=scope_key(f"/{FIELD}"),
            )
        )
    with database.transaction() as tx:
        tx.run("ANALYZE chunk_words")
