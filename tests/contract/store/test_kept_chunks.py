"""Contract of ``Chunks``: what stays as it is when a string changes."""

from __future__ import annotations

from dataclasses import replace

from context_search.core.model import (
    MOST_KEPT,
    ChunkSet,
    HydratedChunk,
    Index,
    PlannedChunk,
    Reach,
    Table,
    kept_chunks,
)
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.indexing.vector_rows import plan
from context_search.searching.retrieve import read_sources
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.text.analysis import query_weights, tokens
from tests.builders import chinese, english
from tests.contract.store.bench import Bench, PostgresBench, only_postgres

LINES = [f"{english(60, seed=number)}\n\n" for number in range(12)]
"""A paragraph a chunk, under SMALL."""


def text_of(*lines: str) -> str:
    return "".join(lines)


def indexed(bench: Bench, *lines: str) -> tuple[Table, Index, int, ChunkSet]:
    """A string at /a and its active set."""
    table = bench.table({"a": text_of(*lines)})
    _, index = bench.tool(table)
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


def test_what_comes_before_moves_the_places_of_what_stays(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    longer = [english(70, seed=7) + "\n\n", english(80, seed=8) + "\n\n", *LINES]
    edited(bench, table, index, *longer)
    new = bench.finish(node_id)
    assert len(new.kept) >= len(old.chunks) - 3
    assert [one.index for one in new.kept] != [chunk.index for chunk in old.chunks]
    [known] = bench.work.nodes.known(index.generation.id, table.id)
    is_the_text(shown(bench, index), text_of(*longer), known.content_hash)


def test_a_shorter_text_keeps_what_is_left(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, *LINES)
    edited(bench, table, index, *LINES[:6])
    claim = bench.claim(node_id)
    new = bench.begin(claim)
    bench.mark(new)
    assert bench.activate(claim, new)
    assert len(new.chunks) < len(old.chunks)
    assert len(new.kept) >= len(new.chunks) - 1
    is_the_text(shown(bench, index), text_of(*LINES[:6]), claim.content_hash)


def test_a_heading_is_part_of_what_stands_under_it(bench: Bench) -> None:
    table, index, node_id, old = indexed(bench, "# Harbour\n\n", *LINES)
    edited(bench, table, index, "# Orchard\n\n", *LINES)
    assert not bench.begin(bench.claim(node_id)).kept
    assert bench.ids(index) == sorted(chunk.doc_id for chunk in old.chunks)


def test_a_paragraph_that_stands_twice_is_kept_as_often_as_it_was_there(bench: Bench) -> None:
    table, index, node_id, _ = indexed(bench, *LINES[:4], LINES[0])
    edited(bench, table, index, *LINES[:4], LINES[0], LINES[5], LINES[0])
    new = bench.finish(node_id)
    texts = [chunk.text for chunk in new.chunks if chunk.id in {one.id for one in new.kept}]
    assert len({one.id for one in new.kept}) == len(new.kept) == len(texts)
    [known] = bench.work.nodes.known(index.generation.id, table.id)
    is_the_text(
        shown(bench, index),
        text_of(*LINES[:4], LINES[0], LINES[5], LINES[0]),
        known.content_hash,
    )


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
    bench.work.sweeps.requeue_missing(index.generation.namespace, [lost.doc_id])
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
    bench.work.sweeps.requeue_missing(index.generation.namespace, [old.chunks[0].doc_id])
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
    table = bench.table(texts)
    _, index = bench.tool(table)
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
