"""Search and replace over both stores."""

from __future__ import annotations

import pytest

from testing.in_memory.clock import ManualClock
from tests.contract.store.bench import PostgresBench
from tests.editing.replacing import Desk
from tests.faults.simulation.model.store import ModelStore


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def model(clock: ManualClock) -> Desk:
    """An empty project in the model store."""
    return Desk(ModelStore(clock), clock)


@pytest.fixture
def stored(bench: PostgresBench, clock: ManualClock) -> Desk:
    """An empty project in PostgreSQL."""
    return Desk(bench.store, clock)


@pytest.fixture(params=["model", pytest.param("stored", marks=pytest.mark.stack)])
def desk(request: pytest.FixtureRequest) -> Desk:
    """An empty project in an empty store."""
    made: Desk = request.getfixturevalue(request.param)
    return made
