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
from tests.contract.turbopuffer.targets import Namespace, ids, named, upsert
from tests.stack import eventually

ORDER: dict[str, Any] = {"rank_by": ("id", "asc"), "limit": 9}
SLOTS = 16


@pytest.fixture
def namespace(impatient_client: Turbopuffer) -> Namespace:
    namespace = named(impatient_client, f"slots-{uuid.uuid4().hex}")
    upsert(namespace, {"id": "1"})
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
        upsert(other, {"id": "5"})
        assert ids(other.query(**ORDER)) == ["5"]
        assert not any(hybrid.done() for hybrid in hybrids)
    assert [ids(hybrid.result().results[0]) for hybrid in hybrids] == [["1"]] * len(hybrids)


def test_the_seventeenth_query_waits_for_a_slot(namespace: Namespace, faults: Faults) -> None:
    with held(namespace, faults, delay_ms=400):
        assert ids(namespace.query(**ORDER)) == ["1"]
    assert eventually(lambda: faults.slots_in_use(namespace.id) == 0)


def test_writes_need_no_slot(namespace: Namespace, faults: Faults) -> None:
    with held(namespace, faults, delay_ms=1_500) as hybrids:
        upsert(namespace, {"id": "2"})
        assert not any(hybrid.done() for hybrid in hybrids)


def test_a_multi_query_takes_a_slot_for_each_of_its_queries(
    namespace: Namespace, faults: Faults
) -> None:
    faults.arm("slow", namespace=namespace.id, on="query", delay_ms=600)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(namespace.multi_query, queries=[ORDER] * 3)
        assert eventually(lambda: faults.slots_in_use(namespace.id) == 3)
    assert eventually(lambda: faults.slots_in_use(namespace.id) == 0)
