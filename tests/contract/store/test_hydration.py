"""Contract of ``LiveChunks.hydrate``: what a search may show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.documents import content_hash
from context_search.core.model import HydratedChunk, Index, Reach, SearchTool
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL, table_of


def hydrated(bench: Bench, tool: SearchTool, index: Index, ids: list[str]) -> list[HydratedChunk]:
    """What the tool may show of these documents, by chunk index."""
    found = bench.work.live_chunks.hydrate(index, Reach(tool.scope.json_pointer), ids)
    assert all(doc_id == chunk.turbopuffer_doc_id for doc_id, chunk in found.items())
    return sorted(found.values(), key=lambda chunk: (chunk.json_pointer, chunk.chunk_index))


def test_a_hit_is_its_chunk(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    ids = bench.ids(index)
    found = hydrated(bench, tool, index, [*ids, "unknown"])
    assert [chunk.chunk_index for chunk in found] == [0, 1, 2]
    for chunk in found:
        assert chunk.chunk_text == TEXT[chunk.char_start : chunk.char_end]
        assert (chunk.table_id, chunk.json_pointer) == (index.table_id, "/a")
        assert (chunk.total_chunks, chunk.content_hash) == (3, content_hash(TEXT))
        assert chunk.turbopuffer_namespace == index.generation.namespace
        assert not chunk.stale
    assert (found[0].char_start, found[-1].char_end) == (0, len(TEXT))


def test_nothing_is_asked_and_nothing_found(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    assert hydrated(bench, tool, index, []) == []


def test_only_what_is_in_the_scope_is_shown(bench: Bench) -> None:
    document = {"a": {"b": TEXT}, "ab": TEXT, "a/b": TEXT, "": TEXT, "a%": TEXT}
    _, index = bench.indexed(document)
    table = bench.work.tables.find(table_of(index), project_id=index.project_id)
    assert table is not None
    for scope, pointers in {
        "": {"/a/b", "/ab", "/a~1b", "/", "/a%"},
        "/a": {"/a/b"},
        "/a/b": {"/a/b"},
        "/a~1b": {"/a~1b"},
        "/": {"/"},
        "/a%": {"/a%"},
        "/_": set[str](),
        "/b": set[str](),
    }.items():
        tool, _ = bench.tool(table, scope)
        found = hydrated(bench, tool, index, bench.ids(index))
        assert {chunk.json_pointer for chunk in found} == pointers


def test_what_is_being_built_is_not_shown(bench: Bench) -> None:
    tool, index = bench.tool(bench.table({"a": TEXT}))
    [node_id] = bench.enumerate(index)
    chunk_set = bench.begin(bench.claim(node_id))
    bench.mark(chunk_set)
    ids = [chunk.doc_id for chunk in chunk_set.chunks]
    assert hydrated(bench, tool, bench.index(index.id), ids) == []


def test_an_old_version_is_shown_as_stale_until_the_swap(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    bench.work.tables.replace(table_of(index), f'{{"a": "{"x" * 30}"}}', expected_revision=None)
    ids = bench.ids(index)
    assert [chunk.stale for chunk in hydrated(bench, tool, index, ids)] == [True] * 3
    bench.enumerate(index)
    assert [chunk.stale for chunk in hydrated(bench, tool, index, ids)] == [True] * 3
    bench.finish(bench.node_at(index, "/a"))
    assert hydrated(bench, tool, index, ids) == []
    assert [chunk.stale for chunk in hydrated(bench, tool, index, bench.ids(index))] == [False]


def test_a_change_elsewhere_makes_nothing_stale(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT, "b": 1})
    text = bench.work.tables.read(table_of(index))[1].replace("1", "2")
    bench.work.tables.replace(table_of(index), text, expected_revision=None)
    found = hydrated(bench, tool, index, bench.ids(index))
    assert [chunk.stale for chunk in found] == [False] * 3


@pytest.mark.parametrize(
    "gone",
    [
        {},
        {"a": None},
        {"a": 5},
        {"a": {"b": TEXT}},
        {"a": [TEXT]},
        [TEXT],
        "text",
        {"A": TEXT},
        None,
    ],
)
def test_a_removed_pointer_vanishes_before_anything_is_compared(bench: Bench, gone: object) -> None:
    table = bench.table({"a": TEXT})
    tool, index = bench.tool(table)
    [node_id] = bench.enumerate(index)
    bench.finish(node_id)
    bench.change(table, gone)
    assert hydrated(bench, tool, bench.index(index.id), bench.ids(index)) == []


@pytest.mark.parametrize("key", ["-1", "00", "+0", " 0", "0 ", "0x0", "٠", "1e0", "0_0"])
def test_a_key_that_looks_like_a_number_is_no_place_in_an_array(bench: Bench, key: str) -> None:
    table = bench.table({"a": {key: TEXT}})
    tool, index = bench.tool(table)
    [node_id] = bench.enumerate(index)
    bench.finish(node_id)
    bench.change(table, {"a": [TEXT]})
    assert hydrated(bench, tool, bench.index(index.id), bench.ids(index)) == []


def test_a_key_and_a_place_of_the_same_name_are_the_same_pointer(bench: Bench) -> None:
    table = bench.table({"a": {"0": TEXT}})
    tool, index = bench.tool(table)
    [node_id] = bench.enumerate(index)
    bench.finish(node_id)
    bench.change(table, {"a": [TEXT]})
    found = hydrated(bench, tool, bench.index(index.id), bench.ids(index))
    assert [chunk.stale for chunk in found] == [False] * 3


def test_a_deleted_table_shows_nothing(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    ids = bench.ids(index)
    bench.work.tables.mark_deleted(table_of(index))
    assert hydrated(bench, tool, index, ids) == []


def test_generations_do_not_show_each_others_chunks(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    building = bench.work.indexes.start_rebuild(index, SMALL, at_once=2)
    [node_id] = bench.enumerate(index)
    bench.finish(node_id)
    own, foreign = bench.ids(index), bench.ids(building)
    assert len(hydrated(bench, tool, index, own + foreign)) == 3
    assert len(hydrated(bench, tool, building, own + foreign)) == 3
    assert hydrated(bench, tool, index, foreign) == []


def test_recency_counts_from_the_last_change_of_the_text(bench: Bench) -> None:
    table = bench.table({"a": TEXT, "b": OTHER})
    tool, index = bench.tool(table)
    bench.finish_all(index)
    bench.pass_time(1000)
    bench.change(table, {"a": TEXT, "b": OTHER + OTHER})
    bench.enumerate(index)
    bench.finish(bench.node_at(index, "/b"))
    found = hydrated(bench, tool, bench.index(index.id), bench.ids(index))
    changed = {chunk.json_pointer: chunk.changed_at for chunk in found}
    assert 990 < (changed["/b"] - changed["/a"]).total_seconds() < 1100


def test_a_reach_may_name_tables(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT})
    ids = bench.ids(index)
    for tables, count in (((table_of(index),), 3), ((table_of(index) + 1,), 0), ((), 0)):
        assert len(bench.work.live_chunks.hydrate(index, Reach("", tables), ids)) == count


def test_what_few_chunks_are_looked_at_for_can_be_read_later(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    ids = bench.ids(index)
    whole = {chunk.turbopuffer_doc_id: chunk for chunk in hydrated(bench, tool, index, ids)}
    with bench.store.for_all("test") as work:
        bare = work.live_chunks.hydrate(index, Reach(), [*ids, "unknown"], texts=False)
        some = [bare[name] for name in ids[1:]]
        completed = work.live_chunks.completed(index, some)
        elsewhere = replace(index, generation=replace(index.generation, namespace="another"))
        assert work.live_chunks.completed(index, []) == {}
        assert work.live_chunks.completed(elsewhere, some) == {}
        of_another_text = [chunk._replace(content_hash="another") for chunk in some]
        assert work.live_chunks.completed(index, of_another_text) == {}
    assert completed == {name: whole[name] for name in ids[1:]}
    assert bare == {
        name: chunk._replace(id=0, total_chunks=0, chunk_text="", char_start=0, char_end=0)
        for name, chunk in whole.items()
    }


def test_every_character_comes_back_as_it_was(bench: Bench) -> None:
    text = 'a "quoted" \\n, {braces}\t\x01\x1f\x7f\u2028 \U0001f600 e\u0301 索引 \ufeff\uffff ' * 3
    key = 'k"e\\y\n{1,2}\U0001f600/~'
    tool, index = bench.indexed({key: text})
    found = hydrated(bench, tool, index, bench.ids(index))
    assert found
    assert {chunk.json_pointer for chunk in found} == {'/k"e\\y\n{1,2}\U0001f600~1~0'}
    assert all(chunk.chunk_text == text[chunk.char_start : chunk.char_end] for chunk in found)
    assert not any(chunk.stale for chunk in found)
