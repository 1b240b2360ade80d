"""Claims, leases and fences in Postgres: reference semantics C1 to C4, one statement at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from context_search.core.documents import content_hash
from context_search.core.errors import LeaseLostError
from context_search.core.ids import pointer_sha256
from context_search.core.messages import IndexNodes
from context_search.core.model import Claim, Index
from context_search.indexing.comparing import Limits
from context_search.indexing.sql.nodes import Nodes
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, english, until
from tests.steps import table_of

TEXT = english(250)
ERROR = {"code": "EMBEDDING_UNAVAILABLE", "message": "m", "retryable": True, "at": "2026-01-01"}


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


def one_node(bench: Workbench, text: str = TEXT) -> tuple[Index, int]:
    """An index over one string at /a, and the id of its node."""
    _, index = bench.tool(bench.table({"a": text}))
    [node_id] = bench.enumerate(index)
    return index, node_id


def taken(bench: Workbench, node_id: int, lease_s: float = 60) -> Claim | None:
    with bench.store.for_all("test") as work:
        return work.nodes.claim(node_id, lease_s=lease_s)


def row(bench: Workbench, node_id: int, columns: str) -> list[Any]:
    [values] = bench.sql(f"SELECT {columns} FROM node WHERE id = :id", id=node_id)
    return values


def change(bench: Workbench, index: Index, text: str) -> list[int]:
    """Writes another text and compares; returns what is queued."""
    bench.sql(
        "UPDATE context_table SET data = jsonb_build_object('a', CAST(:text AS text))"
        " WHERE id = :id",
        text=text,
        id=index.table_id,
    )
    return bench.enumerate(index)


def hold(nodes: Nodes, claim: Claim) -> None:
    if not nodes.hold([claim], lease_s=60):
        raise LeaseLostError("nothing is held")


def release(nodes: Nodes, claim: Claim) -> None:
    if not nodes.release([claim], retry_in_s=0, error=None, progressed=False):
        raise LeaseLostError("nothing is released")


def test_a_claim_carries_all_that_a_worker_needs(bench: Workbench) -> None:
    index, node_id = one_node(bench)
    claim = bench.claim(node_id)
    assert claim == Claim(
        node_id=node_id,
        fence=1,
        attempt=1,
        table_id=table_of(index),
        json_pointer="/a",
        content_hash=content_hash(TEXT),
        content=TEXT,
        config=index.config,
        namespace=index.generation.namespace,
        index_id=index.id,
    )


def test_a_node_has_one_owner_until_the_lease_ends(bench: Workbench) -> None:
    _, node_id = one_node(bench)
    first = bench.claim(node_id, lease_s=0.3)
    assert taken(bench, node_id) is None
    second = until(lambda: taken(bench, node_id))
    assert (second.fence, second.attempt) == (first.fence + 1, 2)


def test_of_many_workers_at_once_only_one_gets_the_node(bench: Workbench) -> None:
    _, node_id = one_node(bench)
    with ThreadPoolExecutor(8) as threads:
        claims = list(threads.map(lambda _: taken(bench, node_id), range(16)))
    assert [claim.fence for claim in claims if claim] == [1]


@pytest.mark.parametrize(
    "write",
    [
        hold,
        release,
        lambda nodes, claim: nodes.quarantine(claim, ERROR),
    ],
    ids=["hold", "release", "quarantine"],
)
@pytest.mark.parametrize("lost", ["overtaken", "changed", "indexed", "released", "deleted"])
def test_who_lost_the_node_can_write_nothing(
    bench: Workbench, write: Callable[[Nodes, Claim], None], lost: str
) -> None:
    index, node_id = one_node(bench)
    claim = bench.claim(node_id, lease_s=0.01 if lost == "overtaken" else 60)
    if lost == "overtaken":
        until(lambda: taken(bench, node_id))
    elif lost == "changed":
        change(bench, index, english(250, seed=9))
    elif lost == "indexed":
        bench.finish(claim)
    with bench.store.for_all("test") as work:
        if lost == "released":
            release(work.nodes, claim)
        elif lost == "deleted":
            work.nodes.remove([node_id])
    before = bench.sql("SELECT * FROM node WHERE id = :id", id=node_id)
    with pytest.raises(LeaseLostError), bench.store.for_all("test") as work:
        write(work.nodes, claim)
    assert bench.sql("SELECT * FROM node WHERE id = :id", id=node_id) == before


def test_holding_renews_the_lease(bench: Workbench) -> None:
    _, node_id = one_node(bench)
    claim = bench.claim(node_id, lease_s=60)
    [before] = row(bench, node_id, "lease_until")
    with bench.store.for_all("test") as work:
        work.nodes.hold([claim], lease_s=600)
    [after] = row(bench, node_id, "lease_until")
    assert 500 < (after - before).total_seconds() < 600.1


def test_a_released_node_waits_for_its_time(bench: Workbench) -> None:
    _, node_id = one_node(bench)
    claim = bench.claim(node_id)
    with bench.store.for_all("test") as work:
        work.nodes.release([claim], retry_in_s=100, error=ERROR, progressed=False)
        assert 99 < (work.nodes.due_in(node_id) or 0) <= 100
        assert work.nodes.claim(node_id, lease_s=60) is None
    assert row(bench, node_id, "state, attempt, lease_until") == ["queued", 1, None]
    assert json.loads(row(bench, node_id, "last_error")[0]) == ERROR
    bench.sql("UPDATE node SET next_at = now() WHERE id = :id", id=node_id)
    assert bench.claim(node_id).attempt == 2


def test_progress_forgives_earlier_attempts(bench: Workbench) -> None:
    _, node_id = one_node(bench)
    for _ in range(3):
        claim = bench.claim(node_id)
        with bench.store.for_all("test") as work:
            release(work.nodes, claim)
    claim = bench.claim(node_id)
    assert claim.attempt == 4
    with bench.store.for_all("test") as work:
        work.nodes.release([claim], retry_in_s=0, error=None, progressed=True)
    assert bench.claim(node_id).attempt == 1


def test_due_in_knows_queued_nodes_only(bench: Workbench) -> None:
    _, node_id = one_node(bench)
    with bench.store.for_all("test") as work:
        assert work.nodes.due_in(node_id) is None  # it is due now
        assert work.nodes.due_in(2**62) is None
        work.nodes.claim(node_id, lease_s=60)
        assert work.nodes.due_in(node_id) is None


def test_a_quarantined_node_is_nobodys_and_keeps_its_active_set(bench: Workbench) -> None:
    index, node_id = one_node(bench)
    active = bench.finish(bench.claim(node_id))
    change(bench, index, english(300, seed=5))
    claim = bench.claim(node_id)
    building = bench.begin(claim)
    with bench.store.for_all("test") as work:
        work.nodes.quarantine(claim, {**ERROR, "retryable": False})
    assert row(bench, node_id, "state, active_set_id") == ["quarantined", active.id]
    assert taken(bench, node_id) is None
    sets = bench.sql("SELECT id, state FROM chunk_set WHERE node_id = :id", id=node_id)
    assert sets == [[active.id, "active"]]
    assert building.id != active.id


def test_a_change_takes_a_node_out_of_quarantine(bench: Workbench) -> None:
    index, node_id = one_node(bench)
    claim = bench.claim(node_id)
    with bench.store.for_all("test") as work:
        work.nodes.quarantine(claim, ERROR)
    assert change(bench, index, english(300, seed=5)) == [node_id]
    assert row(bench, node_id, "state, attempt, last_error") == ["queued", 0, None]
    assert bench.claim(node_id).fence > claim.fence


def test_the_fence_never_decreases_whatever_happens(bench: Workbench) -> None:
    index, node_id = one_node(bench)
    fences = [0]
    for seed in range(4):
        claim = bench.claim(node_id)
        with bench.store.for_all("test") as work:
            release(work.nodes, claim)
        bench.finish(bench.claim(node_id))
        change(bench, index, english(300, seed=seed + 1))
        fences.append(row(bench, node_id, "fence")[0])
    assert fences == sorted(set(fences))


def test_a_string_over_a_limit_is_skipped_with_its_reason_and_without_its_text(
    bench: Workbench,
) -> None:
    _, index = bench.tool(bench.table({"a": TEXT, "b": english(400)}))
    assert len(bench.enumerate(index, Limits(max_node_chars=300))) == 1
    found = bench.sql(
        "SELECT state, content, char_count, last_error ->> 'code' FROM node"
        " WHERE generation_id = :id AND json_pointer = '/b'",
        id=index.generation.id,
    )
    assert found == [["skipped", None, 400, "NODE_TOO_LARGE"]]


def test_comparing_again_changes_nothing(bench: Workbench) -> None:
    index, node_id = one_node(bench)
    bench.claim(node_id)
    before = bench.sql("SELECT * FROM node WHERE id = :id", id=node_id)
    assert bench.enumerate(index) == []
    assert bench.sql("SELECT * FROM node WHERE id = :id", id=node_id) == before


def test_pointers_beyond_any_index_row_are_nodes_like_others(bench: Workbench) -> None:
    key = "很长的键" * 2_000
    _, index = bench.tool(bench.table({key: TEXT, key + "x": TEXT}))
    assert len(bench.enumerate(index)) == 2
    with bench.store.for_all("test") as work:
        known = work.nodes.known(index.generation.id, table_of(index))
    assert {node.pointer_sha256 for node in known} == {
        pointer_sha256(f"/{key}"),
        pointer_sha256(f"/{key}x"),
    }


def test_nodes_of_retired_generations_and_deleted_tables_cannot_be_claimed(
    bench: Workbench,
) -> None:
    index, of_retired = one_node(bench)
    deleted, of_deleted = one_node(bench)
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)
        work.tables.mark_deleted(table_of(deleted))
    assert taken(bench, of_retired) is None
    assert taken(bench, of_deleted) is None


class TestAbandoned:
    """Nodes whose message got lost, or whose worker died."""

    @pytest.fixture
    def bench(self, module_database: Database) -> Workbench:
        return Workbench.alone(PostgresStore(module_database))

    def abandoned(self, bench: Workbench, limit: int = 9, silent_s: float = 100) -> list[int]:
        with bench.store.for_all("test") as work:
            return work.nodes.abandoned(silent_s=silent_s, limit=limit)

    def test_silent_nodes_are_named_once(self, bench: Workbench) -> None:
        _, index = bench.tool(bench.table([english(50, seed) for seed in range(5)]))
        fresh, silent, owned, orphaned, done = bench.enumerate(index)
        bench.claim(owned)
        bench.claim(orphaned)
        bench.finish(bench.claim(done))
        bench.sql(
            "UPDATE node SET next_at = now() - interval '101 s',"
            " indexed_at = indexed_at - interval '101 s',"
            " lease_until = CASE WHEN id = :orphaned THEN now() - interval '101 s'"
            " ELSE lease_until END WHERE id NOT IN (:fresh, :owned)",
            fresh=fresh,
            owned=owned,
            orphaned=orphaned,
        )
        assert self.abandoned(bench, limit=1) == [silent]
        assert self.abandoned(bench) == [orphaned]
        assert self.abandoned(bench) == []
        assert bench.claim(orphaned).attempt == 2

    def test_what_has_an_order_waits_for_its_turn_and_is_not_abandoned(
        self, bench: Workbench
    ) -> None:
        _, index = bench.tool(bench.table([english(50, seed) for seed in range(2)]))
        waiting, orphaned = bench.enumerate(index)
        bench.claim(orphaned)
        with bench.store.for_all("test") as work:
            work.outbox.add([IndexNodes((waiting,)).to_json()])
        past = "now() - interval '101 s'"
        bench.sql(f"UPDATE outbox SET created_at = {past}")
        bench.sql(
            f"UPDATE node SET next_at = {past},"
            f" lease_until = CASE WHEN id = :orphaned THEN {past} END",
            orphaned=orphaned,
        )
        assert self.abandoned(bench) == [orphaned]
        bench.sql("DELETE FROM outbox")
        assert self.abandoned(bench) == [waiting]

    def test_a_worker_that_only_seemed_dead_writes_nothing_more(self, bench: Workbench) -> None:
        _, node_id = one_node(bench)
        claim = bench.claim(node_id, lease_s=0.01)
        assert until(lambda: self.abandoned(bench, silent_s=0)) == [node_id]
        later = replace(claim, fence=claim.fence + 1)
        with bench.store.for_all("test") as work:
            assert work.nodes.hold([claim], lease_s=60) == []
            assert work.nodes.hold([later], lease_s=60) == []


def held(bench: Workbench, claims: list[Claim]) -> list[Claim]:
    with bench.store.for_all("test") as work:
        return work.nodes.hold(claims, lease_s=60)


def test_of_many_tables_one_that_is_being_deleted_is_left_out(bench: Workbench) -> None:
    claims = [bench.claim(one_node(bench)[1]) for _ in range(3)]
    lock = "SELECT FROM context_table WHERE id = :id FOR UPDATE"
    with ThreadPoolExecutor(1) as thread:
        with bench.tx() as deleting:
            deleting.run(lock, id=claims[1].table_id)
            # To wait with the other tables locked could be a deadlock.
            assert thread.submit(held, bench, claims).result() == [claims[0], claims[2]]
        assert thread.submit(held, bench, claims).result() == claims
