"""Every test of this folder runs on the store in memory and on PostgreSQL."""

from __future__ import annotations

import pytest

from tests.contract.store.bench import Bench, MemoryBench, PostgresBench


@pytest.fixture(params=["memory", "postgres"])
def bench(request: pytest.FixtureRequest) -> Bench:
    """An empty store."""
    if request.param == "memory":
        return MemoryBench()
    return PostgresBench(request.getfixturevalue("module_database"))
