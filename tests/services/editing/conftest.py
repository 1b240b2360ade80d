"""Search and replace over both stores."""

from __future__ import annotations

import pytest

from testing.in_memory.clock import ManualClock
from tests.contract.store.bench import MemoryBench, PostgresBench
from tests.services.editing.replacing import Desk


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.stack)])
def desk(request: pytest.FixtureRequest) -> Desk:
    """An empty project in an empty store."""
    if request.param == "memory":
        return Desk(MemoryBench().store, ManualClock())
    bench = PostgresBench(request.getfixturevalue("module_database"))
    return Desk(bench.store, ManualClock())
