"""An index of many strings, made of rows: no text is cut, embedded or sent."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.domain.access import ProjectKey
from context_search.domain.config import IndexConfig, SearchConfig
from context_search.domain.ids import scope_key
from context_search.domain.model import Index, Scope, SearchTool, Table
from context_search.services.catalog.tables import ManageTables
from context_search.services.catalog.tools import ManageTools, NewSearchTool
from context_search.services.indexing.enumeration import Limits

CONFIG = IndexConfig("in-memory/words", 16, threshold=20, chunk_size=200, chunk_overlap=10)
SILENT_S = 180.0
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
                        turbopuffer_doc_id, input_hash, present) OVERRIDING SYSTEM VALUE
        SELECT node.id, {table}, node.id, pointer, 0, 1, text, 0, length(text),
               content_hash, '{namespace}', '{namespace}.' || number, pointer_sha256, true
        FROM node JOIN string ON pointer = json_pointer WHERE generation_id = {generation};
    INSERT INTO chunk_tally VALUES ('{namespace}', {count}, {count});
    SELECT mend_node_tally({generation});
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


@dataclass(frozen=True, slots=True)
class GrownIndex:
    """A project with one table, whose Search Tool is ready: a chunk for each of its strings."""

    store: PostgresStore
    tools: ManageTools
    owner: ProjectKey
    table: Table
    tool: SearchTool
    index: Index

    @classmethod
    def of(cls, database: Database, count: int) -> GrownIndex:
        """Makes one of ``count`` strings. The login has to be a superuser's."""
        store = PostgresStore(database)
        tools = ManageTools(store, Limits(), SILENT_S)
        with store.for_all("create a project") as work:
            owner = ProjectKey(work.projects.add("grown").id)
        table = ManageTables(store).create(owner, "table", None, {"strings": []})
        made = tools.create(wanted_tool(owner, table, "/strings"))
        with database.transaction() as tx:
            [[first]] = tx.run("SELECT COALESCE(max(id), 0) + 1 FROM node")
            generation = made.index.generation
            values = {"generation": generation.id, "namespace": generation.namespace}
            tx.run(_ROWS.format(count=count, table=table.id, first=first, **values, **_LANGUAGE))
        for name in ("node", "chunk_set", "chunks", "context_table"):
            with database.transaction() as tx:
                tx.run(f"ANALYZE {name}")
        return cls(store, tools, owner, table, made.tool, made.index)

    def write_words(self) -> None:
        """Writes what a keyword search in Postgres reads of each chunk."""
        with self.store.database.transaction() as tx:
            tx.run(
                _KEYS.format(
                    words=WORDS,
                    generation=self.index.generation.id,
                    namespace=self.index.generation.namespace,
                    index=self.index.id,
                    table=self.table.id,
                    scope=scope_key("/strings"),
                )
            )
        with self.store.database.transaction() as tx:
            tx.run("ANALYZE chunk_words")


def wanted_tool(owner: ProjectKey, table: Table, scope: str) -> NewSearchTool:
    """Returns what makes a Search Tool over a part of a table."""
    place = Scope(table.id, scope)
    return NewSearchTool(owner.project_id, "search", None, place, CONFIG, SearchConfig())
