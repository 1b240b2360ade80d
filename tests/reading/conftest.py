"""Reading, on real Postgres."""

from __future__ import annotations

import pytest

from tests.contract.store.bench import PostgresBench
from tests.reading.library import Library


@pytest.fixture
def library(bench: PostgresBench) -> Library:
    """An empty project."""
    return Library(bench)
