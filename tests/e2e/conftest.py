"""One stack for all tests of this folder; a project for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local.options import StackOptions
from tests.e2e.running import PATIENCE, Running, Tenant, running_stack


@pytest.fixture(scope="package")
def stack() -> Iterator[Running]:
    """The whole product with its local parts, on free ports and a folder of its own.

    It ends with the tests of this folder, as its cleanup runs each second.
    """
    with running_stack(StackOptions(schedule_every_s=1.0), **PATIENCE) as running:
        yield running


@pytest.fixture
def tenant(stack: Running) -> Tenant:
    """A project of its own."""
    return stack.project()
