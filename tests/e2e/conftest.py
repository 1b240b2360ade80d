"""One stack for all tests of this folder; a project for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local.options import StackOptions
from tests.e2e.running import Running, Tenant, running_stack

# Shorter than a user's, so that nobody waits for what cleanup does.
PATIENCE = {"SILENT_AFTER_SECONDS": "4", "DELETE_GRACE_SECONDS": "4"}


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
