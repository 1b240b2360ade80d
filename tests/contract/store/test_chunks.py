"""Sets of chunks on their way to being active, and what stays of them when a string changes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.budgets.spending import NO_LIMITS
from context_search.core.errors import VectorStoreUnavailableError
from context_search.core.ids import vector_row_id, window_ids
from context_search.core.model import (
    MOST_KEPT,
    ChunkSet,
    Claim,
    HydratedChunk,
    Index,
    PlannedChunk,
    Project,
    Reach,
    Table,
    kept_chunks,
)
from context_search.indexing.rules.chunks import TEXTS_ABOVE, WORDS_WAIT_S, ChunkTokens, Unkeyed
from context_search.indexing.use_index import IndexUse
from context_search.indexing.vector_rows import plan, tokens_of
from context_search.integrations.ports import Legs, SystemClock
from context_search.postgres.pool import Database
from context_search.ranking.search import QuestionLimits, SearchResult
from context_search.searching.retrieve import read_sources
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search import SearchLimits, searcher
from context_search.text.analysis import query_weights, tokens
from context_search.text.keywords import keyword_tokens, trails
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.reranker import no_reranker
from testing.in_memory.vectors import DictVectors
from tests.builders import chinese, english, present
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import SMALL, write_words


def test_a_set_holds_the_planned_chunks_in_order(bench: Bench) -> None:
    claim = bench.claim(bench.node()[1])
    chunk_set = bench.begin(claim)
    planned = plan(claim)
    assert chunk_set.is_new
    assert [(c.index, c.text, c.input_hash, c.window_count) for c in chunk_set.chunks] == [
        (p.index, p.text, p.input_hash, p.window_count) for p in planned
    ]
    assert {chunk.present for chunk in chunk_set.chunks} == {False}
    assert len({chunk.id for chunk in chunk_set.chunks}) == len(planned)


def test_document_ids_come_from_the_row(bench: Bench) -> None:
    claim = bench.claim(bench.node()[1])
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
    table, index = bench.served({"a": TEXT})
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
    table, index = bench.served({"a": TEXT})
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
    other = replace(claim, content_hash="0" * 64)
    assert not bench.work.chunks.activate([(other, chunk_set)])
    assert not bench.work.chunks.activate([(claim, replace(chunk_set, id=chunk_set.id + 999))])
    assert bench.work.node_counts.progress(index, "", silent_s=300).states == {"claimed": 1}
    assert bench.activate(claim, chunk_set)


def test_the_swap_buries_the_set_before(bench: Bench) -> None:
    table, index = bench.served({"a": TEXT})
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
    _, index = bench.served({"a": TEXT, "b": TEXT})
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
    bench.work.nodes.remove([node_id])
    assert bench.work.chunks.without_row(index.generation.namespace, [doc_id]) == []
    bench.work.indexes.retire(index.id)
    bench.work.removals.purge_generation(index.generation.id)
    assert bench.work.chunks.without_row(index.generation.namespace, [doc_id]) == [doc_id]


@only_postgres
@pytest.mark.parametrize("owner", ["context_table", "project"])
def test_no_cascade_forgets_a_document_or_leaves_its_words(
    bench: PostgresBench, owner: str
) -> None:
    table, index = bench.served({"a": TEXT, "b": OTHER})
    chunks = [chunk for built in bench.finish_all(index) for chunk in built.chunks]
    bench.work.keywords.put([ChunkTokens(chunk.id, ["word"]) for chunk in chunks])
    row_id = table.id if owner == "context_table" else table.project_id
    bench.sql(f"DELETE FROM {owner} WHERE id = :id", id=row_id)
    assert {stone.doc_id for stone in bench.tombstones()} == {chunk.doc_id for chunk in chunks}
    assert (bench.count("chunks"), bench.count("chunk_words")) == (0, 0)


LINES = [f"{english(60, seed=number)}\n\n" for number in range(12)]
"""A paragraph a chunk, under SMALL."""


def text_of(*lines: str) -> str:
    return "".join(lines)


def indexed(bench: Bench, *lines: str) -> tuple[Table, Index, int, ChunkSet]:
    """A string at /a and its active set."""
    table, index = bench.served({"a": text_of(*lines)})
    [node_id] = bench.enumerate(index)
    return table, index, node_id, bench.finish(node_id)


def edited(bench: Bench, table: Table, index: Index, *lines: str) -> None:
    bench.change(table, {"a": text_of(*lines)})
    bench.enumerate(index)


def stones(bench: Bench) -> set[str]:
    return {stone.doc_id for stone in bench.tombstones()}


def shown(bench: Bench, index: Index) -> list[HydratedChunk]:
    """What a search may show of the index, in the order of the string."""
    names = bench.ids(index)
    found = bench.work.live_chunks.hydrate(index, Reach(), names)
    return sorted(found.values(), key=lambda chunk: chunk.chunk_index)


def is_the_text(chunks: list[HydratedChunk], text: str, content_hash: str) -> None:
    """Chunks are in order, all of it, and of this version."""
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.total_chunks for chunk in chunks} == {len(chunks)}
    assert {(chunk.content_hash, chunk.stale) for chunk in chunks} == {(content_hash, False)}
    for chunk in chunks:
        assert chunk.chunk_text == text[chunk.char_start : chunk.char_end]
    assert (chunks[0].char_start, chunks[-1].char_end) == (0, len(text))


def test_an_edit_writes_what_it_changed_and_nothing_else(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    changed = [*LINES[:5], english(50, seed=99) + "\n\n", *LINES[6:]]
    edited(bench, table, index, *changed)
    claim = bench.claim(node_id)
    new = bench.begin(claim)
    assert 1 <= len(new.missing) <= 3
    assert len(new.missing) + len(new.kept) == len(new.chunks)
    ids = {chunk.doc_id for chunk in old.chunks}
    assert {chunk.doc_id for chunk in new.chunks} - ids == {one.doc_id for one in new.missing}
    assert bench.ids(index) == sorted(ids)  # the old version answers
    assert stones(bench) == set()
    bench.mark(new)
    assert bench.activate(claim, new)
    assert stones(bench) == ids - {chunk.doc_id for chunk in new.chunks}
    assert len(stones(bench)) <= 3
    is_the_text(shown(bench, index), text_of(*changed), claim.content_hash)


@pytest.mark.parametrize(
    ("lines", "anew"),
    [
        ([english(70, seed=7) + "\n\n", english(80, seed=8) + "\n\n", *LINES], 5),
        (LINES[:6], 1),
        ([*LINES, LINES[0], english(60, seed=7), "\n\n", LINES[0]], 5),
    ],
    ids=["longer", "shorter", "twice"],
)
def test_what_stays_is_kept_at_its_new_place(bench: Bench, lines: list[str], anew: int) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    edited(bench, table, index, *lines)
    claim = bench.claim(node_id)
    new = bench.begin(claim)
    assert len(new.kept) >= len(new.chunks) - anew
    assert len({one.id for one in new.kept}) == len(new.kept)
    assert {one.id for one in new.kept} <= {one.id for one in old.chunks}
    bench.mark(new)
    assert bench.activate(claim, new)
    is_the_text(shown(bench, index), text_of(*lines), claim.content_hash)


def test_a_heading_is_part_of_what_stands_under_it(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, "# Harbour\n\n", *LINES)
    edited(bench, table, index, "# Orchard\n\n", *LINES)
    assert not bench.begin(bench.claim(node_id)).kept
    assert bench.ids(index) == sorted(chunk.doc_id for chunk in old.chunks)


def test_a_run_goes_on_where_another_one_stopped(bench: Bench) -> None:
    table, index, node_id, _ = indexed(bench, *LINES)
    edited(bench, table, index, *LINES[:3], chinese(150), *LINES[3:])
    first = bench.begin(bench.claim(node_id, lease_s=10))
    done, *rest = first.missing
    bench.work.chunks.mark_present([done.id])
    bench.pass_time(20)
    claim = bench.claim(node_id)
    again = bench.begin(claim)
    assert (again.id, again.is_new, again.kept) == (first.id, False, first.kept)
    assert again.missing == rest
    bench.mark(again)
    assert bench.activate(claim, again)


def test_a_kept_chunk_that_turbopuffer_lost_is_written_again(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    edited(bench, table, index, *LINES, english(60, seed=77))
    claim = bench.claim(node_id)
    lost = old.chunks[2]
    bench.work.chunks.requeue_missing(index.generation.namespace, [lost.doc_id])
    new = bench.begin(claim)
    assert lost.id in {one.id for one in new.kept}
    assert lost.doc_id in {chunk.doc_id for chunk in new.missing}
    bench.work.chunks.mark_present([one.id for one in new.missing if one.id != lost.id])
    assert not bench.activate(claim, new)
    bench.mark(new)
    assert bench.activate(claim, new)
    assert lost.doc_id in bench.ids(index)


def test_what_is_lost_while_the_next_set_is_built_holds_the_swap_up(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    edited(bench, table, index, *LINES, english(60, seed=77))
    claim = bench.claim(node_id)
    new = bench.begin(claim)
    bench.mark(new)
    bench.work.chunks.requeue_missing(index.generation.namespace, [old.chunks[0].doc_id])
    assert not bench.activate(claim, new)
    again = bench.begin(claim)
    assert [chunk.id for chunk in again.missing] == [old.chunks[0].id]


def test_a_text_that_changes_back_has_lost_nothing(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    edited(bench, table, index, *LINES[:4], english(90, seed=5), *LINES[4:])
    halfway = bench.begin(bench.claim(node_id))
    bench.mark(halfway)
    edited(bench, table, index, *LINES)
    again = bench.finish(node_id)
    assert (again.id, again.kept) == (old.id, ())
    assert bench.ids(index) == sorted(chunk.doc_id for chunk in old.chunks)
    assert stones(bench) == {one.doc_id for one in halfway.chunks} - set(bench.ids(index))


def test_a_third_text_keeps_of_the_active_one(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    edited(bench, table, index, *LINES[:4], english(90, seed=5), *LINES[4:])
    bench.begin(bench.claim(node_id))
    edited(bench, table, index, *LINES[:8], english(90, seed=6), *LINES[8:])
    new = bench.finish(node_id)
    assert {one.id for one in new.kept} <= {chunk.id for chunk in old.chunks}
    assert len(new.kept) >= len(old.chunks) - 4


def test_one_bad_string_forgets_its_half_and_keeps_its_active_set(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    edited(bench, table, index, *LINES, english(60, seed=77))
    claim = bench.claim(node_id)
    new = bench.begin(claim)
    bench.work.nodes.quarantine(claim, {"code": "X", "message": "x"})
    assert stones(bench) == {one.doc_id for one in new.missing}
    assert bench.ids(index) == sorted(chunk.doc_id for chunk in old.chunks)


def test_words_go_with_their_chunk(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES, "zygote " * 5)
    bench.work.keywords.put([ChunkTokens(one.id, tokens(one.text)) for one in old.chunks])
    edited(bench, table, index, english(60, seed=77), "\n\n", *LINES, "zygote " * 5)
    new = bench.finish(node_id)
    ranked = bench.work.keywords.best(index, Reach(), query_weights("zygote"), 10, timeout_s=9)
    [name] = [chunk.doc_id for chunk in new.chunks if "zygote" in chunk.text]
    assert [one.doc_id for one in ranked] == [name]


def test_lost_words_of_what_moved_are_not_forgotten(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    bench.work.keywords.put([ChunkTokens(one.id, tokens(one.text)) for one in old.chunks])
    bench.delete_words_by_hand(index.generation.id)
    edited(bench, table, index, *LINES, english(60, seed=77))
    new = bench.finish(node_id)
    taken = bench.work.chunks.take_wordless(limit=1_000)
    unkeyed = {chunk.id for one in taken for chunk in one.chunks}
    assert {one.id for one in new.kept} <= unkeyed


def test_many_strings_keep_together(bench: Bench) -> None:
    texts = {f"k{number}": text_of(*LINES[number:]) for number in range(4)}
    table, index = bench.served(texts)
    bench.finish_all(index)
    bench.change(table, {name: text + english(50, seed=3) for name, text in texts.items()})
    claims = [bench.claim(node_id) for node_id in bench.enumerate(index)]
    with bench.store.for_all("test") as work:
        sets = work.chunks.begin_sets([(claim, plan(claim)) for claim in claims])
        work.chunks.mark_present([chunk.id for each in sets for chunk in each.missing])
        work.nodes.hold(claims, lease_s=60)
        done = work.chunks.activate(list(zip(claims, sets, strict=True)))
    assert done == {claim.node_id for claim in claims}
    assert all(each.kept for each in sets)
    kept = sorted(chunk.doc_id for each in sets for chunk in each.chunks)
    assert bench.ids(index) == kept


def test_a_set_whose_places_were_planned_otherwise_begins_anew(bench: Bench) -> None:
    table, index, node_id, _ = indexed(bench, *LINES)
    edited(bench, table, index, *LINES, english(60, seed=77))
    claim = bench.claim(node_id)
    first, planned = bench.begin(claim), plan(claim)
    own = first.missing[0].index  # another release keeps as many, and not the same
    stays = next(one for one in first.kept if one.index != own)
    hashes = {own: planned[stays.index].rows_hash, stays.index: b"\0" * 32}
    other = [
        replace(chunk, rows_hash=hashes.get(chunk.index, chunk.rows_hash)) for chunk in planned
    ]
    [new] = bench.work.chunks.begin_sets([(claim, other)])
    assert (new.is_new, new.id != first.id, len(new.kept)) == (True, True, len(first.kept))
    assert [chunk.index for chunk in new.chunks] == list(range(len(planned)))


def test_a_set_that_was_planned_otherwise_begins_anew(bench: Bench) -> None:
    table, index, node_id, _ = indexed(bench, *LINES)
    edited(bench, table, index, *LINES, english(60, seed=77))
    claim = bench.claim(node_id)
    first = bench.begin(claim)
    planned = [replace(chunk, rows_hash=b"\0" * 32) for chunk in plan(claim)]  # another release
    [new] = bench.work.chunks.begin_sets([(claim, planned)])
    assert new.is_new
    assert (new.id != first.id, new.kept, len(new.missing)) == (True, (), len(planned))
    bench.mark(new)
    assert bench.activate(claim, new)


def test_more_than_may_move_at_once_is_written_anew() -> None:
    one = PlannedChunk(0, 0, 1, "x", "", b"", b"hash")
    for number, kept in ((MOST_KEPT, MOST_KEPT), (MOST_KEPT + 1, 0)):
        planned = [replace(one, index=index) for index in range(number)]
        active = [(index + 1, b"hash") for index in range(number)]
        assert len(kept_chunks(planned, active)) == kept


def test_what_a_swap_takes_over_is_not_shown_as_of_the_version_before(bench: Bench) -> None:
    table, index, node_id, _ = indexed(bench, *LINES)
    hits = [chunk for chunk in shown(bench, index) if chunk.chunk_index in (4, 5, 6)]
    longer = [english(80, seed=50) + "\n\n", *LINES[:5], english(50, seed=99), *LINES[6:]]
    edited(bench, table, index, *longer)
    assert bench.finish(node_id).kept
    with bench.store.for_all("test") as work:
        sources = read_sources(work.live_chunks, hits, RetrievalSettings())
    for source, _ in sources:
        begin, end = source.shown
        offset = source.chunks[0].start
        assert source.text[begin - offset : end - offset] == text_of(*LINES)[begin:end]


@only_postgres
def test_words_that_are_deleted_during_the_swap_are_noted(bench: PostgresBench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    bench.work.keywords.put([ChunkTokens(one.id, tokens(one.text)) for one in old.chunks])
    edited(bench, table, index, *LINES, english(60, seed=77))
    claim = bench.claim(node_id)
    bench.mark(new := bench.begin(claim))
    with bench.tx() as tx:
        tx.run("DELETE FROM chunk_words WHERE generation_id = :id", id=index.generation.id)
        swapped = bench.begun(bench.work.chunks.activate, [(claim, new)])
        assert not swapped.done()
    assert swapped.result()
    lost = {c.id for one in bench.work.chunks.take_wordless(limit=1_000) for c in one.chunks}
    assert {one.id for one in new.kept} <= lost


def noted(bench: Bench, text: str = TEXT, project: Project | None = None) -> tuple[Index, ChunkSet]:
    """An index over one string, whose words are to be written."""
    _, index = bench.tool(bench.table({"a": text}, project))
    [made] = bench.finish_all(index)
    bench.work.chunks.postpone_words([made.id])
    return bench.index(index.id), made


def take(bench: Bench, limit: int = 500, wait_s: float = WORDS_WAIT_S) -> list[Unkeyed]:
    return bench.work.chunks.take_wordless(limit=limit, wait_s=wait_s)


def is_behind(bench: Bench, index: Index) -> bool:
    return bench.work.chunks.lacks_words(index)


def test_an_index_is_behind_until_its_words_are_written(bench: Bench) -> None:
    index, made = noted(bench)
    _, other = bench.indexed({"a": OTHER})
    assert (is_behind(bench, index), is_behind(bench, other)) == (True, False)
    assert write_words(bench.store, 2) == 2
    assert is_behind(bench, index)
    assert write_words(bench.store, 2) == len(made.chunks) - 2 == 1
    assert not is_behind(bench, index)
    assert write_words(bench.store) == 0


def test_what_is_noted_twice_or_gone_is_taken_once_or_not(bench: Bench) -> None:
    index, made = noted(bench)
    bench.work.chunks.postpone_words([made.id, made.id + 999])
    assert write_words(bench.store) == len(made.chunks)
    again, _ = noted(bench)
    bench.delete_by_hand(bench.node_at(again, "/a"))
    assert (take(bench), is_behind(bench, again), is_behind(bench, index)) == ([], False, False)


def test_chunks_come_in_the_text_around_them(bench: Bench) -> None:
    text = f"# Tides\n\n{english(250)}\n\n## Moons of the harbour\n\n{english(250, seed=4)}"
    _, made = noted(bench, text)
    bench.work.keywords.put([ChunkTokens(made.chunks[2].id, ["here"])])
    [found] = take(bench)
    wanted = [chunk for chunk in made.chunks if chunk.index != 2]
    assert found.text == text
    assert [chunk.id for chunk in found.chunks] == [chunk.id for chunk in wanted]
    cut = [found.text[chunk.start : chunk.end] for chunk in found.chunks]
    assert cut == [chunk.text for chunk in wanted]
    above = trails(text, [chunk.start for chunk in found.chunks])
    assert {"Tides", "Tides\nMoons of the harbour"} <= set(above)
    assert [each.tokens for each in tokens_of(found)] == [
        keyword_tokens(*each) for each in zip(cut, above, strict=True)
    ]


def test_of_a_very_long_string_only_a_part_is_read(bench: Bench) -> None:
    _, made = noted(bench, english(152_000))
    late = [chunk for chunk in made.chunks if chunk.index >= TEXTS_ABOVE + 9]
    assert late
    bench.work.keywords.put(
        [ChunkTokens(one.id, ["here"]) for one in made.chunks if one not in late]
    )
    [found] = take(bench)
    begin = late[0].index - TEXTS_ABOVE
    assert [chunk.id for chunk in found.chunks] == [chunk.id for chunk in late]
    assert found.text.startswith(made.chunks[begin].text)
    assert found.text.endswith(late[-1].text)
    cut = [found.text[chunk.start : chunk.end] for chunk in found.chunks]
    assert cut == [chunk.text for chunk in late]


def test_chunks_far_apart_are_not_taken_together(bench: Bench) -> None:
    _, made = noted(bench, english(152_000))
    first, *rest, last = made.chunks
    bench.work.keywords.put([ChunkTokens(one.id, ["here"]) for one in rest])
    for chunk in (first, last):
        [found] = bench.work.chunks.take_wordless(limit=500)
        bench.work.keywords.put(tokens_of(found))
        assert [one.id for one in found.chunks] == [chunk.id]
    assert take(bench) == []


def test_words_wait_while_their_project_has_strings_to_index(bench: Bench) -> None:
    project = bench.project()
    _, made = noted(bench, project=project)
    _, beside = noted(bench, OTHER)
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}, project))
    queued, claimed = bench.enumerate(index)
    bench.claim(claimed)
    ids = {chunk.id for one in take(bench) for chunk in one.chunks}
    assert ids == {chunk.id for chunk in beside.chunks}
    assert take(bench, wait_s=1_000) == []
    bench.pass_time(1_001)
    [waited] = take(bench, wait_s=1_000)
    assert [chunk.id for chunk in waited.chunks] == [chunk.id for chunk in made.chunks]
    bench.finish(queued)


def test_words_wait_until_their_generation_answers(bench: Bench) -> None:
    index, made = noted(bench)
    assert write_words(bench.store) == len(made.chunks)
    building = bench.work.indexes.start_rebuild(index, index.config, at_once=1)
    [built] = bench.finish_all(building)
    bench.work.chunks.postpone_words([built.id])
    assert take(bench) == []
    assert not is_behind(bench, index)
    pending = present(bench.work.indexes.pending(index.id))
    bench.work.indexes.switch(pending)
    assert is_behind(bench, bench.index(index.id))
    assert write_words(bench.store) == len(built.chunks)


@pytest.mark.parametrize("limit", [1, 2, 4, 7, 500])
def test_every_set_has_its_turn(bench: Bench, limit: int) -> None:
    sets = [noted(bench, english(250, seed=seed))[1] for seed in range(4)]
    written = []
    while some := write_words(bench.store, limit):
        written.append(some)
    total = sum(len(each.chunks) for each in sets)
    assert sum(written) == total
    assert written == [limit] * (total // limit) + [total % limit] * (total % limit > 0)
    assert take(bench) == []


@only_postgres
def test_who_deletes_a_string_waits_until_its_words_are_written(bench: PostgresBench) -> None:
    index, _ = noted(bench)
    node_id = bench.node_at(index, "/a")
    with bench.store.for_all("test") as work:
        [taken] = work.chunks.take_wordless(limit=500)
        deleting = bench.begun(bench.delete_by_hand, node_id)
        assert not deleting.done()
        work.keywords.put(tokens_of(taken))
    deleting.result()
    assert bench.count("chunk_words") == bench.count("words_backlog") == 0


@only_postgres
def test_a_string_that_is_being_deleted_is_left_out(bench: PostgresBench) -> None:
    index, _ = noted(bench)
    _, other = noted(bench, OTHER)
    with bench.tx() as deleting, ThreadPoolExecutor(1) as thread:
        deleting.run("DELETE FROM node WHERE generation_id = :id", id=index.generation.id)
        assert thread.submit(write_words, bench.store).result() == len(other.chunks)
    assert bench.count("words_backlog") == 0


def test_words_of_an_index_that_is_gone_wait_for_nobody(bench: Bench) -> None:
    index, _ = noted(bench)
    bench.work.indexes.retire(index.id)
    bench.work.removals.remove_retired_nodes(limit=10)
    assert take(bench) == []


BEFORE = english(400)
AFTER = english(400, seed=5)


class AwayVectors(DictVectors):
    """turbopuffer answers no question."""

    def query(self, *_: object, **__: object) -> Legs:
        raise VectorStoreUnavailableError("away")


class Desk:
    """A string that is indexed, and its next version, of which the swap alone is left."""

    def __init__(self, database: Database) -> None:
        self.bench = PostgresBench(database)
        self.table = self.bench.table({"a": BEFORE})
        self.tool, index = self.bench.tool(self.table)
        [node_id] = self.bench.enumerate(index)
        self.made = self.bench.finish(node_id)
        self.bench.work.chunks.postpone_words([self.made.id])

    def edited(self) -> tuple[Claim, ChunkSet]:
        self.bench.change(self.table, {"a": AFTER})
        [node_id] = self.bench.enumerate(self.bench.index(self.tool.index_id))
        claim = self.bench.claim(node_id)
        new = self.bench.begin(claim)
        self.bench.mark(new)
        return claim, new

    def ask(self, words: str) -> SearchResult:
        clock, vectors, store = SystemClock(), AwayVectors(), self.bench.store
        embedder = WordEmbedder(16)
        searches = searcher(
            store,
            vectors,
            lambda _: embedder,
            no_reranker,
            IndexUse(store),
            clock,
            lambda _: None,
            SearchLimits(60.0, Timeouts(), NO_LIMITS),
        )
        searched = SearchedTool.by(self.bench.principal(self.table), self.tool.id)
        return searches.search(searched, words, QuestionLimits())


@pytest.fixture
def desk(module_database: Database) -> Desk:
    return Desk(module_database)


def test_who_writes_words_and_who_swaps_do_not_wait_for_each_other(desk: Desk) -> None:
    swap = desk.edited()
    taken = desk.bench.work.chunks.take_wordless(limit=500, wait_s=0)
    swapped = desk.bench.begun(desk.bench.activate, *swap)
    desk.bench.work.keywords.put([each for one in taken for each in tokens_of(one)])
    assert swapped.result(30) is True


def test_words_of_a_string_that_is_being_swapped_are_left_for_later(desk: Desk) -> None:
    claim, new = desk.edited()
    with desk.bench.store.for_all("test") as work:
        assert work.nodes.hold([claim], lease_s=60)
        other = desk.bench.begun(write_words, desk.bench.store, wait_s=0)
        assert other.result(30) == 0
        assert work.chunks.activate([(claim, new)])
        work.chunks.postpone_words([new.id])
    assert write_words(desk.bench.store) == len(new.chunks)


def test_a_swap_while_keywords_are_searched_is_told(desk: Desk) -> None:
    write_words(desk.bench.store)
    assert desk.ask(AFTER[:60]).degraded == ["backend_unavailable"]
    claim, new = desk.edited()
    with desk.bench.store.for_all("test") as work:
        held = work.nodes.hold([claim], lease_s=60)
        work.keywords.tx.run("LOCK TABLE chunk_words IN ACCESS EXCLUSIVE MODE")
        asked = desk.bench.begun(desk.ask, AFTER[:60])
        assert not asked.done()
        assert work.chunks.activate([(each, new) for each in held])
        work.chunks.postpone_words([new.id])
    answer = asked.result(30)
    assert answer.degraded == ["backend_unavailable", "partial_keywords"]
    assert answer.hint == "index_incomplete"
