"""What enumeration writes, and the way of nodes between workers, one or many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest

from context_search.core.documents import StringNode, content_hash
from context_search.core.errors import LeaseLostError
from context_search.core.messages import CompareIndex, IndexNodes
from context_search.core.model import ChunkSet, Claim, Index, Reach
from context_search.core.progress import NodeState
from context_search.indexing.comparing import Limits, compare
from context_search.indexing.rules.nodes import UNNEEDED_PAUSE_S, NodeSelection, NodeUpsert
from context_search.indexing.sql.nodes import Nodes
from context_search.indexing.vector_rows import plan
from tests.builders import english, present
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


@pytest.mark.parametrize("make", ["deleted", "deleted of a project", "retired", "previous"])
def test_a_node_that_nobody_will_see_is_not_claimed(bench: Bench, make: str) -> None:
    table, index = bench.served({"a": TEXT})
    if make == "deleted of a project":
        index = bench.project_index(table.project_id)
    [node_id] = bench.compare(index, table)
    if make.startswith("deleted"):
        bench.delete(table)
    elif make == "retired":
        bench.work.indexes.retire(index.id)
    else:
        bench.work.indexes.switch(bench.work.indexes.start_rebuild(index, SMALL, at_once=2))
    assert bench.try_claim(node_id) is None
    take = bench.work.nodes.claim_many
    assert take([node_id], max_chars=10_000, max_attempts=4, lease_s=60) == []


def test_a_node_is_claimed_while_a_live_tool_covers_it(bench: Bench) -> None:
    table = bench.table({"a": {"text": TEXT}, "b": OTHER})
    tool, index = bench.tool(table, "/a")
    bench.tool(table, "/b")
    in_a, in_b = sorted(bench.enumerate(index))
    claim = bench.claim(in_a)
    assert bench.work.nodes.are_needed([claim])
    bench.work.tools.mark_deleted(tool.id)
    bench.work.comparisons.uncover(tool.id)
    assert not bench.work.nodes.are_needed([claim])
    bench.work.nodes.release([claim], retry_in_s=0, error=None, progressed=False)
    assert bench.work.nodes.due_in(in_a) == UNNEEDED_PAUSE_S
    assert bench.work.nodes.due_in(in_b) is None
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


LOSSES = ["to another", "to an edit", "to a delete", "to cleanup", "by a swap", "by a release"]


def lose(bench: Bench, claim: Claim, how: str) -> None:
    match how:
        case "to another":
            bench.pass_time(100)
            bench.claim(claim.node_id)
        case "to an edit":
            upsert(bench, bench.index(claim.index_id), OTHER)
        case "to a delete":
            bench.work.nodes.remove([claim.node_id])
        case "to cleanup":
            bench.pass_time(400)
            assert bench.work.nodes.abandoned(silent_s=300, limit=9) == [claim.node_id]
        case "by a swap":
            bench.mark(chunk_set := bench.begin(claim))
            assert bench.activate(claim, chunk_set)
        case "by a release":
            release(bench, claim)


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


@pytest.mark.parametrize("how", LOSSES)
@pytest.mark.parametrize("write", WRITES)
def test_whoever_lost_a_node_writes_nothing(bench: Bench, how: str, write: str) -> None:
    index, node_id = bench.node()
    claim = bench.claim(node_id)
    lose(bench, claim, how)
    before = state(bench, index)
    with pytest.raises(LeaseLostError), bench.store.for_all("test") as work:
        WRITES[write](work.nodes, claim)
    assert state(bench, index) == before


def test_a_released_node_is_due_when_it_was_said(bench: Bench) -> None:
    _, node_id = bench.node()
    release(bench, bench.claim(node_id), in_s=100)
    due_in_s = present(bench.work.nodes.due_in(node_id))
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


def test_quarantined_nodes_are_queued_with_their_attempts_forgotten(bench: Bench) -> None:
    nodes = [bench.node()[1] for _ in range(3)]
    for node_id in nodes:
        bench.work.nodes.quarantine(bench.claim(node_id), ERROR)
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
        bench.work.nodes.quarantine(bench.claim(node_id), ERROR)
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
    bench.work.nodes.remove([node_id])
    bench.work.nodes.remove([node_id])
    bench.work.nodes.remove([])
    assert bench.work.nodes.known(index.generation.id, table_of(index)) == []
    stones = bench.tombstones()
    assert {stone.doc_id for stone in stones} == {chunk.doc_id for chunk in chunk_set.chunks}
    assert {stone.namespace for stone in stones} == {index.generation.namespace}


def test_a_claim_of_what_was_indexed_reads_its_text_from_the_chunks(bench: Bench) -> None:
    index, node_id = bench.node()
    bench.finish(node_id)
    gone = bench.ids(index)[:1]
    assert bench.work.chunks.requeue_missing(index.generation.namespace, gone) == [node_id]
    assert bench.claim(node_id).content == TEXT


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
    bench.work.chunks.requeue_missing(index.generation.namespace, lost)
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
    table, index = bench.served(STRINGS)
    ids = sorted(bench.enumerate(index))
    taken = claims(bench, ids)
    sets = begin(bench, taken)
    bench.change(table, [OTHER, *STRINGS[1:]])
    [changed] = bench.enumerate(index)
    others = [node_id for node_id in ids if node_id != changed]
    assert held(bench, taken) == others
    assert finish(bench, taken, sets) == set(others)


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


def abandoned(bench: Bench, *, silent_s: float = 300, limit: int = 100) -> list[int]:
    return bench.work.nodes.abandoned(silent_s=silent_s, limit=limit)


def ordered(bench: Bench, index: Index) -> list[int]:
    """Compares an index with its table, and orders the nodes in the same transaction."""
    with bench.store.for_all("test") as work:
        messages = compare(work, index, table_of(index), Limits(), None)
        work.send(*messages)
    return [node_id for message in messages for node_id in message.node_ids]


def test_a_claimed_node_is_abandoned_when_its_lease_ended_long_ago(bench: Bench) -> None:
    _, node_id = bench.node()
    bench.claim(node_id, lease_s=60)
    bench.pass_time(350)
    assert abandoned(bench) == []
    bench.pass_time(11)
    assert abandoned(bench) == [node_id]
    assert bench.claim(node_id).attempt == 2


def test_a_node_is_taken_once(bench: Bench) -> None:
    _, node_id = bench.node()
    bench.pass_time(290)
    assert abandoned(bench) == []
    bench.pass_time(11)
    assert abandoned(bench) == [node_id]
    assert abandoned(bench) == []
    bench.pass_time(301)
    assert abandoned(bench) == [node_id]


def test_a_node_that_is_to_wait_is_not_abandoned_meanwhile(bench: Bench) -> None:
    _, node_id = bench.node()
    bench.work.nodes.release([bench.claim(node_id)], retry_in_s=1000, error=None, progressed=False)
    bench.pass_time(1200)
    assert abandoned(bench) == []
    bench.pass_time(101)
    assert abandoned(bench) == [node_id]


def test_what_is_done_with_is_not_abandoned(bench: Bench) -> None:
    bench.finish(bench.node()[1])
    for put_aside in ("quarantine", "skip"):
        claim = bench.claim(bench.node()[1])
        _put_aside(bench, claim, put_aside)
    bench.pass_time(10_000)
    assert abandoned(bench) == []


def _put_aside(bench: Bench, claim: Claim, how: str) -> None:
    with bench.store.for_all("test") as work:
        getattr(work.nodes, how)(claim, {"code": "X", "message": "m", "retryable": False})


def test_there_is_an_order_and_a_limit(bench: Bench) -> None:
    nodes = sorted(bench.node()[1] for _ in range(3))
    bench.pass_time(301)
    assert abandoned(bench, limit=2) == nodes[:2]
    assert abandoned(bench, limit=2) == nodes[2:]


def test_nodes_of_generations_that_do_not_follow_are_left(bench: Bench) -> None:
    index, _ = bench.node()
    bench.work.indexes.switch(bench.work.indexes.start_rebuild(index, SMALL, at_once=2))
    retired, _ = bench.node()
    bench.work.indexes.retire(retired.id)
    bench.pass_time(301)
    assert abandoned(bench) == []


def test_a_queued_node_waits_for_its_turn_while_its_order_may_be_in_the_book(bench: Bench) -> None:
    table, index = bench.served({"a": TEXT})
    bench.lose_messages()
    [node_id] = ordered(bench, index)
    [(message_id, _)] = bench.work.outbox.take(table.project_id, window=1)
    bench.pass_time(10_000)
    assert abandoned(bench) == []
    bench.work.outbox.begin(message_id)
    assert abandoned(bench) == []
    bench.work.outbox.finish(message_id)
    assert abandoned(bench) == [node_id]


def test_other_orders_do_not_keep_a_node_waiting(bench: Bench) -> None:
    project = bench.project()
    _, index = bench.tool(bench.table({"a": TEXT}, project))
    [lost] = bench.enumerate(index)
    ordered(bench, bench.tool(bench.table({"a": TEXT}))[1])
    bench.work.outbox.add([CompareIndex(index.id).to_json()])
    bench.pass_time(200)
    ordered(bench, bench.tool(bench.table({"a": TEXT}, project))[1])
    bench.pass_time(101)
    assert abandoned(bench) == [lost]


def test_an_order_that_rests_is_not_waited_for(bench: Bench) -> None:
    project = bench.project()
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}, project))
    lost, failing = bench.enumerate(index)
    bench.work.outbox.add([IndexNodes((failing,)).to_json()])
    [(message_id, _)] = bench.work.outbox.take(project.id, window=1)
    bench.work.outbox.begin(message_id)
    bench.work.outbox.delay(message_id, after_s=4_000, window=1)
    claim = present(bench.work.nodes.claim(failing, lease_s=1))
    bench.work.nodes.release([claim], retry_in_s=4_000, error=None, progressed=False)
    bench.pass_time(301)
    assert abandoned(bench) == [lost]
