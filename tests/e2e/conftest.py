"""One stack for all tests of this folder; a project for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local.options import StackOptions
from local.stack import Stack
from tests.e2e.running import PATIENCE, Running, Tenant, state_folder, user_environment


@pytest.fixture(scope="package")
def stack() -> Iterator[Running]:
    """The whole product with its local parts, on free ports and a folder of its own.

    It ends with the tests of this folder, as its cleanup runs each second.
    """
    options = StackOptions(schedule_every_s=1.0)
    user = {**user_environment(), **PATIENCE}
    with (
        state_folder() as state,
        Stack(state, user, options, report=lambda _: None) as started,
        Running.at(
            started.base_url,
            started.internal_secret,
            started.endpoints.database_url,
            started.endpoints.queue_url,
            started.endpoints.turbopuffer_url,
        ) as running,
    ):
        yield running


@pytest.fixture
def tenant(stack: Running) -> Tenant:
    """A project of its own."""
    return stack.project()
