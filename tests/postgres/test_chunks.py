"""What PostgreSQL knows of chunks, whoever deletes their rows and however many there are."""

from __future__ import annotations

import pytest

from context_search.core.model import ChunkSet, Index
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, chinese, english

TEXT = english(250) + "\r\n 😀e\u0301 " + chinese(200)


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


def doc_ids(*sets: ChunkSet) -> list[str]:
    return [chunk.doc_id for chunk_set in sets for chunk in chunk_set.chunks]


def tombstones(bench: Workbench, index: Index) -> list[str]:
    rows = bench.sql(
        "SELECT doc_id FROM tombstone WHERE namespace = :name", name=index.generation.namespace
    )
    return sorted(doc_id for [doc_id] in rows)


@pytest.mark.parametrize("statement", ["DELETE FROM context_table", "DELETE FROM project"])
def test_no_cascade_forgets_a_document(bench: Workbench, statement: str) -> None:
    table = bench.table({"a": TEXT, "b": chinese(300)})
    _, index = bench.tool(table)
    built = bench.indexed(index)
    owner = table.id if "context_table" in statement else bench.project.id
    bench.sql(f"{statement} WHERE id = :id", id=owner)
    assert tombstones(bench, index) == sorted(doc_ids(*built))
    assert bench.sql("SELECT id FROM chunks WHERE table_id = :id", id=table.id) == []


def test_no_live_chunk_is_an_orphan_however_many_there_are(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": english(9_000), "b": chinese(9_000)}))
    live = doc_ids(*bench.indexed(index))
    assert len(live) > 200
    assert bench.work.chunks.without_row(index.generation.namespace, live) == []
