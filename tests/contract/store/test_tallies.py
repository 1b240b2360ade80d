"""How Postgres counts strings and chunks, of an index and of its parts: exact, whoever writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest

from context_search.core.limits import ProjectLimits, Usage
from context_search.core.model import Index, Table
from context_search.core.progress import Progress
from context_search.maintenance.rules.sweeps import SweepCounts, SweepCursor
from tests.builders import english, present
from tests.contract.store.bench import PostgresBench, only_postgres
from tests.steps import SMALL
from tests.tallies import wrong_tallies

LONG = "k" * 300
PARTS = ["/a", "/b", "/a/deep", f"/a/{LONG}"]
COPIED = """
    INSERT INTO node (generation_id, table_id, content_hash, char_count, state, pointer_sha256,
                      json_pointer)
    SELECT generation_id, table_id, content_hash, char_count, 'queued', sha256('new')"""
pytestmark = only_postgres


def strings(count: int, first: int = 0) -> dict[str, str]:
    return {str(number): english(200, first + number) for number in range(count)}


def document(count: int = 3) -> dict[str, object]:
    below = {"deep": strings(2, 10), LONG: strings(2, 20)}
    return {"a": {**strings(count), **below}, "a-b": strings(2, 30), "b": strings(2, 40)}


def index_some(bench: PostgresBench, nodes: Sequence[int]) -> None:
    """Brings every second one to its end; of the first other one, chunks are written."""
    for node_id in nodes[::2]:
        bench.finish(node_id)
    for node_id in nodes[1:2]:
        bench.begin(bench.claim(node_id))


def of_parts(bench: PostgresBench) -> tuple[Table, Index]:
    """An index with a tool for each of the parts; some of its strings are indexed."""
    table = bench.table(document())
    for scope in PARTS:
        _, index = bench.tool(table, scope)
    index_some(bench, bench.enumerate(index))
    return table, index


def step(bench: PostgresBench) -> bool:
    with bench.store.for_all("test") as work:
        is_going_on = work.node_counts.count_parts()
        work.node_counts.compact()
    return is_going_on


def steps(bench: PostgresBench) -> None:
    """Lets cleanup keep the parts until it has no more to do now."""
    assert any(not step(bench) for _ in range(100))


def summed(bench: PostgresBench) -> list[str]:
    rows = bench.sql("SELECT scope FROM counted_part WHERE is_summed")
    return sorted(scope for [scope] in rows)


def is_exact(bench: PostgresBench) -> bool:
    return wrong_tallies(bench.sql) == []


def progress(bench: PostgresBench, index: Index, scope: str) -> Progress:
    return bench.work.node_counts.progress(index, scope, silent_s=300)


def one_by_one(bench: PostgresBench, index: Index, scope: str) -> Progress:
    """The same, string by string."""
    bench.sql("UPDATE counted_part SET is_summed = false")
    found = progress(bench, index, scope)
    bench.sql("UPDATE counted_part SET is_summed = true")
    return found


def assert_same(bench: PostgresBench, index: Index) -> None:
    """What is told of the parts is what there is."""
    assert is_exact(bench)
    assert summed(bench) == sorted(PARTS)
    for scope in PARTS:
        assert progress(bench, index, scope) == one_by_one(bench, index, scope)


def sweep_ends(bench: PostgresBench, index: Index) -> None:
    generation = index.generation
    cursor = SweepCursor(generation.id, generation.namespace, "")
    bench.work.sweeps.note(cursor, after="", found=SweepCounts())


def test_a_summed_part_says_the_same_after_every_change(bench: PostgresBench) -> None:
    table, index = of_parts(bench)
    assert summed(bench) == []
    steps(bench)
    assert_same(bench, index)
    bench.change(table, {**document(9), "a-b": strings(3, 60)})
    index_some(bench, bench.enumerate(index))
    assert_same(bench, index)
    assert progress(bench, index, "/a").states.keys() == {"indexed", "claimed", "queued"}
    steps(bench)  # and after its rows were added up
    assert_same(bench, index)
    bench.sql("DELETE FROM node WHERE id IN (SELECT max(id) FROM node)")
    bench.sql("DELETE FROM chunks WHERE id IN (SELECT max(id) FROM chunks)")
    assert is_exact(bench)


def test_what_nobody_takes_up_is_told_of_a_part(bench: PostgresBench) -> None:
    _, index = of_parts(bench)
    steps(bench)
    claimed = bench.sql("SELECT id FROM node WHERE state = 'queued' ORDER BY id LIMIT 2")
    for at, [node_id] in enumerate(claimed):
        error = {"code": "PROJECT_FULL", "message": "m", "retryable": False, "at": f"2026-01-0{at}"}
        with bench.store.for_all("test") as work:
            claim = present(work.nodes.claim(node_id, lease_s=60))
            (work.nodes.skip if at else work.nodes.quarantine)(claim, error)
    assert_same(bench, index)


def test_a_chunk_that_turbopuffer_has_lost_is_not_there_in_its_part(bench: PostgresBench) -> None:
    _, index = of_parts(bench)
    steps(bench)
    [[doc_id]] = bench.sql(
        "SELECT turbopuffer_doc_id FROM chunks JOIN chunk_set ON chunk_set.id = set_id"
        " WHERE state = 'active' AND json_pointer LIKE '/a/%' ORDER BY chunks.id LIMIT 1"
    )
    before = progress(bench, index, "/a")
    assert len(bench.work.chunks.requeue_missing(index.generation.namespace, [doc_id])) == 1
    after = progress(bench, index, "/a")
    assert after.chunks_count == before.chunks_count
    assert after.indexed_chunks_count == before.indexed_chunks_count - 1
    assert_same(bench, index)


@pytest.mark.parametrize(
    "change",
    [
        f"{COPIED}, '/a/new' FROM node WHERE json_pointer = '/a/0'",
        "DELETE FROM node WHERE json_pointer = '/a/1'",
    ],
    ids=["adds", "deletes"],
)
def test_the_first_sum_waits_for_whoever_may_not_have_seen_the_part(
    bench: PostgresBench, change: str
) -> None:
    _, index = of_parts(bench)
    with ThreadPoolExecutor(1) as pool, bench.tx() as tx:
        tx.run(change)
        pool.submit(steps, bench).result()
        assert pool.submit(summed, bench).result() == []
    steps(bench)
    assert_same(bench, index)


def test_whoever_begins_when_a_part_was_entered_counts_for_it(bench: PostgresBench) -> None:
    _, index = of_parts(bench)
    assert step(bench)
    with ThreadPoolExecutor(1) as pool, bench.tx() as tx:
        pool.submit(steps, bench).result()
        assert pool.submit(summed, bench).result() == sorted(PARTS)
        tx.run("DELETE FROM node WHERE json_pointer = '/a/1'")
    assert_same(bench, index)


def test_a_transaction_that_has_written_before_notes_no_number(bench: PostgresBench) -> None:
    of_parts(bench)
    with bench.store.for_all("test") as work:
        work.projects.add("its number is given here")
        assert not work.node_counts.count_parts()
    assert bench.sql("SELECT FROM counted_part") == []


def test_parts_of_a_restored_database_are_summed(bench: PostgresBench) -> None:
    _, index = of_parts(bench)
    assert step(bench)
    bench.sql("UPDATE counted_part SET seen_from = '99999999999'")
    steps(bench)
    assert_same(bench, index)


def test_parts_are_summed_only_while_tools_cover_several_of_them(bench: PostgresBench) -> None:
    table, index = of_parts(bench)
    steps(bench)
    for tool in bench.work.tools.of_index(index.id):
        if tool.scope.json_pointer != "/a":
            bench.work.tools.mark_deleted(tool.id)
            bench.work.comparisons.uncover(tool.id)
    bench.enumerate(index)
    steps(bench)
    assert (summed(bench), bench.sql("SELECT FROM part_tally")) == ([], [])
    bench.tool(table, "/b")
    bench.enumerate(index)
    steps(bench)
    assert summed(bench) == ["/a", "/b"]
    assert is_exact(bench)
    bench.sql("DELETE FROM index_generation")
    steps(bench)
    assert bench.sql("SELECT FROM counted_part") == bench.sql("SELECT FROM part_tally") == []


def test_a_generation_that_is_built_is_counted_apart_and_alone(bench: PostgresBench) -> None:
    _, index = of_parts(bench)
    steps(bench)
    building = bench.work.indexes.start_rebuild(index, replace(SMALL, chunk_size=50), at_once=2)
    nodes = bench.enumerate(index)
    steps(bench)
    index_some(bench, nodes)
    assert summed(bench) == sorted(2 * PARTS)
    assert is_exact(bench)
    reported = progress(bench, building, "/a")
    assert reported == one_by_one(bench, building, "/a")
    assert reported.chunks_count != progress(bench, index, "/a").chunks_count


def test_the_end_of_a_sweep_mends_what_was_written_past_the_triggers(bench: PostgresBench) -> None:
    _, index = of_parts(bench)
    steps(bench)
    with bench.tx() as tx:
        tx.run("SET LOCAL session_replication_role = replica")
        tx.run("DELETE FROM chunks WHERE json_pointer LIKE '/a/%'")
        tx.run("DELETE FROM chunk_set WHERE id NOT IN (SELECT set_id FROM chunks)")
        tx.run("DELETE FROM node WHERE json_pointer LIKE '/a/%'")
    assert len(wrong_tallies(bench.sql)) > 2
    for _ in range(2):
        sweep_ends(bench, index)
        steps(bench)
        # Chunks of a namespace are not counted anew.
        assert wrong_tallies(bench.sql) == [f"chunks of {index.generation.namespace}"]
    assert progress(bench, index, "/a").nodes_count == 0


def test_the_time_of_a_part_is_that_of_its_last_string(bench: PostgresBench) -> None:
    table, index = of_parts(bench)
    steps(bench)
    bench.change(table, {**document(), "a": strings(4)})
    [node_id] = bench.enumerate(index)
    bench.finish(node_id)
    reported = progress(bench, index, "/a").indexed_at
    assert reported == one_by_one(bench, index, "/a").indexed_at
    bench.change(table, {**document(), "a": strings(3), "b": strings(3, 80)})
    for node_id in bench.enumerate(index):
        bench.finish(node_id)
    assert progress(bench, index, "/a").indexed_at == reported  # though that string is gone
    latest = progress(bench, index, "/b").indexed_at
    assert reported is not None
    assert latest is not None
    assert latest > reported


def test_it_is_exact_while_others_write(bench: PostgresBench) -> None:
    tables = [bench.table(document(seed)) for seed in range(6)]
    index = of_strings(bench, 1)

    def make(table: Table, scope: str) -> None:
        index_some(bench, bench.enumerate(bench.tool(table, scope)[1]))

    orders: list[Callable[[], object]] = [
        partial(make, table, scope) for scope in PARTS for table in tables
    ]
    for place in range(0, 40, 2):
        orders.insert(place, partial(step, bench))
    orders += [partial(sweep_ends, bench, index)] * 8
    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(order) for order in orders]:
            done.result()
    steps(bench)
    assert len(summed(bench)) == len(tables) * len(PARTS)
    assert is_exact(bench)


def of_strings(bench: PostgresBench, count: int) -> Index:
    """An index of so many strings, of which the first is indexed, and chunks of the second."""
    _, index = bench.tool(bench.table([english(200, seed) for seed in range(count)]))
    first, *others = bench.enumerate(index)
    bench.finish(first)
    for node_id in others[:1]:
        bench.begin(bench.claim(node_id))
    return index


def test_rows_count_from_their_beginning_to_their_end(bench: PostgresBench) -> None:
    index, other = of_strings(bench, 5), of_strings(bench, 2)
    assert is_exact(bench)
    bench.sql("UPDATE node SET content_hash = 'other' WHERE generation_id = :id", id=other.id)
    bench.enumerate(index)  # the same again
    assert is_exact(bench)
    bench.sql("DELETE FROM node WHERE id IN (SELECT min(id) FROM node)")
    assert is_exact(bench)
    bench.sql("DELETE FROM context_table WHERE id = :id", id=index.table_id)
    assert is_exact(bench)
    assert bench.work.quotas.used(index.project_id) == Usage(0, 0)
    assert bench.work.quotas.used(other.project_id) != Usage(0, 0)
    bench.sql("DELETE FROM index_generation")
    assert [bench.count(name) for name in ("node_tally", "chunk_tally", "chunks")] == [0, 0, 0]


def test_compacting_changes_no_sum_and_leaves_a_row_a_generation(bench: PostgresBench) -> None:
    index, _ = of_strings(bench, 3), of_strings(bench, 2)
    bench.sql("DELETE FROM node WHERE id IN (SELECT min(id) FROM node)")
    before = bench.work.quotas.used(index.project_id)
    for _ in range(2):
        bench.work.node_counts.compact()
        assert is_exact(bench)
        assert bench.work.quotas.used(index.project_id) == before
        assert (bench.count("node_tally"), bench.count("chunk_tally")) == (2, 2)


def test_every_window_is_a_vector(bench: PostgresBench) -> None:
    index = of_strings(bench, 1)
    chunks = bench.count("chunks")
    bench.sql("UPDATE chunk_tally SET documents = 3 * documents")
    a_chunk = index.config.dimensions * 4
    assert bench.work.quotas.used(index.project_id) == Usage(chunks, 3 * chunks * a_chunk)


def test_an_index_that_is_gone_has_all_the_room(bench: PostgresBench) -> None:
    index = of_strings(bench, 1)
    bench.work.indexes.retire(index.id)
    assert bench.work.quotas.room(index.id, ProjectLimits(7, 8)) == Usage(7, 8)
