"""Nodes in PostgreSQL: many workers at once, locked tables, long pointers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.ids import pointer_sha256
from context_search.core.model import Claim, Index
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, english
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
    return bench.work.nodes.claim(node_id, lease_s=lease_s)


def test_of_many_workers_at_once_only_one_gets_the_node(bench: Workbench) -> None:
    _, node_id = one_node(bench)
    with ThreadPoolExecutor(8) as threads:
        claims = list(threads.map(lambda _: taken(bench, node_id), range(16)))
    assert [claim.fence for claim in claims if claim] == [1]


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
    known = bench.work.nodes.known(index.generation.id, table_of(index))
    assert {node.pointer_sha256 for node in known} == {
        pointer_sha256(f"/{key}"),
        pointer_sha256(f"/{key}x"),
    }


def held(bench: Workbench, claims: list[Claim]) -> list[Claim]:
    return bench.work.nodes.hold(claims, lease_s=60)


def test_of_many_tables_one_that_is_being_deleted_is_left_out(bench: Workbench) -> None:
    claims = [bench.claim(one_node(bench)[1]) for _ in range(3)]
    lock = "SELECT FROM context_table WHERE id = :id FOR UPDATE"
    with ThreadPoolExecutor(1) as thread:
        with bench.tx() as deleting:
            deleting.run(lock, id=claims[1].table_id)
            # To wait with the other tables locked could be a deadlock.
            assert thread.submit(held, bench, claims).result() == [claims[0], claims[2]]
        assert thread.submit(held, bench, claims).result() == claims
