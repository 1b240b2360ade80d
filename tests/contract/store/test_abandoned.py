"""Contract of ``Nodes.abandoned``: what nobody works on and nobody waits for."""

from __future__ import annotations

from context_search.core.messages import CompareIndex, IndexNodes
from context_search.core.model import Claim, Index
from context_search.indexing.comparing import Limits, compare
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL, table_of


def abandoned(bench: Bench, *, silent_s: float = 300, limit: int = 100) -> list[int]:
    return bench.work.nodes.abandoned(silent_s=silent_s, limit=limit)


def ordered(bench: Bench, index: Index) -> list[int]:
    """Compares an index with its table, and orders the nodes in the same transaction."""
    with bench.store.for_all("test") as work:
        messages = compare(work, index, table_of(index), Limits(), None)
        work.send(*messages)
    return [node_id for message in messages for node_id in message.node_ids]


def test_a_queued_node_is_abandoned_when_it_is_due_for_long(bench: Bench) -> None:
    _, node_id = bench.node()
    bench.pass_time(290)
    assert abandoned(bench) == []
    bench.pass_time(11)
    assert abandoned(bench) == [node_id]


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
    bench.pass_time(301)
    assert abandoned(bench) == [node_id]
    assert abandoned(bench) == []
    bench.pass_time(301)
    assert abandoned(bench) == [node_id]


def test_a_node_that_is_to_wait_is_not_abandoned_meanwhile(bench: Bench) -> None:
    _, node_id = bench.node()
    claim = bench.claim(node_id)
    bench.work.nodes.release([claim], retry_in_s=1000, error=None, progressed=False)
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


def test_a_queued_node_waits_for_its_turn_while_its_order_may_be_in_the_book(
    bench: Bench,
) -> None:
    table = bench.table({"a": TEXT})
    _, index = bench.tool(table)
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
    with bench.store.for_all("test") as work:
        work.outbox.add([IndexNodes((failing,)).to_json()])
        [(message_id, _)] = work.outbox.take(project.id, window=1)
        work.outbox.begin(message_id)
        work.outbox.delay(message_id, after_s=4_000, window=1)
        claim = work.nodes.claim(failing, lease_s=1)
        assert claim is not None
        work.nodes.release([claim], retry_in_s=4_000, error=None, progressed=False)
    bench.pass_time(301)
    assert abandoned(bench) == [lost]
