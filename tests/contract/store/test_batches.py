"""Contract of ``Nodes`` and ``Chunks`` with many: each is as safe as if it had come alone."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.model import ChunkSet, Claim, Index
from context_search.indexing.vector_rows import plan
from tests.builders import english
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres

STRINGS = [english(60, seed) for seed in range(4)]


def nodes(bench: Bench, strings: Sequence[str] = STRINGS) -> tuple[Index, list[int]]:
    _, index = bench.tool(bench.table(list(strings)))
    return index, sorted(bench.enumerate(index))


def claims(
    bench: Bench, ids: Sequence[int], *, chars: int = 1_000, attempts: int = 4, lease_s: float = 60
) -> list[Claim]:
    return bench.work.nodes.claim_many(
        tuple(ids), max_chars=chars, max_attempts=attempts, lease_s=lease_s
    )


def begin(bench: Bench, taken: Sequence[Claim]) -> list[ChunkSet]:
    return bench.work.chunks.begin_sets([(claim, plan(claim)) for claim in taken])


def finish(bench: Bench, taken: Sequence[Claim], sets: Sequence[ChunkSet]) -> set[int]:
    bench.work.chunks.mark_present([chunk.id for each in sets for chunk in each.missing])
    pairs = list(zip(taken, sets, strict=True))
    return bench.work.chunks.activate(pairs)


def held(bench: Bench, taken: Sequence[Claim]) -> list[int]:
    return [claim.node_id for claim in bench.work.nodes.hold(taken, lease_s=60)]


def test_many_are_claimed_as_one_would_be(bench: Bench) -> None:
    _, ids = nodes(bench)
    [alone, *others] = ids
    one = bench.claim(alone)
    many = claims(bench, [*reversed(ids), 2**60])
    assert [claim.node_id for claim in many] == others
    assert {claim.content for claim in [one, *many]} == set(STRINGS)
    assert {(claim.fence, claim.attempt, claim.config) for claim in many} == {
        (one.fence, one.attempt, one.config)
    }


def test_whose_lease_has_run_out_is_claimed_again_under_a_new_fence(bench: Bench) -> None:
    _, ids = nodes(bench)
    first = claims(bench, ids, lease_s=10)
    bench.pass_time(11)
    second = claims(bench, ids)
    assert [claim.fence for claim in second] == [claim.fence + 1 for claim in first]
    assert held(bench, first) == []
    assert held(bench, second) == ids


def test_long_strings_and_those_that_failed_often_are_left_out(bench: Bench) -> None:
    _, ids = nodes(bench, [*STRINGS, TEXT])
    long = next(iter(set(ids) - {claim.node_id for claim in claims(bench, ids, chars=100)}))
    assert bench.claim(long).content == TEXT
    bench.pass_time(61)
    again = claims(bench, ids, attempts=1)
    assert again == []
    assert len(claims(bench, ids, attempts=2)) == 5


def test_a_text_that_only_chunks_hold_is_left_out(bench: Bench) -> None:
    _, index = bench.indexed([TEXT])
    node_id, lost = bench.node_at(index, "/0"), bench.ids(index)[:1]
    bench.work.sweeps.requeue_missing(index.generation.namespace, lost)
    assert claims(bench, [node_id]) == []
    assert bench.work.nodes.unfinished([node_id]) == [node_id]


def test_unfinished_are_those_that_wait_and_those_under_work(bench: Bench) -> None:
    _, ids = nodes(bench)
    bench.claim(ids[0])
    bench.finish(ids[1])
    assert bench.work.nodes.unfinished((*reversed(ids), 2**60)) == [ids[0], *ids[2:]]
    assert bench.work.nodes.unfinished([]) == []


def test_lengths_are_those_of_the_strings(bench: Bench) -> None:
    _, ids = nodes(bench, [TEXT, OTHER])
    assert sorted(bench.work.nodes.char_counts((*ids, 2**60)).values()) == [len(OTHER), len(TEXT)]


def test_sets_begin_in_the_order_asked_for_with_rows_that_are_not_present(bench: Bench) -> None:
    index, ids = nodes(bench, [*STRINGS, TEXT])
    taken = claims(bench, ids)
    sets = begin(bench, taken)
    texts = [[chunk.text for chunk in each.chunks] for each in sets]
    assert texts == [[chunk.text for chunk in plan(claim)] for claim in taken]
    assert all(each.is_new for each in sets)
    assert not any(chunk.present for each in sets for chunk in each.chunks)
    assert bench.ids(index) == []
    again = begin(bench, taken)
    assert [(each.id, each.chunks) for each in again] == [(each.id, each.chunks) for each in sets]
    assert not any(each.is_new for each in again)


def test_one_at_a_time_and_together_write_the_same(bench: Bench) -> None:
    _, ids = nodes(bench)
    [first, *_] = taken = claims(bench, ids)
    alone = bench.begin(first)
    assert begin(bench, taken)[0].chunks == alone.chunks


def test_what_is_acknowledged_becomes_active_together(bench: Bench) -> None:
    index, ids = nodes(bench, [*STRINGS, TEXT])
    taken = claims(bench, ids)
    sets = begin(bench, taken)
    assert finish(bench, taken, sets) == set(ids)
    assert len(bench.ids(index)) == sum(len(each.chunks) for each in sets)
    index = bench.index(index.id)
    progress = bench.work.node_counts.progress(index, "", silent_s=1e9)
    assert progress.states == {"indexed": 5}
    assert progress.indexed_chunks_count == progress.chunks_count
    assert held(bench, taken) == []


def test_what_is_not_acknowledged_stays_as_it_is(bench: Bench) -> None:
    _, ids = nodes(bench)
    taken = claims(bench, ids)
    sets = begin(bench, taken)
    bench.work.chunks.mark_present([chunk.id for chunk in sets[0].chunks])
    pairs = list(zip(taken, sets, strict=True))
    assert bench.work.chunks.activate(pairs) == {ids[0]}
    assert held(bench, taken) == ids[1:]


def test_a_text_that_changed_meanwhile_is_neither_held_nor_swapped(bench: Bench) -> None:
    table = bench.table(STRINGS)
    _, index = bench.tool(table)
    ids = sorted(bench.enumerate(index))
    taken = claims(bench, ids)
    sets = begin(bench, taken)
    bench.change(table, [OTHER, *STRINGS[1:]])
    [changed] = bench.enumerate(index)
    others = [node_id for node_id in ids if node_id != changed]
    assert held(bench, taken) == others
    assert finish(bench, taken, sets) == set(others)


def test_a_new_version_takes_the_place_of_the_old_one_whose_documents_leave(bench: Bench) -> None:
    table = bench.table(STRINGS)
    _, index = bench.tool(table)
    first = claims(bench, bench.enumerate(index))
    finish(bench, first, begin(bench, first))
    before = set(bench.ids(index))
    bench.change(table, [text + " more" for text in STRINGS])
    second = claims(bench, bench.enumerate(index))
    assert finish(bench, second, begin(bench, second)) == {claim.node_id for claim in first}
    assert {stone.doc_id for stone in bench.tombstones()} == before
    assert before.isdisjoint(bench.ids(index))


def test_a_half_built_version_of_another_text_goes(bench: Bench) -> None:
    table = bench.table(STRINGS)
    _, index = bench.tool(table)
    begin(bench, claims(bench, bench.enumerate(index)))
    bench.change(table, [text + " more" for text in STRINGS])
    begin(bench, claims(bench, bench.enumerate(index)))
    assert len(bench.tombstones()) == len(STRINGS)


def test_nodes_of_deleted_tables_are_not_claimed(bench: Bench) -> None:
    table = bench.table(STRINGS)
    _, index = bench.tool(table)
    ids = bench.enumerate(index)
    bench.delete(table)
    assert claims(bench, ids) == []


@only_postgres
@pytest.mark.parametrize("step", ["claim", "hold"])
def test_a_locked_node_is_left_out_and_nobody_waits(bench: PostgresBench, step: str) -> None:
    _, ids = nodes(bench)
    taken = claims(bench, ids) if step == "hold" else []

    def others() -> list[int]:
        if step == "hold":
            return held(bench, taken)
        return [claim.node_id for claim in claims(bench, ids)]

    with bench.tx() as tx, ThreadPoolExecutor(1) as pool:
        tx.run("SELECT FROM node WHERE id = :id FOR UPDATE", id=ids[0])
        assert pool.submit(others).result() == ids[1:]
