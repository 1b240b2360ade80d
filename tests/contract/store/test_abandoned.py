"""Contract of ``Nodes.abandoned``: what nobody works on and nobody waits for."""

from __future__ import annotations

from context_search.domain.model import Claim
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL


def abandoned(bench: Bench, *, silent_s: float = 300, limit: int = 100) -> list[int]:
    with bench.store.transaction() as work:
        return work.nodes.abandoned(silent_s=silent_s, limit=limit)


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
    with bench.store.transaction() as work:
        work.nodes.release(claim, retry_in_s=1000, error=None, progressed=False)
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
    with bench.store.transaction() as work:
        getattr(work.nodes, how)(claim, {"code": "X", "message": "m", "retryable": False})


def test_there_is_an_order_and_a_limit(bench: Bench) -> None:
    nodes = sorted(bench.node()[1] for _ in range(3))
    bench.pass_time(301)
    assert abandoned(bench, limit=2) == nodes[:2]
    assert abandoned(bench, limit=2) == nodes[2:]


def test_nodes_of_generations_that_do_not_follow_are_left(bench: Bench) -> None:
    index, _ = bench.node()
    with bench.store.transaction() as work:
        work.rebuilds.switch(work.rebuilds.start(index, SMALL, at_once=2))
    retired, _ = bench.node()
    with bench.store.transaction() as work:
        work.indexes.retire(retired.id)
    bench.pass_time(301)
    assert abandoned(bench) == []


def test_a_queued_node_waits_for_its_turn_while_others_get_indexed(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}))
    first, second = bench.enumerate(index)
    bench.pass_time(301)
    bench.finish(first)
    assert abandoned(bench) == []
    bench.pass_time(301)
    assert abandoned(bench) == [second]
