"""Contract of ``Chunks``: sets on their way to being active."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.ids import vector_row_id, window_ids
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.indexing.vector_rows import plan
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import SMALL


def test_a_set_holds_the_planned_chunks_in_order(bench: Bench) -> None:
    _, node_id = bench.node()
    claim = bench.claim(node_id)
    chunk_set = bench.begin(claim)
    planned = plan(claim)
    assert chunk_set.is_new
    assert [(c.index, c.text, c.input_hash, c.window_count) for c in chunk_set.chunks] == [
        (p.index, p.text, p.input_hash, p.window_count) for p in planned
    ]
    assert {chunk.present for chunk in chunk_set.chunks} == {False}
    assert len({chunk.id for chunk in chunk_set.chunks}) == len(planned)


def test_document_ids_come_from_the_row(bench: Bench) -> None:
    _, node_id = bench.node()
    claim = bench.claim(node_id)
    chunk_set = bench.begin(claim)
    assert [chunk.doc_id for chunk in chunk_set.chunks] == [
        vector_row_id(
            table_id=claim.table_id,
            json_pointer="/a",
            content_hash=claim.content_hash,
            set_id=chunk_set.id,
            chunk_index=index,
        )
        for index in range(3)
    ]


def test_the_set_of_a_content_is_found_again(bench: Bench) -> None:
    _, node_id = bench.node()
    first = bench.begin(bench.claim(node_id, lease_s=10))
    bench.work.chunks.mark_present([first.chunks[0].id])
    bench.pass_time(20)
    again = bench.begin(bench.claim(node_id))
    assert (again.id, again.is_new) == (first.id, False)
    assert [chunk.present for chunk in again.chunks] == [True, False, False]


def test_another_content_replaces_what_was_being_built(bench: Bench) -> None:
    table = bench.table({"a": TEXT})
    _, index = bench.tool(table)
    [node_id] = bench.enumerate(index)
    active = bench.finish(node_id)
    bench.change(table, {"a": OTHER})
    bench.enumerate(index)
    building = bench.begin(bench.claim(node_id))
    bench.change(table, {"a": TEXT + OTHER})
    bench.enumerate(index)
    bench.begin(bench.claim(node_id))
    stones = {stone.doc_id for stone in bench.tombstones()}
    assert stones == {chunk.doc_id for chunk in building.chunks}
    assert bench.ids(index) == sorted(chunk.doc_id for chunk in active.chunks)


def test_a_text_that_comes_back_has_other_documents(bench: Bench) -> None:
    table = bench.table({"a": TEXT})
    _, index = bench.tool(table)
    sets = []
    for text in (TEXT, OTHER, TEXT):
        bench.change(table, {"a": text})
        bench.enumerate(index)
        sets.append(bench.finish(bench.node_at(index, "/a")))
    ids = [{chunk.doc_id for chunk in each.chunks} for each in sets]
    assert not ids[0] & ids[2]
    assert {stone.doc_id for stone in bench.tombstones()} == ids[0] | ids[1]


def test_the_swap_needs_every_chunk(bench: Bench) -> None:
    index, node_id = bench.node()
    claim = bench.claim(node_id)
    chunk_set = bench.begin(claim)
    bench.work.chunks.mark_present([chunk.id for chunk in chunk_set.chunks[:2]])
    assert not bench.activate(claim, chunk_set)
    assert bench.ids(index) == sorted(chunk.doc_id for chunk in chunk_set.chunks[:2])
    bench.mark(chunk_set)
    assert bench.activate(claim, chunk_set)
    assert bench.ids(index) == sorted(chunk.doc_id for chunk in chunk_set.chunks)
    assert bench.tombstones() == []


@pytest.mark.parametrize(
    ("noted", "reported", "is_whole"),
    [
        ([], [0, 1, 2], True),
        ([0], [1, 2], True),
        ([0, 1, 2], [], True),
        ([], [], False),
        ([], [1, 2], False),
        ([0], [2], False),
        ([0, 1], [], False),
    ],
)
def test_the_swap_counts_what_it_is_told_and_what_was_noted(
    bench: Bench, noted: list[int], reported: list[int], *, is_whole: bool
) -> None:
    _, node_id = bench.node()
    claim = bench.claim(node_id)
    chunk_set = bench.begin(claim)
    ids = [chunk.id for chunk in chunk_set.chunks]
    bench.work.chunks.mark_present([ids[number] for number in noted])
    swapped = bench.work.chunks.activate([(claim, chunk_set)], [ids[number] for number in reported])
    assert swapped == ({node_id} if is_whole else set())


def test_the_swap_needs_the_text_that_is_still_wanted(bench: Bench) -> None:
    index, node_id = bench.node()
    claim = bench.claim(node_id)
    chunk_set = bench.begin(claim)
    bench.mark(chunk_set)
    with bench.store.for_all("test") as work:
        other = replace(claim, content_hash="0" * 64)
        assert not work.chunks.activate([(other, chunk_set)])
        assert not work.chunks.activate([(claim, replace(chunk_set, id=chunk_set.id + 999))])
        assert work.node_counts.progress(index, "", silent_s=300).states == {"claimed": 1}
    assert bench.activate(claim, chunk_set)


def test_the_swap_buries_the_set_before(bench: Bench) -> None:
    table = bench.table({"a": TEXT})
    _, index = bench.tool(table)
    [node_id] = bench.enumerate(index)
    old = bench.finish(node_id)
    bench.change(table, {"a": OTHER})
    bench.enumerate(index)
    new = bench.finish(node_id)
    stones = {stone.doc_id for stone in bench.tombstones()}
    assert stones == {chunk.doc_id for chunk in old.chunks}
    assert bench.ids(index) == sorted(chunk.doc_id for chunk in new.chunks)


def test_a_text_without_chunks_is_active_at_once(bench: Bench) -> None:
    index, node_id = bench.node(" \n" * 20)
    assert bench.finish(node_id).chunks == ()
    assert bench.ids(index) == []
    assert bench.work.node_counts.progress(index, "", silent_s=300).states == {"indexed": 1}


def test_presence_of_what_is_gone_is_no_error(bench: Bench) -> None:
    bench.work.chunks.mark_present([10**9])


def test_chunks_that_turbopuffer_has_are_found_by_what_was_embedded(bench: Bench) -> None:
    table = bench.table({"a": TEXT, "b": TEXT})
    _, index = bench.tool(table)
    bench.enumerate(index)
    one = bench.begin(bench.claim(bench.node_at(index, "/a")))
    claim = bench.claim(bench.node_at(index, "/b"))
    hashes = [chunk.input_hash for chunk in one.chunks]
    assert bench.work.chunks.embedded([claim], hashes) == []
    bench.work.chunks.mark_present([one.chunks[0].id])
    [found] = bench.work.chunks.embedded([claim], [*hashes, hashes[0], b"unknown"])
    assert (found.input_hash, found.namespace) == (hashes[0], index.generation.namespace)
    assert (found.doc_id, found.window_count) == (one.chunks[0].doc_id, 1)


def test_chunks_of_other_tables_are_not_found(bench: Bench) -> None:
    bench.indexed({"a": TEXT})
    claim = bench.claim(bench.node()[1])
    assert bench.work.chunks.embedded([claim], [chunk.input_hash for chunk in plan(claim)]) == []


def test_one_chunk_is_found_for_each_input(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT, "b": TEXT, "c": TEXT}))
    bench.enumerate(index)
    sets = [bench.finish(bench.node_at(index, pointer)) for pointer in ("/a", "/b")]
    claim = bench.claim(bench.node_at(index, "/c"))
    hashes = [chunk.input_hash for chunk in sets[0].chunks]
    found = bench.work.chunks.embedded([claim], hashes)
    assert sorted(each.input_hash for each in found) == sorted(hashes)


def test_ids_without_a_row_are_those_that_nobody_knows(bench: Bench) -> None:
    config = replace(SMALL, window_tokens=10)
    table = bench.table({"a": TEXT})
    _, index = bench.tool(table, config=config)
    [node_id] = bench.enumerate(index)
    to_delete, *_ = bench.finish(node_id).chunks
    bench.change(table, {"a": OTHER})
    bench.enumerate(index)
    building, *_ = bench.begin(bench.claim(node_id)).chunks
    bench.mark(bench.begin(bench.claim(bench.node()[1])))
    unknown = ["1.aaaaaaaaaa.000000000000.1.0", "1.aaaaaaaaaa.000000000000.1.0.w1"]
    known = [
        *window_ids(to_delete.doc_id, to_delete.window_count),
        *window_ids(building.doc_id, building.window_count),
    ]
    assert len(known) > 2
    assert bench.work.chunks.without_row(index.generation.namespace, [*unknown, *known]) == unknown
    assert bench.work.chunks.without_row(index.generation.namespace, []) == []
    assert bench.work.chunks.without_row("project_0_table_0", known) == known


def test_tombstones_are_known_until_they_are_forgotten(bench: Bench) -> None:
    index, node_id = bench.node()
    doc_id = bench.finish(node_id).chunks[0].doc_id
    with bench.store.for_all("test") as work:
        work.nodes.remove([node_id])
        assert work.chunks.without_row(index.generation.namespace, [doc_id]) == []
        work.indexes.retire(index.id)
        work.removals.purge_generation(index.generation.id)
        assert work.chunks.without_row(index.generation.namespace, [doc_id]) == [doc_id]


@only_postgres
@pytest.mark.parametrize("owner", ["context_table", "project"])
def test_no_cascade_forgets_a_document_or_leaves_its_words(
    bench: PostgresBench, owner: str
) -> None:
    table = bench.table({"a": TEXT, "b": OTHER})
    _, index = bench.tool(table)
    chunks = [chunk for built in bench.finish_all(index) for chunk in built.chunks]
    bench.work.keywords.put([ChunkTokens(chunk.id, ["word"]) for chunk in chunks])
    row_id = table.id if owner == "context_table" else table.project_id
    bench.sql(f"DELETE FROM {owner} WHERE id = :id", id=row_id)
    assert {stone.doc_id for stone in bench.tombstones()} == {chunk.doc_id for chunk in chunks}
    assert (bench.count("chunks"), bench.count("chunk_words")) == (0, 0)
