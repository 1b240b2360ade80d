"""Contract of ``Nodes``: what enumeration writes, and the way of a node between workers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest

from context_search.core.documents import StringNode, content_hash
from context_search.core.errors import LeaseLostError
from context_search.core.ids import pointer_sha256
from context_search.core.model import Claim, Index, Reach
from context_search.core.progress import NodeState
from context_search.indexing.rules.nodes import UNNEEDED_PAUSE_S, NodeSelection, NodeUpsert
from context_search.indexing.sql.nodes import Nodes
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import SMALL, table_of

ERROR = {"code": "EMBEDDING_UNAVAILABLE", "message": "m", "retryable": True, "at": "2026-01-01"}
TOO_LARGE = {"code": "NODE_TOO_LARGE", "message": "m", "retryable": False}


def upsert(bench: Bench, index: Index, text: str, pointer: str = "/a", **more: object) -> list[int]:
    node = NodeUpsert(StringNode(pointer, text), content_hash(text), **more)  # type: ignore[arg-type]
    return bench.work.nodes.upsert(index, table_of(index), [node])


def release(bench: Bench, claim: Claim, *, in_s: float = 0, progressed: bool = False) -> None:
    bench.work.nodes.release([claim], retry_in_s=in_s, error=ERROR, progressed=progressed)


def state(bench: Bench, index: Index) -> dict[NodeState, int]:
    return bench.work.node_counts.progress(index, "", silent_s=1e9).states


def test_known_nodes_are_those_of_one_generation(bench: Bench) -> None:
    index, node_id = bench.node()
    bench.node()
    [known] = bench.work.nodes.known(index.generation.id, table_of(index))
    assert (known.id, known.pointer_sha256) == (node_id, pointer_sha256("/a"))
    assert known.content_hash == content_hash(TEXT)


def test_new_and_changed_nodes_are_queued(bench: Bench) -> None:
    index, node_id = bench.node()
    assert upsert(bench, index, OTHER) == [node_id]
    assert len(upsert(bench, index, OTHER, "/b")) == 1
    assert state(bench, index) == {"queued": 2}
    assert bench.claim(node_id).content == OTHER


def test_a_node_over_a_limit_is_skipped_with_the_reason(bench: Bench) -> None:
    index, node_id = bench.node()
    assert upsert(bench, index, OTHER, skip_reason=TOO_LARGE) == []
    assert bench.try_claim(node_id) is None
    [node] = bench.work.node_counts.in_scope(index, "", limit=9)
    assert (node.state, node.char_count) == ("skipped", len(OTHER))
    assert node.last_error is not None
    assert node.last_error == {**TOO_LARGE, "at": node.last_error["at"]}


def test_a_string_that_grew_over_a_limit_leaves_the_index(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT, "b": TEXT})
    node_id, kept = bench.node_at(index, "/a"), bench.node_at(index, "/b")
    before = bench.ids(index)
    assert upsert(bench, index, OTHER, skip_reason=TOO_LARGE) == []
    left = bench.ids(index)
    gone = {stone.doc_id for stone in bench.tombstones()}
    assert gone == set(before) - set(left)
    assert len(gone) == len(left) > 0
    found = bench.work.live_chunks.hydrate(index, Reach(""), before)
    assert {chunk.json_pointer for chunk in found.values()} == {"/b"}
    # It shrinks: indexed anew, beside the one that nothing happened to.
    assert upsert(bench, index, TEXT) == [node_id]
    bench.finish(node_id)
    assert len(bench.ids(index)) == len(before)
    assert bench.try_claim(kept) is None


def test_a_claim_says_what_to_index_and_where(bench: Bench) -> None:
    index, node_id = bench.node()
    claim = bench.claim(node_id)
    assert (claim.node_id, claim.attempt, claim.index_id) == (node_id, 1, index.id)
    assert (claim.json_pointer, claim.content, claim.content_hash) == (
        "/a",
        TEXT,
        content_hash(TEXT),
    )
    assert (claim.config, claim.namespace, claim.table_id) == (
        SMALL,
        index.generation.namespace,
        index.table_id,
    )


def test_what_is_claimed_is_not_claimed_again_before_its_lease_ends(bench: Bench) -> None:
    _, node_id = bench.node()
    first = bench.claim(node_id, lease_s=60)
    bench.pass_time(50)
    assert bench.try_claim(node_id) is None
    bench.pass_time(11)
    second = bench.claim(node_id)
    assert second.fence > first.fence
    assert second.attempt == 2


@pytest.mark.parametrize("node_id", [0, 10**9])
def test_a_node_that_is_not_there_is_not_claimed(bench: Bench, node_id: int) -> None:
    assert bench.try_claim(node_id) is None
    assert bench.work.nodes.due_in(node_id) is None


def test_what_is_indexed_is_not_claimed(bench: Bench) -> None:
    _, node_id = bench.node()
    bench.finish(node_id)
    assert bench.try_claim(node_id) is None


@pytest.mark.parametrize("make", ["deleted", "retired", "previous"])
def test_a_node_that_nobody_will_see_is_not_claimed(bench: Bench, make: str) -> None:
    table = bench.table({"a": TEXT})
    _, index = bench.tool(table)
    [node_id] = bench.enumerate(index)
    if make == "deleted":
        bench.work.tables.mark_deleted(table.id)
    elif make == "retired":
        bench.work.indexes.retire(index.id)
    else:
        bench.work.indexes.switch(bench.work.indexes.start_rebuild(index, SMALL, at_once=2))
    assert bench.try_claim(node_id) is None


def test_a_node_is_claimed_while_a_live_tool_covers_it(bench: Bench) -> None:
    table = bench.table({"a": {"text": TEXT}, "b": OTHER})
    tool, index = bench.tool(table, "/a")
    bench.tool(table, "/b")
    in_a, in_b = sorted(bench.enumerate(index))
    claim = bench.claim(in_a)
    assert bench.work.nodes.are_needed([claim])
    bench.work.tools.mark_deleted(tool.id)
    bench.work.comparisons.uncover(tool.id)
    with bench.store.for_all("test") as work:
        assert not work.nodes.are_needed([claim])
        work.nodes.release([claim], retry_in_s=0, error=None, progressed=False)
        assert work.nodes.due_in(in_a) == UNNEEDED_PAUSE_S
        assert work.nodes.due_in(in_b) is None
    assert bench.try_claim(in_a) is None
    claims = bench.work.nodes.claim_many([in_a, in_b], max_chars=10_000, max_attempts=4, lease_s=60)
    assert [each.node_id for each in claims] == [in_b]
    bench.tool(table, "/a/text")
    assert bench.try_claim(in_a) is not None


def test_a_hold_renews_the_lease(bench: Bench) -> None:
    _, node_id = bench.node()
    claim = bench.claim(node_id, lease_s=60)
    bench.pass_time(50)
    bench.work.nodes.hold([claim], lease_s=60)
    bench.pass_time(50)
    assert bench.try_claim(node_id) is None


def lose_to_another(bench: Bench, claim: Claim) -> None:
    bench.pass_time(100)
    bench.claim(claim.node_id)


def lose_to_an_edit(bench: Bench, claim: Claim) -> None:
    index = bench.work.indexes.find(claim.index_id)
    assert index is not None
    upsert(bench, index, OTHER)


def lose_to_a_delete(bench: Bench, claim: Claim) -> None:
    bench.work.nodes.remove([claim.node_id])


def lose_to_cleanup(bench: Bench, claim: Claim) -> None:
    bench.pass_time(400)
    assert bench.work.nodes.abandoned(silent_s=300, limit=9) == [claim.node_id]


def lose_by_a_swap(bench: Bench, claim: Claim) -> None:
    bench.mark(chunk_set := bench.begin(claim))
    assert bench.activate(claim, chunk_set)


def lose_by_a_release(bench: Bench, claim: Claim) -> None:
    release(bench, claim)


LOSSES = [
    lose_to_another,
    lose_to_an_edit,
    lose_to_a_delete,
    lose_to_cleanup,
    lose_by_a_swap,
    lose_by_a_release,
]


def hold_one(nodes: Nodes, claim: Claim) -> None:
    if not nodes.hold([claim], lease_s=60, progressed=True):
        raise LeaseLostError("nothing is held")


def release_one(nodes: Nodes, claim: Claim) -> None:
    if not nodes.release([claim], retry_in_s=0, error=ERROR, progressed=True):
        raise LeaseLostError("nothing is released")


WRITES: dict[str, Callable[[Nodes, Claim], None]] = {
    "hold": hold_one,
    "release": release_one,
    "quarantine": lambda nodes, claim: nodes.quarantine(claim, ERROR),
    "skip": lambda nodes, claim: nodes.skip(claim, TOO_LARGE),
}


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("write", WRITES)
def test_whoever_lost_a_node_writes_nothing(
    bench: Bench, lose: Callable[[Bench, Claim], None], write: str
) -> None:
    index, node_id = bench.node()
    claim = bench.claim(node_id)
    lose(bench, claim)
    before = state(bench, index)
    with pytest.raises(LeaseLostError), bench.store.for_all("test") as work:
        WRITES[write](work.nodes, claim)
    assert state(bench, index) == before


def test_a_released_node_is_due_when_it_was_said(bench: Bench) -> None:
    _, node_id = bench.node()
    release(bench, bench.claim(node_id), in_s=100)
    due_in_s = bench.work.nodes.due_in(node_id)
    assert due_in_s is not None
    assert 90 < due_in_s <= 100
    assert bench.try_claim(node_id) is None
    bench.pass_time(101)
    assert bench.work.nodes.due_in(node_id) is None
    assert bench.claim(node_id).attempt == 2


def test_progress_resets_the_attempts(bench: Bench) -> None:
    _, node_id = bench.node()
    release(bench, bench.claim(node_id))
    release(bench, bench.claim(node_id), progressed=True)
    assert bench.claim(node_id).attempt == 1


@pytest.mark.parametrize("is_given_up", [False, True])
def test_an_edit_resets_the_attempts_and_raises_the_fence(
    bench: Bench, *, is_given_up: bool
) -> None:
    index, node_id = bench.node()
    claim = bench.claim(node_id)
    if is_given_up:
        bench.work.nodes.quarantine(claim, ERROR)
    else:
        release(bench, claim, in_s=1000)
    upsert(bench, index, OTHER)
    assert bench.work.node_counts.progress(index, "", silent_s=300).last_error is None
    again = bench.claim(node_id)
    assert again.attempt == 1
    assert again.fence > claim.fence


def test_a_node_that_failed_for_good_keeps_its_active_chunks(bench: Bench) -> None:
    index, node_id = bench.node()
    active = bench.finish(node_id)
    upsert(bench, index, OTHER)
    claim = bench.claim(node_id)
    building = bench.begin(claim)
    bench.work.nodes.quarantine(claim, ERROR)
    assert bench.ids(index) == sorted(chunk.doc_id for chunk in active.chunks)
    stones = {stone.doc_id for stone in bench.tombstones()}
    assert stones == {chunk.doc_id for chunk in building.chunks}
    assert bench.try_claim(node_id) is None


def test_a_node_over_a_limit_of_its_project_keeps_its_text(bench: Bench) -> None:
    index, node_id = bench.node()
    claim = bench.claim(node_id)
    bench.work.nodes.skip(claim, TOO_LARGE)
    assert state(bench, index) == {"skipped": 1}
    assert bench.try_claim(node_id) is None


def test_quarantined_nodes_are_queued_with_their_attempts_forgotten(bench: Bench) -> None:
    nodes = [bench.node()[1] for _ in range(3)]
    for node_id in nodes:
        claim = bench.claim(node_id)
        bench.work.nodes.quarantine(claim, ERROR)
    assert bench.work.nodes.requeue_quarantined(limit=2) == sorted(nodes)[:2]
    assert bench.work.nodes.requeue_quarantined(limit=2) == sorted(nodes)[2:]
    assert bench.work.nodes.requeue_quarantined(limit=2) == []
    assert bench.claim(nodes[0]).attempt == 1


@only_postgres
def test_only_those_of_a_selection_are_queued_again(bench: Bench) -> None:
    index, _ = bench.node()
    for pointer in ("/a/b", "/ab"):
        upsert(bench, index, TEXT, pointer)
    others = bench.node()[0]
    at = {(index, pointer): bench.node_at(index, pointer) for pointer in ("/a", "/a/b", "/ab")}
    at[others, "/a"] = bench.node_at(others, "/a")
    for node_id in at.values():
        claim = bench.claim(node_id)
        bench.work.nodes.quarantine(claim, ERROR)
    below = NodeSelection([index.generation.id], "/a")
    with bench.store.for_all("test") as work:
        assert work.nodes.count_quarantined(replace(below, scope="")) == 3
        assert work.nodes.count_quarantined(replace(below, generation_ids=[])) == 0
        of_table = replace(below, scope="", table_id=table_of(index))
        assert work.nodes.count_quarantined(of_table) == 3
        assert work.nodes.count_quarantined(replace(of_table, table_id=table_of(others))) == 0
        one = replace(below, pointer="/a/b")
        assert work.nodes.requeue_quarantined(limit=9, among=one) == [at[index, "/a/b"]]
        outside = replace(below, pointer="/ab")
        assert work.nodes.requeue_quarantined(limit=9, among=outside) == []
        assert work.nodes.requeue_quarantined(limit=9, among=below) == [at[index, "/a"]]
        assert work.nodes.count_quarantined(below) == 0
    assert state(bench, index) == {"queued": 2, "quarantined": 1}
    assert state(bench, others) == {"quarantined": 1}


def test_removed_nodes_leave_tombstones_of_all_their_chunks(bench: Bench) -> None:
    index, node_id = bench.node()
    chunk_set = bench.finish(node_id)
    with bench.store.for_all("test") as work:
        work.nodes.remove([node_id])
        work.nodes.remove([node_id])
        work.nodes.remove([])
        assert work.nodes.known(index.generation.id, table_of(index)) == []
    stones = bench.tombstones()
    assert {stone.doc_id for stone in stones} == {chunk.doc_id for chunk in chunk_set.chunks}
    assert {stone.namespace for stone in stones} == {index.generation.namespace}


def test_a_claim_of_what_was_indexed_reads_its_text_from_the_chunks(bench: Bench) -> None:
    index, node_id = bench.node()
    bench.finish(node_id)
    gone = bench.ids(index)[:1]
    assert bench.work.sweeps.requeue_missing(index.generation.namespace, gone) == [node_id]
    assert bench.claim(node_id).content == TEXT


def test_windows_are_part_of_a_plan(bench: Bench) -> None:
    with_windows = replace(SMALL, window_tokens=10)
    _, index = bench.tool(bench.table({"a": TEXT}), config=with_windows)
    [node_id] = bench.enumerate(index)
    chunk_set = bench.finish(node_id)
    assert min(chunk.window_count for chunk in chunk_set.chunks) > 1


@only_postgres
def test_of_many_workers_at_once_only_one_gets_the_node(bench: PostgresBench) -> None:
    _, node_id = bench.node()
    with ThreadPoolExecutor(8) as threads:
        claims = list(threads.map(lambda _: bench.try_claim(node_id), range(16)))
    assert [claim.fence for claim in claims if claim] == [1]


@only_postgres
def test_comparing_again_changes_nothing(bench: PostgresBench) -> None:
    index, node_id = bench.node()
    bench.claim(node_id)
    before = bench.sql("SELECT * FROM node")
    assert bench.enumerate(index) == []
    assert bench.sql("SELECT * FROM node") == before


def test_pointers_beyond_any_index_row_are_nodes_like_others(bench: Bench) -> None:
    key = "很长的键" * 2_000
    _, index = bench.tool(bench.table({key: TEXT, key + "x": TEXT}))
    assert len(bench.enumerate(index)) == 2
    assert bench.node_at(index, f"/{key}") != bench.node_at(index, f"/{key}x")


@only_postgres
def test_of_many_tables_one_that_is_being_deleted_is_left_out(bench: PostgresBench) -> None:
    claims = [bench.claim(bench.node()[1]) for _ in range(3)]
    hold = partial(bench.work.nodes.hold, claims, lease_s=60)
    with ThreadPoolExecutor(1) as thread:
        with bench.tx() as deleting:
            deleting.run(
                "SELECT FROM context_table WHERE id = :id FOR UPDATE", id=claims[1].table_id
            )
            # To wait with the other tables locked could be a deadlock.
            assert thread.submit(hold).result() == [claims[0], claims[2]]
        assert hold() == claims
