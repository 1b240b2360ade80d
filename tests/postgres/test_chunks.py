"""Chunk sets in Postgres: rows before vectors, one swap, and what a search may be shown."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from context_search.core.documents import content_hash
from context_search.core.model import ChunkSet, HydratedChunk, Index, Reach, SearchTool
from context_search.indexing.vector_rows import plan
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, chinese, english
from tests.steps import SMALL, table_of

TEXT = english(250) + "\r\n 😀e\u0301 " + chinese(200)


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


def write(bench: Workbench, index: Index, document: object) -> None:
    """Plain SQL, as somebody who does not know this system writes."""
    bench.sql(
        "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id",
        data=json.dumps(document),
        id=index.table_id,
    )


def doc_ids(*sets: ChunkSet) -> list[str]:
    return [chunk.doc_id for chunk_set in sets for chunk in chunk_set.chunks]


def shown(
    bench: Workbench, tool: SearchTool, index: Index, ids: list[str]
) -> dict[str, HydratedChunk]:
    current = bench.index(index.id)
    with bench.store.for_all("test") as work:
        return work.live_chunks.hydrate(current, Reach(tool.scope.json_pointer), ids)


def tombstones(bench: Workbench, index: Index) -> list[str]:
    rows = bench.sql(
        "SELECT doc_id FROM tombstone WHERE namespace = :name", name=index.generation.namespace
    )
    return sorted(doc_id for [doc_id] in rows)


def set_counts(bench: Workbench, chunk_set: ChunkSet) -> list[object]:
    [row] = bench.sql(
        "SELECT state, chunks_count, present_count FROM chunk_set WHERE id = :id", id=chunk_set.id
    )
    return row


def test_the_chunks_are_the_text_and_nothing_but_the_text(bench: Workbench) -> None:
    tool, index = bench.tool(bench.table({"a": TEXT}))
    [built] = bench.indexed(index)
    chunks = list(shown(bench, tool, index, doc_ids(built)).values())
    assert len(chunks) == len(built.chunks) > 4
    assert {chunk.char_start for chunk in chunks} >= {0}
    assert {chunk.char_end for chunk in chunks} >= {len(TEXT)}
    for chunk in chunks:
        assert chunk.chunk_text == TEXT[chunk.char_start : chunk.char_end]
        assert chunk.total_chunks == len(chunks)
        assert (chunk.content_hash, chunk.stale) == (content_hash(TEXT), False)
        assert chunk.turbopuffer_namespace == index.generation.namespace


def test_beginning_again_finds_the_same_rows(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    [node_id] = bench.enumerate(index)
    claim = bench.claim(node_id)
    first = bench.begin(claim)
    assert not any(chunk.present for chunk in first.chunks)
    with bench.store.for_all("test") as work:
        work.chunks.mark_present([chunk.id for chunk in first.chunks[:2]])
    again = bench.begin(claim)
    assert again.id == first.id
    assert [chunk.doc_id for chunk in again.chunks] == [chunk.doc_id for chunk in first.chunks]
    assert [chunk.index for chunk in again.chunks if chunk.present] == [0, 1]


def test_an_acknowledgement_counts_once(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    [node_id] = bench.enumerate(index)
    built = bench.begin(bench.claim(node_id))
    with bench.store.for_all("test") as work:
        one, two, three, *_ = (chunk.id for chunk in built.chunks)
        for ids in ([one, two], [two, three], [one], [], [2**62]):
            work.chunks.mark_present(ids)
    assert set_counts(bench, built) == ["partial", len(built.chunks), 3]


def test_a_set_with_a_missing_chunk_is_not_activated(bench: Workbench) -> None:
    tool, index = bench.tool(bench.table({"a": TEXT}))
    [node_id] = bench.enumerate(index)
    claim = bench.claim(node_id)
    built = bench.begin(claim)
    with bench.store.for_all("test") as work:
        work.chunks.mark_present([chunk.id for chunk in built.chunks[:-1]])
        assert not work.chunks.activate([(claim, built)])
        assert not work.chunks.activate([(claim, replace(built, id=2**62))])  # nor one that is gone
    assert shown(bench, tool, index, doc_ids(built)) == {}


def test_a_text_of_white_space_is_indexed_with_no_chunks(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": " \n" * 50}))
    [built] = bench.indexed(index)
    assert built.chunks == ()
    assert set_counts(bench, built) == ["active", 0, 0]


def test_the_old_version_answers_until_the_new_one_is_complete(bench: Workbench) -> None:
    tool, index = bench.tool(bench.table({"a": TEXT}))
    [old] = bench.indexed(index)
    newer = english(300, seed=2)
    write(bench, index, {"a": newer})
    assert {c.stale for c in shown(bench, tool, index, doc_ids(old)).values()} == {True}
    [node_id] = bench.enumerate(index)
    claim = bench.claim(node_id)
    building = bench.begin(claim)
    visible = shown(bench, tool, index, doc_ids(old, building))
    assert sorted(visible) == sorted(doc_ids(old))
    assert {chunk.stale for chunk in visible.values()} == {True}
    new = bench.finish(claim)
    visible = shown(bench, tool, index, doc_ids(old, new))
    assert sorted(visible) == sorted(doc_ids(new))
    assert {chunk.stale for chunk in visible.values()} == {False}
    assert tombstones(bench, index) == sorted(doc_ids(old))


def test_a_set_that_was_overtaken_is_not_activated_and_the_next_one_buries_it(
    bench: Workbench,
) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    [node_id] = bench.enumerate(index)
    claim = bench.claim(node_id)
    overtaken = bench.begin(claim)
    write(bench, index, {"a": english(300, seed=2)})
    assert bench.enumerate(index) == [node_id]
    with bench.store.for_all("test") as work:
        work.chunks.mark_present([chunk.id for chunk in overtaken.chunks])
        assert not work.chunks.activate([(claim, overtaken)])
    assert tombstones(bench, index) == []
    bench.begin(bench.claim(node_id))
    assert tombstones(bench, index) == sorted(doc_ids(overtaken))


def test_a_text_that_changes_back_takes_its_active_set_again(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    [first] = bench.indexed(index)
    write(bench, index, {"a": english(300, seed=2)})
    [node_id] = bench.enumerate(index)
    abandoned = bench.begin(bench.claim(node_id))
    write(bench, index, {"a": TEXT})
    assert bench.enumerate(index) == [node_id]
    assert bench.finish(bench.claim(node_id)).id == first.id
    assert tombstones(bench, index) == sorted(doc_ids(abandoned))


def test_a_later_incarnation_of_a_text_has_ids_of_its_own(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    [first] = bench.indexed(index)
    for document in ({"a": english(300, seed=2)}, {"a": TEXT}):
        write(bench, index, document)
        [latest] = bench.indexed(index)
    assert not set(doc_ids(first)) & set(doc_ids(latest))


def test_a_tool_sees_its_scope_only(bench: Workbench) -> None:
    table = bench.table({"a": {"t": TEXT}, "ab": {"t": TEXT}, "a%": TEXT, "a/b": TEXT, "": TEXT})
    everything, index = bench.tool(table)
    every_id = doc_ids(*bench.indexed(index))

    def pointers(scope: str) -> set[str]:
        tool = replace(everything, scope=replace(everything.scope, json_pointer=scope))
        return {chunk.json_pointer for chunk in shown(bench, tool, index, every_id).values()}

    seen = {scope: pointers(scope) for scope in ("", "/a", "/a/t", "/a%", "/a~1b", "/", "/_")}
    assert seen == {
        "": {"/a/t", "/ab/t", "/a%", "/a~1b", "/"},
        "/a": {"/a/t"},
        "/a/t": {"/a/t"},
        "/a%": {"/a%"},
        "/a~1b": {"/a~1b"},
        "/": {"/"},
        "/_": set(),
    }


def test_one_index_never_shows_chunks_of_another(bench: Workbench) -> None:
    tool, index = bench.tool(bench.table({"a": TEXT}))
    other_tool, other_index = bench.tool(bench.table({"a": TEXT}))
    [built], [other] = bench.indexed(index), bench.indexed(other_index)
    assert sorted(shown(bench, tool, index, doc_ids(built, other))) == sorted(doc_ids(built))
    assert shown(bench, other_tool, other_index, doc_ids(built)) == {}


def test_two_configurations_of_one_table_stand_side_by_side(bench: Workbench) -> None:
    table = bench.table({"a": TEXT})
    tool, index = bench.tool(table)
    _, other = bench.tool(table, config=replace(SMALL, chunk_size=200))
    [built], [others] = bench.indexed(index), bench.indexed(other)
    assert sorted(shown(bench, tool, index, doc_ids(built, others))) == sorted(doc_ids(built))


@pytest.mark.parametrize(
    "document",
    [{"b": TEXT}, {"a": None}, {"a": [TEXT]}, {"a": {"0": TEXT}}, {"a": 7}, [TEXT], TEXT, None],
    ids=["renamed", "null", "list", "object", "number", "list at the root", "root", "empty"],
)
def test_a_pointer_that_vanished_has_no_hits_before_anybody_compared(
    bench: Workbench, document: object
) -> None:
    tool, index = bench.tool(bench.table({"a": TEXT}))
    [built] = bench.indexed(index)
    write(bench, index, document)
    assert shown(bench, tool, index, doc_ids(built)) == {}


def test_a_string_that_stayed_is_not_stale_although_the_document_changed(bench: Workbench) -> None:
    tool, index = bench.tool(bench.table({"a": TEXT, "b": 1}))
    [built] = bench.indexed(index)
    write(bench, index, {"a": TEXT, "b": 2, "-1": 0})
    assert {c.stale for c in shown(bench, tool, index, doc_ids(built)).values()} == {False}


def test_a_key_that_looks_like_a_negative_index_is_not_found_in_an_array(bench: Workbench) -> None:
    tool, index = bench.tool(bench.table({"a": {"-1": TEXT}}))
    [built] = bench.indexed(index)
    write(bench, index, {"a": [TEXT]})
    assert shown(bench, tool, index, doc_ids(built)) == {}


def test_a_deleted_table_has_no_hits_at_once(bench: Workbench) -> None:
    tool, index = bench.tool(bench.table({"a": TEXT}))
    [built] = bench.indexed(index)
    with bench.store.for_all("test") as work:
        work.tables.mark_deleted(table_of(index))
    assert shown(bench, tool, index, doc_ids(built)) == {}


@pytest.mark.parametrize("statement", ["DELETE FROM context_table", "DELETE FROM project"])
def test_no_cascade_forgets_a_document(bench: Workbench, statement: str) -> None:
    table = bench.table({"a": TEXT, "b": chinese(300)})
    _, index = bench.tool(table)
    built = bench.indexed(index)
    owner = table.id if "context_table" in statement else bench.project.id
    bench.sql(f"{statement} WHERE id = :id", id=owner)
    assert tombstones(bench, index) == sorted(doc_ids(*built))
    assert bench.sql("SELECT id FROM chunks WHERE table_id = :id", id=table.id) == []


def test_only_ids_that_neither_row_nor_tombstone_knows_are_orphans(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    [old] = bench.indexed(index)
    write(bench, index, {"a": english(300, seed=2)})
    [node_id] = bench.enumerate(index)
    building = bench.begin(bench.claim(node_id))
    known = doc_ids(old, building)
    windows = [f"{doc_id}.w{number}" for doc_id in known for number in range(1, 4)]
    strange = ["stranger", "1.aaaaaaaaaa.000000000000.1.0", "w", ""]
    with bench.store.for_all("test") as work:
        assert (
            work.chunks.without_row(index.generation.namespace, known + windows + strange)
            == strange
        )
        assert work.chunks.without_row(index.generation.namespace, []) == []
        assert work.chunks.without_row("another", known) == known


def test_no_live_chunk_is_an_orphan_however_many_there_are(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": english(9_000), "b": chinese(9_000)}))
    live = doc_ids(*bench.indexed(index))
    assert len(live) > 200
    with bench.store.for_all("test") as work:
        assert work.chunks.without_row(index.generation.namespace, live) == []


def test_a_plan_is_made_of_the_claimed_text(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    [node_id] = bench.enumerate(index)
    planned = plan(bench.claim(node_id))
    assert all(chunk.text == TEXT[chunk.start : chunk.end] for chunk in planned)
    assert all(len(chunk.text) <= SMALL.chunk_size for chunk in planned)
    assert len({chunk.input_hash for chunk in planned}) == len({c.text for c in planned})
