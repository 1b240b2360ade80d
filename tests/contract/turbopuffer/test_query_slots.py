"""Sixteen query slots per namespace, one per sub-query."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from turbopuffer import RateLimitError, Turbopuffer

from tests.contract.turbopuffer.faulty import Faults
from tests.contract.turbopuffer.targets import Namespace, ids, named
from tests.stack import eventually

ORDER: dict[str, Any] = {"rank_by": ("id", "asc"), "limit": 9}
SLOTS = 16


@pytest.fixture
def namespace(impatient_client: Turbopuffer) -> Namespace:
    namespace = named(impatient_client, f"slots-{uuid.uuid4().hex}")
    namespace.write(upsert_rows=[{"id": 1, "vector": [1.0]}], distance_metric="cosine_distance")
    return namespace


@contextmanager
def held(namespace: Namespace, faults: Faults, delay_ms: int) -> Iterator[list[Future[Any]]]:
    """All slots of the namespace, for ``delay_ms``."""
    faults.arm("slow", namespace=namespace.id, on="query", count=SLOTS // 2, delay_ms=delay_ms)
    with ThreadPoolExecutor(SLOTS) as threads:
        hybrids = [
            threads.submit(namespace.multi_query, queries=[ORDER, ORDER]) for _ in range(SLOTS // 2)
        ]
        assert eventually(lambda: faults.slots_in_use(namespace.id) == SLOTS)
        yield hybrids


def test_the_seventeenth_query_is_refused_when_none_ends_in_time(
    namespace: Namespace, impatient_client: Turbopuffer, faults: Faults
) -> None:
    with held(namespace, faults, delay_ms=4_000) as hybrids:
        with pytest.raises(RateLimitError):
            namespace.query(**ORDER)
        other = named(impatient_client, "slots-of-its-own")
        other.write(upsert_rows=[{"id": 5}])
        assert ids(other.query(**ORDER)) == [5]
        assert not any(hybrid.done() for hybrid in hybrids)
    assert [ids(hybrid.result().results[0]) for hybrid in hybrids] == [[1]] * len(hybrids)


def test_the_seventeenth_query_waits_for_a_slot(namespace: Namespace, faults: Faults) -> None:
    with held(namespace, faults, delay_ms=400):
        assert ids(namespace.query(**ORDER)) == [1]
    assert eventually(lambda: faults.slots_in_use(namespace.id) == 0)


def test_writes_need_no_slot(namespace: Namespace, faults: Faults) -> None:
    with held(namespace, faults, delay_ms=1_500) as hybrids:
        namespace.write(upsert_rows=[{"id": 2, "vector": [2.0]}])
        assert not any(hybrid.done() for hybrid in hybrids)


@pytest.mark.parametrize(
    ("query", "cost"),
    [
        ({"queries": [ORDER] * 3}, 3),
        ({"rank_by": ("vector", "kNN", [1.0]), "filters": ("id", "Gt", 0), "limit": 1}, 2),
        ({"aggregate_by": {"n": ("Count",)}}, 4),
    ],
    ids=["multi-query", "kNN", "aggregation"],
)
def test_a_request_takes_as_many_slots_as_it_costs(
    namespace: Namespace, faults: Faults, query: dict[str, Any], cost: int
) -> None:
    faults.arm("slow", namespace=namespace.id, on="query", delay_ms=600)
    ask = namespace.multi_query if "queries" in query else namespace.query
    with ThreadPoolExecutor(1) as thread:
        thread.submit(ask, **query)
        assert eventually(lambda: faults.slots_in_use(namespace.id) == cost)
    assert eventually(lambda: faults.slots_in_use(namespace.id) == 0)
